//! Parses `product_detail`: a comma-separated list of `section:attribute:value`.

/// Returns the attributes. A literal comma or colon is escaped by a backslash; a comma that no further
/// detail follows belongs to the value even without one.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    let mut details: Vec<(String, String)> = Vec::new();
    for part in split(text, ',', usize::MAX) {
        let parts = split(part, ':', 3);
        match (parts.as_slice(), details.last_mut()) {
            ([_, name, value], _) if !name.trim().is_empty() => {
                details.push((clean(name), clean(value)));
            }
            (_, Some((_, value))) => {
                value.push(',');
                value.push_str(&unescape(part));
            }
            _ => {}
        }
    }
    details.retain(|(_, value)| !value.is_empty());
    details
}

/// Splits a text into at most `parts_max` parts; the last part contains the rest.
fn split(text: &str, separator: char, parts_max: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if character == separator && !is_escaped && parts.len() + 1 < parts_max {
            parts.push(&text[start..at]);
            start = at + character.len_utf8();
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    parts.push(&text[start..]);
    parts
}

fn clean(part: &str) -> String {
    unescape(part.trim())
}

fn unescape(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut characters = part.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(next @ ('\\' | ',' | ':'))) => {
                text.push(*next);
                characters.next();
            }
            _ => text.push(character),
        }
    }
    text
}

/// Escapes a part for [`parse`].
pub(crate) fn escape(part: &str) -> String {
    part.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
}

/// Formats attributes for [`parse`].
pub(crate) fn join<'a>(details: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let details =
        details.map(|(name, value)| format!("General:{}:{}", escape(name), escape(value)));
    details.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_separated() {
        let expected = [("Weight", "1.2 kg"), ("Ratio", "4:3"), ("Box", "cups, lid"), ("a,b", "c")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = r"General:Weight:1.2 kg,Screen: Ratio : 4:3,General:Box:cups, lid,:a\,b:c";
        assert_eq!(parse(text), expected);
        let pairs = expected.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        assert_eq!(parse(&join(pairs)), expected);
        assert_eq!(parse("no details, at : all"), []);
    }
}

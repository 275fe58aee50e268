//! `product_detail`: `section:attribute:value`, several of them with commas between.

/// The attributes of a text. A comma or colon that belongs to a word has a backslash before it; a
/// comma after which no further detail begins belongs to the value even without one.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    let mut details: Vec<(String, String)> = Vec::new();
    for piece in split(text, ',', usize::MAX) {
        let parts = split(piece, ':', 3);
        match (parts.as_slice(), details.last_mut()) {
            ([_, name, value], _) if !name.trim().is_empty() => {
                details.push((plain(name), plain(value)));
            }
            (_, Some((_, value))) => {
                value.push(',');
                value.push_str(&unescape(piece));
            }
            _ => {}
        }
    }
    details.retain(|(_, value)| !value.is_empty());
    details
}

/// The parts between separators, the last one with all that is left.
fn split(text: &str, separator: char, parts_max: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if character == separator && !is_escaped && parts.len() + 1 < parts_max {
            parts.push(&text[begin..at]);
            begin = at + character.len_utf8();
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    parts.push(&text[begin..]);
    parts
}

fn plain(part: &str) -> String {
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

/// One part, so that [`parse`] finds it whole.
pub(crate) fn escape(part: &str) -> String {
    part.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
}

/// Attributes as one text.
pub(crate) fn joined<'a>(details: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let details =
        details.map(|(name, value)| format!("General:{}:{}", escape(name), escape(value)));
    details.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_told_apart() {
        let expected = [("Weight", "1.2 kg"), ("Ratio", "4:3"), ("Box", "cups, lid"), ("a,b", "c")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = r"General:Weight:1.2 kg,Screen: Ratio : 4:3,General:Box:cups, lid,:a\,b:c";
        assert_eq!(parse(text), expected);
        let pairs = expected.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        assert_eq!(parse(&joined(pairs)), expected);
        assert_eq!(parse("nothing, of : the sort"), []);
    }
}

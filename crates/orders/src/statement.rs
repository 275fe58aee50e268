//! Checks of what the parties of a dispute write.

use crate::OrderError;

/// Most characters of a statement.
pub const STATEMENT_LENGTH_MAX: usize = 4_000;
/// Longer texts are rejected unread, because sanitizing them would be expensive.
const TEXT_BYTES_MAX: usize = 100_000;
/// Most links of a statement.
pub const EVIDENCE_MAX: usize = 10;
/// Most characters of a link.
pub const EVIDENCE_LENGTH_MAX: usize = 2_000;

/// A checked text with links to evidence. The links are stored and never requested.
#[derive(Debug)]
pub(crate) struct CheckedStatement {
    pub(crate) text: String,
    pub(crate) evidence: Vec<String>,
}

impl CheckedStatement {
    /// Checks a text and links. `field` names the text in errors.
    pub(crate) fn new(
        field: &'static str,
        text: &str,
        evidence: &[String],
    ) -> Result<Self, OrderError> {
        if evidence.len() > EVIDENCE_MAX {
            return Err(OrderError::invalid("evidence", "at most 10 https URLs"));
        }
        let text = plain(text).ok_or_else(|| OrderError::invalid(field, "1 to 4000 characters"))?;
        let evidence = evidence.iter().enumerate().map(|(index, url)| https_url(index, url));
        Ok(Self { text, evidence: evidence.collect::<Result<_, _>>()? })
    }
}

/// Returns a text without markup and control characters, or `None` if nothing or too much is left.
fn plain(text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let plain = catalog::paragraphs(text, usize::MAX);
    (1..=STATEMENT_LENGTH_MAX).contains(&plain.chars().count()).then(|| plain.into_owned())
}

fn https_url(index: usize, url: &str) -> Result<String, OrderError> {
    let parsed = catalog::web_url(url).ok();
    let is_allowed = |url: &String| url.starts_with("https://") && url.len() <= EVIDENCE_LENGTH_MAX;
    parsed.filter(is_allowed).ok_or_else(|| {
        let allowed = "an https URL of at most 2000 characters, without user name and password";
        OrderError::invalid(format!("evidence[{index}]"), allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(error: &OrderError) -> &str {
        let OrderError::InvalidField { field, .. } = error else { panic!("{error:?}") };
        field
    }

    #[test]
    fn a_statement_has_1_to_4000_characters_after_sanitizing() {
        let longest = "é".repeat(4_000);
        for (text, stored) in [
            ("  a\u{0}b\u{202e}c\n\n\n\nd  ", "abc\n\nd"),
            ("<script>x</script>broken", "broken"),
            (&format!("\u{7}{longest}"), &longest),
        ] {
            assert_eq!(CheckedStatement::new("statement", text, &[]).unwrap().text, stored);
        }
        for wrong in ["", " \n\u{0}", &format!("{longest}a"), &" ".repeat(TEXT_BYTES_MAX + 1)] {
            assert_eq!(field(&CheckedStatement::new("note", wrong, &[]).unwrap_err()), "note");
        }
    }

    #[test]
    fn evidence_is_at_most_ten_https_urls() {
        let start = "https://files.example/";
        let longest = format!("{start}{}", "a".repeat(EVIDENCE_LENGTH_MAX - start.len()));
        let ten = vec![longest.clone(); 10];
        assert_eq!(CheckedStatement::new("statement", "a", &ten).unwrap().evidence, ten);
        let eleven = vec![String::from(start); 11];
        assert_eq!(
            field(&CheckedStatement::new("statement", "a", &eleven).unwrap_err()),
            "evidence"
        );
        for wrong in [
            "http://files.example/",
            "javascript:alert(1)",
            "https://user:password@files.example/",
            "files.example/a.jpg",
            "",
            &format!("{longest}a"),
        ] {
            let evidence = [String::from(start), String::from(wrong)];
            let refused = CheckedStatement::new("statement", "a", &evidence).unwrap_err();
            assert_eq!(field(&refused), "evidence[1]", "{wrong}");
            assert!(wrong.is_empty() || !refused.to_string().contains(wrong), "{wrong}");
        }
    }
}

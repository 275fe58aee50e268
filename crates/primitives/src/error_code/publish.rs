//! `error-codes.golden`, the list of published codes: it only grows.

use crate::ErrorCode;

/// A published code is missing from the table, or has another position, name or status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a published error code never changes: line {line} of error-codes.golden is \"{published}\", the table has {}",
    current.as_ref().map_or_else(|| String::from("no more codes"), |current| format!("\"{current}\""))
)]
pub struct PublishedCodeChanged {
    /// Number of the line, from 1.
    line: usize,
    published: String,
    /// The line of the code that the table has at this position.
    current: Option<String>,
}

impl ErrorCode {
    /// Returns the text of `error-codes.golden` with the lines of new codes appended, or an error if a line that it has
    /// would change, move or vanish.
    pub fn publish(published: &str) -> Result<String, PublishedCodeChanged> {
        publish(published, Self::ALL.iter().map(|code| code.line()).collect())
    }

    fn line(self) -> String {
        let retry = if self.retryable() { "retryable" } else { "final" };
        format!("{} {} {retry}", self.status(), self.code())
    }
}

fn publish(published: &str, codes: Vec<String>) -> Result<String, PublishedCodeChanged> {
    for (index, line) in published.lines().enumerate() {
        let current = codes.get(index);
        if current.is_none_or(|current| current != line) {
            let (line, published) = (index + 1, line.to_owned());
            return Err(PublishedCodeChanged { line, published, current: current.cloned() });
        }
    }
    Ok(codes.into_iter().map(|line| line + "\n").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_codes_are_frozen() {
        let golden = include_str!("../../error-codes.golden");
        let published = ErrorCode::publish(golden).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(published, golden, "a new code is not published: run `just generate`");
    }

    #[test]
    fn new_codes_are_appended_and_published_ones_stay() {
        let codes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let golden = "404 a final\n500 b retryable\n";
        let appended = publish(golden, codes(&["404 a final", "500 b retryable", "422 c final"]));
        assert_eq!(appended.unwrap(), format!("{golden}422 c final\n"));
        let changed = [
            &["404 renamed final", "500 b retryable"][..],
            &["409 a final", "500 b retryable"],
            &["500 b retryable", "404 a final"],
            &["422 c final", "404 a final", "500 b retryable"],
            &["404 a final"],
        ];
        for table in changed {
            assert!(publish(golden, codes(table)).is_err(), "{table:?}");
        }
        let error = publish(golden, codes(&["404 a final"])).unwrap_err();
        assert!(error.to_string().ends_with("is \"500 b retryable\", the table has no more codes"));
    }
}

//! The error codes that a domain declares for its operations.

use primitives::ErrorCode;

/// Checks that every code in `Problem::code` of a source file is in a list of that file: REST describes an operation by
/// its list. A list with a code that the operation cannot return is not noticed.
pub fn assert_codes_are_declared(source: &str, declared: &[ErrorCode]) {
    let (_, source) = source.split_once("fn code(&self)").expect("the file implements Problem");
    let (source, _) = source.split_once("fn details(&self").expect("details follow the code");
    for name in source.split("ErrorCode::").skip(1) {
        let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
        let (name, _) = name.split_at(end);
        let is_declared = declared.iter().any(|code| format!("{code:?}") == name);
        assert!(is_declared, "{name} is in no list of the file");
    }
}

//! Crash points: statements at which tests abort the process or panic, to check that recovery leaves no partial state.

/// Aborts the process if `SOUK_CRASH_AT` names this crash point. Does nothing in release builds.
#[inline]
pub fn crash_point(name: &'static str) {
    #[cfg(debug_assertions)]
    if selected::crash().is_some_and(|selected| selected == name) {
        std::process::abort();
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Aborts the process if `SOUK_CRASH_AT` is `<name>:<subject>`, and panics if `SOUK_PANIC_AT` is: a crash point of one
/// subject, such as an event. Does nothing in release builds.
///
/// # Panics
/// If `SOUK_PANIC_AT` is `<name>:<subject>`, in debug builds.
#[inline]
pub fn crash_point_of(name: &'static str, subject: &dyn std::fmt::Display) {
    #[cfg(debug_assertions)]
    {
        if selected::is_of(selected::crash(), name, subject) {
            std::process::abort();
        }
        assert!(!selected::is_of(selected::panic(), name, subject), "the panic point {name}");
    }
    #[cfg(not(debug_assertions))]
    let _ = (name, subject);
}

#[cfg(debug_assertions)]
mod selected {
    use std::fmt::Display;
    use std::sync::LazyLock;

    pub(super) fn crash() -> Option<&'static str> {
        static SELECTED: LazyLock<Option<String>> = LazyLock::new(|| variable("SOUK_CRASH_AT"));
        SELECTED.as_deref()
    }

    pub(super) fn panic() -> Option<&'static str> {
        static SELECTED: LazyLock<Option<String>> = LazyLock::new(|| variable("SOUK_PANIC_AT"));
        SELECTED.as_deref()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "not a setting of the service: only proofs set it, for debug builds"
    )]
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Whether the selected point is this one, of this subject.
    pub(super) fn is_of(selected: Option<&str>, name: &str, subject: &dyn Display) -> bool {
        let of = selected.and_then(|selected| selected.strip_prefix(name)?.strip_prefix(':'));
        of.is_some_and(|of| of == subject.to_string())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_point_of_a_subject_is_selected_by_both() {
            assert!(is_of(Some("poison:7"), "poison", &7));
            for other in [None, Some("poison"), Some("poison:8"), Some("poison:77"), Some("poi:7")]
            {
                assert!(!is_of(other, "poison", &7), "{other:?}");
            }
        }
    }
}

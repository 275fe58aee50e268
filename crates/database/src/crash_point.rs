//! Crash points: statements at which tests abort the process, to check that recovery leaves no partial state.

/// Aborts the process if `SOUK_CRASH_AT` names this crash point. Does nothing in release builds.
#[inline]
pub fn crash_point(name: &'static str) {
    #[cfg(debug_assertions)]
    if selected().is_some_and(|selected| selected == name) {
        std::process::abort();
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
#[expect(
    clippy::disallowed_methods,
    reason = "not a setting of the service: only proofs set it, for debug builds"
)]
fn selected() -> Option<&'static str> {
    static SELECTED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("SOUK_CRASH_AT").ok());
    SELECTED.as_deref()
}

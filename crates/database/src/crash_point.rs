//! Places at which a process can be made to die, to see that nothing is left half done.

/// Dies here, at once and without a word, if the environment names this place. In release builds there is no such place.
#[inline]
pub fn crash_point(name: &'static str) {
    #[cfg(debug_assertions)]
    if chosen().is_some_and(|chosen| chosen == name) {
        std::process::abort();
    }
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
#[expect(
    clippy::disallowed_methods,
    reason = "no setting of the service: only proofs set it, for debug builds"
)]
fn chosen() -> Option<&'static str> {
    static CHOSEN: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("SOUK_CRASH_AT").ok());
    CHOSEN.as_deref()
}

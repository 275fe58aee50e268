//! The Redis of tests.

/// Returns the URL of Redis. All tests share it, so that each uses unique names.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests have no configuration but this one address")]
pub fn redis_url() -> String {
    std::env::var("REDIS_URL").unwrap_or_else(|_| String::from("redis://127.0.0.1:63799"))
}

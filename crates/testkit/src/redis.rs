//! Where tests find Redis.

/// Its address. Tests share it, so each takes names of its own.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests have no configuration but this one address")]
pub fn redis_url() -> String {
    std::env::var("REDIS_URL").unwrap_or_else(|_| String::from("redis://127.0.0.1:63799"))
}

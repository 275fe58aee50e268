//! The path of an endpoint that is nearest to an unknown one.

use std::sync::LazyLock;

/// The prefix of all endpoints.
const PREFIX: &str = "/api/v1";
/// The least similarity of two segments, from 0 to 1, of which one may be meant by the other.
const SIMILARITY_MIN: f64 = 0.6;
/// The longest unknown path that is compared.
const LENGTH_MAX: usize = 200;

/// The paths of all endpoints, such as `/agent/cart/{cart_id}`.
static PATHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let endpoints = crate::endpoints();
    let mut paths: Vec<&str> = endpoints.operations().iter().map(|it| it.path).collect();
    paths.dedup();
    paths
});

/// Returns the path of the endpoint that is probably meant by an unknown path, with names for its parameters.
#[must_use]
pub fn nearest_path(unknown: &str) -> Option<String> {
    let sent: Vec<&str> = segments(unknown).skip_while(|it| matches!(*it, "api" | "v1")).collect();
    if sent.is_empty() || unknown.len() > LENGTH_MAX {
        return None;
    }
    // Of equal ones the last is taken, which is the one that is declared first.
    let scored = PATHS.iter().rev().filter_map(|path| Some((score(&sent, path)?, *path)));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, path)| format!("{PREFIX}{path}"))
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Returns how similar a path is to one that was sent: the mean of its segments. `None` if a segment differs too much. The
/// first segment of a longer path may be missing.
fn score(sent: &[&str], path: &str) -> Option<f64> {
    let known: Vec<&str> = segments(path).collect();
    let (known, missing) = match known.len().checked_sub(sent.len())? {
        0 => (known.as_slice(), 0.0),
        1 if sent.len() > 1 || !known[1].starts_with('{') => (&known[1..], 0.5),
        _ => return None,
    };
    let mut total = 0.0;
    let mut count = 0.0;
    for (sent, known) in sent.iter().zip(known).filter(|(_, known)| !known.starts_with('{')) {
        let similarity = strsim::normalized_damerau_levenshtein(sent, known);
        if similarity < SIMILARITY_MIN {
            return None;
        }
        total += similarity;
        count += 1.0;
    }
    // A path of parameters only is similar to everything.
    (count > 0.0).then(|| total / count - missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_path_is_found() {
        for (unknown, nearest) in [
            ("/api/v1/agent/carts", Some("/api/v1/agent/cart")),
            ("/api/v1/agent/carts/cart_1", Some("/api/v1/agent/cart/{cart_id}")),
            ("/api/v1/agents/search", Some("/api/v1/agent/search")),
            ("/agent/checkout", Some("/api/v1/agent/checkout")),
            ("/v1/search", Some("/api/v1/search")),
            ("/api/v1/products/prod_1", Some("/api/v1/agent/products/{product_id}")),
            ("/api/v1/sandbox/keys", Some("/api/v1/sandbox/key")),
            ("/api/v1/nowhere", None),
            ("/api/v1", None),
            ("/", None),
            ("/wp-login.php", None),
        ] {
            assert_eq!(nearest_path(unknown).as_deref(), nearest, "{unknown}");
        }
        assert_eq!(nearest_path(&format!("/api/v1/agent/cart{}", "x".repeat(LENGTH_MAX))), None);
    }
}

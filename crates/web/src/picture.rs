//! Placeholder images of the demo stores' products, generated from their names.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{CacheFor, Site, headers, render};

/// An image that is opened directly runs and loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) fn routes() -> Router<Site> {
    Router::new().route("/demo/images/{slug}/{file}", get(picture))
}

async fn picture(Path((slug, file)): Path<(String, String)>) -> Response {
    let name = file.strip_suffix(".svg").filter(|name| is_name(name));
    match name {
        Some(name) if is_slug(&slug) => {
            render(headers("image/svg+xml", CacheFor::Day, POLICY), &Picture::of(&slug, name))
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn is_slug(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(allowed)
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=100).contains(&text.len()) && text.bytes().all(allowed)
}

/// Nine tiles around a disc with initials. Shapes, rotations and colours follow from the name, so a product always
/// has the same image.
#[derive(Template)]
#[template(path = "picture.svg", escape = "html")]
struct Picture {
    hue: u64,
    initials: String,
    tiles: Vec<Tile>,
}

struct Tile {
    x: u64,
    y: u64,
    turn_degrees: u64,
    shape: u64,
    colour: u64,
}

/// Side of a tile; the shapes of the template have this size.
const SIDE: u64 = 200;
const SHAPES: u64 = 6;
const COLOURS: u64 = 3;

impl Picture {
    fn of(slug: &str, name: &str) -> Self {
        let mut random = SeededRandom::new(&format!("{slug}/{name}"));
        let hue = random.below(360);
        let tile = |index: u64| Tile {
            x: index % 3 * SIDE,
            y: index / 3 * SIDE,
            turn_degrees: random.below(4) * 90,
            shape: random.below(SHAPES),
            colour: random.below(COLOURS),
        };
        let initials = initials(name);
        // The disc covers the middle tile except for its corners.
        let indexes = (0..9).filter(|index| *index != 4 || initials.is_empty());
        Self { hue, tiles: indexes.map(tile).collect(), initials }
    }
}

/// The first letters of the first two words that have one.
fn initials(name: &str) -> String {
    let words = name.split('-').filter_map(|word| word.chars().next());
    words
        .filter(char::is_ascii_alphabetic)
        .take(2)
        .map(|letter| letter.to_ascii_uppercase())
        .collect()
}

/// Pseudorandom numbers seeded by a text: the same in every release, which the hashes of the standard library do not
/// guarantee.
struct SeededRandom(u64);

impl SeededRandom {
    /// Seeds with the FNV-1a hash of the text.
    fn new(text: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// Returns the next number below a bound: one step of `SplitMix64`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_at_most_two_letters() {
        for (name, expected) in [
            ("linen-shirt", "LS"),
            ("linen-shirt-blue", "LS"),
            ("mug", "M"),
            ("2-mugs", "M"),
            ("SKU-123", "S"),
            ("4711", ""),
            ("--", ""),
        ] {
            assert_eq!(initials(name), expected, "{name}");
        }
    }

    #[test]
    fn the_same_name_gives_the_same_numbers_in_every_release() {
        let mut random = SeededRandom::new("demo-store/mug");
        let numbers: Vec<u64> = (0..4).map(|_| random.below(1_000)).collect();
        assert_eq!(numbers, [588, 87, 90, 60]);
    }
}

//! Placeholder pictures of the demo stores' products, drawn from their names.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{Keep, Site, fill, headers};

/// A picture opened by itself runs nothing and loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) fn routes() -> Router<Site> {
    Router::new().route("/demo/images/{slug}/{file}", get(picture))
}

async fn picture(Path((slug, file)): Path<(String, String)>) -> Response {
    let name = file.strip_suffix(".svg").filter(|name| is_name(name));
    match name {
        Some(name) if is_slug(&slug) => {
            fill(headers("image/svg+xml", Keep::Day, POLICY), &Picture::of(&slug, name))
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

/// Nine tiles around a disc with initials. Which shapes, turned how, in which colours, follows
/// from the name, so a product always looks the same.
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

/// The side of a tile; the template's shapes are drawn for it.
const SIDE: u64 = 200;
const SHAPES: u64 = 6;
const COLOURS: u64 = 3;

impl Picture {
    fn of(slug: &str, name: &str) -> Self {
        let mut draw = Draw::from(&format!("{slug}/{name}"));
        let hue = draw.below(360);
        let tile = |place: u64| Tile {
            x: place % 3 * SIDE,
            y: place / 3 * SIDE,
            turn_degrees: draw.below(4) * 90,
            shape: draw.below(SHAPES),
            colour: draw.below(COLOURS),
        };
        let initials = initials(name);
        // The disc hides the middle tile, all but its corners.
        let places = (0..9).filter(|place| *place != 4 || initials.is_empty());
        Self { hue, tiles: places.map(tile).collect(), initials }
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

/// Numbers that follow from a text: the same ones in every release, which the hashes of the
/// standard library do not promise.
struct Draw(u64);

impl Draw {
    /// FNV-1a.
    fn from(text: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// The next number, below a bound: one step of `SplitMix64`.
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
    fn the_same_name_draws_the_same_numbers_for_ever() {
        let mut draw = Draw::from("demo-store/mug");
        let drawn: Vec<u64> = (0..4).map(|_| draw.below(1_000)).collect();
        assert_eq!(drawn, [588, 87, 90, 60]);
    }
}

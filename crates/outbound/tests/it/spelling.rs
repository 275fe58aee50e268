//! Every spelling of an IPv4 address is the same address.

use std::fmt::Write;
use std::net::Ipv4Addr;

use outbound::{Destination, DestinationError, Policy, is_public};
use proptest::prelude::*;

/// How a part of an address is written.
#[derive(Debug, Clone, Copy)]
enum Radix {
    Decimal,
    Octal,
    Hex,
    UpperHex,
}

fn radix() -> impl Strategy<Value = Radix> {
    prop_oneof![Just(Radix::Decimal), Just(Radix::Octal), Just(Radix::Hex), Just(Radix::UpperHex)]
}

/// How the characters of an address are written.
#[derive(Debug, Clone, Copy)]
enum Characters {
    Ascii,
    PercentEncoded,
    FullWidth,
}

fn characters() -> impl Strategy<Value = Characters> {
    prop_oneof![
        Just(Characters::Ascii),
        Just(Characters::PercentEncoded),
        Just(Characters::FullWidth)
    ]
}

fn part(value: u32, radix: Radix, zeros: usize) -> String {
    let zeros = "0".repeat(zeros);
    match radix {
        Radix::Decimal => value.to_string(),
        Radix::Octal => format!("0{zeros}{value:o}"),
        Radix::Hex => format!("0x{zeros}{value:x}"),
        Radix::UpperHex => format!("0X{zeros}{value:X}"),
    }
}

/// Writes an address with up to four parts, of which the last one covers the rest of its bytes.
fn numbers(bits: u32, parts: usize, radixes: [Radix; 4], zeros: usize) -> String {
    let leading = bits.to_be_bytes().into_iter().take(parts - 1).map(u32::from);
    let rest = if parts == 1 { bits } else { bits & (u32::MAX >> (8 * (parts - 1))) };
    let values = leading.chain([rest]).zip(radixes);
    let parts: Vec<String> = values.map(|(value, radix)| part(value, radix, zeros)).collect();
    parts.join(".")
}

fn written(text: &str, characters: Characters) -> String {
    let mut written = String::new();
    for character in text.chars() {
        match characters {
            Characters::Ascii => written.push(character),
            Characters::PercentEncoded => {
                write!(written, "%{:X}", u32::from(character)).unwrap();
            }
            Characters::FullWidth => {
                let wide = char::from_u32(u32::from(character) + 0xfee0).unwrap();
                written.push(wide);
            }
        }
    }
    written
}

/// Addresses of all networks, with those that are not public as often as others.
fn address() -> impl Strategy<Value = u32> {
    let inside = |network: [u8; 4], prefix: u32| {
        let mask = u32::MAX >> prefix;
        any::<u32>().prop_map(move |bits| (u32::from_be_bytes(network) & !mask) | (bits & mask))
    };
    prop_oneof![
        any::<u32>(),
        inside([0, 0, 0, 0], 8),
        inside([10, 0, 0, 0], 8),
        inside([100, 64, 0, 0], 10),
        inside([127, 0, 0, 0], 8),
        inside([169, 254, 0, 0], 16),
        inside([172, 16, 0, 0], 12),
        inside([192, 168, 0, 0], 16),
        inside([224, 0, 0, 0], 3),
    ]
}

proptest! {
    #[test]
    fn an_address_is_accepted_if_it_is_public_and_refused_otherwise_in_every_spelling(
        bits in address(),
        parts in 1..=4_usize,
        radixes in [radix(), radix(), radix(), radix()],
        zeros in 0..3_usize,
        characters in characters(),
        dot in prop_oneof![Just(""), Just(".")],
    ) {
        let text = format!("{}{dot}", numbers(bits, parts, radixes, zeros));
        let url = format!("https://{}/", written(&text, characters));
        let address = Ipv4Addr::from_bits(bits);
        let parsed = Destination::parse(&url, &Policy::default());
        if is_public(address.into()) {
            let canonical = format!("https://{address}/");
            prop_assert_eq!(parsed.map(|url| url.as_str().to_owned()), Ok(canonical), "{}", url);
        } else {
            prop_assert_eq!(parsed, Err(DestinationError::Address), "{}", url);
        }
    }

    #[test]
    fn the_canonical_form_of_an_accepted_text_is_accepted_and_stays_the_same(text in "\\PC{0,60}") {
        for url in [text.clone(), format!("https://{text}"), format!("https://{text}/")] {
            if let Ok(destination) = Destination::parse(&url, &Policy::default()) {
                let again = Destination::parse(destination.as_str(), &Policy::default());
                prop_assert_eq!(again, Ok(destination), "{}", url);
            }
        }
    }
}

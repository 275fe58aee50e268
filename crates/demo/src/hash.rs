//! Variety without randomness: every figure of a record follows from the record's own name, so
//! that adding a product never changes another one.

/// FNV-1a, 64 bits: small, documented, and the same on every machine.
pub(crate) fn fnv1a(text: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// A figure from `low` to `high`, both included; `purpose` keeps the figures of one record apart.
pub(crate) fn between(name: &str, purpose: &str, low: u16, high: u16) -> u16 {
    let hash = fnv1a(&format!("{name}#{purpose}"));
    let span = u64::from(high.saturating_sub(low)) + 1;
    // The low bits of FNV know only the low bits of their input; folding brings the rest in.
    let offset = u16::try_from((hash ^ (hash >> 32)) % span).unwrap_or_default();
    low.saturating_add(offset)
}

/// Whether this record is among the given percentage of all records.
pub(crate) fn among(name: &str, purpose: &str, percent: u16) -> bool {
    between(name, purpose, 0, 99) < percent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn figures_stay_between_their_bounds_and_reach_them() {
        let figures: Vec<u16> = (0..500).map(|n| between(&n.to_string(), "test", 3, 9)).collect();
        assert_eq!(figures.iter().min(), Some(&3));
        assert_eq!(figures.iter().max(), Some(&9));
        assert_eq!(between("x", "test", 7, 7), 7);
    }

    #[test]
    fn a_percentage_is_about_kept() {
        let chosen = (0..2000).filter(|n| among(&format!("SKU-{n}"), "test", 20)).count();
        assert!((320..480).contains(&chosen), "{chosen}");
    }
}

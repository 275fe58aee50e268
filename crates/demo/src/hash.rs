//! Pseudo-random values from a hash of the record's name, so that adding a product changes no other.

/// Returns the 64-bit FNV-1a hash, which is the same on every machine.
pub(crate) fn fnv1a(text: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Returns a number from `low` to `high`, both inclusive. Each `purpose` gives another number of the same record.
pub(crate) fn between(name: &str, purpose: &str, low: u16, high: u16) -> u16 {
    let hash = fnv1a(&format!("{name}#{purpose}"));
    let span = u64::from(high.saturating_sub(low)) + 1;
    // The low bits of an FNV hash depend only on the low bits of the input; folding mixes in the others.
    let offset = u16::try_from((hash ^ (hash >> 32)) % span).unwrap_or_default();
    low.saturating_add(offset)
}

/// Returns whether the record is among the given percentage of all records.
pub(crate) fn among(name: &str, purpose: &str, percent: u16) -> bool {
    between(name, purpose, 0, 99) < percent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_equals_the_published_test_vectors() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let numbers: Vec<u16> = (0..500).map(|n| between(&n.to_string(), "test", 3, 9)).collect();
        assert_eq!(numbers.iter().min(), Some(&3));
        assert_eq!(numbers.iter().max(), Some(&9));
        assert_eq!(between("x", "test", 7, 7), 7);
    }

    #[test]
    fn the_share_is_close_to_the_percentage() {
        let selected = (0..2000).filter(|n| among(&format!("SKU-{n}"), "test", 20)).count();
        assert!((320..480).contains(&selected), "{selected}");
    }
}

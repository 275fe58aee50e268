//! Amounts in hundredths of a currency, whatever its number of decimals.

use primitives::Currency;

/// Returns an amount in minor units of the currency: 490 cents are 490 in EUR and 4,900,000 in USDC
/// (docs/contract/ids-and-values.md#money). An unknown currency has two decimals here; seeding rejects it.
pub(crate) fn minor(cents: i64, currency: &str) -> i64 {
    let decimals = currency.parse().map_or(2, Currency::decimals);
    match decimals.checked_sub(2) {
        Some(more) => cents * 10_i64.pow(more),
        None => cents / 10_i64.pow(2 - decimals),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_have_the_decimals_of_their_currency() {
        for (currency, expected) in
            [("EUR", 1290), ("SEK", 1290), ("USDC", 12_900_000), ("JPY", 12), ("none", 1290)]
        {
            assert_eq!(minor(1290, currency), expected, "{currency}");
        }
    }
}

//! Amounts of Stripe: integers in a unit that for some currencies is not that of ISO 4217.

use primitives::{Currency, Money};

use crate::error::InvalidRequest;

/// Currencies without decimals. Of those of ISO 4217, ISK and UGX have two at Stripe, for historical reasons.
const ZERO_DECIMALS: &[&str] = &[
    "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF",
    "XOF", "XPF",
];

/// Currencies with three decimals, of which the last has to be zero.
const THREE_DECIMALS: &[&str] = &["BHD", "JOD", "KWD", "OMR", "TND"];

/// Whether the unit of the currency is that of [`Money`]. Others are refused: a conversion that nobody needs can only be wrong.
fn is_supported(currency: Currency) -> bool {
    let code = currency.code();
    let decimals = if ZERO_DECIMALS.contains(&code) {
        0
    } else if THREE_DECIMALS.contains(&code) {
        3
    } else {
        2
    };
    matches!(currency, Currency::Iso(_)) && currency.decimals() == decimals
}

/// Returns the amount and the currency as they are sent.
pub(super) fn to_wire(amount: Money) -> Result<(i64, String), InvalidRequest> {
    let currency = amount.currency();
    if !is_supported(currency) {
        return Err(InvalidRequest::UnsupportedCurrency);
    }
    let is_whole = currency.decimals() < 3 || amount.minor() % 10 == 0;
    if amount.minor() <= 0 || !is_whole {
        return Err(InvalidRequest::Amount);
    }
    Ok((amount.minor(), currency.code().to_ascii_lowercase()))
}

/// Returns an amount that was received, or `None` if it cannot be one.
pub(super) fn from_wire(minor: i64, currency: &str) -> Option<Money> {
    let is_code = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_alphabetic());
    let currency: Currency = currency.to_ascii_uppercase().parse().ok()?;
    (is_code && is_supported(currency) && minor >= 0).then(|| Money::new(minor, currency))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(minor: i64, code: &str) -> Money {
        Money::new(minor, code.parse().unwrap())
    }

    #[test]
    fn amounts_are_sent_in_the_unit_of_stripe() {
        for (minor, code, wire) in [
            (12_50, "EUR", "eur"),
            (1, "USD", "usd"),
            (500, "JPY", "jpy"),
            (500, "VND", "vnd"),
            (5_120, "KWD", "kwd"),
            (1_045, "HUF", "huf"),
        ] {
            assert_eq!(to_wire(money(minor, code)), Ok((minor, wire.to_owned())), "{code}");
        }
    }

    #[test]
    fn amounts_that_stripe_cannot_express_are_refused() {
        for code in ["USDC", "ISK", "UGX", "MGA", "IQD", "CLF"] {
            let refused = to_wire(money(1_000, code));
            assert_eq!(refused, Err(InvalidRequest::UnsupportedCurrency), "{code}");
        }
        for amount in [money(5_124, "KWD"), money(0, "EUR"), money(-1, "EUR")] {
            assert_eq!(to_wire(amount), Err(InvalidRequest::Amount), "{amount}");
        }
    }

    #[test]
    fn amounts_that_cannot_be_ours_are_not_read() {
        for (minor, currency) in
            [(-1, "eur"), (1, "isk"), (1, "usdc"), (1, "xx"), (1, ""), (1, "zzz"), (1, "e\u{fc}r")]
        {
            assert_eq!(from_wire(minor, currency), None, "{currency}");
        }
        assert_eq!(from_wire(0, "eur"), Some(money(0, "EUR")));
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read_as_the_same_amount(minor in 1..i64::MAX / 10, index in 0_usize..6) {
            let code = ["EUR", "USD", "JPY", "KWD", "HUF", "KRW"][index];
            let minor = if code == "KWD" { minor * 10 } else { minor };
            let (wire, currency) = to_wire(money(minor, code)).unwrap();
            prop_assert_eq!(from_wire(wire, &currency), Some(money(minor, code)));
        }
    }
}

//! Amounts of PayPal: decimal texts.

use primitives::{Currency, Money};
use serde::{Deserialize, Serialize};

use crate::error::InvalidRequest;

/// The currencies of PayPal.
const CURRENCIES: &[&str] = &[
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "JPY",
    "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "SEK", "SGD", "THB", "TWD", "USD",
];

/// Those without decimals. Forint and New Taiwan dollar have two in ISO 4217.
const ZERO_DECIMALS: &[&str] = &["HUF", "JPY", "TWD"];

/// An amount as it is sent and received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Amount {
    currency_code: String,
    value: String,
}

/// Returns how many minor units the smallest amount of PayPal has, or `None` for a currency that PayPal does not support.
fn smallest(currency: Currency) -> Option<i64> {
    let code = currency.code();
    let decimals = if ZERO_DECIMALS.contains(&code) { 0 } else { 2 };
    let fewer = currency.decimals().checked_sub(decimals)?;
    CURRENCIES.contains(&code).then(|| 10_i64.pow(fewer))
}

impl Amount {
    pub(super) fn to_wire(amount: Money) -> Result<Self, InvalidRequest> {
        let currency = amount.currency();
        let smallest = smallest(currency).ok_or(InvalidRequest::UnsupportedCurrency)?;
        if amount.minor() <= 0 || amount.minor() % smallest != 0 {
            return Err(InvalidRequest::Amount);
        }
        let text = amount.to_decimal_text();
        // An amount with decimals is an error for a currency without, even if they are zeros.
        let value = match text.split_once('.') {
            Some((whole, _)) if smallest > 1 => whole.to_owned(),
            _ => text,
        };
        Ok(Self { currency_code: currency.code().to_owned(), value })
    }

    /// Returns an amount that was received, or `None` if it cannot be one.
    pub(super) fn money(&self) -> Option<Money> {
        let currency: Currency = self.currency_code.parse().ok()?;
        smallest(currency)?;
        Money::from_decimal_text(&self.value, currency).ok().filter(|amount| amount.minor() >= 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(minor: i64, code: &str) -> Money {
        Money::new(minor, code.parse().unwrap())
    }

    fn amount(value: &str, code: &str) -> Amount {
        Amount { currency_code: code.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn an_amount_is_an_exact_decimal_text() {
        for (minor, code, value) in [
            (12_50, "EUR", "12.50"),
            (1, "USD", "0.01"),
            (100, "USD", "1.00"),
            (500, "JPY", "500"),
            (104_500, "HUF", "1045"),
            (30_000, "TWD", "300"),
            (i64::MAX, "EUR", "92233720368547758.07"),
        ] {
            let sent = Amount::to_wire(money(minor, code));
            assert_eq!(sent, Ok(amount(value, code)));
            assert_eq!(sent.unwrap().money(), Some(money(minor, code)));
        }
    }

    #[test]
    fn amounts_that_paypal_cannot_express_are_refused() {
        for code in ["USDC", "KWD", "ISK", "INR", "RUB"] {
            let refused = Amount::to_wire(money(1_000, code));
            assert_eq!(refused, Err(InvalidRequest::UnsupportedCurrency), "{code}");
        }
        for amount in [money(104_550, "HUF"), money(0, "EUR"), money(-1, "EUR")] {
            assert_eq!(Amount::to_wire(amount), Err(InvalidRequest::Amount), "{amount}");
        }
    }

    #[test]
    fn amounts_that_cannot_be_ours_are_not_read() {
        for (value, code) in [
            ("-1.00", "EUR"),
            ("1.001", "EUR"),
            ("1e3", "EUR"),
            ("", "EUR"),
            ("1.00", "KWD"),
            ("1.00", "eur"),
            ("99999999999999999999", "EUR"),
        ] {
            assert_eq!(amount(value, code).money(), None, "{value} {code}");
        }
        assert_eq!(amount("5", "EUR").money(), Some(money(5_00, "EUR")));
        assert_eq!(amount("1045.00", "HUF").money(), Some(money(104_500, "HUF")));
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read_as_the_same_amount(minor in 1..i64::MAX / 100, index in 0..CURRENCIES.len()) {
            let code = CURRENCIES[index];
            let unit = smallest(code.parse().unwrap()).unwrap();
            let amount = money(minor * unit, code);
            prop_assert_eq!(Amount::to_wire(amount).unwrap().money(), Some(amount));
        }
    }
}

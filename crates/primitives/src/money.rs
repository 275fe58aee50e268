//! Money: an integer amount in minor units with its currency. Decimals exist only in wire types.

use std::fmt;
use std::str::FromStr;

/// A currency: an ISO 4217 code, or `USDC`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Currency {
    Iso(iso_currency::Currency),
    /// The US dollar stablecoin that x402 payments use.
    Usdc,
}

impl Currency {
    /// United States dollar.
    pub const USD: Self = Self::Iso(iso_currency::Currency::USD);
    /// Euro.
    pub const EUR: Self = Self::Iso(iso_currency::Currency::EUR);
    /// The currencies agents can pay in (docs/contract/ids-and-values.md#currencies). Prices in other currencies are stored
    /// but not shown to agents.
    pub const SUPPORTED: [Self; 3] = [Self::USD, Self::EUR, Self::Usdc];
    /// The codes of [`SUPPORTED`](Self::SUPPORTED), for descriptions and messages.
    pub const SUPPORTED_CODES: &'static str = "USD, EUR or USDC";

    /// Returns the currency code as it appears on the wire.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Iso(currency) => currency.code(),
            Self::Usdc => "USDC",
        }
    }

    /// Returns the number of digits after the decimal point: 2 for USD and EUR, 6 for USDC.
    #[must_use]
    pub fn decimals(self) -> u32 {
        match self {
            Self::Iso(currency) => currency.exponent().map_or(2, u32::from),
            Self::Usdc => 6,
        }
    }

    /// Returns whether agents can pay in this currency.
    #[must_use]
    pub fn is_supported(self) -> bool {
        Self::SUPPORTED.contains(&self)
    }
}

impl FromStr for Currency {
    type Err = MoneyError;
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        if text == "USDC" {
            return Ok(Self::Usdc);
        }
        iso_currency::Currency::from_code(text).map(Self::Iso).ok_or(MoneyError::UnknownCurrency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

impl serde::Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> serde::Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An amount of money.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    minor: i64,
    currency: Currency,
}

/// Error of parsing or adding amounts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error("unknown currency; use an ISO 4217 code or USDC")]
    UnknownCurrency,
    /// Not a number, too large, or with more decimals than the currency has.
    #[error("the amount is not a valid number in this currency")]
    NotAnAmount,
    #[error("amounts of different currencies cannot be combined")]
    CurrencyMismatch,
    /// The result overflows `i64` minor units.
    #[error("the amount is too large")]
    TooLarge,
}

impl Money {
    /// The highest price of one unit, in minor units: 10,000,000,000.00 EUR, 1,000,000.000000 USDC
    /// (docs/contract/ids-and-values.md#amounts). The price of the largest cart, with shipping and taxes, is far from
    /// 64 bits, and a JSON number represents it exactly.
    pub const UNIT_PRICE_MINOR_MAX: i64 = 1_000_000_000_000;

    /// Creates an amount from minor units: `Money::new(12_50, Currency::EUR)` is 12.50 EUR.
    #[must_use]
    pub const fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Returns the amount in minor units.
    #[must_use]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// Returns the currency.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Adds an amount of the same currency.
    pub fn plus(self, other: Self) -> Result<Self, MoneyError> {
        if self.currency != other.currency {
            return Err(MoneyError::CurrencyMismatch);
        }
        let minor = self.minor.checked_add(other.minor).ok_or(MoneyError::TooLarge)?;
        Ok(Self { minor, ..self })
    }

    /// Multiplies the amount by a quantity.
    pub fn times(self, quantity: u32) -> Result<Self, MoneyError> {
        let minor = self.minor.checked_mul(i64::from(quantity)).ok_or(MoneyError::TooLarge)?;
        Ok(Self { minor, ..self })
    }

    /// Returns the decimal text: `12.50`.
    #[must_use]
    pub fn to_decimal_text(self) -> String {
        let decimals = self.currency.decimals();
        let unit = 10_u64.pow(decimals);
        let magnitude = self.minor.unsigned_abs();
        let sign = if self.minor < 0 { "-" } else { "" };
        if decimals == 0 {
            return format!("{sign}{magnitude}");
        }
        let width = decimals as usize;
        format!("{sign}{}.{:0width$}", magnitude / unit, magnitude % unit)
    }

    /// Returns the amount as a JSON number: the `f64` nearest to the decimal text. It prints as the shortest form of
    /// the same amount (12.5 for 12.50) up to fifteen digits.
    #[must_use]
    pub fn to_decimal(self) -> f64 {
        self.to_decimal_text().parse().unwrap_or(f64::NAN)
    }

    /// Parses a decimal text such as `12.5`. An exponent, a sign other than a leading minus, and more decimals than the
    /// currency has are rejected.
    pub fn from_decimal_text(text: &str, currency: Currency) -> Result<Self, MoneyError> {
        let decimals = currency.decimals() as usize;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fraction = fraction.trim_end_matches('0');
        if digits.is_empty() || !all_digits(digits) || !all_digits(fraction) {
            return Err(MoneyError::NotAnAmount);
        }
        if fraction.len() > decimals {
            return Err(MoneyError::NotAnAmount);
        }
        let minor = format!("{whole}{fraction:0<decimals$}");
        minor.parse().map(|minor| Self { minor, currency }).map_err(|_| MoneyError::NotAnAmount)
    }

    /// Parses an amount from a JSON number.
    pub fn from_decimal(amount: f64, currency: Currency) -> Result<Self, MoneyError> {
        // `Display` of a finite `f64` is the shortest decimal that reads back the same, without an
        // exponent, so 12.3 arrives as "12.3" and not as 12.300000000000000710.
        if !amount.is_finite() {
            return Err(MoneyError::NotAnAmount);
        }
        Self::from_decimal_text(&amount.to_string(), currency)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.to_decimal_text(), self.currency)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_follow_the_currency() {
        assert_eq!(Money::new(12_50, Currency::EUR).to_string(), "12.50 EUR");
        assert_eq!(Money::new(-5, Currency::USD).to_string(), "-0.05 USD");
        assert_eq!(Money::new(1, Currency::Usdc).to_string(), "0.000001 USDC");
        let yen = "JPY".parse().unwrap();
        assert_eq!(Money::new(1200, yen).to_string(), "1200 JPY");
        assert!(!Currency::is_supported(yen));
    }

    #[test]
    fn descriptions_name_the_supported_currencies() {
        let [first @ .., last] = Currency::SUPPORTED.map(Currency::code);
        assert_eq!(Currency::SUPPORTED_CODES, format!("{} or {last}", first.join(", ")));
    }

    #[test]
    fn invalid_amounts_are_rejected() {
        for text in ["", "-", ".5", "1e3", "1,5", "0x10", "12.345", "99999999999999999999"] {
            assert!(Money::from_decimal_text(text, Currency::USD).is_err(), "{text} was accepted");
        }
        for number in [f64::NAN, f64::INFINITY, 1e300, 0.001] {
            assert!(Money::from_decimal(number, Currency::USD).is_err(), "{number} was accepted");
        }
        assert_eq!("usd".parse::<Currency>(), Err(MoneyError::UnknownCurrency));
    }

    #[test]
    fn amounts_of_different_currencies_cannot_be_added() {
        let sum = Money::new(1, Currency::EUR).plus(Money::new(1, Currency::USD));
        assert_eq!(sum, Err(MoneyError::CurrencyMismatch));
    }

    proptest! {
        #[test]
        fn decimals_round_trip_without_loss(minor in -999_999_999_999_i64..999_999_999_999) {
            for currency in Currency::SUPPORTED {
                let amount = Money::new(minor, currency);
                prop_assert_eq!(Money::from_decimal(amount.to_decimal(), currency), Ok(amount));
                prop_assert_eq!(
                    Money::from_decimal_text(&amount.to_decimal_text(), currency), Ok(amount)
                );
            }
        }
    }
}

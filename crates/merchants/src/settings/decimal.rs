//! Decimal amounts of settings.

use std::borrow::Cow;

use primitives::{Amount, Currency, Money};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::InvalidSetting;

/// A decimal amount: a number or a string in requests, never rounded; a number in responses.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Decimal(Amount);

impl Decimal {
    /// Returns the amount with the decimal places of its currency.
    pub(crate) fn of(minor: i64, currency: Currency) -> Self {
        Self(Amount::new(Money::new(minor, currency).to_decimal_text()))
    }

    /// Returns the amount in minor units. It must not have more decimal places than the currency.
    pub(crate) fn minor(&self, field: &str, currency: Currency) -> Result<i64, InvalidSetting> {
        let money = Money::from_decimal_text(self.0.as_str(), currency);
        let allowed = || {
            let digits = currency.decimals();
            format!("a decimal amount with at most {digits} decimal places")
        };
        money.map(Money::minor).map_err(|_| InvalidSetting::new(field, allowed()))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_str().parse().unwrap_or(f64::NAN))
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> Cow<'static, str> {
        Amount::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Amount::json_schema(generator)
    }
}

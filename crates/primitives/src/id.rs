//! Typed ids. On the wire: a prefix and 128 random bits in hexadecimal. In PostgreSQL: a `uuid`. All types are
//! declared here, so that no two that leave the service share a prefix.

use uuid::Uuid;

/// An id type.
pub trait Id: Copy {
    /// The prefix before the underscore.
    const PREFIX: &'static str;

    /// Creates an id from a UUID.
    fn from_uuid(value: Uuid) -> Self;

    /// Creates an id from 128 random bits; `Work::new_id` generates them.
    #[must_use]
    fn from_random(bits: u128) -> Self {
        Self::from_uuid(Uuid::from_u128(bits))
    }
}

/// Error returned when a text is not an id of the expected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an id of the form {prefix}_ followed by 32 hexadecimal digits")]
pub struct ParseIdError {
    pub prefix: &'static str,
}

/// Parses the digits after the prefix. Only the canonical form is accepted (lower case, no hyphens), so that equal ids
/// are equal texts.
fn parse(text: &str, prefix: &'static str) -> Result<Uuid, ParseIdError> {
    let digits = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    digits
        .filter(|digits| digits.len() == 32)
        .filter(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
        .and_then(|digits| Uuid::try_parse(digits).ok())
        .ok_or(ParseIdError { prefix })
}

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
        #[sqlx(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns the UUID, as stored in PostgreSQL.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl Id for $name {
            const PREFIX: &'static str = $prefix;
            fn from_uuid(value: Uuid) -> Self {
                Self(value)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, formatter)
            }
        }

        impl std::str::FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text, $prefix).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": concat!("^", $prefix, "_[0-9a-f]{32}$"),
                })
            }
        }
    };
}

prefixed_id!(/// A merchant: the tenant every row of a store belongs to.
    MerchantId, "mer");
prefixed_id!(/// A person with an account.
    UserId, "usr");
prefixed_id!(/// An API key of an agent or of a store.
    KeyId, "key");
prefixed_id!(/// A product of one store.
    ProductId, "prod");
prefixed_id!(/// A purchasable variant of a product.
    VariantId, "var");
prefixed_id!(/// A category of one store's category tree.
    CategoryId, "cat");
prefixed_id!(/// A cart of one agent.
    CartId, "cart");
prefixed_id!(/// A line of a cart.
    LineId, "line");
prefixed_id!(/// A checkout session.
    CheckoutId, "chk");
prefixed_id!(/// A human confirmation.
    ConfirmationId, "cnf");
prefixed_id!(/// An order.
    OrderId, "ord");
prefixed_id!(/// A payment attempt.
    PaymentId, "pay");
prefixed_id!(/// A shipment of ordered items.
    FulfillmentId, "ful");
prefixed_id!(/// A refund of an order.
    RefundId, "rfd");
prefixed_id!(/// A return of ordered items.
    ReturnId, "ret");
prefixed_id!(/// A dispute about an order.
    DisputeId, "dsp");
prefixed_id!(/// A webhook event.
    EventId, "evt");
prefixed_id!(/// A webhook endpoint. A delivery has no id of its own: it is an event at an endpoint.
    EndpointId, "whk");
prefixed_id!(/// An appeal against a trust score.
    AppealId, "apl");
prefixed_id!(/// A notice to a merchant.
    NoticeId, "ntc");
prefixed_id!(/// A feed run: one import of a product feed. The API calls it a job, hence the prefix.
    FeedRunId, "job");
prefixed_id!(/// A job of the queue. Only operators see it, so that it may share the prefix of feed runs.
    JobId, "job");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_round_trips_through_text_and_json() {
        let id = ProductId::from_random(0x1234_5678_9abc_def0_1234_5678_9abc_def0);
        assert!(id.to_string().starts_with("prod_"));
        assert_eq!(id.to_string().parse::<ProductId>(), Ok(id));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<ProductId>(&json).unwrap(), id);
    }

    #[test]
    fn an_id_of_another_type_is_rejected() {
        let cart = CartId::from_random(7).to_string();
        assert!(cart.parse::<ProductId>().is_err());
    }

    #[test]
    fn only_the_canonical_form_is_an_id() {
        let id = CartId::from_random(u128::MAX).to_string();
        for wrong in [
            id.to_uppercase(),
            format!("{id} "),
            id.replace("cart_", "cart-"),
            format!("cart_{}", CartId::from_random(u128::MAX).uuid().hyphenated()),
            String::from("cart_"),
            String::from("cart_é"),
        ] {
            assert!(wrong.parse::<CartId>().is_err(), "{wrong} was accepted");
        }
    }
}

//! The kinds of facts that are counted by account and day (docs/contract/trust.md#facts).

use schemars::JsonSchema;

primitives::text_enum! {
    /// A kind of fact.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Fact {
        Started,
        Completed,
        Lasting,
        Kept,
        Orders,
        InStock,
        OutOfStock,
        OnTime,
        Late,
        Delivered,
        PriceEqual,
        PriceDifferent,
        DisputesLost,
    }
}

primitives::text_enum! {
    /// A party whose acts can change evidence.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Party {
        /// The store itself.
        Merchant,
        /// The account that owns the agent keys.
        Agent,
        /// The person who pays.
        Buyer,
        /// An operator or administrator of Souk, who decides disputes, declares payments failed and releases checkouts.
        Operator,
    }
}

/// What the methodology publishes about a kind of fact.
pub(crate) struct FactDefinition {
    pub(crate) description: &'static str,
    /// The time whose day in UTC counts.
    pub(crate) time: &'static str,
    pub(crate) influenced_by: &'static [Party],
}

const fn fact(
    description: &'static str,
    time: &'static str,
    influenced_by: &'static [Party],
) -> FactDefinition {
    FactDefinition { description, time, influenced_by }
}

impl Fact {
    /// Returns what the methodology publishes about the fact.
    pub(crate) const fn definition(self) -> FactDefinition {
        use Party::{Agent, Buyer, Merchant};
        match self {
            Self::Started => fact(STARTED, CHECKOUT_START, EVERYBODY),
            Self::Completed => fact(
                "started checkouts that were paid before they ended, have an order that did not fail, and were completed before six \
                 hours after the end of the day",
                CHECKOUT_START,
                EVERYBODY,
            ),
            Self::Lasting => fact(
                "completed checkouts whose whole order the agent or the buyer did not cancel before ten days after the end of \
                 the day",
                CHECKOUT_START,
                EVERYBODY,
            ),
            Self::Kept => fact(
                "completed checkouts of whose order the merchant canceled nothing",
                CHECKOUT_START,
                EVERYBODY,
            ),
            Self::Orders => fact(
                "orders that did not fail, that were paid before the checkout ended, that the agent or the buyer did not cancel as \
                 a whole before six hours after the end of the day, and that are not void",
                "creation of the order",
                EVERYBODY,
            ),
            Self::InStock => fact(
                "orders, paid before the checkout ended, of which all product units that were not canceled were shipped, and of which \
                 the merchant canceled none",
                "when all of these units are shipped",
                &[Merchant, Agent, Buyer],
            ),
            Self::OutOfStock => fact(
                "orders of which the merchant canceled product units as out of stock",
                "first such cancellation",
                EVERYBODY,
            ),
            Self::OnTime => fact(
                "orders, paid before the checkout ended, delivered by the promised time, at most sixty days after the purchase, or \
                 within thirty days if none was promised, of which the merchant canceled nothing",
                "delivery",
                &[Merchant, Agent, Buyer],
            ),
            Self::Late => {
                fact(LATE, "that time, or the first such cancellation if it is earlier", EVERYBODY)
            }
            Self::Delivered => fact(
                "orders, paid before the checkout ended, that were delivered",
                "first delivery",
                &[Merchant, Agent, Buyer],
            ),
            Self::PriceEqual => fact(PRICE_EQUAL, "first report of the merchant", EVERYBODY),
            Self::PriceDifferent => fact(
                "checkouts of which the merchant reported another amount than that of the quote, also if the report was \
                 rejected, or whose order it canceled as price_error",
                "first such report or cancellation",
                EVERYBODY,
            ),
            Self::DisputesLost => fact(
                "disputes resolved for the buyer, or by an agreement with a refund",
                "resolution",
                EVERYBODY,
            ),
        }
    }
}

const STARTED: &str = "checkouts that were started, the first 500 of the account on the day at most, without those whose whole order the \
                       agent or the buyer canceled before six hours after the end of the day, and those whose order was paid before \
                       the checkout ended and is void: of which the merchant canceled product units as buyer_request or fraud, \
                       and none for another reason";
const CHECKOUT_START: &str = "start of the checkout";
const LATE: &str = "orders neither delivered nor canceled by the promised time, at most sixty days after the purchase, or within \
                    thirty days if none was promised, and orders of which the merchant canceled product units for another reason than \
                    buyer_request and fraud";
const PRICE_EQUAL: &str = "checkouts, paid before they ended, whose reported amounts equal those of the quote, as far as it states \
                           them, without those whose payment failed, those of whose order the merchant canceled units, and those \
                           whose whole order the agent or the buyer canceled before six hours after the end of the day";
const EVERYBODY: &[Party] = &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DayCounts;

    #[test]
    fn every_fact_is_described_and_is_a_field_of_the_counts() {
        let counts = serde_json::to_value(DayCounts::default()).unwrap();
        for fact in Fact::ALL {
            let definition = fact.definition();
            assert!(!definition.description.is_empty() && !definition.time.is_empty(), "{fact}");
            assert!(!definition.influenced_by.is_empty(), "{fact}");
            assert!(counts[fact.as_str()].is_u64(), "{fact}");
        }
    }

    #[test]
    fn a_count_is_read_by_the_name_of_its_fact() {
        for fact in Fact::ALL {
            let json = serde_json::json!({ fact.as_str(): 7 });
            let counts: DayCounts = serde_json::from_value(json).unwrap();
            assert_eq!(counts.of(*fact), 7, "{fact}");
        }
    }
}

//! A product as a merchant describes it, before anything of it is believed. Every way in ends here:
//! the REST push, NDJSON and each feed format fill a draft, and one check judges it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A product about to be brought in: always the whole of it, what is left out is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = Self::example()))]
pub struct ProductDraft {
    /// The merchant's own identifier. It names the product for ever.
    #[schemars(length(min = 1, max = 100))]
    pub external_id: String,
    /// The merchant's stock-keeping number. Left out: the external id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// What it is called. Required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is. Markup is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// The number on its bar code: 8, 12, 13 or 14 digits with a right check digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// The maker's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpn: Option<String>,
    /// Its page in the merchant's shop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The way to it in the shop, from the top: `["Home & Kitchen", "Coffee"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub category: Vec<String>,
    /// `new`, `refurbished` or `used`. Left out: new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What it costs. Required, unless every variant has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amount>,
    /// The currency of every amount of this product. Left out: the store's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What it cost before, if it costs less now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<Amount>,
    /// Whether it can be had. Left out: follows from the quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_status: Option<String>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_quantity: Option<i64>,
    /// Pictures, the main one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageDraft>,
    /// Further facts: material, colour, capacity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// How it is rated, as the merchant claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingDraft>,
    /// What buyers wrote, as the merchant hands it on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewDraft>,
    /// Where this product differs from what the store promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<PolicyDraft>,
    /// Its buyable forms; none if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantDraft>,
    /// When the merchant first listed it, RFC 3339. Left out: when it first came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<String>,
}

impl ProductDraft {
    /// One that would be taken, for descriptions.
    #[must_use]
    pub fn example() -> Value {
        json!({
            "external_id": "MUG-1",
            "name": "A mug",
            "description": "Holds 300 ml and goes into the dishwasher.",
            "brand": "Salgueira",
            "gtin": "9520000000004",
            "url": "https://shop.example/mug",
            "category": ["Home & Kitchen", "Mugs"],
            "price": 12.5,
            "list_price": "15.00",
            "stock_quantity": 3,
            "images": [{ "url": "https://shop.example/mug.jpg", "alt": "The mug" }],
            "attributes": { "material": "stoneware" },
        })
    }

    /// Takes in another part of the same product: rows of one group that lay apart in a feed.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.variants.extend(other.variants);
        for image in other.images {
            if !self.images.contains(&image) {
                self.images.push(image);
            }
        }
    }
}

/// A buyable form of a product.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantDraft {
    /// The merchant's stock-keeping number; names the variant within its product.
    #[schemars(length(min = 1, max = 100))]
    pub sku: String,
    /// What it is called. Left out: the product's name and the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number on its bar code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// What sets it apart: size, colour.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What it costs. Left out: the product's price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amount>,
    /// What it cost before, if it costs less now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<Amount>,
    /// Whether it can be had. Left out: follows from the quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_status: Option<String>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_quantity: Option<i64>,
    /// Its own picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageDraft {
    /// Where it is: http or https.
    pub url: String,
    /// What it shows. Left out: the product's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

/// A rating as the merchant claims it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingDraft {
    /// Stars, 0 to 5, with at most two digits behind the point.
    pub average: Amount,
    /// How many rated.
    pub count: i64,
}

/// What a buyer wrote, as the merchant hands it on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDraft {
    /// The merchant's own identifier of the review.
    pub external_id: String,
    /// Stars, 1 to 5.
    pub stars: i64,
    /// The headline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A name to show, never an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was written, RFC 3339.
    pub written_at: String,
}

/// Where a product differs from what the store promises.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDraft {
    /// Days to return in; 0 means it cannot be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// The quickest delivery, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days_min: Option<i64>,
    /// The slowest delivery, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days_max: Option<i64>,
    /// The warranty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i64>,
}

/// A decimal amount as it was written: `12.5`, `"12.50"`. It is kept as text, because a floating-point
/// number would round it before anybody could object.
#[derive(Clone, PartialEq, Eq)]
pub struct Amount(String);

impl Amount {
    /// An amount in plain decimal notation: digits, and perhaps a point and more digits.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => serde_json::from_str(raw.get()).map(Self).map_err(D::Error::custom),
            Some(b'0'..=b'9' | b'-') => Ok(Self(raw.get().to_owned())),
            _ => Err(D::Error::custom("expected a decimal amount")),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A decimal amount, as a number or as a text.",
            "oneOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+([.][0-9]+)?$" },
            ],
        })
    }
}

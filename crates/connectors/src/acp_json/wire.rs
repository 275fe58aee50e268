//! The objects of the feed, as far as they are used. All fields are optional and unknown fields are
//! ignored, because the protocol evolves.

use serde::{Deserialize, Serialize};
use serde_json::Number;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Product {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<Media>,
    #[serde(default)]
    pub(crate) variants: Vec<Variant>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Variant {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) barcodes: Vec<Barcode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<Price>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list_price: Option<Price>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) availability: Option<Availability>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) categories: Vec<Category>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) condition: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "variant_options")]
    pub(crate) options: Vec<VariantOption>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) media: Vec<Media>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Description {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) markdown: Option<String>,
}

/// An amount in minor units. A number that is not an integer is kept, and refused later with its field name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Price {
    pub(crate) amount: Number,
    pub(crate) currency: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Availability {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Barcode {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    pub(crate) value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Media {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    pub(crate) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alt_text: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Category {
    pub(crate) value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) taxonomy: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VariantOption {
    pub(crate) name: String,
    pub(crate) value: String,
}

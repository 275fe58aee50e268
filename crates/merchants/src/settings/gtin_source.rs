//! The field from which GTINs are read.

use std::fmt;
use std::str::FromStr;

/// Field of a product that holds its GTIN, which differs between shop systems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GtinSource {
    /// The field `gtin`.
    #[default]
    Gtin,
    Sku,
    /// The manufacturer part number.
    Mpn,
    /// The external id.
    Id,
    /// The attribute with this name.
    Attribute(String),
}

impl GtinSource {
    const ATTRIBUTE: &'static str = "attribute:";
    const ATTRIBUTE_CHARACTERS_MAX: usize = 100;
    /// Describes valid sources; completes "must be …".
    pub const ALLOWED: &'static str = "one of gtin, sku, mpn, id, or attribute: and the name of an \
                                       attribute of at most 100 characters";
}

/// The error of an unknown source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the source must be {}", GtinSource::ALLOWED)]
pub struct UnknownSource;

impl fmt::Display for GtinSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gtin => formatter.write_str("gtin"),
            Self::Sku => formatter.write_str("sku"),
            Self::Mpn => formatter.write_str("mpn"),
            Self::Id => formatter.write_str("id"),
            Self::Attribute(name) => write!(formatter, "{}{name}", Self::ATTRIBUTE),
        }
    }
}

impl FromStr for GtinSource {
    type Err = UnknownSource;
    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        match text {
            "gtin" => return Ok(Self::Gtin),
            "sku" => return Ok(Self::Sku),
            "mpn" => return Ok(Self::Mpn),
            "id" => return Ok(Self::Id),
            _ => {}
        }
        let name = text.strip_prefix(Self::ATTRIBUTE).ok_or(UnknownSource)?.trim();
        let length = name.chars().count();
        let fits = (1..=Self::ATTRIBUTE_CHARACTERS_MAX).contains(&length);
        if fits && !name.contains(char::is_control) {
            Ok(Self::Attribute(name.to_owned()))
        } else {
            Err(UnknownSource)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_parsed_from_its_text() {
        for text in ["gtin", "sku", "mpn", "id", "attribute:EAN code"] {
            assert_eq!(text.parse::<GtinSource>().unwrap().to_string(), text);
        }
        let long = format!("attribute:{}", "x".repeat(101));
        for wrong in ["", "GTIN", "ean", "attribute:", "attribute: ", "attribute:a\0", &long] {
            assert_eq!(wrong.parse::<GtinSource>(), Err(UnknownSource), "{wrong}");
        }
    }
}

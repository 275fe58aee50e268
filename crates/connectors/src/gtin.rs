//! Selects the GTIN of a row. Stores whose software has no GTIN field keep it in another field.

use catalog::GtinSource;

/// The values of one row that may be its GTIN.
#[derive(Default)]
pub(crate) struct GtinCandidates<'a> {
    pub(crate) gtin: Option<&'a str>,
    pub(crate) sku: Option<&'a str>,
    pub(crate) mpn: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
}

impl GtinCandidates<'_> {
    /// Returns the value of the configured source. Other values are ignored: the GTIN field of a store
    /// that configures another source contains something else.
    pub(crate) fn find<'f>(
        &self,
        source: &GtinSource,
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Option<String> {
        let found = match source {
            GtinSource::Gtin => self.gtin,
            GtinSource::Sku => self.sku,
            GtinSource::Mpn => self.mpn,
            GtinSource::Id => self.id,
            GtinSource::Attribute(name) => {
                let mut fields = fields.into_iter();
                let found = fields.find(|(field, _)| is_same(field, name));
                return found.map(|(_, value)| value.to_owned());
            }
        };
        found.map(str::to_owned)
    }
}

/// Compares field names, ignoring case, spaces, hyphens and underscores.
fn is_same(field: &str, name: &str) -> bool {
    let normalized = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    normalized(field) == normalized(name)
}

//! Where the GTIN stands. Shops whose software has no field for it keep it in another one.

use catalog::GtinSource;

/// The places of one row in which a GTIN may stand.
#[derive(Default)]
pub(crate) struct Places<'a> {
    pub(crate) own: Option<&'a str>,
    pub(crate) sku: Option<&'a str>,
    pub(crate) mpn: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
}

impl Places<'_> {
    /// The GTIN. Where a store names a place, only that one counts: the own field of such stores
    /// holds something else.
    pub(crate) fn find<'f>(
        &self,
        source: &GtinSource,
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Option<String> {
        let found = match source {
            GtinSource::Gtin => self.own,
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

/// Whether two names of a field mean one: case, spaces, hyphens and underscores do not matter.
fn is_same(field: &str, name: &str) -> bool {
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    plain(field) == plain(name)
}

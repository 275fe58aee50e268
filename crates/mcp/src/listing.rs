//! What `tools/list` returns, as the address of the endpoint selects it (docs/contract/mcp.md#tool-sets).

use crate::error::InvalidListing;
use crate::tool::ToolSet;
use crate::tools;

/// The tools to list, and the form of their output schemas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListingOptions {
    /// All if empty.
    sets: Vec<ToolSet>,
    /// Whether output schemas are complete (docs/contract/mcp.md#output-schemas).
    full_schemas: bool,
}

impl ListingOptions {
    /// Parses `?tools=discovery,cart` and `?schemas=full`.
    pub(crate) fn from_query(query: Option<&str>) -> Result<Self, InvalidListing> {
        let mut options = Self::default();
        for pair in query.unwrap_or_default().split('&') {
            if let Some(names) = pair.strip_prefix("tools=") {
                let names = names.split([',', '+']).flat_map(|name| name.split("%2C"));
                for name in names.filter(|name| !name.is_empty()) {
                    options.sets.push(ToolSet::parse(name).ok_or(InvalidListing::Tools)?);
                }
            }
            if let Some(schemas) = pair.strip_prefix("schemas=") {
                options.full_schemas = match schemas {
                    "full" => true,
                    "slim" | "" => false,
                    _ => return Err(InvalidListing::Schemas),
                };
            }
        }
        Ok(options)
    }

    /// Returns the listing.
    pub(crate) fn tools(&self) -> Vec<rmcp::model::Tool> {
        let is_listed = |tool: &rmcp::model::Tool| {
            self.sets.is_empty()
                || tools::find(&tool.name).is_some_and(|it| self.sets.contains(&it.entry.set))
        };
        let mut listed = tools::listing();
        listed.retain(is_listed);
        if self.full_schemas {
            for tool in &mut listed {
                if let Some(registered) = tools::find(&tool.name) {
                    tool.output_schema = Some(registered.full_output_schema());
                }
            }
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<ListingOptions, InvalidListing> {
        ListingOptions::from_query(Some(query))
    }

    #[test]
    fn the_address_selects_sets_and_schemas() {
        let sets = vec![ToolSet::Discovery, ToolSet::Cart];
        for query in ["tools=discovery,cart", "a=b&tools=discovery%2Ccart", "tools=discovery+cart"]
        {
            assert_eq!(
                parse(query).unwrap(),
                ListingOptions { sets: sets.clone(), ..Default::default() }
            );
        }
        assert!(parse("schemas=full").unwrap().full_schemas);
        assert_eq!(parse("schemas=slim").unwrap(), ListingOptions::default());
        assert_eq!(parse("schemas=some"), Err(InvalidListing::Schemas));
        assert_eq!(parse("tools=discovery,none"), Err(InvalidListing::Tools));
    }

    #[test]
    fn a_slim_listing_is_small_and_a_full_one_complete() {
        let size =
            |options: &ListingOptions| serde_json::to_string(&options.tools()).unwrap().len();
        let (slim, full) =
            (size(&ListingOptions::default()), size(&parse("schemas=full").unwrap()));
        assert!(slim < 60_000, "tools/list has {slim} bytes");
        assert!(full > 3 * slim, "{full} bytes with full schemas, {slim} without");
    }
}

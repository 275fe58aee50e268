//! Writes Google Merchant feeds as RSS 2.0.

use catalog::ProductDraft;
use quick_xml::escape::escape;

use super::google;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\">\n<channel>\n";

pub(super) fn write(drafts: &[ProductDraft]) -> Vec<u8> {
    let mut text = HEAD.to_owned();
    for draft in drafts {
        let details: String =
            google::details(draft).map(|(name, value)| detail(name, value)).collect();
        for row in google::rows(draft) {
            let fields: String = row.iter().map(|(name, value)| element(name, value)).collect();
            text.extend(["<item>\n", &fields, &details, "</item>\n"]);
        }
    }
    text.push_str("</channel>\n</rss>\n");
    text.into_bytes()
}

fn element(name: &str, value: &str) -> String {
    format!("  <g:{name}>{}</g:{name}>\n", escape(value))
}

fn detail(name: &str, value: &str) -> String {
    let parts = [("section_name", "General"), ("attribute_name", name), ("attribute_value", value)];
    let parts: String = parts.iter().map(|(name, value)| element(name, value)).collect();
    format!("  <g:product_detail>\n{parts}  </g:product_detail>\n")
}

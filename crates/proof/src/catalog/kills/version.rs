//! Distinguishable versions of a catalog.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A version of the catalog, identified by its number.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) number: usize,
    rows: usize,
}

impl Version {
    pub(crate) fn new(number: usize, rows: usize) -> Self {
        Self { number, rows }
    }

    /// Returns external ids and prices. Each version omits another tenth of the products, so that each
    /// replacement retires some and lists others again; every third product keeps its price for three
    /// versions, so that some products are unchanged.
    pub(crate) fn products(&self) -> BTreeMap<String, i64> {
        let listed = (0..self.rows).filter(|row| row % 10 != self.number % 10);
        let price = |row: usize| {
            let version = if row.is_multiple_of(3) { self.number / 3 } else { self.number };
            i64::try_from(100 + row % 50 + version * 100).unwrap_or(0)
        };
        listed.map(|row| (format!("p{row:06}"), price(row))).collect()
    }

    /// Returns the feed as NDJSON.
    pub(crate) fn feed(&self) -> Vec<u8> {
        let mut feed = String::new();
        for (id, price) in self.products() {
            let (euros, cents) = (price / 100, price % 100);
            let _ = writeln!(
                feed,
                r#"{{"external_id":"{id}","name":"Thing {id}","description":"A thing that is sold again and again, in many versions.","category":["Things"],"price":"{euros}.{cents:02}","stock_quantity":7,"images":[{{"url":"https://things.example/{id}.jpg"}}]}}"#
            );
        }
        feed.into_bytes()
    }

    /// Returns the content hash by which its run is stored.
    pub(crate) fn hash(&self) -> Vec<u8> {
        let feed = self.feed();
        catalog::content_hash(&mut &feed[..]).unwrap_or_default()
    }
}

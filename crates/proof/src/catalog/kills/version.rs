//! Catalogs that can be told apart.

use std::collections::BTreeMap;
use std::fmt::Write;

/// One state of the catalog: which products it lists, each marked with its number.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) number: usize,
    rows: usize,
}

impl Version {
    pub(crate) fn new(number: usize, rows: usize) -> Self {
        Self { number, rows }
    }

    /// Identifiers and prices. Each version leaves out a different tenth, so that something is retired
    /// and something comes back each time; every third product keeps its price for three versions, so
    /// that some of them do not change.
    pub(crate) fn products(&self) -> BTreeMap<String, i64> {
        let listed = (0..self.rows).filter(|row| row % 10 != self.number % 10);
        let price = |row: usize| {
            let version = if row.is_multiple_of(3) { self.number / 3 } else { self.number };
            i64::try_from(100 + row % 50 + version * 100).unwrap_or(0)
        };
        listed.map(|row| (format!("p{row:06}"), price(row))).collect()
    }

    /// The feed.
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

    /// The hash its run is known by.
    pub(crate) fn hash(&self) -> Vec<u8> {
        let feed = self.feed();
        catalog::content_hash(&mut &feed[..]).unwrap_or_default()
    }
}

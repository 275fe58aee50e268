//! What is there after a history: the products as the catalog shows them, the new lines of the price
//! history, and what was told.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{CatalogError, NewVariant, Product, Variant};
use database::Reading;
use primitives::{Currency, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::act::{Acted, external_id};
use crate::catalog::model::{Line, Offer};
use crate::catalog::shop::merchant;
use crate::report::Failure;

/// What a history left behind, by product.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lines: BTreeMap<usize, Vec<Line<Uuid>>>,
    /// Which operation told what, in the order of the outbox.
    pub(super) told: BTreeMap<usize, Vec<(usize, String)>>,
    /// The products that exist, and what agents see of them if they are listed.
    pub(super) products: BTreeMap<usize, Option<Shown>>,
    /// Lines that bear an earlier moment than the line above them.
    pub(super) backdated: u64,
}

/// What agents see of a product.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) category: String,
    pub(super) currency: Currency,
    pub(super) offer: Offer,
    pub(super) variants: Vec<(Uuid, String, String, Offer)>,
}

/// Looks at the products of one table, always at what is new.
pub(super) struct Eye {
    pub(super) table: usize,
    pub(super) sql: PgConnection,
    pub(super) reading: Reading,
    pub(super) ids: BTreeMap<usize, ProductId>,
    pub(super) last_line: i64,
    pub(super) last_event: i64,
}

impl Eye {
    pub(super) async fn look(
        &mut self,
        products: &BTreeSet<usize>,
        acted: &[Acted],
    ) -> Result<Seen, Failure> {
        self.identify(products, acted).await?;
        let mut seen = Seen::default();
        for product in products {
            if let Some(id) = self.ids.get(product) {
                seen.products.insert(*product, self.shown(*id).await?);
            }
        }
        self.read_lines(&mut seen).await?;
        self.read_outbox(&mut seen, acted).await?;
        Ok(seen)
    }

    /// Learns the ids of products that are new. One product has one id for ever.
    async fn identify(
        &mut self,
        products: &BTreeSet<usize>,
        acted: &[Acted],
    ) -> Result<(), Failure> {
        for product in
            products.iter().filter(|it| !self.ids.contains_key(it)).copied().collect::<Vec<_>>()
        {
            let id = sqlx::query_scalar("SELECT product_id FROM product WHERE external_id = $1")
                .bind(external_id(self.table, product))
                .fetch_optional(&mut self.sql)
                .await?;
            self.ids.extend(id.map(|id| (product, id)));
        }
        for (product, id) in acted.iter().flat_map(|acted| &acted.ids) {
            if self.ids.get(product) != Some(id) {
                return Err(
                    format!("the id {id} was answered for {:?}", self.ids.get(product)).into()
                );
            }
        }
        Ok(())
    }

    async fn shown(&self, id: ProductId) -> Result<Option<Shown>, Failure> {
        match catalog::product(&self.reading, merchant(), id).await {
            Ok(product) => Ok(Some(Shown::from(product))),
            Err(CatalogError::ProductNotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn product_of(&self, id: ProductId) -> Option<usize> {
        self.ids.iter().find(|(_, other)| **other == id).map(|(product, _)| *product)
    }

    fn all_ids(&self) -> Vec<Uuid> {
        self.ids.values().map(|id| id.uuid()).collect()
    }

    async fn read_lines(&mut self, seen: &mut Seen) -> Result<(), Failure> {
        type Row = (i64, ProductId, Option<Uuid>, i64, Option<i64>, String, Timestamp);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT position, product_id, variant_id, price_minor, list_price_minor, currency, at
             FROM price_history WHERE merchant_id = $1 AND product_id = ANY ($2) AND position > $3
             ORDER BY position",
        )
        .bind(merchant())
        .bind(self.all_ids())
        .bind(self.last_line)
        .fetch_all(&mut self.sql)
        .await?;
        let mut latest: BTreeMap<usize, Timestamp> = BTreeMap::new();
        for (position, product, variant, price, list_price, currency, at) in rows {
            self.last_line = position;
            let product = self.product_of(product).ok_or("a line of nobody")?;
            let line = Line { variant, price, list_price, currency: currency.parse()? };
            seen.lines.entry(product).or_default().push(line);
            let before = latest.insert(product, at);
            seen.backdated += u64::from(before.is_some_and(|before| before > at));
        }
        Ok(())
    }

    async fn read_outbox(&mut self, seen: &mut Seen, acted: &[Acted]) -> Result<(), Failure> {
        let rows: Vec<(i64, String, ProductId, String)> = sqlx::query_as(
            "SELECT position, transaction::text, subject, topic FROM outbox
             WHERE position > $1 AND subject = ANY ($2) ORDER BY position",
        )
        .bind(self.last_event)
        .bind(self.all_ids())
        .fetch_all(&mut self.sql)
        .await?;
        for (position, transaction, subject, topic) in rows {
            self.last_event = position;
            let product = self.product_of(subject).ok_or("an event of nobody")?;
            let by = acted.iter().position(|it| it.transaction.as_ref() == Some(&transaction));
            let by = by.ok_or_else(|| format!("nobody did what was told: {topic}"))?;
            seen.told.entry(product).or_default().push((by, topic));
        }
        Ok(())
    }
}

impl From<Product> for Shown {
    fn from(product: Product) -> Self {
        let offer = |facts: &NewVariant| Offer {
            price: facts.price.minor(),
            list_price: facts.list_price_minor,
            stock: facts.stock_status,
            quantity: facts.stock_quantity,
        };
        let variant = |Variant { id, facts }: Variant| {
            let offer = offer(&facts);
            (id.uuid(), facts.sku, facts.name, offer)
        };
        Self {
            name: product.facts.name,
            category: product.category.path,
            currency: product.facts.price.currency(),
            offer: Offer {
                price: product.facts.price.minor(),
                list_price: product.facts.list_price_minor,
                stock: product.facts.stock_status,
                quantity: product.facts.stock_quantity,
            },
            variants: product.variants.into_iter().map(variant).collect(),
        }
    }
}

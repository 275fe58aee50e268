//! Observes the result of a history: the products as the catalog returns them, the new entries of the
//! price history, and the new events.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{CatalogError, Product, Variant, VariantFacts};
use database::Reading;
use primitives::{Currency, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::execute::{Execution, external_id};
use crate::catalog::model::{Offer, PriceEntry};
use crate::catalog::store::merchant;
use crate::report::Failure;

/// The result of a history, by product number.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) prices: BTreeMap<usize, Vec<PriceEntry<Uuid>>>,
    /// Index of the operation and topic of each event, in the order of the outbox.
    pub(super) events: BTreeMap<usize, Vec<(usize, String)>>,
    /// The products that exist; `None` if agents cannot see them.
    pub(super) products: BTreeMap<usize, Option<VisibleProduct>>,
    /// Number of price entries with an earlier timestamp than the previous entry.
    pub(super) backdated: u64,
}

/// A product as agents see it.
#[derive(Debug)]
pub(super) struct VisibleProduct {
    pub(super) name: String,
    pub(super) category: String,
    pub(super) currency: Currency,
    pub(super) offer: Offer,
    /// Id, SKU, name and offer of each variant.
    pub(super) variants: Vec<(Uuid, String, String, Offer)>,
}

/// Reads the products of one group, and the price entries and events since the last read.
pub(super) struct Observer {
    pub(super) group: usize,
    pub(super) sql: PgConnection,
    pub(super) reading: Reading,
    pub(super) ids: BTreeMap<usize, ProductId>,
    pub(super) last_price: i64,
    pub(super) last_event: i64,
}

impl Observer {
    pub(super) async fn observe(
        &mut self,
        products: &BTreeSet<usize>,
        executions: &[Execution],
    ) -> Result<Observed, Failure> {
        self.identify(products, executions).await?;
        let mut observed = Observed::default();
        for product in products {
            if let Some(id) = self.ids.get(product) {
                observed.products.insert(*product, self.visible(*id).await?);
            }
        }
        self.read_prices(&mut observed).await?;
        self.read_outbox(&mut observed, executions).await?;
        Ok(observed)
    }

    /// Reads the ids of new products and verifies that the ids in results match: the id of a product never
    /// changes.
    async fn identify(
        &mut self,
        products: &BTreeSet<usize>,
        executions: &[Execution],
    ) -> Result<(), Failure> {
        for product in
            products.iter().filter(|it| !self.ids.contains_key(it)).copied().collect::<Vec<_>>()
        {
            let id = sqlx::query_scalar("SELECT product_id FROM product WHERE external_id = $1")
                .bind(external_id(self.group, product))
                .fetch_optional(&mut self.sql)
                .await?;
            self.ids.extend(id.map(|id| (product, id)));
        }
        for (product, id) in executions.iter().flat_map(|execution| &execution.ids) {
            if self.ids.get(product) != Some(id) {
                return Err(format!(
                    "the result has the id {id}, the product has {:?}",
                    self.ids.get(product)
                )
                .into());
            }
        }
        Ok(())
    }

    async fn visible(&self, id: ProductId) -> Result<Option<VisibleProduct>, Failure> {
        match catalog::product(&self.reading, merchant(), id).await {
            Ok(product) => Ok(Some(VisibleProduct::from(product))),
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

    async fn read_prices(&mut self, observed: &mut Observed) -> Result<(), Failure> {
        type Row = (i64, ProductId, Option<Uuid>, i64, Option<i64>, String, Timestamp);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT position, product_id, variant_id, price_minor, list_price_minor, currency, at
             FROM price_history WHERE merchant_id = $1 AND product_id = ANY ($2) AND position > $3
             ORDER BY position",
        )
        .bind(merchant())
        .bind(self.all_ids())
        .bind(self.last_price)
        .fetch_all(&mut self.sql)
        .await?;
        let mut latest: BTreeMap<usize, Timestamp> = BTreeMap::new();
        for (position, product, variant, price, list_price, currency, at) in rows {
            self.last_price = position;
            let product = self.product_of(product).ok_or("a price entry of an unknown product")?;
            let entry = PriceEntry { variant, price, list_price, currency: currency.parse()? };
            observed.prices.entry(product).or_default().push(entry);
            let before = latest.insert(product, at);
            observed.backdated += u64::from(before.is_some_and(|before| before > at));
        }
        Ok(())
    }

    async fn read_outbox(
        &mut self,
        observed: &mut Observed,
        executions: &[Execution],
    ) -> Result<(), Failure> {
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
            let product = self.product_of(subject).ok_or("an event of an unknown product")?;
            let by = executions.iter().position(|it| it.transaction.as_ref() == Some(&transaction));
            let by = by.ok_or_else(|| format!("no operation published the event {topic}"))?;
            observed.events.entry(product).or_default().push((by, topic));
        }
        Ok(())
    }
}

impl From<Product> for VisibleProduct {
    fn from(product: Product) -> Self {
        let offer = |facts: &VariantFacts| Offer {
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

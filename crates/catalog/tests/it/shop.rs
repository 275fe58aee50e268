//! The store of these tests.

use catalog::{
    Amount, CatalogQuality, ImageDraft, Incoming, Origin, Product, ProductDraft, PutOutcome, Quota,
    VariantDraft,
};
use database::{Reading, Work};
use primitives::{Currency, Id, MerchantId, ProductId};
use testkit::TestDatabase;

/// A database with one store in it.
pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
}

pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        testkit::StoreBuilder::new("attic").merchant(merchant()).build(test.database()).await;
        Self { test }
    }

    pub(crate) async fn work(&self) -> Work {
        Work::for_store(self.test.database(), merchant()).await.unwrap()
    }

    pub(crate) fn reading(&self) -> Reading {
        Reading::for_store(self.test.database(), merchant()).unwrap()
    }

    pub(crate) async fn put(&self, drafts: &[ProductDraft]) -> Vec<PutOutcome> {
        self.put_from(Origin::Push, drafts).await
    }

    pub(crate) async fn put_from(
        &self,
        origin: Origin,
        drafts: &[ProductDraft],
    ) -> Vec<PutOutcome> {
        let incoming: Vec<Incoming> = drafts.iter().map(checked).collect();
        let mut work = self.work().await;
        let put = catalog::put_products(&mut work, merchant(), origin, &incoming).await.unwrap();
        work.commit().await.unwrap();
        put.into_iter().map(|put| put.outcome).collect()
    }

    pub(crate) async fn product(&self, external_id: &str) -> Option<Product> {
        let mut raw = self.test.raw().await;
        let id: Option<ProductId> =
            sqlx::query_scalar("SELECT product_id FROM product WHERE external_id = $1")
                .bind(external_id)
                .fetch_optional(&mut raw)
                .await
                .unwrap();
        catalog::product(&self.reading(), merchant(), id?).await.ok()
    }

    pub(crate) async fn set_quota(&self, quota: Quota, maximum: i64) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        catalog::set_quota(&mut work, merchant(), quota, Some(maximum)).await.unwrap();
        work.commit().await.unwrap();
    }

    /// Refreshes the counts, as a job does a few seconds after a change.
    pub(crate) async fn refresh_counts(&self) {
        let mut work = self.work().await;
        catalog::refresh_counts(&mut work, merchant()).await.unwrap();
        work.commit().await.unwrap();
    }

    /// Refreshes the quality figures, as the same job does.
    pub(crate) async fn refresh_quality(&self) -> CatalogQuality {
        catalog::refresh_quality(self.test.database(), merchant()).await.unwrap()
    }

    /// Runs a query that returns one number.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        let mut raw = self.test.raw().await;
        sqlx::query_scalar(query).fetch_one(&mut raw).await.unwrap()
    }

    /// Returns the number of product events since the last call.
    pub(crate) async fn events(&self) -> i64 {
        let count = self.count("SELECT count(*) FROM outbox WHERE topic LIKE 'product.%'").await;
        let mut raw = self.test.raw().await;
        sqlx::query("DELETE FROM outbox").execute(&mut raw).await.unwrap();
        count
    }
}

pub(crate) fn checked(draft: &ProductDraft) -> Incoming {
    catalog::check(draft, Currency::EUR).unwrap_or_else(|errors| panic!("{errors:?}"))
}

pub(crate) fn mug(external_id: &str, price: &str) -> ProductDraft {
    ProductDraft {
        external_id: external_id.to_owned(),
        name: Some(format!("Mug {external_id}")),
        description: Some(String::from("Holds coffee.")),
        brand: Some(String::from("Salgueira")),
        category: vec![String::from("Kitchen"), String::from("Mugs")],
        price: Some(Amount::new(price)),
        stock_quantity: Some(9),
        images: vec![ImageDraft { url: String::from("https://attic.example/mug.jpg"), alt: None }],
        ..ProductDraft::default()
    }
}

pub(crate) fn variant(sku: &str, price: &str, quantity: i64) -> VariantDraft {
    VariantDraft {
        sku: sku.to_owned(),
        price: Some(Amount::new(price)),
        stock_quantity: Some(quantity),
        ..VariantDraft::default()
    }
}

//! A test store and its orders.

use database::{Reading, Work};
use orders::{ConfirmationLevel, Order, OrderError, OrderLine, OrderStatus};
use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, Id, KeyId, LineId, MerchantId, Money, OrderId,
    ProductId, Timestamp, VariantId,
};
use serde_json::json;
use testkit::{StoreBuilder, TestDatabase};

const SLUG: &str = "attic";

/// Returns the key of the agent with this number.
pub(crate) fn agent(number: u128) -> KeyId {
    KeyId::from_random(number)
}

/// Returns an order of agent 1. Orders with different numbers have nothing unique in common.
pub(crate) fn order(number: u128) -> Order {
    let line = OrderLine {
        line: LineId::from_random(number),
        product: ProductId::from_random(1),
        variant: Some(VariantId::from_random(1)),
        sku: String::from("MUG-1"),
        name: String::from("Mug “Blå” 🫖"),
        quantity: 2,
        unit_minor: 1_250,
        total_minor: 2_499,
    };
    let plain = OrderLine {
        line: LineId::from_random(number + 100),
        product: ProductId::from_random(2),
        variant: None,
        total_minor: 1,
        ..line.clone()
    };
    let now = Timestamp::from_unix_micros(testkit::START);
    Order {
        id: OrderId::from_random(number),
        checkout: CheckoutId::from_random(number),
        cart: CartId::from_random(number),
        agent: agent(1),
        agent_name: String::from("helper"),
        is_sandbox: false,
        status: OrderStatus::Pending,
        payment_provider: String::from("test"),
        payment_reference: format!("ref-{number}"),
        total: Money::new(2_990, Currency::EUR),
        lines: vec![line, plain],
        terms: json!({ "total": "29.90", "rate": 0.19, "items": [{ "quantity": 2 }] }),
        quote_hash: [0xab; 32],
        confirmation: ConfirmationLevel::Hosted,
        confirmation_id: Some(ConfirmationId::from_random(number)),
        shipping_minor: None,
        tax_minor: None,
        same_address: None,
        buyer: Some(json!({ "email": "eve@example.com" })),
        created_at: now,
        updated_at: now,
    }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) merchant: MerchantId,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        StoreBuilder::new(SLUG).merchant(merchant).build(test.database()).await;
        Self { test, merchant }
    }

    /// Creates a second store in the same database.
    pub(crate) async fn another_merchant(&self) -> MerchantId {
        StoreBuilder::new("cellar").build(self.test.database()).await.merchant
    }

    /// Places an order of this store in its own transaction.
    pub(crate) async fn place(&self, order: &Order) -> Result<(), OrderError> {
        self.place_for(self.merchant, order).await
    }

    pub(crate) async fn place_for(
        &self,
        merchant: MerchantId,
        order: &Order,
    ) -> Result<(), OrderError> {
        let mut work = Work::for_checkout(self.test.database(), merchant).await?;
        orders::place(&mut work, merchant, SLUG, order).await?;
        Ok(work.commit().await?)
    }

    /// Reads an order of this store, as an agent or as the merchant.
    pub(crate) async fn read(
        &self,
        id: OrderId,
        agent: Option<KeyId>,
    ) -> Result<Order, OrderError> {
        self.read_for(self.merchant, id, agent).await
    }

    pub(crate) async fn read_for(
        &self,
        merchant: MerchantId,
        id: OrderId,
        agent: Option<KeyId>,
    ) -> Result<Order, OrderError> {
        let reading = Reading::for_store(self.test.database(), merchant)?;
        orders::order(&reading, merchant, id, agent).await
    }

    /// Executes SQL as the owner of the schema.
    pub(crate) async fn execute(&self, sql: &'static str) -> sqlx::Result<u64> {
        let done = sqlx::query(sql).execute(&mut self.test.raw().await).await?;
        Ok(done.rows_affected())
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }
}

/// Returns the name of the violated constraint.
pub(crate) fn constraint<T: std::fmt::Debug>(result: Result<T, OrderError>) -> String {
    let Err(OrderError::Database(error)) = result else { panic!("{result:?}") };
    error.constraint().unwrap().to_owned()
}

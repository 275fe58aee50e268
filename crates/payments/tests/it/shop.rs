//! A test store and its payments.

use std::time::Duration;

use database::{Reading, Work};
use payments::{ChargeOutcome, Payment, PaymentError, TestInstrument};
use primitives::{CheckoutId, Currency, Id, MerchantId, Money, PaymentId, Timestamp};
use serde_json::Value;
use testkit::{StoreBuilder, TestDatabase};

/// The total of the quote that is paid.
pub(crate) const TOTAL: Money = Money::new(2_990, Currency::EUR);

/// Returns the checkout session with this number.
pub(crate) fn session(number: u128) -> CheckoutId {
    CheckoutId::from_random(number)
}

/// Returns the outcome of a successful charge.
pub(crate) fn paid(reference: &str) -> ChargeOutcome {
    ChargeOutcome::Paid { reference: reference.to_owned() }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) merchant: MerchantId,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        StoreBuilder::new("attic").merchant(merchant).build(test.database()).await;
        Self { test, merchant }
    }

    /// Creates a second store in the same database.
    pub(crate) async fn another_merchant(&self) -> MerchantId {
        StoreBuilder::new("cellar").build(self.test.database()).await.merchant
    }

    pub(crate) async fn work(&self, merchant: MerchantId) -> Work {
        Work::for_store(self.test.database(), merchant).await.unwrap()
    }

    /// Creates a payment of a session in its own transaction.
    pub(crate) async fn create(&self, checkout: CheckoutId) -> Result<Payment, PaymentError> {
        self.create_for(self.merchant, checkout, TOTAL).await
    }

    pub(crate) async fn create_for(
        &self,
        merchant: MerchantId,
        checkout: CheckoutId,
        amount: Money,
    ) -> Result<Payment, PaymentError> {
        let mut work = self.work(merchant).await;
        let approves = TestInstrument::Approves.as_str();
        let payment =
            payments::create(&mut work, merchant, checkout, "test", approves, amount).await?;
        work.commit().await?;
        Ok(payment)
    }

    /// Records an outcome in its own transaction.
    pub(crate) async fn record(&self, payment: PaymentId, outcome: &ChargeOutcome) -> bool {
        self.record_for(self.merchant, payment, outcome).await
    }

    pub(crate) async fn record_for(
        &self,
        merchant: MerchantId,
        payment: PaymentId,
        outcome: &ChargeOutcome,
    ) -> bool {
        let mut work = self.work(merchant).await;
        let recorded = payments::record_outcome(&mut work, merchant, payment, outcome).await;
        work.commit().await.unwrap();
        recorded.unwrap()
    }

    pub(crate) async fn find_paid(
        &self,
        checkout: CheckoutId,
    ) -> Result<Option<Payment>, PaymentError> {
        let mut work = self.work(self.merchant).await;
        payments::find_paid(&mut work, self.merchant, checkout).await
    }

    /// Returns payments that were created before a timestamp and are pending.
    pub(crate) async fn find_pending(
        &self,
        before: Timestamp,
        limit: i64,
    ) -> Result<Vec<(MerchantId, Payment)>, PaymentError> {
        let database = self.test.database();
        let found = Reading::for_platform(database)
            .run(async |sql| payments::find_pending(sql, before, None, limit).await)
            .await?;
        let mut pending = Vec::new();
        for (merchant, id, _) in found {
            let reading = Reading::for_store(database, merchant)?;
            let payment = payments::find(&reading, merchant, id).await?;
            pending.push((merchant, payment.unwrap()));
        }
        Ok(pending)
    }

    /// Returns all payments that are pending now.
    pub(crate) async fn all_pending(&self) -> Vec<(MerchantId, Payment)> {
        let later = self.test.database().local_now().plus(Duration::from_secs(1));
        self.find_pending(later, 100).await.unwrap()
    }

    /// Returns the stored payments of all sessions without their generated ids, the oldest first.
    pub(crate) async fn rows(&self) -> Value {
        let sql = "SELECT jsonb_agg(to_jsonb(payment) - 'payment_id' ORDER BY begun_at, checkout_id) FROM payment";
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }

    /// Executes SQL as the owner of the schema.
    pub(crate) async fn execute(&self, sql: &'static str) -> sqlx::Result<u64> {
        let done = sqlx::query(sql).execute(&mut self.test.raw().await).await?;
        Ok(done.rows_affected())
    }
}

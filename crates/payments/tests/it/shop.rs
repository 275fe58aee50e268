//! A test store and its payments.

use std::time::Duration;

use database::{Reading, Work};
use payments::{
    Charge, ChargeOutcome, NewPayment, Payment, PaymentError, ProviderName, TestInstrument,
};
use primitives::{CheckoutId, Currency, Id, MerchantId, Money, PaymentId, Timestamp};
use serde_json::Value;
use testkit::{StoreBuilder, TestDatabase};

/// The total of the quote that is paid.
pub(crate) const TOTAL: Money = Money::new(2_990, Currency::EUR);

/// Returns the checkout session with this number.
pub(crate) fn session(number: u128) -> CheckoutId {
    CheckoutId::from_random(number)
}

/// Returns the outcome of a successful charge of `TOTAL`.
pub(crate) fn paid(reference: &str) -> ChargeOutcome {
    ChargeOutcome::Paid(charge(reference))
}

/// Returns a charge of `TOTAL`.
pub(crate) fn charge(reference: &str) -> Charge {
    Charge { reference: reference.to_owned(), amount: TOTAL, fee: None }
}

/// Time for which a buyer can pay.
pub(crate) const PAYABLE: Duration = Duration::from_mins(30);

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
        Work::for_checkout(self.test.database(), merchant).await.unwrap()
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
        let new = self.attempt(checkout, ProviderName::Test, amount);
        let payment = payments::create(&mut work, merchant, new).await?;
        work.commit().await?;
        Ok(payment)
    }

    /// Returns an attempt to create. At other providers than the test provider, real money moves.
    pub(crate) fn attempt(
        &self,
        checkout: CheckoutId,
        provider: ProviderName,
        amount: Money,
    ) -> NewPayment<'static> {
        NewPayment {
            checkout,
            provider,
            account: None,
            instrument: TestInstrument::Approves.as_str(),
            amount,
            quote_hash: Some([7; 32]),
            is_live: provider != ProviderName::Test,
            expires_at: self.test.database().local_now().plus(PAYABLE),
        }
    }

    /// Creates a payment of real money in its own transaction.
    pub(crate) async fn create_live(&self, checkout: CheckoutId) -> Payment {
        let mut work = self.work(self.merchant).await;
        let new = self.attempt(checkout, ProviderName::Stripe, TOTAL);
        let payment = payments::create(&mut work, self.merchant, new).await.unwrap();
        work.commit().await.unwrap();
        payment
    }

    /// Creates a payment of real money that is paid.
    pub(crate) async fn create_paid(&self, checkout: CheckoutId, reference: &str) -> Payment {
        let payment = self.create_live(checkout).await;
        assert!(self.record(payment.id, &paid(reference)).await);
        self.find(payment.id).await
    }

    /// Returns a payment as it is stored.
    pub(crate) async fn find(&self, id: PaymentId) -> Payment {
        let reading = self.reading(self.merchant);
        payments::find(&reading, self.merchant, id).await.unwrap().unwrap().0
    }

    pub(crate) fn reading(&self, merchant: MerchantId) -> Reading {
        Reading::for_store(self.test.database(), merchant).unwrap()
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
        let reading = self.reading(self.merchant);
        let found = payments::find(&reading, self.merchant, payment).await.unwrap();
        let Some((found, _)) = found else { return false };
        let payment = Payment { merchant, ..found };
        let mut work = self.work(merchant).await;
        let recorded = payments::record_outcome(&mut work, &payment, outcome).await;
        work.commit().await.unwrap();
        recorded.unwrap().is_some()
    }

    pub(crate) async fn find_paid(
        &self,
        checkout: CheckoutId,
    ) -> Result<Option<Payment>, PaymentError> {
        let mut work = self.work(self.merchant).await;
        payments::find_paid(&mut work, self.merchant, checkout).await
    }

    /// Returns payments about which their provider is to be asked until a timestamp.
    pub(crate) async fn find_due(
        &self,
        until: Timestamp,
        limit: i64,
    ) -> Result<Vec<(MerchantId, Payment)>, PaymentError> {
        let database = self.test.database();
        let found = Reading::for_platform(database)
            .run(async |sql| payments::find_due(sql, until, None, limit).await)
            .await?;
        let mut due = Vec::new();
        for (merchant, id, _) in found {
            let payment = payments::find(&self.reading(merchant), merchant, id).await?;
            due.push((merchant, payment.unwrap().0));
        }
        Ok(due)
    }

    /// Returns all payments that are pending now.
    pub(crate) async fn all_pending(&self) -> Vec<(MerchantId, Payment)> {
        let later = self.test.database().local_now().plus(PAYABLE);
        let due = self.find_due(later, 100).await.unwrap();
        due.into_iter().filter(|(_, payment)| payment.status.is_pending()).collect()
    }

    /// Returns the stored payments of all sessions without their generated ids, the oldest first.
    pub(crate) async fn rows(&self) -> Value {
        let sql =
            "SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(payment)) - 'payment_id' - 'quote_hash'
                   ORDER BY begun_at, checkout_id) FROM payment";
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }

    /// Returns the names of the open findings, with their payments.
    pub(crate) async fn open_findings(&self) -> Vec<(PaymentId, String)> {
        let reading = self.reading(self.merchant);
        let found = payments::findings(&reading, self.merchant, 100).await.unwrap();
        found.into_iter().map(|it| (it.payment, it.kind)).collect()
    }

    /// Executes SQL as the owner of the schema.
    pub(crate) async fn execute(&self, sql: &'static str) -> sqlx::Result<u64> {
        let done = sqlx::query(sql).execute(&mut self.test.raw().await).await?;
        Ok(done.rows_affected())
    }
}

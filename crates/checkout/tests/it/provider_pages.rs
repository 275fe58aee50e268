//! Payments on pages of a provider: redirects, lost replies, declined and abandoned attempts, and the end of a session.

use std::sync::Arc;
use std::time::Duration;

use checkout::{
    CheckoutError, ExpireSessions, PayResult, ReconcilePayments, SESSION_LIFETIME, SessionSnapshot,
    Status, abandon_payment, observe_payment, refresh_payment,
};
use payments::ProviderName::{Paypal, Stripe};
use payments::{PaymentStatus, ProviderName};
use primitives::{Currency, Money, ProductId};

use crate::scripted_provider::{Known, Reply, ScriptedProvider};
use crate::shop::{Shop, agent};

pub(crate) const TOTAL: Money = Money::new(2_990, Currency::EUR);
const ORDERS: &str = "SELECT count(*) FROM placed_order";
const CHARGES: &str =
    "SELECT coalesce(sum(amount_minor), 0)::bigint FROM ledger_transfer WHERE kind = 'charge'";

/// A store with a provider, and a session that is ready to be paid.
pub(crate) struct Purchase {
    pub(crate) shop: Shop,
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) name: ProviderName,
    pub(crate) at: SessionSnapshot,
    pub(crate) mug: ProductId,
}

impl Purchase {
    pub(crate) async fn of(provider: ScriptedProvider, name: ProviderName) -> Self {
        let provider = Arc::new(provider);
        let shop = Shop::with_provider(&provider).await;
        let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
        let cart = shop.cart(&agent(1), &[(mug, 2)]).await;
        let at = shop.complete(&agent(1), cart.cart.id).await.unwrap();
        Self { shop, provider, name, at, mug }
    }

    pub(crate) async fn at(name: ProviderName) -> Self {
        Self::of(ScriptedProvider::new(name), name).await
    }

    /// Starts a payment whose page is open.
    pub(crate) async fn opened(name: ProviderName) -> Self {
        let purchase = Self::at(name).await;
        let url = purchase.pay().await.unwrap().page_url;
        assert!(url.unwrap().starts_with("https://pay.example/page_pay_"));
        purchase
    }

    pub(crate) async fn pay(&self) -> Result<PayResult, CheckoutError> {
        self.shop.submit_to(&self.at, self.name, "page").await
    }

    /// Handles a webhook about the newest attempt.
    pub(crate) async fn hint(&self) -> Result<bool, CheckoutError> {
        let reference = self.reference().await;
        let (database, merchant) = (self.shop.test.database(), self.shop.store.merchant);
        observe_payment(database, &self.shop.gateway(), merchant, self.name, &reference).await
    }

    pub(crate) async fn reference(&self) -> String {
        let newest = "SELECT attempt_reference FROM payment ORDER BY begun_at DESC LIMIT 1";
        sqlx::query_scalar(newest).fetch_one(&mut self.shop.test.raw().await).await.unwrap()
    }

    pub(crate) async fn reconcile(&self) {
        self.shop.run::<ReconcilePayments>(self.shop.gateway()).await;
    }

    pub(crate) async fn abandon(&self) -> Result<SessionSnapshot, CheckoutError> {
        let session = &self.at.session;
        abandon_payment(&self.shop.context(), session.id, &session.form_token).await
    }

    pub(crate) async fn status(&self) -> Status {
        self.shop.session(&self.at).await.status()
    }

    /// Returns the status of the newest attempt.
    pub(crate) async fn attempt(&self) -> PaymentStatus {
        let newest = "SELECT status FROM payment ORDER BY begun_at DESC, status LIMIT 1";
        let status: String =
            sqlx::query_scalar(newest).fetch_one(&mut self.shop.test.raw().await).await.unwrap();
        PaymentStatus::parse(&status).unwrap()
    }

    /// Asserts that the session is an order that was charged once.
    pub(crate) async fn assert_paid_once(&self) {
        assert_eq!(self.status().await, Status::Completed);
        assert_eq!(self.shop.count(ORDERS).await, 1);
        assert_eq!(self.shop.count(CHARGES).await, TOTAL.minor());
        assert_eq!(self.shop.stock_and_held(self.mug).await, (1, 0));
        assert_eq!(self.shop.findings().await, [""; 0]);
    }
}

#[tokio::test]
async fn a_buyer_pays_on_the_page_of_the_provider() {
    let purchase = Purchase::at(Stripe).await;
    let first = purchase.pay().await.unwrap();
    assert_eq!(first.snapshot.status(), Status::CompleteInProgress);
    assert_eq!(first.placed, None);
    let again = purchase.pay().await.unwrap();
    assert_eq!(again.page_url, first.page_url, "the same page");
    assert_eq!(purchase.provider.calls(), ["begin"]);
    let (context, id) = (purchase.shop.context(), purchase.at.session.id);
    let back = refresh_payment(&context, id).await.unwrap();
    assert_eq!(back.status(), Status::CompleteInProgress, "a return marks nothing as paid");
    assert_eq!(purchase.shop.count(ORDERS).await, 0);
    purchase.provider.set(Known::Paid(TOTAL));
    assert_eq!(refresh_payment(&context, id).await.unwrap().status(), Status::Completed);
    purchase.assert_paid_once().await;
    let order = "SELECT count(*) FROM placed_order WHERE payment_provider = 'stripe' AND payment_status = 'paid'
                 AND payment_reference LIKE 'money_pay_%'";
    assert_eq!(purchase.shop.count(order).await, 1);
}

#[tokio::test]
async fn webhooks_schedule_and_return_settle_once() {
    for name in [Stripe, Paypal] {
        let purchase = Purchase::opened(name).await;
        let known = if name == Paypal { Known::Approved } else { Known::Paid(TOTAL) };
        purchase.provider.set(known);
        purchase.shop.advance(Duration::from_mins(1));
        let context = purchase.shop.context();
        let back = refresh_payment(&context, purchase.at.session.id);
        let (one, two, back, ()) =
            tokio::join!(purchase.hint(), purchase.hint(), back, purchase.reconcile());
        assert!(one.unwrap() && two.unwrap());
        back.unwrap();
        // Of two calls that take the money, one can find that the other is at it.
        purchase.hint().await.unwrap();
        purchase.assert_paid_once().await;
    }
}

#[tokio::test]
async fn a_webhook_about_something_else_is_not_ours() {
    let purchase = Purchase::opened(Stripe).await;
    let (database, merchant) = (purchase.shop.test.database(), purchase.shop.store.merchant);
    let gateway = purchase.shop.gateway();
    let reference = purchase.reference().await;
    for (provider, reference) in [(Stripe, "page_of_another_shop"), (Paypal, reference.as_str())] {
        let known = observe_payment(database, &gateway, merchant, provider, reference).await;
        assert!(!known.unwrap());
    }
    assert_eq!(purchase.provider.calls(), ["begin"]);
}

#[tokio::test]
async fn a_lost_reply_leaves_an_attempt_that_nobody_can_pay() {
    let purchase = Purchase::at(Stripe).await;
    purchase.provider.script(&[Reply::Lost]);
    let lost = purchase.pay().await.unwrap();
    assert_eq!((lost.snapshot.status(), lost.page_url), (Status::CompleteInProgress, None));
    let again = purchase.pay().await;
    assert!(matches!(again, Err(CheckoutError::InvalidTransition { .. })), "{again:?}");
    purchase.reconcile().await;
    assert_eq!(purchase.status().await, Status::CompleteInProgress, "it is asked after 30 seconds");
    purchase.shop.advance(Duration::from_secs(30));
    purchase.reconcile().await;
    let ready = purchase.shop.session(&purchase.at).await;
    assert_eq!(
        (ready.status(), ready.session.is_payment_failed),
        (Status::ReadyForComplete, false)
    );
    assert_eq!(purchase.attempt().await, PaymentStatus::Expired);
    assert!(purchase.pay().await.unwrap().page_url.is_some(), "the person can pay again");
}

#[tokio::test]
async fn what_surely_did_not_happen_can_be_repeated_at_once() {
    for (reply, is_failed) in [(Reply::NotSent, false), (Reply::Refused, true)] {
        let purchase = Purchase::at(Stripe).await;
        purchase.provider.script(&[reply]);
        let tried = purchase.pay().await.unwrap().snapshot;
        assert_eq!(tried.status(), Status::ReadyForComplete);
        assert_eq!(tried.session.is_payment_failed, is_failed);
        assert!(purchase.pay().await.unwrap().page_url.is_some());
    }
}

#[tokio::test]
async fn a_declined_payment_can_be_paid_again() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Declined);
    assert!(purchase.hint().await.unwrap());
    let declined = purchase.shop.session(&purchase.at).await;
    assert_eq!(declined.status(), Status::ReadyForComplete);
    assert!(declined.session.is_payment_failed);
    purchase.shop.advance(Duration::from_secs(1));
    assert!(purchase.pay().await.unwrap().page_url.is_some());
    assert_eq!(purchase.shop.stock_and_held(purchase.mug).await, (3, 2), "held for the person");
}

#[tokio::test]
async fn a_buyer_who_comes_back_can_choose_again() {
    for name in [Stripe, Paypal] {
        let purchase = Purchase::opened(name).await;
        let context = purchase.shop.context();
        let forged = abandon_payment(&context, purchase.at.session.id, &[0; 16]).await;
        assert!(matches!(forged, Err(CheckoutError::CsrfRejected)));
        let back = purchase.abandon().await.unwrap();
        assert_eq!(
            (back.status(), back.session.is_payment_failed),
            (Status::ReadyForComplete, false)
        );
        assert_eq!(purchase.abandon().await.unwrap().session, back.session, "once");
        // What the buyer approves after that is not taken.
        let first = purchase.reference().await;
        let id = first.trim_start_matches("page_").parse().unwrap();
        purchase.provider.set_of(id, if name == Paypal { Known::Approved } else { Known::Ended });
        assert!(purchase.hint().await.unwrap());
        assert!(!purchase.provider.calls().contains(&"capture"));
        purchase.shop.advance(Duration::from_secs(1));
        let second = purchase.pay().await.unwrap().page_url.unwrap();
        assert!(!second.ends_with(&first), "another page");
        let id = purchase.reference().await.trim_start_matches("page_").parse().unwrap();
        purchase.provider.set_of(id, Known::Paid(TOTAL));
        purchase.hint().await.unwrap();
        purchase.assert_paid_once().await;
    }
}

#[tokio::test]
async fn a_payment_that_was_paid_is_not_abandoned() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Paid(TOTAL));
    assert_eq!(purchase.abandon().await.unwrap().status(), Status::Completed);
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn an_attempt_stays_open_until_the_provider_has_closed_it() {
    let purchase = Purchase::opened(Stripe).await;
    for reply in [Reply::NotSent, Reply::Lost, Reply::Refused] {
        purchase.provider.script(&[reply]);
        assert_eq!(purchase.abandon().await.unwrap().status(), Status::CompleteInProgress);
    }
    assert_eq!(purchase.abandon().await.unwrap().status(), Status::ReadyForComplete);
}

#[tokio::test]
async fn money_that_is_being_taken_is_neither_abandoned_nor_expired() {
    let purchase = Purchase::of(ScriptedProvider::gated(Paypal, "capture"), Paypal).await;
    purchase.pay().await.unwrap();
    purchase.provider.set(Known::Approved);
    let taking = purchase.hint();
    let abandoning = async {
        while purchase.attempt().await != PaymentStatus::Processing {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let abandoned = purchase.abandon().await;
        purchase.shop.advance(SESSION_LIFETIME);
        let calls = purchase.provider.calls();
        assert!(!calls.contains(&"expire"), "{calls:?}");
        purchase.provider.release();
        abandoned
    };
    let (taken, abandoned) = tokio::join!(taking, abandoning);
    assert!(taken.unwrap());
    assert!(matches!(abandoned, Err(CheckoutError::InvalidTransition { .. })), "{abandoned:?}");
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn an_approved_payment_that_is_abandoned_meanwhile_is_not_taken() {
    let purchase = Purchase::of(ScriptedProvider::gated(Paypal, "status"), Paypal).await;
    purchase.pay().await.unwrap();
    purchase.provider.set(Known::Approved);
    let abandoning = async {
        while !purchase.provider.calls().contains(&"status") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let abandoned = purchase.abandon().await;
        purchase.provider.release();
        abandoned
    };
    let (asked, abandoned) = tokio::join!(purchase.hint(), abandoning);
    assert!(asked.unwrap());
    assert_eq!(abandoned.unwrap().status(), Status::ReadyForComplete);
    assert_eq!(purchase.provider.calls(), ["expire"], "no capture");
    assert_eq!(
        (purchase.attempt().await, purchase.shop.count(ORDERS).await),
        (PaymentStatus::Expired, 0)
    );
}

#[tokio::test]
async fn a_lost_capture_is_repeated_and_takes_the_money_once() {
    let purchase = Purchase::opened(Paypal).await;
    purchase.provider.set(Known::Approved);
    purchase.provider.script_call("capture", Reply::Lost);
    assert!(purchase.hint().await.unwrap());
    assert_eq!(purchase.status().await, Status::CompleteInProgress);
    assert_eq!(purchase.attempt().await, PaymentStatus::Processing);
    purchase.shop.advance(SESSION_LIFETIME);
    purchase.reconcile().await;
    assert!(!purchase.provider.calls().contains(&"expire"), "it is not given up");
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn an_open_attempt_is_closed_at_the_end_of_its_session() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.shop.advance(SESSION_LIFETIME);
    purchase.provider.calls();
    let late = purchase.pay().await;
    assert!(matches!(late, Err(CheckoutError::InvalidTransition { .. })), "the page closes");
    purchase.provider.script(&[Reply::Lost]);
    purchase.reconcile().await;
    assert_eq!(purchase.status().await, Status::CompleteInProgress, "the reply was lost");
    purchase.shop.advance(Duration::from_hours(1));
    purchase.reconcile().await;
    assert_eq!(purchase.provider.calls(), ["expire", "expire"]);
    assert_eq!(purchase.attempt().await, PaymentStatus::Expired);
    purchase.shop.run::<ExpireSessions>(()).await;
    assert_eq!(purchase.status().await, Status::Expired);
    assert_eq!(purchase.shop.stock_and_held(purchase.mug).await, (3, 0));
}

#[tokio::test]
async fn a_buyer_who_paid_just_before_the_end_gets_the_order() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.shop.advance(SESSION_LIFETIME);
    let (paid, ()) = tokio::join!(purchase.hint(), purchase.reconcile());
    assert!(paid.unwrap());
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn a_delayed_payment_is_awaited_beyond_the_end() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Processing);
    assert!(purchase.hint().await.unwrap());
    assert_eq!(purchase.attempt().await, PaymentStatus::Processing);
    for _ in 0..3 {
        purchase.shop.advance(Duration::from_hours(9));
        purchase.reconcile().await;
    }
    assert!(!purchase.provider.calls().contains(&"expire"));
    assert_eq!(purchase.shop.findings().await, ["unresolved"], "after a day somebody looks");
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.shop.advance(Duration::from_hours(9));
    purchase.reconcile().await;
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn another_amount_is_a_finding_and_no_order() {
    let purchase = Purchase::opened(Stripe).await;
    for wrong in [Money::new(2_989, Currency::EUR), Money::new(2_990, Currency::USD)] {
        purchase.provider.set(Known::Paid(wrong));
        assert!(purchase.hint().await.unwrap());
        assert_eq!(purchase.status().await, Status::CompleteInProgress);
        assert_eq!(purchase.shop.findings().await, ["amount_mismatch"]);
    }
    assert_eq!((purchase.shop.count(ORDERS).await, purchase.shop.count(CHARGES).await), (0, 0));
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.hint().await.unwrap();
    purchase.assert_paid_once().await;
}

#[tokio::test]
async fn a_payment_of_an_unknown_provider_raises_the_alarm_and_stops_no_other() {
    let purchase = Purchase::opened(Stripe).await;
    let shop = &purchase.shop;
    let [pot] = shop.stock(&[("pot", "5.00", 3)]).await;
    let mut others = Vec::new();
    for (number, provider) in [(2, "former"), (3, "paypal")] {
        let cart = shop.cart(&agent(number), &[(pot, 1)]).await;
        let at = shop.complete(&agent(number), cart.cart.id).await.unwrap();
        shop.submit_to(&at, Stripe, "page").await.unwrap();
        let renamed = "UPDATE payment SET provider = $1 WHERE checkout_id = $2";
        let mut raw = shop.test.raw().await;
        sqlx::query(renamed).bind(provider).bind(at.session.id).execute(&mut raw).await.unwrap();
        others.push(at);
    }
    let id = purchase.reference().await;
    assert!(id.starts_with("page_pay_"));
    let first = "SELECT attempt_reference FROM payment WHERE provider = 'stripe'";
    let first: String =
        sqlx::query_scalar(first).fetch_one(&mut shop.test.raw().await).await.unwrap();
    let first = first.trim_start_matches("page_").parse().unwrap();
    purchase.provider.set_of(first, Known::Paid(TOTAL));
    shop.advance(Duration::from_mins(1));
    for _ in 0..2 {
        purchase.reconcile().await;
    }
    assert_eq!(purchase.status().await, Status::Completed);
    assert_eq!(shop.findings().await, ["unknown_provider", "unknown_provider"]);
    let failures = "SELECT count(*) FROM sweep_failure WHERE sweep = 'checkout.ask_again'";
    assert_eq!(shop.count(failures).await, 2);
    for at in others {
        assert_eq!(shop.session(&at).await.status(), Status::CompleteInProgress);
    }
}

#[tokio::test]
async fn a_provider_that_contradicts_a_paid_order_later_is_a_finding() {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.hint().await.unwrap();
    purchase.assert_paid_once().await;
    purchase.provider.set(Known::Ended);
    purchase.provider.calls();
    purchase.shop.advance(Duration::from_hours(24));
    for _ in 0..2 {
        purchase.reconcile().await;
    }
    assert_eq!(purchase.provider.calls(), ["status"], "once");
    assert_eq!(purchase.shop.findings().await, ["ledger_difference"]);
}

#[tokio::test]
async fn a_sandbox_pays_with_the_test_provider_only() {
    let purchase = Purchase::at(Stripe).await;
    let shop = &purchase.shop;
    let sandbox = carts::CartOwner { is_sandbox: true, ..agent(7) };
    let cart = shop.cart(&sandbox, &[(purchase.mug, 1)]).await;
    let at = shop.complete(&sandbox, cart.cart.id).await.unwrap();
    let refused = shop.submit_to(&at, Stripe, "page").await;
    assert!(matches!(refused, Err(CheckoutError::PaymentNotAccepted)));
    let refused = shop.pay(&purchase.at, payments::TestInstrument::Approves).await;
    assert!(matches!(refused, Err(CheckoutError::PaymentNotAccepted)));
    let paid = shop.pay(&at, payments::TestInstrument::Approves).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    assert_eq!(shop.count(CHARGES).await, 0);
    let methods = async |is_sandbox| shop.context().methods(is_sandbox).await.unwrap();
    assert!(methods(true).await.is_test() && !methods(false).await.is_test());
}

//! A verb: paying on our own page. The session is moved on and the payment begun in one work; the provider is asked outside of
//! any; what came of it is written in another. Whoever dies in between leaves a payment that is asked for again.

use std::sync::Arc;
use std::time::Duration;

use carts::CartStatus;
use database::{Reading, Work, crash_point};
use jobs::{Epoch, Job, JobContext, JobError, Outcome as Ended, Scheduled};
use orders::{ConfirmationLevel, Order, OrderStatus};
use payments::{Outcome, Payment, Provider};
use primitives::{CheckoutId, MerchantId};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::abandon::failed;
use crate::event::{self, AgentEvent};
use crate::{At, CheckoutError, Counter, Session, Status, Step, read, table};

/// A payment whose end nobody wrote for so long is asked for again.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many are asked for at once.
const AT_ONCE: i64 = 100;

/// Who takes payments on our own page.
#[derive(Debug, Clone)]
pub struct Till {
    provider: Arc<dyn Provider>,
    /// Whether money that is none also pays for real goods: for trying things out.
    allows_test_money: bool,
}

impl Till {
    /// A till with one provider.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>, allows_test_money: bool) -> Self {
        Self { provider, allows_test_money }
    }

    /// Whether it takes payments for a session: test money buys nothing real unless that is allowed.
    #[must_use]
    pub fn takes(&self, session: &Session) -> bool {
        self.provider.is_real() != session.owner.is_sandbox
            || (self.allows_test_money && !self.provider.is_real())
    }

    /// Whether what it takes is real money.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.provider.is_real()
    }
}

/// Pays for a session with what the person chose. The form has to come from the page that was shown.
pub async fn pay(
    counter: &Counter<'_>,
    till: &Till,
    id: CheckoutId,
    instrument: &str,
    form_token: &[u8],
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = counter.work().await?;
    let now = work.now();
    let (mut session, _) = read::hold(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::ForeignForm);
    }
    if session.kept_status == Status::Completed {
        return Ok(At { session, now });
    }
    if !till.takes(&session) {
        return Err(CheckoutError::NoProvider);
    }
    let provider = till.provider.as_ref();
    let payment = begin(&mut work, merchant, &mut session, provider.name(), instrument).await?;
    crash_point("pay.before_commit");
    work.commit().await?;
    crash_point("pay.begun");
    let outcome = provider.charge(&payment.asked()).await;
    crash_point("pay.charged");
    match outcome {
        Ok(outcome) => {
            let mut work = counter.work().await?;
            let session = settle(&mut work, merchant, &payment, &outcome).await?;
            crash_point("pay.settled");
            let now = work.now();
            work.commit().await?;
            crash_point("pay.committed");
            Ok(At { session, now })
        }
        Err(unanswered) => {
            // It may have gone through: the job that asks again will know.
            tracing::warn!(%id, cause = %unanswered, "a payment is under way");
            Ok(At { session, now })
        }
    }
}

/// Moves a session on and begins its payment. Only what is held can be paid.
pub(crate) async fn begin(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    provider: &str,
    instrument: &str,
) -> Result<Payment, CheckoutError> {
    let (now, before) = (work.now(), session.version);
    if !session.is_holding {
        return Err(CheckoutError::WrongStep { from: session.status(now) });
    }
    session.step(Step::Pay, now)?;
    let (id, amount) = (session.id, session.total);
    let payment = payments::begin(work, merchant, id, provider, instrument, amount).await?;
    table::update(work, merchant, session, before).await?;
    Ok(payment)
}

/// Writes what came of a payment: an order, or another try. Writing it twice changes nothing.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    payment: &Payment,
    outcome: &Outcome,
) -> Result<Session, CheckoutError> {
    let now = work.now();
    let (mut session, cart) = read::hold(work, merchant, payment.checkout, None).await?;
    if !payments::end(work, merchant, payment.id, outcome).await? {
        return Ok(session);
    }
    let before = session.version;
    match outcome {
        Outcome::Declined => {
            session.step(Step::Decline, now)?;
            session.is_payment_failed = true;
            table::update(work, merchant, &mut session, before).await?;
        }
        Outcome::Paid { reference } => {
            session.step(Step::Paid, now)?;
            let order = order(work, &session, &cart, &payment.provider, reference);
            orders::place(work, merchant, &session.terms.store.slug, &order).await?;
            crash_point("pay.order_placed");
            let units = session.units();
            catalog::sell(work, merchant, session.owner.shelf(), &units).await?;
            crash_point("pay.units_sold");
            (session.is_holding, session.is_payment_failed) = (false, false);
            session.order = Some(order.id);
            table::update(work, merchant, &mut session, before).await?;
            let (from, to) = (CartStatus::CheckoutStarted, CartStatus::Converted);
            carts::set_status(work, merchant, session.cart, from, to).await?;
            event::note(work, merchant, &session, AgentEvent::Complete).await?;
        }
    }
    Ok(session)
}

/// The order a paid session becomes.
fn order(
    work: &mut Work,
    session: &Session,
    cart: &carts::Cart,
    provider: &str,
    reference: &str,
) -> Order {
    let now = work.now();
    let attested = (ConfirmationLevel::Attested, None);
    let (confirmation, confirmation_id) = session.confirmation.unwrap_or(attested);
    Order {
        id: work.new_id(),
        checkout: session.id,
        cart: session.cart,
        agent: session.owner.key,
        agent_name: session.owner.name.clone(),
        is_sandbox: session.owner.is_sandbox,
        status: OrderStatus::Pending,
        payment_provider: provider.to_owned(),
        payment_reference: reference.to_owned(),
        total: session.total,
        lines: session.lines.clone(),
        terms: serde_json::to_value(&session.terms).unwrap_or_default(),
        quote_hash: *session.quote_hash.as_bytes(),
        confirmation,
        confirmation_id,
        buyer: cart.buyer.as_ref().and_then(|buyer| serde_json::to_value(buyer).ok()),
        created_at: now,
        updated_at: now,
    }
}

/// Asks providers what became of payments whose end nobody wrote. It comes round every minute.
#[derive(Debug, Serialize, Deserialize)]
pub struct AskAgain {
    epoch: Epoch,
}

impl Scheduled for AskAgain {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for AskAgain {
    const NAME: &'static str = "checkout.ask_again";
    type Needs = Till;

    async fn run(self, context: JobContext, till: Till) -> Result<Ended, JobError> {
        let reading = Reading::for_platform(context.database());
        let mut snapshot = reading.open().await?;
        let before = snapshot.now().await?.minus(PATIENCE);
        snapshot.close().await?;
        let stuck = payments::stuck(&reading, before, AT_ONCE).await;
        for (merchant, payment) in stuck.map_err(|error| failed(error.into()))? {
            if payment.provider != till.provider.name() {
                continue;
            }
            let Ok(outcome) = till.provider.find(&payment.asked()).await else { continue };
            let mut work = context.work_for_store(merchant).await?;
            settle(&mut work, merchant, &payment, &outcome).await.map_err(failed)?;
            work.commit().await?;
        }
        Ok(Ended::DONE)
    }
}

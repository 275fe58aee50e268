//! A verb: paying on the hosted page. The payment is started in one work, the provider is called outside of any, and what it says is
//! recorded in another. A process that dies in between leaves a pending payment, which `ReconcilePayments` settles.

use carts::QuoteHash;
use database::{Work, crash_point};
use payments::{CallError, ChargeOutcome, NextStep, PageRequest, Payment, PaymentStatus, Provider};
use payments::{ProviderName, ProviderPage};
use primitives::{CheckoutId, MerchantId, OrderId, Timestamp};
use subtle::ConstantTimeEq;

use crate::observe::record_outcome;
use crate::settle::{Means, start_payment};
use crate::{
    CheckoutContext, CheckoutError, PageMethod, Session, SessionSnapshot, Status, Visitor,
    confirmation, read,
};

/// What a person submits to pay.
#[derive(Debug, Clone)]
pub struct PayRequest<'form> {
    /// The provider that the person chose.
    pub provider: ProviderName,
    /// A token of the provider.
    pub instrument: &'form str,
    pub form_token: &'form [u8],
    /// The hash of the terms on the page.
    pub quote_hash: QuoteHash,
    pub visitor: Visitor,
}

/// The result of a call of [`pay`].
#[derive(Debug, Clone)]
pub struct PayResult {
    pub snapshot: SessionSnapshot,
    /// The order that this call placed. `None` if the payment was declined or is not known yet, and if another call, or
    /// reconciliation, recorded its outcome: the session then names the order, and this caller did not pay it.
    pub placed: Option<OrderId>,
    /// The provider's page on which the person pays, if that is the next step.
    pub page_url: Option<String>,
}

impl PayResult {
    fn of(session: Session, now: Timestamp) -> Self {
        Self { snapshot: SessionSnapshot { session, now }, placed: None, page_url: None }
    }
}

/// Pays for a session with the provider chosen by the person. Exactly the terms that the page showed are charged, and
/// paying confirms them. A session that is paid already is returned as it is, and one whose payment is open with the page of that payment.
/// Returns `CsrfRejected` unless the form token is the session's, and `QuoteChanged` if its terms are not the ones that were shown.
pub async fn pay(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    request: PayRequest<'_>,
) -> Result<PayResult, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, cart) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(request.form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    match session.stored_status() {
        Status::Completed => return Ok(PayResult::of(session, now)),
        Status::CompleteInProgress => return resume(work, merchant, session).await,
        _ => {}
    }
    let (provider, method) = ensure_payable(context, &mut work, &session, &request).await?;
    let proof =
        confirmation::record_payment(&mut work, merchant, &session, request.visitor).await?;
    session.confirmation = Some(proof);
    session.confirmed_scope = Some(session.terms.scope());
    let PageMethod { provider: name, is_live, account } = method;
    let means = Means { provider: name, account, is_live, instrument: request.instrument };
    let payment = start_payment(&mut work, merchant, &mut session, means).await?;
    let page = page_of(context, &session, &cart);
    crash_point("pay.before_commit");
    work.commit().await?;
    crash_point("pay.started");
    let next = provider.begin(&payment.attempt(), &page).await;
    crash_point("pay.charged");
    follow(context, provider, &payment, next, PayResult::of(session, now)).await
}

/// Returns the provider and its choice on the page, if the person can pay for the session with it. The session is locked.
async fn ensure_payable<'context>(
    context: &CheckoutContext<'context>,
    work: &mut Work,
    session: &Session,
    request: &PayRequest<'_>,
) -> Result<(&'context dyn Provider, PageMethod), CheckoutError> {
    if !session.is_holding {
        return Err(CheckoutError::InvalidTransition { from: session.status(work.now()) });
    }
    let merchant = context.merchant();
    let store = merchants::store_now(work, merchant).await?;
    let methods = context.gateway.methods_now(work, merchant, session.owner.is_sandbox).await?;
    context.ensure_hosted(session, &methods)?;
    if request.quote_hash != session.quote_hash {
        return Err(CheckoutError::QuoteChanged { current: session.quote_hash });
    }
    if session.needs_address() {
        let missing = vec!["destination"];
        return Err(CheckoutError::NotReady { missing, messages: Vec::new() });
    }
    // Nothing new is paid at a store that was closed to agents in the meantime.
    store.admit()?;
    let method = methods.find(request.provider).ok_or(CheckoutError::PaymentNotAccepted)?;
    let provider = context.gateway.provider(method.provider);
    Ok((provider.ok_or(CheckoutError::PaymentNotAccepted)?, method))
}

/// Returns the page of the payment that is in progress, if the person can still pay there.
async fn resume(
    mut work: Work,
    merchant: MerchantId,
    session: Session,
) -> Result<PayResult, CheckoutError> {
    let now = work.now();
    let pending = payments::find_pending_of(&mut work, merchant, session.id).await?;
    work.rollback().await?;
    let is_open = |it: &Payment| it.status == PaymentStatus::Open && now < it.expires_at;
    match pending.filter(is_open).and_then(|payment| payment.page_url) {
        Some(url) => Ok(PayResult { page_url: Some(url), ..PayResult::of(session, now) }),
        None => Err(CheckoutError::InvalidTransition { from: Status::CompleteInProgress }),
    }
}

/// Returns what the page of a provider shows, and where it leads: back to the hosted page.
fn page_of(context: &CheckoutContext<'_>, session: &Session, cart: &carts::Cart) -> PageRequest {
    let url = context.hosted_url(session.id);
    PageRequest {
        description: format!("{} ({})", context.store.name, session.id),
        success_url: format!("{url}/return"),
        cancel_url: url,
        buyer_email: cart.buyer.as_ref().and_then(|buyer| buyer.email.clone()),
    }
}

/// Records what the provider said of the start of a payment. `started` is the result if nothing more is known.
async fn follow(
    context: &CheckoutContext<'_>,
    provider: &dyn Provider,
    payment: &Payment,
    next: Result<NextStep, CallError>,
    started: PayResult,
) -> Result<PayResult, CheckoutError> {
    let outcome = match next {
        Ok(NextStep::Done(outcome)) => outcome,
        Ok(NextStep::Redirect(page)) => {
            return open(context, provider, payment, page, started).await;
        }
        Ok(NextStep::Processing { reference }) => {
            let mut work = context.work().await?;
            payments::record_processing(&mut work, payment, Some(&reference)).await?;
            work.commit().await?;
            return Ok(started);
        }
        // Nothing happened: the person can pay again.
        Err(CallError::NotSent) => ChargeOutcome::Ended,
        Err(CallError::Refused) => ChargeOutcome::Declined,
        Err(CallError::Unknown) => {
            // The charge may have succeeded; reconciliation finds out.
            let (merchant, payment) = (payment.merchant, payment.id);
            tracing::warn!(
                %merchant, %payment,
                "the payment provider returned no outcome; the payment stays pending until it is reconciled"
            );
            return Ok(started);
        }
    };
    let now = started.snapshot.now;
    Ok(match record_outcome(context.database, payment, &outcome).await? {
        Some(settled) => {
            let placed = settled.session.order.filter(|_| settled.is_recorded);
            PayResult { placed, ..PayResult::of(settled.session, now) }
        }
        None => started,
    })
}

/// Stores the page of a payment, before anybody gets its address. If the payment was closed in the meantime, the page is closed too.
async fn open(
    context: &CheckoutContext<'_>,
    provider: &dyn Provider,
    payment: &Payment,
    page: ProviderPage,
    started: PayResult,
) -> Result<PayResult, CheckoutError> {
    let mut work = context.work().await?;
    let is_open = payments::record_page(&mut work, payment, &page).await?;
    work.commit().await?;
    crash_point("pay.opened");
    if is_open {
        return Ok(PayResult { page_url: Some(page.url), ..started });
    }
    let mut attempt = payment.attempt();
    attempt.reference = Some(page.reference);
    // Nobody has the address: the page closes by itself if this call fails.
    if let Err(cause) = provider.expire(&attempt).await {
        let (merchant, payment) = (payment.merchant, payment.id);
        tracing::warn!(%merchant, %payment, %cause, "the page of a payment that has ended was not closed");
    }
    let session =
        read::session(&context.reading()?, payment.merchant, payment.checkout, None).await?;
    Ok(PayResult { snapshot: session, ..started })
}

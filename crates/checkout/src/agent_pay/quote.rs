//! What the agent is asked to pay.

use database::Work;
use merchants::X402Settings;
use primitives::{Currency, MerchantId, Money};
use x402::{
    AtomicAmount, Extensions, PaymentRequired, PaymentRequirements, ProtocolVersion, ResourceInfo,
};

use super::{AgentPaymentError, MAX_TIMEOUT_SECONDS};
use crate::{CheckoutContext, CheckoutError, Session};

/// The path at which agents pay.
pub const AGENT_PAYMENT_PATH: &str = "/api/v1/agent/payment";

/// Returns the quote of a session's terms, and stores it.
pub(super) async fn find_or_create(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    settings: &X402Settings,
) -> Result<PaymentRequirements, AgentPaymentError> {
    let currency = session.total.currency();
    let amount = payments::token_amount(session.total, settings.eur_rate_micros);
    let amount = amount.ok_or(AgentPaymentError::UnsupportedCurrency { currency })?;
    let token = settings.network.token();
    let new = PaymentRequirements::exact(&token, amount, settings.pay_to, MAX_TIMEOUT_SECONDS);
    let hash = *session.quote_hash.as_bytes();
    Ok(payments::quote_x402(work, merchant, session.id, hash, new).await?)
}

/// Returns the document that tells an agent how to pay, or how to pay after this error.
pub(super) fn payment_required(
    context: &CheckoutContext<'_>,
    session: &Session,
    quoted: PaymentRequirements,
    error: Option<&str>,
) -> PaymentRequired {
    let url = format!("{}{AGENT_PAYMENT_PATH}", context.site_url);
    let description = description(session, quoted.amount);
    PaymentRequired {
        version: ProtocolVersion,
        error: Some(error.unwrap_or("payment is required").to_owned()),
        resource: ResourceInfo {
            url,
            description: Some(description),
            mime_type: Some(String::from("application/json")),
        },
        accepts: vec![quoted],
        extensions: Extensions::default().with_payment_identifier(false),
    }
}

/// Returns how to pay again after a payment has failed; `None` if the session cannot be paid as it is.
pub(super) async fn current(
    context: &CheckoutContext<'_>,
    session: &Session,
    error: &str,
) -> Result<Option<PaymentRequired>, CheckoutError> {
    let reading = context.reading()?;
    let hash = *session.quote_hash.as_bytes();
    let quoted = payments::find_x402_quote(&reading, context.merchant(), session.id, hash).await?;
    Ok(quoted.map(|quoted| payment_required(context, session, quoted, Some(error))))
}

/// Names the session and both amounts. It has no merchant text: agents read it.
fn description(session: &Session, amount: AtomicAmount) -> String {
    let (total, id) = (session.total, session.id);
    let store = &session.terms.store.slug;
    let tokens = i64::try_from(amount.units()).unwrap_or(i64::MAX);
    let tokens = Money::new(tokens, Currency::Usdc);
    match total.currency() {
        Currency::Usdc => format!("Checkout {id} at {store}: {total}"),
        Currency::USD => format!("Checkout {id} at {store}: {total}, charged 1:1 as {tokens}"),
        _ => format!("Checkout {id} at {store}: {total}, charged as {tokens}"),
    }
}

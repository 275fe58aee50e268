//! A person agrees, or does not: what they are asked, what they answered, and whether that is a proof for this checkout.

mod proof;

use std::time::Duration;

use carts::{Owner, Priced, QuoteHash, Terms};
use database::Work;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, Details, KeyId, MerchantId, Timestamp};
use rand::Rng;
use subtle::ConstantTimeEq;

pub use proof::ProofFault;

use crate::look::Looked;
use crate::{At, CheckoutError, Counter, table};

/// How long a person has. Never longer than the cart they are asked about.
const LIFETIME: Duration = Duration::from_mins(15);

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationStatus {
    /// Nobody has answered.
    Pending,
    /// A person agreed.
    Confirmed,
    /// A person did not.
    Rejected,
    /// Nobody answered in time, or the answer was not used in time.
    Expired,
}

impl ConfirmationStatus {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Pending, "pending"),
        (Self::Confirmed, "confirmed"),
        (Self::Rejected, "rejected"),
        (Self::Expired, "expired"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("pending", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation {
    /// Its id.
    pub id: ConfirmationId,
    /// The cart it is about.
    pub cart: CartId,
    /// The key that asked: a proof is no use to another.
    pub agent: KeyId,
    /// What the person is shown.
    pub terms: Terms,
    /// The hash of that.
    pub quote_hash: QuoteHash,
    /// What became of it, without looking at the clock.
    pub kept_status: ConfirmationStatus,
    /// How it was answered.
    pub level: Option<ConfirmationLevel>,
    /// What the page's form sends back.
    pub form_token: [u8; 16],
    /// What it was used for.
    pub used_by: Option<CheckoutId>,
    /// When it was put.
    pub created_at: Timestamp,
    /// Until when it can be answered and used.
    pub expires_at: Timestamp,
    /// When it was answered.
    pub decided_at: Option<Timestamp>,
}

impl Confirmation {
    /// What became of it at a moment of the database.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> ConfirmationStatus {
        let is_open = self.kept_status != ConfirmationStatus::Rejected && self.used_by.is_none();
        if is_open && now > self.expires_at {
            ConfirmationStatus::Expired
        } else {
            self.kept_status
        }
    }
}

/// A question that was put to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// The question.
    pub confirmation: Confirmation,
    /// Where the person answers.
    pub confirm_url: String,
    /// When it was looked at.
    pub now: Timestamp,
}

impl Requested {
    pub(crate) fn tell(&self, details: &mut Details) {
        details.insert("confirmation_id", self.confirmation.id.to_string());
        details.insert("confirm_url", self.confirm_url.clone());
        details.insert("question", self.question());
        details.insert("quote_hash", self.confirmation.quote_hash.to_string());
        details.insert("expires_at", self.confirmation.expires_at.to_string());
    }
}

/// Asks a person about a cart. The same question is put once.
pub async fn request(
    counter: &Counter<'_>,
    owner: &Owner,
    cart: CartId,
) -> Result<Requested, CheckoutError> {
    let reading = counter.reading()?;
    let priced = carts::cart(&reading, counter.store, cart, Some(owner.key)).await?;
    priced.cart.open(priced.now, None)?;
    let mut work = counter.work().await?;
    let requested = put(&mut work, counter, &priced).await?;
    work.commit().await?;
    Ok(requested)
}

/// Puts the question, or finds it where it was put before and still can be answered or used.
pub(crate) async fn put(
    work: &mut Work,
    counter: &Counter<'_>,
    priced: &Priced,
) -> Result<Requested, CheckoutError> {
    let (merchant, now) = (counter.merchant(), work.now());
    let cart = &priced.cart;
    let of_cart = table::confirmations_of(work.sql(), merchant, cart.id).await?;
    let earlier = of_cart.into_iter().find(|earlier| {
        let status = earlier.status(now);
        let can_go_on = status == ConfirmationStatus::Pending
            || (status == ConfirmationStatus::Confirmed && earlier.used_by.is_none());
        can_go_on && earlier.quote_hash == priced.quote_hash && earlier.agent == cart.owner.key
    });
    let confirmation = if let Some(earlier) = earlier {
        earlier
    } else {
        let mut form_token = [0; 16];
        work.random().fill_bytes(&mut form_token);
        let new = Confirmation {
            id: work.new_id(),
            cart: cart.id,
            agent: cart.owner.key,
            terms: priced.terms.clone(),
            quote_hash: priced.quote_hash,
            kept_status: ConfirmationStatus::Pending,
            level: None,
            form_token,
            used_by: None,
            created_at: now,
            expires_at: now.plus(LIFETIME).min(cart.expires_at()),
            decided_at: None,
        };
        table::insert_confirmation(work, merchant, &new).await?;
        new
    };
    let confirm_url = counter.confirm_url(confirmation.id);
    Ok(Requested { confirmation, confirm_url, now })
}

/// A question of this store. With an agent, only one it asked: another's does not exist to it.
pub async fn confirmation(
    counter: &Counter<'_>,
    id: ConfirmationId,
    agent: Option<KeyId>,
) -> Result<Requested, CheckoutError> {
    let mut snapshot = counter.reading()?.open().await?;
    let now = snapshot.now().await?;
    let found = table::confirmation(&mut snapshot, counter.merchant(), id).await?;
    snapshot.close().await?;
    let found = found.filter(|it| agent.is_none_or(|agent| agent == it.agent));
    let confirmation = found.ok_or(CheckoutError::ConfirmationNotFound)?;
    Ok(Requested { confirmation, confirm_url: counter.confirm_url(id), now })
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

/// What a person pressed on our page. An answer is given once: pressing again changes nothing. The form has to come from the
/// page that was shown, and to be of what was shown.
pub async fn decide(
    counter: &Counter<'_>,
    id: ConfirmationId,
    decision: Decision,
    form_token: &[u8],
    shown: QuoteHash,
) -> Result<Requested, CheckoutError> {
    let found = confirmation(counter, id, None).await?.confirmation;
    if !bool::from(found.form_token.as_slice().ct_eq(form_token)) || shown != found.quote_hash {
        return Err(CheckoutError::ForeignForm);
    }
    let mut work = counter.work().await?;
    let level = ConfirmationLevel::Hosted;
    table::decide(&mut work, counter.merchant(), id, decision, level).await?;
    work.commit().await?;
    confirmation(counter, id, None).await
}

/// What a person answered in the agent's own client, to a question that was put there.
pub async fn elicit(
    counter: &Counter<'_>,
    owner: &Owner,
    id: ConfirmationId,
    decision: Decision,
) -> Result<Requested, CheckoutError> {
    confirmation(counter, id, Some(owner.key)).await?;
    let mut work = counter.work().await?;
    let level = ConfirmationLevel::Elicited;
    table::decide(&mut work, counter.merchant(), id, decision, level).await?;
    work.commit().await?;
    confirmation(counter, id, Some(owner.key)).await
}

/// Whether a proof is one for this cart, by this agent, of what it is now; and how strong it is.
pub(crate) async fn check(
    work: &mut Work,
    counter: &Counter<'_>,
    looked: &Looked,
    id: ConfirmationId,
) -> Result<ConfirmationLevel, CheckoutError> {
    let now = work.now();
    let found = table::confirmation(work.sql(), counter.merchant(), id).await?;
    let judged = proof::judge(found.as_ref(), &looked.priced, now);
    judged.map_err(|fault| CheckoutError::ConfirmationRequired { fault, requested: None })
}

/// The strongest proof there is for this cart as it is now, whether the agent names it or not; its word, if there is none.
pub(crate) async fn best(
    work: &mut Work,
    counter: &Counter<'_>,
    looked: &Looked,
) -> Result<(ConfirmationLevel, Option<ConfirmationId>), CheckoutError> {
    let (now, cart) = (work.now(), looked.priced.cart.id);
    let found = table::confirmations_of(work.sql(), counter.merchant(), cart).await?;
    let proofs = found.iter().filter_map(|it| {
        let level = proof::judge(Some(it), &looked.priced, now).ok()?;
        Some((level, Some(it.id)))
    });
    let strongest = proofs.max_by_key(|(level, _)| *level);
    Ok(strongest.unwrap_or((ConfirmationLevel::Attested, None)))
}

/// Uses a proof, once.
pub(crate) async fn mark_used(
    work: &mut Work,
    merchant: MerchantId,
    id: ConfirmationId,
    session: CheckoutId,
) -> Result<(), CheckoutError> {
    if table::use_confirmation(work, merchant, id, session).await? {
        return Ok(());
    }
    let fault = ProofFault::Used;
    Err(CheckoutError::ConfirmationRequired { fault, requested: None })
}

impl At {
    /// How sure we are that a person agreed; the agent's word while nothing was completed.
    #[must_use]
    pub fn level(&self) -> ConfirmationLevel {
        self.session.confirmation.map_or(ConfirmationLevel::Attested, |(level, _)| level)
    }
}

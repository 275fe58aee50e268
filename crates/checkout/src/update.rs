//! A verb: changing a session that is not paid: where it goes, how, for whom, with which codes.

use carts::{Edit, Owner};
use jobs::IdempotencyKey;
use primitives::CheckoutId;
use subtle::ConstantTimeEq;

use crate::complete::let_go;
use crate::create::NewSession;
use crate::look::look;
use crate::once::{self, Begun};
use crate::{At, CheckoutError, Counter, Status, Step, read, table};

/// What changes.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Where it goes, how, for whom, with which codes. What is bought stays.
    pub edits: Vec<Edit>,
    /// What the agent says beyond that.
    pub new: NewSession,
}

/// The person on our page does not want to pay for this: the units go back, and the agent may ask anew. The form has to come
/// from the page that was shown.
pub async fn turn_back(
    counter: &Counter<'_>,
    id: CheckoutId,
    form_token: &[u8],
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = counter.work().await?;
    let now = work.now();
    let (mut session, _) = read::hold(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::ForeignForm);
    }
    if !session.is_holding && session.kept_status == Status::Incomplete {
        return Ok(At { session, now });
    }
    let before = session.version;
    session.step(Step::Empty, now)?;
    let mut session = let_go(&mut work, counter, session).await?;
    session.checkout_url = None;
    session.confirmation = None;
    table::update(&mut work, merchant, &mut session, before).await?;
    work.commit().await?;
    Ok(At { session, now })
}

/// Changes a session. If a person was about to pay, what they were shown holds no more: the units go back, and it has to be
/// completed anew.
pub async fn update(
    counter: &Counter<'_>,
    owner: &Owner,
    id: CheckoutId,
    change: &Update,
    once: Option<&IdempotencyKey>,
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = match once::begin(counter, once).await? {
        Begun::Fresh(work) => work,
        Begun::Done(at) => return Ok(*at),
    };
    let now = work.now();
    let (mut session, mut cart) = read::hold(&mut work, merchant, id, Some(owner.key)).await?;
    let before = session.version;
    let status = session.status(now);
    if status.after(Step::Cancel).is_none() {
        return Err(CheckoutError::WrongStep { from: status });
    }
    if session.is_holding {
        session.step(Step::Empty, now)?;
        session = let_go(&mut work, counter, session).await?;
        session.checkout_url = None;
        session.confirmation = None;
    }
    carts::change_started(&mut work, merchant, &mut cart, &change.edits).await?;
    let looked = look(&mut work, counter, cart).await?;
    looked.admit()?;
    let mut session = session.with(&looked, &change.new);
    session.updated_at = now;
    table::update(&mut work, merchant, &mut session, before).await?;
    once::answer(&mut work, once, &session).await?;
    work.commit().await?;
    Ok(At { session, now })
}

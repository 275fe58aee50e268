//! A verb: changing a cart that is open. Nothing is held meanwhile: what was decided is kept only if nobody changed the cart
//! since it was read, and decided anew if somebody did.

use database::{Database, Reading, Work};
use jobs::{Claim, IdempotencyKey};
use merchants::Store;
use primitives::{CartId, KeyId, LineId};

use crate::items::{self, Had};
use crate::quote::Message;
use crate::read::{Priced, price};
use crate::{Buyer, Cart, CartError, CartStatus, Destination, Item, discount, once, table};

/// How often it is decided anew before the caller is told.
const TRIES: u32 = 5;

/// What is done to a cart.
#[derive(Debug, Clone)]
pub enum Edit {
    /// These in the place of everything.
    Replace(Vec<Item>),
    /// These as well.
    Add(Vec<Item>),
    /// Without these lines.
    Remove(Vec<LineId>),
    /// It goes there.
    Destination(Destination),
    /// This person buys it.
    Buyer(Buyer),
    /// It goes this way.
    Shipping(String),
    /// With this code.
    ApplyCode(String),
    /// Without it.
    RemoveCode(String),
    /// With these codes and no others.
    Codes(Vec<String>),
    /// It is thrown away. Doing it again changes nothing.
    Cancel,
}

/// Changes a cart of this agent: all of the edits, or none. With a version, only if nobody changed it since; with a
/// key, once, however often it is asked for.
pub async fn change(
    database: &Database,
    store: &Store,
    (agent, id): (KeyId, CartId),
    version: Option<i64>,
    edits: &[Edit],
    once: Option<&IdempotencyKey>,
) -> Result<Priced, CartError> {
    if edits.is_empty() {
        return Err(CartError::NoEdits);
    }
    let merchant = store.merchant;
    let reading = Reading::for_store(database, merchant)?;
    let mut seen = 0;
    for _ in 0..TRIES {
        let before = crate::cart(&reading, store, id, Some(agent)).await?;
        if edits.iter().all(|edit| matches!(edit, Edit::Cancel))
            && before.cart.status(before.now) == CartStatus::Canceled
        {
            return Ok(before);
        }
        seen = before.cart.version;
        let decided = decide(&reading, store, before, version, edits).await;
        if once.is_none() && decided.is_err() {
            return decided;
        }
        let mut work = Work::for_store(database, merchant).await?;
        // What was done before may not be possible any more: the key is asked first.
        if let Claim::Replay(answer) = once::claim(&mut work, once).await? {
            work.abandon().await?;
            return crate::cart(&reading, store, once::cart_of(&answer)?, Some(agent)).await;
        }
        let mut priced = decided?;
        priced.cart.version = seen + 1;
        priced.cart.updated_at = work.now();
        if table::update(&mut work, merchant, &priced.cart, seen).await? {
            once::answer(&mut work, once, id).await?;
            work.commit().await?;
            return Ok(priced);
        }
    }
    Err(CartError::VersionMoved { current: seen })
}

/// The cart as it would be, and what it would cost.
async fn decide(
    reading: &Reading,
    store: &Store,
    before: Priced,
    version: Option<i64>,
    edits: &[Edit],
) -> Result<Priced, CartError> {
    let (now, mut cart) = (before.now, before.cart);
    cart.open(now, version)?;
    let mut messages = Vec::new();
    for edit in edits {
        let had = match edit {
            Edit::Replace(wanted) | Edit::Add(wanted) if wanted.is_empty() => {
                return Err(CartError::NoItems);
            }
            Edit::Replace(wanted) | Edit::Add(wanted) => {
                items::look_up(reading, store.merchant, cart.owner.shelf(), wanted).await?
            }
            _ => Vec::new(),
        };
        messages.extend(apply(&mut cart, edit, &had)?);
    }
    let mut priced = price(reading, store, cart, now).await?;
    check_way(&priced, edits)?;
    priced.quote.messages.splice(0..0, messages);
    Ok(priced)
}

/// A way that is named has to be there; one that was there before may have gone, and a message says so.
fn check_way(priced: &Priced, edits: &[Edit]) -> Result<(), CartError> {
    let is_named = edits.iter().any(|edit| matches!(edit, Edit::Shipping(_)));
    if !is_named || priced.quote.chosen.is_some() {
        return Ok(());
    }
    let allowed = priced.quote.options.iter().map(|option| option.id.clone()).collect();
    Err(CartError::ShippingOptionNotFound { allowed })
}

pub(crate) fn apply(cart: &mut Cart, edit: &Edit, had: &[Had]) -> Result<Vec<Message>, CartError> {
    match edit {
        Edit::Replace(_) | Edit::Add(_) => {
            let is_new = matches!(edit, Edit::Replace(_));
            let other = had.iter().position(|had| had.currency != cart.currency);
            if let Some(place) = other {
                return Err(CartError::MixedCurrencies { place });
            }
            if is_new {
                cart.lines.clear();
            }
            return items::put_in(cart.id, &mut cart.lines, had);
        }
        Edit::Remove(lines) => {
            if lines.iter().any(|id| !cart.lines.iter().any(|line| line.id == *id)) {
                return Err(CartError::LineNotFound);
            }
            cart.lines.retain(|line| !lines.contains(&line.id));
        }
        Edit::Destination(to) => cart.destination = Some(to.clone().checked()?),
        Edit::Buyer(buyer) => cart.buyer = Some(buyer.clone().checked()?),
        Edit::Shipping(option) => cart.shipping_option = Some(option.clone()),
        Edit::ApplyCode(code) => {
            let mut codes = cart.codes.clone();
            codes.push(code.clone());
            cart.codes = discount::checked_codes(&codes)?;
        }
        Edit::Codes(codes) => cart.codes = discount::checked_codes(codes)?,
        Edit::RemoveCode(code) => cart.codes.retain(|other| !other.eq_ignore_ascii_case(code)),
        Edit::Cancel => cart.kept_status = CartStatus::Canceled,
    }
    Ok(Vec::new())
}

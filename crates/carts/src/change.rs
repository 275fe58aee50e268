//! A verb: changing an open cart. No lock is held: the result is stored only if the cart's version is still the one that
//! was read, and computed again otherwise.

use database::{Database, Reading, Work};
use jobs::{Claim, IdempotencyKey};
use merchants::Store;
use primitives::LineId;

use crate::items::{self, AvailableItem};
use crate::quote::Message;
use crate::read::{PricedCart, price};
use crate::{
    Buyer, Cart, CartError, CartRef, CartStatus, Destination, Item, discount, idempotency, table,
};

/// Attempts to store a change before the caller gets a version conflict.
const ATTEMPTS_MAX: u32 = 5;

/// A change of a cart.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Replaces all lines.
    Replace(Vec<Item>),
    /// Adds items; the quantity of an existing line increases.
    Add(Vec<Item>),
    Remove(Vec<LineId>),
    Destination(Destination),
    Buyer(Buyer),
    /// Selects the shipping option with this id.
    Shipping(String),
    ApplyCode(String),
    RemoveCode(String),
    /// Replaces all discount codes.
    Codes(Vec<String>),
    /// Cancels the cart. Idempotent.
    Cancel,
}

/// New values of a cart's data; `None` leaves a value unchanged.
#[derive(Debug, Clone, Default)]
pub struct CartUpdate {
    pub destination: Option<Destination>,
    pub buyer: Option<Buyer>,
    /// Replaces all discount codes.
    pub codes: Option<Vec<String>>,
    /// The id of the shipping option to select.
    pub shipping_option: Option<String>,
}

impl CartUpdate {
    /// Returns the edits that set the values.
    #[must_use]
    pub fn edits(&self) -> Vec<Edit> {
        let edits = [
            self.destination.clone().map(Edit::Destination),
            self.buyer.clone().map(Edit::Buyer),
            self.codes.clone().map(Edit::Codes),
            self.shipping_option.clone().map(Edit::Shipping),
        ];
        edits.into_iter().flatten().collect()
    }
}

/// Changes a cart of this agent: all of the edits, or none. With a version, only if the cart still has it; with an
/// idempotency key, a replay returns the cart in its current state.
pub async fn change(
    database: &Database,
    store: &Store,
    cart: CartRef,
    version: Option<i64>,
    edits: &[Edit],
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<PricedCart, CartError> {
    if edits.is_empty() {
        return Err(CartError::NoEdits);
    }
    let merchant = store.merchant;
    let reading = Reading::for_store(database, merchant)?;
    let CartRef { agent, id } = cart;
    let mut read_version = 0;
    for _ in 0..ATTEMPTS_MAX {
        let before = crate::cart(&reading, store, id, Some(agent)).await?;
        if edits.iter().all(|edit| matches!(edit, Edit::Cancel))
            && before.cart.status(before.now) == CartStatus::Canceled
        {
            return Ok(before);
        }
        read_version = before.cart.version;
        let changed = apply_edits(&reading, store, before, version, edits).await;
        if idempotency_key.is_none() && changed.is_err() {
            return changed;
        }
        let mut work = Work::for_store(database, merchant).await?;
        // The key is claimed first: a replay succeeds even if the write would fail now.
        if let Claim::Replay(response) = idempotency::claim(&mut work, idempotency_key).await? {
            work.rollback().await?;
            let id = idempotency::replayed_cart(&response)?;
            return crate::cart(&reading, store, id, Some(agent)).await;
        }
        let mut priced = changed?;
        priced.cart.version = read_version + 1;
        priced.cart.updated_at = work.now();
        if table::update(&mut work, merchant, &priced.cart, read_version).await? {
            idempotency::record_response(&mut work, idempotency_key, id).await?;
            work.commit().await?;
            return Ok(priced);
        }
    }
    Err(CartError::VersionConflict { current: read_version })
}

/// Returns the cart with all edits applied, and its price.
async fn apply_edits(
    reading: &Reading,
    store: &Store,
    before: PricedCart,
    version: Option<i64>,
    edits: &[Edit],
) -> Result<PricedCart, CartError> {
    let (now, mut cart) = (before.now, before.cart);
    cart.ensure_open(now, version)?;
    let mut messages = Vec::new();
    for edit in edits {
        let available = match edit {
            Edit::Replace(wanted) | Edit::Add(wanted) if wanted.is_empty() => {
                return Err(CartError::NoItems);
            }
            Edit::Replace(wanted) | Edit::Add(wanted) => {
                let pool = cart.owner.stock_pool();
                items::check_availability(reading, store, pool, wanted).await?
            }
            _ => Vec::new(),
        };
        messages.extend(apply(&mut cart, edit, &available)?);
    }
    let mut priced = price(reading, store, cart, now).await?;
    check_shipping_option(&priced, edits)?;
    priced.quote.messages.splice(0..0, messages);
    Ok(priced)
}

/// A shipping option named by an edit must be offered. One that was selected earlier may have been withdrawn, which a
/// message reports.
fn check_shipping_option(priced: &PricedCart, edits: &[Edit]) -> Result<(), CartError> {
    let is_named = edits.iter().any(|edit| matches!(edit, Edit::Shipping(_)));
    if is_named { priced.ensure_option_offered() } else { Ok(()) }
}

/// Applies one edit. `available` has the items of `Replace` and `Add` and is empty for other edits.
pub(crate) fn apply(
    cart: &mut Cart,
    edit: &Edit,
    available: &[AvailableItem],
) -> Result<Vec<Message>, CartError> {
    match edit {
        Edit::Replace(_) | Edit::Add(_) => {
            let replaces = matches!(edit, Edit::Replace(_));
            let other = available.iter().position(|item| item.currency != cart.currency);
            if let Some(index) = other {
                return Err(CartError::UnsupportedCurrency { index, supported: cart.currency });
            }
            if replaces {
                cart.lines.clear();
            }
            return items::add_to_lines(cart.id, &mut cart.lines, available);
        }
        Edit::Remove(lines) => {
            if lines.iter().any(|id| !cart.lines.iter().any(|line| line.id == *id)) {
                return Err(CartError::LineNotFound);
            }
            cart.lines.retain(|line| !lines.contains(&line.id));
        }
        Edit::Destination(to) => cart.destination = Some(to.clone().validated()?),
        Edit::Buyer(buyer) => cart.buyer = Some(buyer.clone().validated()?),
        Edit::Shipping(option) => cart.shipping_option = Some(option.clone()),
        Edit::ApplyCode(code) => {
            let mut codes = cart.codes.clone();
            codes.push(code.clone());
            cart.codes = discount::validate_codes(&codes)?;
        }
        Edit::Codes(codes) => cart.codes = discount::validate_codes(codes)?,
        Edit::RemoveCode(code) => cart.codes.retain(|other| !other.eq_ignore_ascii_case(code)),
        Edit::Cancel => cart.stored_status = CartStatus::Canceled,
    }
    Ok(Vec::new())
}

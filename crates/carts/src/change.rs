//! A verb: changing a cart that is open. Nothing is held meanwhile: what was decided is kept only if nobody changed the cart
//! since it was read, and decided anew if somebody did.

use database::{Database, Reading, Work};
use merchants::Store;
use primitives::{CartId, KeyId, LineId};

use crate::items::{self, Had};
use crate::quote::Message;
use crate::read::{Priced, quote};
use crate::{CODES_MAX, Cart, CartError, CartStatus, Destination, Item, table};

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
    /// It goes this way.
    Shipping(String),
    /// With this code.
    ApplyCode(String),
    /// Without it.
    RemoveCode(String),
    /// It is thrown away. Doing it again changes nothing.
    Cancel,
}

/// Changes a cart of this agent. With a version, only if nobody changed it since.
pub async fn change(
    database: &Database,
    store: &Store,
    agent: KeyId,
    id: CartId,
    version: Option<i64>,
    edit: &Edit,
) -> Result<Priced, CartError> {
    let merchant = store.merchant;
    let reading = Reading::for_store(database, merchant)?;
    let had = match edit {
        Edit::Replace(wanted) | Edit::Add(wanted) => {
            if wanted.is_empty() {
                return Err(CartError::NoItems);
            }
            items::look_up(&reading, merchant, wanted).await?
        }
        _ => Vec::new(),
    };
    let mut seen = 0;
    for _ in 0..TRIES {
        let Priced { cart, quote: before, now } =
            crate::cart(&reading, merchant, id, Some(agent)).await?;
        if matches!(edit, Edit::Cancel) && cart.status(now) == CartStatus::Canceled {
            return Ok(Priced { cart, quote: before, now });
        }
        cart.open(now, version)?;
        seen = cart.version;
        let mut changed = cart;
        let messages = apply(&mut changed, edit, &had)?;
        let mut quote = quote(&reading, merchant, &changed, now).await?;
        if let Edit::Shipping(_) = edit
            && quote.chosen.is_none()
        {
            let allowed = quote.options.iter().map(|option| option.id.clone()).collect();
            return Err(CartError::ShippingOptionNotFound { allowed });
        }
        let mut work = Work::for_store(database, merchant).await?;
        changed.version = seen + 1;
        changed.updated_at = work.now();
        if table::update(&mut work, merchant, &changed, seen).await? {
            work.commit().await?;
            quote.messages.splice(0..0, messages);
            return Ok(Priced { cart: changed, quote, now });
        }
    }
    Err(CartError::VersionMoved { current: seen })
}

fn apply(cart: &mut Cart, edit: &Edit, had: &[Had]) -> Result<Vec<Message>, CartError> {
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
        Edit::Destination(to) => cart.destination = Some(to.clone()),
        Edit::Shipping(option) => cart.shipping_option = Some(option.clone()),
        Edit::ApplyCode(code) => {
            if !cart.codes.iter().any(|other| other.eq_ignore_ascii_case(code)) {
                if cart.codes.len() >= CODES_MAX {
                    return Err(CartError::TooManyCodes);
                }
                cart.codes.push(code.clone());
            }
        }
        Edit::RemoveCode(code) => cart.codes.retain(|other| !other.eq_ignore_ascii_case(code)),
        Edit::Cancel => cart.kept_status = CartStatus::Canceled,
    }
    Ok(Vec::new())
}

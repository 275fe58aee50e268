//! Confirmations as the database stores them.

use carts::{QuoteHash, Terms};
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, Timestamp};
use sqlx::types::Json;

use super::{Confirmation, ConfirmationStatus, ItemsHash, Visitor};
use crate::CheckoutError;
use crate::table::parsed;

/// A row of `confirmation`.
pub(crate) struct ConfirmationRow {
    pub(crate) confirmation_id: ConfirmationId,
    pub(crate) cart_id: CartId,
    pub(crate) agent: KeyId,
    pub(crate) terms: Json<Terms>,
    pub(crate) quote_hash: Vec<u8>,
    pub(crate) items_hash: Option<Vec<u8>>,
    pub(crate) status: String,
    pub(crate) level: Option<String>,
    pub(crate) is_elicitable: bool,
    pub(crate) agent_address: Option<String>,
    pub(crate) decided_address: Option<String>,
    pub(crate) decided_browser: Option<String>,
    pub(crate) form_token: Vec<u8>,
    pub(crate) used_by: Option<CheckoutId>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) decided_at: Option<Timestamp>,
}

impl TryFrom<ConfirmationRow> for Confirmation {
    type Error = CheckoutError;
    fn try_from(row: ConfirmationRow) -> Result<Self, CheckoutError> {
        let unreadable = || CheckoutError::Unreadable;
        Ok(Self {
            id: row.confirmation_id,
            cart: row.cart_id,
            agent: row.agent,
            terms: row.terms.0,
            quote_hash: QuoteHash::from_bytes(&row.quote_hash).ok_or_else(unreadable)?,
            items: row.items_hash.as_deref().and_then(ItemsHash::from_bytes),
            stored_status: ConfirmationStatus::parse(&row.status).ok_or_else(unreadable)?,
            level: parsed(row.level.as_deref(), ConfirmationLevel::parse)?,
            is_elicitable: row.is_elicitable,
            agent_address: row.agent_address,
            decided_by: row.decided_address.map(|address| Visitor {
                address,
                browser: row.decided_browser.unwrap_or_default(),
            }),
            form_token: row.form_token.try_into().map_err(|_| unreadable())?,
            used_by: row.used_by,
            created_at: row.created_at,
            expires_at: row.expires_at,
            decided_at: row.decided_at,
        })
    }
}

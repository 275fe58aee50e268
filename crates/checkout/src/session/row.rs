//! Sessions as the database stores them.

use carts::{ApprovalScope, CartOwner, QuoteHash, Terms};
use orders::{ConfirmationLevel, OrderLine};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, Money, OrderId, Timestamp};
use serde_json::Value;
use sqlx::types::Json;

use super::{Amounts, Session};
use crate::table::parsed;
use crate::{CheckoutError, ConfirmationProof, Status};

/// A row of `checkout_session`.
pub(crate) struct SessionRow {
    pub(crate) checkout_id: CheckoutId,
    pub(crate) cart_id: CartId,
    pub(crate) agent: KeyId,
    pub(crate) agent_name: String,
    pub(crate) is_sandbox: bool,
    pub(crate) status: String,
    pub(crate) version: i64,
    pub(crate) payment_method: Option<String>,
    pub(crate) currency: String,
    pub(crate) total_minor: i64,
    pub(crate) amounts: Option<Json<Amounts>>,
    pub(crate) lines: Json<Vec<OrderLine>>,
    pub(crate) terms: Json<Terms>,
    pub(crate) quote_hash: Vec<u8>,
    pub(crate) is_holding: bool,
    pub(crate) confirmation_level: Option<String>,
    pub(crate) confirmation_scope: Option<String>,
    pub(crate) confirmation_id: Option<ConfirmationId>,
    pub(crate) checkout_url: Option<String>,
    pub(crate) form_token: Vec<u8>,
    pub(crate) agent_address: Option<String>,
    pub(crate) return_url: Option<String>,
    pub(crate) metadata: Option<Value>,
    pub(crate) is_payment_failed: bool,
    pub(crate) reason_code: Option<String>,
    pub(crate) order_id: Option<OrderId>,
    pub(crate) started_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

impl TryFrom<SessionRow> for Session {
    type Error = CheckoutError;
    fn try_from(row: SessionRow) -> Result<Self, CheckoutError> {
        let unreadable = || CheckoutError::Unreadable;
        let currency = row.currency.parse().map_err(|_| unreadable())?;
        let level = parsed(row.confirmation_level.as_deref(), ConfirmationLevel::parse)?;
        Ok(Self {
            id: row.checkout_id,
            cart: row.cart_id,
            owner: CartOwner { key: row.agent, name: row.agent_name, is_sandbox: row.is_sandbox },
            stored_status: Status::parse(&row.status).ok_or_else(unreadable)?,
            version: row.version,
            payment_method: parsed(row.payment_method.as_deref(), PaymentMethod::parse)?,
            total: Money::new(row.total_minor, currency),
            amounts: row.amounts.map_or_else(|| Amounts::of_terms(&row.terms.0), |json| json.0),
            lines: row.lines.0,
            terms: row.terms.0,
            quote_hash: QuoteHash::from_bytes(&row.quote_hash).ok_or_else(unreadable)?,
            is_holding: row.is_holding,
            confirmation: level
                .map(|level| ConfirmationProof { level, confirmation: row.confirmation_id }),
            confirmed_scope: parsed(row.confirmation_scope.as_deref(), ApprovalScope::parse)?,
            checkout_url: row.checkout_url,
            form_token: row.form_token.try_into().map_err(|_| unreadable())?,
            agent_address: row.agent_address,
            return_url: row.return_url,
            metadata: row.metadata,
            is_payment_failed: row.is_payment_failed,
            reason_code: row.reason_code,
            order: row.order_id,
            started_at: row.started_at,
            updated_at: row.updated_at,
            expires_at: row.expires_at,
        })
    }
}

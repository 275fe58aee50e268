//! All SQL of carts.

use database::Work;
use primitives::{CartId, KeyId, LineId, MerchantId, ProductId, Timestamp, VariantId};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::{
    Buyer, CART_LIFETIME, Cart, CartAges, CartError, CartOwner, CartStatus, Destination, Item,
    Line, Quantity,
};

/// A line as it is stored.
#[derive(Serialize, Deserialize)]
struct KeptLine {
    line: LineId,
    product: ProductId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<VariantId>,
    quantity: u32,
    unit_minor: i64,
}

impl From<&Line> for KeptLine {
    fn from(line: &Line) -> Self {
        Self {
            line: line.id,
            product: line.item.product,
            variant: line.item.variant,
            quantity: line.item.quantity.get(),
            unit_minor: line.unit_minor,
        }
    }
}

impl TryFrom<KeptLine> for Line {
    type Error = CartError;
    fn try_from(stored: KeptLine) -> Result<Self, CartError> {
        let quantity = Quantity::new(i64::from(stored.quantity))?;
        let item = Item { product: stored.product, variant: stored.variant, quantity };
        Ok(Self { id: stored.line, item, unit_minor: stored.unit_minor })
    }
}

struct Row {
    cart_id: CartId,
    agent: KeyId,
    agent_name: String,
    is_sandbox: bool,
    status: String,
    version: i64,
    currency: String,
    lines: Json<Vec<KeptLine>>,
    destination: Option<Json<Destination>>,
    buyer: Option<Json<Buyer>>,
    shipping_option: Option<String>,
    codes: Vec<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<Row> for Cart {
    type Error = CartError;
    fn try_from(row: Row) -> Result<Self, CartError> {
        Ok(Self {
            id: row.cart_id,
            owner: CartOwner { key: row.agent, name: row.agent_name, is_sandbox: row.is_sandbox },
            stored_status: CartStatus::parse(&row.status).ok_or(CartError::Unreadable)?,
            version: row.version,
            currency: row.currency.parse().map_err(|_| CartError::Unreadable)?,
            lines: row.lines.0.into_iter().map(Line::try_from).collect::<Result<_, _>>()?,
            destination: row.destination.map(|json| json.0),
            buyer: row.buyer.map(|json| json.0),
            shipping_option: row.shipping_option,
            codes: row.codes,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

fn stored_lines(cart: &Cart) -> Json<Vec<KeptLine>> {
    Json(cart.lines.iter().map(KeptLine::from).collect())
}

pub(crate) async fn insert(work: &mut Work, merchant: MerchantId, cart: &Cart) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO cart
             (merchant_id, cart_id, agent_key_id, status, version, currency, lines, destination,
              shipping_option, codes, created_at, updated_at, agent_name, is_sandbox, buyer)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14)",
        merchant as MerchantId,
        cart.id as CartId,
        cart.owner.key as KeyId,
        cart.stored_status.as_str(),
        cart.version,
        cart.currency.code(),
        stored_lines(cart) as _,
        cart.destination.as_ref().map(Json) as _,
        cart.shipping_option.as_deref(),
        &cart.codes,
        cart.created_at as Timestamp,
        cart.owner.name,
        cart.owner.is_sandbox,
        cart.buyer.as_ref().map(Json) as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Updates a cart. Returns `false` if its version changed, it is not active or it has expired.
pub(crate) async fn update(
    work: &mut Work,
    merchant: MerchantId,
    cart: &Cart,
    version: i64,
) -> sqlx::Result<bool> {
    let created_since = work.now().minus(CART_LIFETIME);
    let done = sqlx::query!(
        "UPDATE cart SET status = $4, version = $5, lines = $6, destination = $7,
                shipping_option = $8, codes = $9, updated_at = $10, buyer = $12
         WHERE merchant_id = $1 AND cart_id = $2 AND version = $3 AND status = 'active'
           AND created_at >= $11",
        merchant as MerchantId,
        cart.id as CartId,
        version,
        cart.stored_status.as_str(),
        cart.version,
        stored_lines(cart) as _,
        cart.destination.as_ref().map(Json) as _,
        cart.shipping_option.as_deref(),
        &cart.codes,
        cart.updated_at as Timestamp,
        created_since as Timestamp,
        cart.buyer.as_ref().map(Json) as _,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: CartId,
) -> Result<Option<Cart>, CartError> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT cart_id AS "cart_id: CartId", agent_key_id AS "agent: KeyId", agent_name, is_sandbox,
                  status, version, currency, lines AS "lines: Json<Vec<KeptLine>>",
                  destination AS "destination: Json<Destination>", buyer AS "buyer: Json<Buyer>",
                  shipping_option, codes,
                  created_at AS "created_at: Timestamp", updated_at AS "updated_at: Timestamp"
           FROM cart WHERE merchant_id = $1 AND cart_id = $2"#,
        merchant as MerchantId,
        id as CartId,
    )
    .fetch_optional(sql)
    .await?;
    row.map(Cart::try_from).transpose()
}

/// Locks the row of a cart until the work ends.
pub(crate) async fn lock(work: &mut Work, merchant: MerchantId, id: CartId) -> sqlx::Result<()> {
    sqlx::query!(
        "SELECT 1 AS one FROM cart WHERE merchant_id = $1 AND cart_id = $2 FOR NO KEY UPDATE",
        merchant as MerchantId,
        id as CartId,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    id: CartId,
    from: CartStatus,
    to: CartStatus,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE cart SET status = $4, updated_at = $5
         WHERE merchant_id = $1 AND cart_id = $2 AND status = $3",
        merchant as MerchantId,
        id as CartId,
        from.as_str(),
        to.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Updates what may still change once the checkout of a cart has started. Returns `false` if its version changed.
pub(crate) async fn update_during_checkout(
    work: &mut Work,
    merchant: MerchantId,
    cart: &Cart,
    version: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "UPDATE cart SET version = $4, destination = $5, buyer = $6, shipping_option = $7, codes = $8,
                updated_at = $9
         WHERE merchant_id = $1 AND cart_id = $2 AND version = $3 AND status = 'checkout_started'",
        merchant as MerchantId,
        cart.id as CartId,
        version,
        cart.version,
        cart.destination.as_ref().map(Json) as _,
        cart.buyer.as_ref().map(Json) as _,
        cart.shipping_option.as_deref(),
        &cart.codes,
        cart.updated_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Returns carts that are to be purged, after a cart, the oldest first.
pub(crate) async fn find_old(
    sql: &mut PgConnection,
    ages: CartAges,
    after: Option<(Timestamp, CartId)>,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, CartId, Timestamp)>> {
    let (at, id) = after.unzip();
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant!: MerchantId", cart_id AS "cart!: CartId",
                  created_at AS "created_at!: Timestamp"
           FROM (
               (SELECT merchant_id, cart_id, created_at FROM cart
                WHERE is_sandbox AND created_at < $1
                  AND ($4::timestamptz IS NULL OR (created_at, cart_id) > ($4, $5))
                ORDER BY created_at, cart_id LIMIT $6)
               UNION
               (SELECT merchant_id, cart_id, created_at FROM cart
                WHERE status <> 'converted' AND created_at < $2
                  AND ($4::timestamptz IS NULL OR (created_at, cart_id) > ($4, $5))
                ORDER BY created_at, cart_id LIMIT $6)
               UNION
               (SELECT merchant_id, cart_id, created_at FROM cart
                WHERE created_at < $3
                  AND ($4::timestamptz IS NULL OR (created_at, cart_id) > ($4, $5))
                ORDER BY created_at, cart_id LIMIT $6)
           ) AS old
           ORDER BY created_at, cart_id LIMIT $6"#,
        ages.sandbox as Timestamp,
        ages.unsold as Timestamp,
        ages.sold as Timestamp,
        at as Option<Timestamp>,
        id as Option<CartId>,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.cart, row.created_at)).collect())
}

pub(crate) async fn delete(work: &mut Work, merchant: MerchantId, id: CartId) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM cart WHERE merchant_id = $1 AND cart_id = $2",
        merchant as MerchantId,
        id as CartId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn merchant_of(
    sql: &mut PgConnection,
    id: CartId,
    agent: KeyId,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM cart
           WHERE cart_id = $1 AND agent_key_id = $2 LIMIT 1"#,
        id as CartId,
        agent as KeyId,
    )
    .fetch_optional(sql)
    .await
}

/// Removes the buyer and the address of carts whose checkout is over, and returns those carts. The country remains.
pub(crate) async fn erase_buyer(
    work: &mut Work,
    email: &str,
) -> sqlx::Result<Vec<(MerchantId, CartId)>> {
    let open = work.now().minus(CART_LIFETIME);
    let rows = sqlx::query!(
        r#"UPDATE cart
           SET buyer = NULL,
               destination = CASE WHEN destination ->> 'country' IS NULL THEN NULL
                                  ELSE jsonb_build_object('country', destination -> 'country') END
           WHERE lower(buyer ->> 'email') = lower($1) AND status <> 'checkout_started'
             AND (status <> 'active' OR created_at < $2)
           RETURNING merchant_id AS "merchant: MerchantId", cart_id AS "cart: CartId""#,
        email,
        open as Timestamp,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.cart)).collect())
}

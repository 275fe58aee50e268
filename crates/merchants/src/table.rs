//! All SQL of this crate. The columns of the policies are in `StoreRow`, `take_policies`, `stores!` and `put_policies`.

mod hosts;
mod notice;
mod settings;
mod standing;
mod status;

use database::{DatabaseError, Work};
use primitives::{MerchantId, PageRequest, StoreSlug, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

pub(crate) use hosts::{allow_host, disallow_host, hosts};
pub(crate) use notice::{count_notices, delete_notices, insert_notice, notices};
pub(crate) use settings::{lock_store, put_checkout_url, put_settings, settings, settings_with};
pub(crate) use standing::{insert_missing_standings, lock_standings, put_standings};
pub(crate) use status::{put_profile, set_status};

use crate::standing::{PROVISIONAL_RANK_MAX, SUSPENSION_THRESHOLD};
use crate::{
    DirectoryQuery, Identity, IdentityStatus, NewStore, Policies, Standing, Store, StoreError,
    StoreStatus,
};

/// Returns the error of a stored value that this crate would not write.
fn unreadable(what: &str) -> DatabaseError {
    let message = format!("the database holds an invalid value of {what}");
    DatabaseError::Internal(sqlx::Error::Decode(message.into()))
}

/// A store joined with its policies, standing and identity verification.
struct StoreRow {
    merchant_id: MerchantId,
    number: i32,
    slug: String,
    name: String,
    legal_name: String,
    description: String,
    website_url: String,
    platform: String,
    active: bool,
    status: String,
    status_by_owner: bool,
    owner_status: String,
    country: String,
    currency: String,
    languages: Vec<String>,
    ships_to: Vec<String>,
    support_email: String,
    support_url: String,
    logo_url: String,
    member_since: Timestamp,
    last_sync_at: Option<Timestamp>,
    departments: Vec<String>,
    product_count: i64,
    return_window_days: Option<i32>,
    free_shipping_threshold_minor: Option<i64>,
    shipping_days_min: Option<i32>,
    shipping_days_max: Option<i32>,
    return_summary: Option<String>,
    shipping_summary: Option<String>,
    privacy_url: Option<String>,
    terms_url: Option<String>,
    warranty_months: Option<i32>,
    score: Option<f64>,
    provisional: Option<bool>,
    computed_at: Option<Timestamp>,
    identity_status: Option<String>,
    identity_level: Option<String>,
    identity_method: Option<String>,
    identity_verified_at: Option<Timestamp>,
    total: i64,
}

impl StoreRow {
    fn take_policies(&mut self) -> Policies {
        Policies {
            return_window_days: self.return_window_days,
            free_shipping_threshold_minor: self.free_shipping_threshold_minor,
            shipping_days_min: self.shipping_days_min,
            shipping_days_max: self.shipping_days_max,
            return_summary: self.return_summary.take(),
            shipping_summary: self.shipping_summary.take(),
            privacy_url: self.privacy_url.take(),
            terms_url: self.terms_url.take(),
            warranty_months: self.warranty_months,
        }
    }
}

impl TryFrom<StoreRow> for Store {
    type Error = StoreError;
    fn try_from(mut row: StoreRow) -> Result<Self, StoreError> {
        let unreadable = |what: &str| -> StoreError { unreadable(what).into() };
        let policies = row.take_policies();
        Ok(Self {
            merchant: row.merchant_id,
            number: row.number.try_into().map_err(|_| unreadable("a number"))?,
            slug: row.slug.parse().map_err(|_| unreadable("a slug"))?,
            name: row.name,
            legal_name: row.legal_name,
            description: row.description,
            website_url: row.website_url,
            platform: row.platform,
            active: row.active,
            status: StoreStatus::parse(&row.status).ok_or_else(|| unreadable("a store status"))?,
            status_by_owner: row.status_by_owner,
            owner_status: StoreStatus::parse(&row.owner_status)
                .ok_or_else(|| unreadable("an owner's store status"))?,
            country: row.country,
            currency: row.currency.parse().map_err(|_| unreadable("a currency"))?,
            languages: row.languages,
            ships_to: row.ships_to,
            support_email: row.support_email,
            support_url: row.support_url,
            logo_url: row.logo_url,
            member_since: row.member_since,
            last_sync_at: row.last_sync_at,
            departments: row.departments,
            product_count: row.product_count,
            policies,
            identity: Identity {
                status: match row.identity_status.as_deref() {
                    None => IdentityStatus::Unverified,
                    Some(name) => IdentityStatus::parse(name)
                        .ok_or_else(|| unreadable("an identity status"))?,
                },
                level: row.identity_level,
                method: row.identity_method,
                verified_at: row.identity_verified_at,
            },
            // A store without a computed score has none.
            standing: Standing {
                score: row.score,
                provisional: row.provisional.unwrap_or(true),
                computed_at: row.computed_at.unwrap_or(row.member_since),
            },
        })
    }
}

/// Converts the rows of a page of the directory. A row that this version cannot read is logged and left out, so that it
/// hides no other store.
fn readable(rows: Vec<StoreRow>) -> Vec<Store> {
    let read = |row: StoreRow| {
        let merchant = row.merchant_id;
        let store = Store::try_from(row);
        let log = |error: &StoreError| {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%merchant, %error, cause, "a store cannot be read and is left out of the directory");
        };
        store.inspect_err(log).ok()
    };
    rows.into_iter().filter_map(read).collect()
}

/// The columns and joins of `StoreRow`.
macro_rules! stores {
    ($total:literal, $rest:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            StoreRow,
            r#"SELECT store.merchant_id AS "merchant_id: MerchantId", number, store.slug, store.name,
                      legal_name, description, website_url, platform, active, store.status AS "status",
                      status_by_owner, owner_status, country, currency, languages, ships_to, support_email, support_url, logo_url,
                      member_since AS "member_since: Timestamp",
                      last_sync_at AS "last_sync_at: Timestamp", departments, product_count,
                      return_window_days AS "return_window_days?",
                      free_shipping_threshold_minor AS "free_shipping_threshold_minor?",
                      shipping_days_min AS "shipping_days_min?",
                      shipping_days_max AS "shipping_days_max?",
                      return_summary AS "return_summary?", shipping_summary AS "shipping_summary?",
                      privacy_url AS "privacy_url?", terms_url AS "terms_url?",
                      warranty_months AS "warranty_months?", score AS "score?",
                      provisional AS "provisional?", computed_at AS "computed_at?: Timestamp",
                      identity.status AS "identity_status?", identity.level AS "identity_level?",
                      identity.method AS "identity_method?",
                      identity.verified_at AS "identity_verified_at?: Timestamp","#
                + $total
                + r#"FROM store
                     LEFT JOIN store_policy USING (merchant_id)
                     LEFT JOIN standing USING (merchant_id)
                     LEFT JOIN identity_verification AS identity USING (merchant_id)"#
                + $rest,
            $($argument),*
        )
    };
}

pub(crate) async fn merchant_by_slug(
    sql: &mut PgConnection,
    slug: &StoreSlug,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM platform.store_slug WHERE slug = $1"#,
        slug.as_str(),
    )
    .fetch_optional(sql)
    .await
}

/// The row of a store.
async fn store_row(sql: &mut PgConnection, merchant: MerchantId) -> sqlx::Result<Option<StoreRow>> {
    stores!(r#" 1::bigint AS "total!" "#, " WHERE store.merchant_id = $1", merchant as MerchantId)
        .fetch_optional(sql)
        .await
}

pub(crate) async fn store(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> Result<Option<Store>, StoreError> {
    store_row(sql, merchant).await?.map(Store::try_from).transpose()
}

/// Returns the policies of a store; none are stated if it has none.
async fn policies(sql: &mut PgConnection, merchant: MerchantId) -> sqlx::Result<Policies> {
    let row = store_row(sql, merchant).await?;
    Ok(row.map(|mut row| row.take_policies()).unwrap_or_default())
}

/// Returns a page of merchants whose stores are in any state, ordered by number, and the number after which the next page
/// begins; `None` on the last page.
pub(crate) async fn merchants_after(
    sql: &mut PgConnection,
    after: i32,
    limit: usize,
) -> sqlx::Result<(Vec<MerchantId>, Option<i32>)> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", number FROM store
           WHERE number > $1 ORDER BY number LIMIT $2"#,
        after,
        i64::try_from(limit).unwrap_or(i64::MAX),
    )
    .fetch_all(sql)
    .await?;
    let next = if rows.len() < limit { None } else { rows.last().map(|row| row.number) };
    Ok((rows.into_iter().map(|row| row.merchant).collect(), next))
}

pub(crate) async fn stores_of(
    sql: &mut PgConnection,
    merchants: &[Uuid],
) -> Result<Vec<Store>, StoreError> {
    let rows = stores!(
        r#" 1::bigint AS "total!" "#,
        " WHERE store.merchant_id = ANY ($1) ORDER BY store.number",
        merchants
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter().map(Store::try_from).collect()
}

pub(crate) async fn directory(
    sql: &mut PgConnection,
    query: &DirectoryQuery,
) -> sqlx::Result<(Vec<Store>, i64)> {
    let words = query.words.as_deref().map(|words| format!("%{}%", escape_like(words)));
    let rows = stores!(
        r#" count(*) OVER () AS "total!" "#,
        " WHERE active AND store.status = 'open' AND (score IS NULL OR score >= $7)
            AND ($1::text IS NULL OR store.name ILIKE $1 OR description ILIKE $1)
            AND ($2::text IS NULL OR EXISTS (SELECT FROM unnest(departments) AS department WHERE lower(department) = lower($2)))
            AND ($3::float8 IS NULL OR score >= $3)
            AND ($4::text IS NULL OR platform = $4)
          ORDER BY CASE WHEN provisional AND score > $8 THEN $8 ELSE score END DESC NULLS LAST, store.slug
          LIMIT $5 OFFSET $6",
        words,
        query.category,
        query.min_trust,
        query.platform,
        i64::from(query.page.limit()),
        query.page.offset(),
        SUSPENSION_THRESHOLD,
        PROVISIONAL_RANK_MAX
    )
    .fetch_all(&mut *sql)
    .await?;
    if rows.is_empty() && query.page.offset() > 0 {
        // A page beyond the end carries no total; the first page does.
        let first = DirectoryQuery { page: PageRequest::new(None, Some(1)), ..query.clone() };
        let (_, total) = Box::pin(directory(sql, &first)).await?;
        return Ok((Vec::new(), total));
    }
    let total = rows.first().map_or(0, |row| row.total);
    Ok((readable(rows), total))
}

fn escape_like(words: &str) -> String {
    words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Claims a slug for a merchant. Returns false if it belongs to another one.
pub(crate) async fn claim_slug(work: &mut Work, store: &NewStore) -> sqlx::Result<bool> {
    sqlx::query!(
        "INSERT INTO platform.store_slug (slug, merchant_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        store.slug.as_str(),
        store.merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    let owner = merchant_by_slug(work.sql(), &store.slug).await?;
    Ok(owner == Some(store.merchant))
}

/// Creates or updates a store. Returns whether anything but the time of synchronization differed.
pub(crate) async fn put_store(work: &mut Work, store: &NewStore) -> sqlx::Result<bool> {
    if insert_store(work, store).await? || update_store(work, store).await? {
        return Ok(true);
    }
    put_sync(work, store.merchant, store.last_sync_at).await?;
    Ok(false)
}

/// Checks for the row first, because an insert that conflicts uses up a number.
async fn insert_store(work: &mut Work, store: &NewStore) -> sqlx::Result<bool> {
    let now = work.now();
    let put = sqlx::query!(
        "INSERT INTO store
             (merchant_id, slug, name, legal_name, description, website_url, platform, active, country,
              currency, languages, ships_to, support_email, member_since, last_sync_at, updated_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
         WHERE NOT EXISTS (SELECT FROM store WHERE merchant_id = $1)
         ON CONFLICT (merchant_id) DO NOTHING",
        store.merchant as MerchantId,
        store.slug.as_str(),
        store.name,
        store.legal_name,
        store.description,
        store.website_url,
        store.platform,
        store.active,
        store.country,
        store.currency.code(),
        &store.languages,
        &store.ships_to,
        store.support_email,
        store.member_since as Timestamp,
        store.last_sync_at as Option<Timestamp>,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(put.rows_affected() == 1)
}

async fn update_store(work: &mut Work, store: &NewStore) -> sqlx::Result<bool> {
    let now = work.now();
    let put = sqlx::query!(
        "UPDATE store SET
             slug = $2, name = $3, legal_name = $4, description = $5, website_url = $6, platform = $7,
             active = $8, country = $9, currency = $10, languages = $11, ships_to = $12,
             support_email = $13, member_since = $14, last_sync_at = $15, updated_at = $16
         WHERE merchant_id = $1
           AND (slug, name, legal_name, description, website_url, platform, active, country, currency,
                languages, ships_to, support_email, member_since)
               IS DISTINCT FROM ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        store.merchant as MerchantId,
        store.slug.as_str(),
        store.name,
        store.legal_name,
        store.description,
        store.website_url,
        store.platform,
        store.active,
        store.country,
        store.currency.code(),
        &store.languages,
        &store.ships_to,
        store.support_email,
        store.member_since as Timestamp,
        store.last_sync_at as Option<Timestamp>,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(put.rows_affected() == 1)
}

/// Sets the policies. Returns whether they differed.
pub(crate) async fn put_policies(
    work: &mut Work,
    merchant: MerchantId,
    policies: &Policies,
) -> sqlx::Result<bool> {
    let put = sqlx::query!(
        "INSERT INTO store_policy
             (merchant_id, return_window_days, free_shipping_threshold_minor, shipping_days_min,
              shipping_days_max, return_summary, shipping_summary, privacy_url, terms_url, warranty_months)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (merchant_id) DO UPDATE SET
             return_window_days = $2, free_shipping_threshold_minor = $3, shipping_days_min = $4,
             shipping_days_max = $5, return_summary = $6, shipping_summary = $7, privacy_url = $8,
             terms_url = $9, warranty_months = $10
         WHERE store_policy.* IS DISTINCT FROM excluded.*",
        merchant as MerchantId,
        policies.return_window_days,
        policies.free_shipping_threshold_minor,
        policies.shipping_days_min,
        policies.shipping_days_max,
        policies.return_summary,
        policies.shipping_summary,
        policies.privacy_url,
        policies.terms_url,
        policies.warranty_months,
    )
    .execute(work.sql())
    .await?;
    Ok(put.rows_affected() == 1)
}

/// Sets the identity verification. Returns whether it differed.
pub(crate) async fn put_identity(
    work: &mut Work,
    merchant: MerchantId,
    identity: &Identity,
) -> sqlx::Result<bool> {
    let put = sqlx::query!(
        "INSERT INTO identity_verification (merchant_id, status, level, method, verified_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (merchant_id) DO UPDATE SET status = $2, level = $3, method = $4, verified_at = $5
         WHERE (identity_verification.status, identity_verification.level,
                identity_verification.method, identity_verification.verified_at)
               IS DISTINCT FROM ($2, $3, $4, $5)",
        merchant as MerchantId,
        identity.status.as_str(),
        identity.level,
        identity.method,
        identity.verified_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(put.rows_affected() == 1)
}

pub(crate) async fn put_sync(
    work: &mut Work,
    merchant: MerchantId,
    at: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE store SET last_sync_at = $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn set_catalog_summary(
    work: &mut Work,
    merchant: MerchantId,
    departments: &[String],
    product_count: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE store SET departments = $2, product_count = $3 WHERE merchant_id = $1",
        merchant as MerchantId,
        departments,
        product_count,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

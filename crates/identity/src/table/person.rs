//! People and their memberships.

use database::Work;
use primitives::{MerchantId, Plan, Timestamp, UserId};
use sqlx::PgConnection;

use crate::table::parse_name;
use crate::{Email, NewPerson, Person, Role};

/// The account of a login.
pub(crate) struct Account {
    pub(crate) user: UserId,
    pub(crate) password_hash: String,
    pub(crate) sessions_from: Timestamp,
    pub(crate) is_disabled: bool,
}

/// Inserts an account. Returns `false` if the email is taken.
pub(crate) async fn insert(
    work: &mut Work,
    user: UserId,
    new: &NewPerson,
    password_hash: &str,
) -> sqlx::Result<bool> {
    let now = work.now();
    let written = sqlx::query!(
        "INSERT INTO platform.person
             (user_id, email, password_hash, plan, is_admin, created_at, sessions_from)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (email) DO NOTHING",
        user as UserId,
        new.email.as_str(),
        password_hash,
        new.plan.as_str(),
        new.is_admin,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() > 0)
}

pub(crate) async fn with_email(
    sql: &mut PgConnection,
    email: &Email,
) -> sqlx::Result<Option<Account>> {
    sqlx::query_as!(
        Account,
        r#"SELECT user_id AS "user: UserId", password_hash,
                  sessions_from AS "sessions_from: Timestamp",
                  disabled_at IS NOT NULL AS "is_disabled!"
           FROM platform.person WHERE email = $1"#,
        email.as_str(),
    )
    .fetch_optional(sql)
    .await
}

pub(crate) async fn set_password(
    work: &mut Work,
    user: UserId,
    password_hash: &str,
) -> sqlx::Result<bool> {
    let now = work.now();
    let written = sqlx::query!(
        "UPDATE platform.person SET password_hash = $2, sessions_from = $3 WHERE user_id = $1",
        user as UserId,
        password_hash,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() > 0)
}

pub(crate) async fn set_plan(work: &mut Work, user: UserId, plan: Plan) -> sqlx::Result<bool> {
    let written = sqlx::query!(
        "UPDATE platform.person SET plan = $2 WHERE user_id = $1",
        user as UserId,
        plan.as_str(),
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Disables an account and ends its sessions. Returns `false` if it was disabled before, and `None` if there is none.
pub(crate) async fn disable(work: &mut Work, user: UserId) -> sqlx::Result<Option<bool>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"UPDATE platform.person AS now_disabled
           SET disabled_at = coalesce(former.disabled_at, $2), sessions_from = $2
           FROM (SELECT user_id, disabled_at FROM platform.person WHERE user_id = $1 FOR UPDATE) AS former
           WHERE now_disabled.user_id = former.user_id
           RETURNING former.disabled_at IS NULL AS "changed!""#,
        user as UserId,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

/// Enables an account. Returns `false` if it was enabled before, and `None` if there is none.
pub(crate) async fn enable(work: &mut Work, user: UserId) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar!(
        r#"UPDATE platform.person AS now_enabled SET disabled_at = NULL
           FROM (SELECT user_id, disabled_at FROM platform.person WHERE user_id = $1 FOR UPDATE) AS former
           WHERE now_enabled.user_id = former.user_id
           RETURNING former.disabled_at IS NOT NULL AS "changed!""#,
        user as UserId,
    )
    .fetch_optional(work.sql())
    .await
}

pub(crate) async fn put_membership(
    work: &mut Work,
    user: UserId,
    merchant: MerchantId,
    role: Role,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO platform.membership (user_id, merchant_id, role, since)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id, merchant_id) DO UPDATE SET role = excluded.role",
        user as UserId,
        merchant as MerchantId,
        role.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn remove_membership(
    work: &mut Work,
    user: UserId,
    merchant: MerchantId,
) -> sqlx::Result<bool> {
    let written = sqlx::query!(
        "DELETE FROM platform.membership WHERE user_id = $1 AND merchant_id = $2",
        user as UserId,
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Returns a person with an enabled account, and their memberships.
pub(crate) async fn find(sql: &mut PgConnection, user: UserId) -> sqlx::Result<Option<Person>> {
    let rows = sqlx::query!(
        r#"SELECT plan, is_admin, sessions_from AS "sessions_from: Timestamp",
                  merchant_id AS "merchant?: MerchantId", role AS "role?"
           FROM platform.person LEFT JOIN platform.membership USING (user_id)
           WHERE user_id = $1 AND disabled_at IS NULL
           ORDER BY since, merchant_id"#,
        user as UserId,
    )
    .fetch_all(sql)
    .await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let (plan, is_admin) = (parse_name(&first.plan)?, first.is_admin);
    let sessions_from = first.sessions_from;
    let mut memberships = Vec::new();
    for row in rows {
        if let (Some(merchant), Some(role)) = (row.merchant, row.role) {
            memberships.push((merchant, parse_name(&role)?));
        }
    }
    Ok(Some(Person { user, plan, is_admin, memberships, sessions_from }))
}

/// Returns the plans of the owners of a store.
pub(crate) async fn plans_of_owners(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<Plan>> {
    let plans = sqlx::query_scalar!(
        "SELECT plan FROM platform.membership
         JOIN platform.person USING (user_id)
         WHERE merchant_id = $1 AND role = 'owner'",
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await?;
    plans.iter().map(|plan| parse_name(plan)).collect()
}

//! The keys of agents.

use std::collections::BTreeSet;

use database::Work;
use primitives::{KeyId, MerchantId, Plan, Scope, Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::secret::Mac;
use crate::{Agent, AgentKey};

struct Row {
    key_id: KeyId,
    prefix: String,
    name: String,
    scopes: Vec<String>,
    stores: Option<Vec<Uuid>>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl From<Row> for AgentKey {
    fn from(row: Row) -> Self {
        Self {
            key_id: row.key_id,
            prefix: row.prefix,
            name: row.name,
            scopes: scopes(&row.scopes),
            stores: merchants(row.stores),
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// A name that this binary does not know gives no right.
fn scopes(names: &[String]) -> BTreeSet<Scope> {
    let known = |name: &String| Scope::ALL.into_iter().find(|scope| scope.name() == name);
    names.iter().filter_map(known).collect()
}

fn merchants(ids: Option<Vec<Uuid>>) -> Option<Vec<MerchantId>> {
    ids.map(|ids| ids.into_iter().map(primitives::Id::from_uuid).collect())
}

pub(crate) async fn insert(
    work: &mut Work,
    owner: Option<UserId>,
    mac: &Mac,
    key: &AgentKey,
) -> sqlx::Result<()> {
    let scopes: Vec<String> = key.scopes.iter().map(|scope| scope.name().to_owned()).collect();
    let stores: Option<Vec<Uuid>> =
        key.stores.as_ref().map(|stores| stores.iter().map(|merchant| merchant.uuid()).collect());
    sqlx::query!(
        "INSERT INTO platform.agent_key
             (key_id, mac, user_id, prefix, name, scopes, stores, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        key.key_id as KeyId,
        mac.as_slice(),
        owner as Option<UserId>,
        key.prefix,
        key.name,
        &scopes,
        stores.as_deref(),
        key.created_at as Timestamp,
        key.expires_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// A person's plan and how many of its keys work now; nothing if there is no such person. Holds the person's row.
pub(crate) async fn working_of(
    work: &mut Work,
    owner: UserId,
) -> sqlx::Result<Option<(Plan, i64)>> {
    let now = work.now();
    let held = sqlx::query_scalar!(
        "SELECT plan FROM platform.person WHERE user_id = $1 FOR NO KEY UPDATE",
        owner as UserId,
    )
    .fetch_optional(work.sql())
    .await?;
    let Some(plan) = held else { return Ok(None) };
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM platform.agent_key
           WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"#,
        owner as UserId,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await?;
    Ok(Some((plan.parse().unwrap_or(Plan::Free), count)))
}

/// A key of a person and the one in its place, held until the work ends.
pub(crate) async fn held(
    work: &mut Work,
    owner: UserId,
    key: KeyId,
) -> sqlx::Result<Option<(AgentKey, Option<KeyId>)>> {
    let row = sqlx::query!(
        r#"SELECT prefix, name, scopes, stores, created_at AS "created_at: Timestamp",
                  expires_at AS "expires_at: Timestamp", revoked_at AS "revoked_at: Timestamp",
                  rotated_to AS "rotated_to: KeyId"
           FROM platform.agent_key WHERE key_id = $1 AND user_id = $2 FOR UPDATE"#,
        key as KeyId,
        owner as UserId,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(row.map(|row| {
        let held = Row {
            key_id: key,
            prefix: row.prefix,
            name: row.name,
            scopes: row.scopes,
            stores: row.stores,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        };
        (held.into(), row.rotated_to)
    }))
}

/// Lets a key end at a moment, unless it ends before, and names the one in its place.
pub(crate) async fn replace(
    work: &mut Work,
    old: KeyId,
    new: KeyId,
    until: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.agent_key SET rotated_to = $2, expires_at = least(expires_at, $3)
         WHERE key_id = $1",
        old as KeyId,
        new as KeyId,
        until as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Answers whether it was not revoked until now; nothing if the person has no such key.
pub(crate) async fn revoke(
    work: &mut Work,
    owner: UserId,
    key: KeyId,
) -> sqlx::Result<Option<bool>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"UPDATE platform.agent_key AS now_ended SET revoked_at = coalesce(former.revoked_at, $3)
           FROM (SELECT key_id, revoked_at FROM platform.agent_key
                 WHERE key_id = $1 AND user_id = $2 FOR UPDATE) AS former
           WHERE now_ended.key_id = former.key_id
           RETURNING former.revoked_at IS NULL AS "worked!""#,
        key as KeyId,
        owner as UserId,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

pub(crate) async fn of_person(
    sql: &mut PgConnection,
    owner: UserId,
) -> sqlx::Result<Vec<AgentKey>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT key_id AS "key_id: KeyId", prefix, name, scopes, stores,
                  created_at AS "created_at: Timestamp", expires_at AS "expires_at: Timestamp",
                  revoked_at AS "revoked_at: Timestamp"
           FROM platform.agent_key WHERE user_id = $1
           ORDER BY created_at DESC, key_id LIMIT 1000"#,
        owner as UserId,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(AgentKey::from).collect())
}

/// Removes keys that were nobody's and have ended.
pub(crate) async fn forget_sandbox(work: &mut Work) -> sqlx::Result<u64> {
    let now = work.now();
    let done = sqlx::query!(
        "DELETE FROM platform.agent_key WHERE user_id IS NULL AND expires_at <= $1",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// The agent behind a key that works at this moment, of an account that is open, and what is kept of the key.
pub(crate) async fn agent_of(
    sql: &mut PgConnection,
    mac: &Mac,
    now: Timestamp,
) -> sqlx::Result<Option<(Agent, Vec<u8>)>> {
    let row = sqlx::query!(
        r#"SELECT key_id AS "key: KeyId", name, user_id AS "owner?: UserId", plan AS "plan?", scopes, stores, mac
           FROM platform.agent_key LEFT JOIN platform.person USING (user_id)
           WHERE mac = $1 AND revoked_at IS NULL AND disabled_at IS NULL
             AND (expires_at IS NULL OR expires_at > $2)"#,
        mac.as_slice(),
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await?;
    Ok(row.map(|row| {
        let agent = Agent {
            key: row.key,
            name: row.name,
            owner: row.owner,
            plan: row.plan.and_then(|plan| plan.parse().ok()).unwrap_or(Plan::Free),
            scopes: scopes(&row.scopes),
            stores: merchants(row.stores),
        };
        (agent, row.mac)
    }))
}

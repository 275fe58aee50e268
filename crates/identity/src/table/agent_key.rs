//! Agent keys.

use std::collections::BTreeSet;

use database::Work;
use primitives::{KeyId, MerchantId, Plan, Scope, Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::secret::Mac;
use crate::table::parse_name;
use crate::{Agent, AgentKey};

struct Row {
    key_id: KeyId,
    prefix: String,
    name: String,
    scopes: Vec<String>,
    stores: Option<Vec<Uuid>>,
    created_at: Timestamp,
    rotated_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl Row {
    fn decode(self) -> sqlx::Result<AgentKey> {
        Ok(AgentKey {
            key_id: self.key_id,
            prefix: self.prefix,
            name: self.name,
            scopes: scopes(&self.scopes)?,
            stores: merchants(self.stores),
            created_at: self.created_at,
            rotated_at: self.rotated_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
        })
    }
}

fn scopes(names: &[String]) -> sqlx::Result<BTreeSet<Scope>> {
    names.iter().map(|name| parse_name(name)).collect()
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
    let scopes: Vec<String> = key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
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

/// Returns a person's plan and number of active keys, or `None` if the person does not exist. Locks the person's row.
pub(crate) async fn count_active(
    work: &mut Work,
    owner: UserId,
) -> sqlx::Result<Option<(Plan, i64)>> {
    let now = work.now();
    let plan = sqlx::query_scalar!(
        "SELECT plan FROM platform.person WHERE user_id = $1 FOR NO KEY UPDATE",
        owner as UserId,
    )
    .fetch_optional(work.sql())
    .await?;
    let Some(plan) = plan else { return Ok(None) };
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM platform.agent_key
           WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"#,
        owner as UserId,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await?;
    Ok(Some((parse_name(&plan)?, count)))
}

/// Returns a key of a person. Locks its row.
pub(crate) async fn lock(
    work: &mut Work,
    owner: UserId,
    key: KeyId,
) -> sqlx::Result<Option<AgentKey>> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT key_id AS "key_id: KeyId", prefix, name, scopes, stores,
                  created_at AS "created_at: Timestamp", rotated_at AS "rotated_at: Timestamp",
                  expires_at AS "expires_at: Timestamp", revoked_at AS "revoked_at: Timestamp"
           FROM platform.agent_key WHERE key_id = $1 AND user_id = $2 FOR UPDATE"#,
        key as KeyId,
        owner as UserId,
    )
    .fetch_optional(work.sql())
    .await?;
    row.map(Row::decode).transpose()
}

/// Stores the new text of a rotated key. The former one remains valid until `until`, and never longer than it was; one that is
/// still valid from an earlier rotation keeps its end.
pub(crate) async fn rotate(
    work: &mut Work,
    key: &AgentKey,
    mac: &Mac,
    until: Timestamp,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE platform.agent_key SET
             previous_mac = CASE WHEN previous_until > $2 THEN previous_mac ELSE mac END,
             previous_until = CASE WHEN previous_until > $2 THEN previous_until ELSE least(expires_at, $3) END,
             mac = $4, prefix = $5, rotated_at = $2, expires_at = $6
         WHERE key_id = $1",
        key.key_id as KeyId,
        now as Timestamp,
        until as Timestamp,
        mac.as_slice(),
        key.prefix,
        key.expires_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Revokes a key. Returns `false` if it was already revoked, and `None` if the person has no such key.
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

/// Revokes a key of anybody. Returns its owner, and `false` if it was already revoked; `None` if there is no such key.
pub(crate) async fn revoke_any(
    work: &mut Work,
    key: KeyId,
) -> sqlx::Result<Option<(Option<UserId>, bool)>> {
    let now = work.now();
    let row = sqlx::query!(
        r#"UPDATE platform.agent_key AS now_ended SET revoked_at = coalesce(former.revoked_at, $2)
           FROM (SELECT key_id, revoked_at FROM platform.agent_key WHERE key_id = $1 FOR UPDATE) AS former
           WHERE now_ended.key_id = former.key_id
           RETURNING user_id AS "owner: UserId", former.revoked_at IS NULL AS "worked!""#,
        key as KeyId,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(row.map(|row| (row.owner, row.worked)))
}

pub(crate) async fn of_person(
    sql: &mut PgConnection,
    owner: UserId,
) -> sqlx::Result<Vec<AgentKey>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT key_id AS "key_id: KeyId", prefix, name, scopes, stores,
                  created_at AS "created_at: Timestamp", rotated_at AS "rotated_at: Timestamp",
                  expires_at AS "expires_at: Timestamp", revoked_at AS "revoked_at: Timestamp"
           FROM platform.agent_key WHERE user_id = $1
           ORDER BY created_at DESC, key_id LIMIT 1000"#,
        owner as UserId,
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter().map(Row::decode).collect()
}

/// Returns the keys of a person, also those that are no longer valid.
pub(crate) async fn ids_of_person(
    sql: &mut PgConnection,
    owner: UserId,
) -> sqlx::Result<Vec<KeyId>> {
    sqlx::query_scalar!(
        r#"SELECT key_id AS "key: KeyId" FROM platform.agent_key WHERE user_id = $1"#,
        owner as UserId,
    )
    .fetch_all(sql)
    .await
}

/// Returns the newest keys of a person, also those that are no longer valid.
pub(crate) async fn newest_ids_of_person(
    sql: &mut PgConnection,
    owner: UserId,
    limit: i64,
) -> sqlx::Result<Vec<KeyId>> {
    sqlx::query_scalar!(
        r#"SELECT key_id AS "key: KeyId" FROM platform.agent_key WHERE user_id = $1
           ORDER BY created_at DESC, key_id LIMIT $2"#,
        owner as UserId,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns the agent of an active key of an enabled account, and the stored MAC. The former text of a rotated key counts
/// until its end.
pub(crate) async fn agent_of(
    sql: &mut PgConnection,
    mac: &Mac,
    now: Timestamp,
) -> sqlx::Result<Option<(Agent, Vec<u8>)>> {
    let row = sqlx::query!(
        r#"SELECT key_id AS "key: KeyId", name, user_id AS "owner?: UserId", plan AS "plan?", scopes, stores,
                  CASE WHEN mac = $1 THEN mac ELSE previous_mac END AS "mac!"
           FROM platform.agent_key LEFT JOIN platform.person USING (user_id)
           WHERE (mac = $1 OR (previous_mac = $1 AND previous_until > $2)) AND revoked_at IS NULL AND disabled_at IS NULL
             AND (expires_at IS NULL OR expires_at > $2)"#,
        mac.as_slice(),
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let plan = row.plan.as_deref().map(parse_name).transpose()?;
    let agent = Agent {
        key: row.key,
        name: row.name,
        owner: row.owner,
        plan: plan.unwrap_or(Plan::Free),
        scopes: scopes(&row.scopes)?,
        stores: merchants(row.stores),
    };
    Ok(Some((agent, row.mac)))
}

//! Imported accounts and their keys.

use database::Work;
use primitives::Timestamp;
use uuid::Uuid;

use crate::PastAgent;

/// Inserts disabled accounts without a password.
pub(crate) async fn insert_accounts(work: &mut Work, agents: &[PastAgent]) -> sqlx::Result<()> {
    let users: Vec<Uuid> = agents.iter().map(|agent| agent.user.uuid()).collect();
    let emails: Vec<&str> = agents.iter().map(|agent| agent.email.as_str()).collect();
    let times: Vec<Timestamp> = agents.iter().map(|agent| agent.since).collect();
    sqlx::query!(
        "INSERT INTO platform.person
             (user_id, email, password_hash, plan, is_admin, created_at, sessions_from, disabled_at)
         SELECT past.user_id, past.email, '$argon2id$', 'FREE', false, past.since, past.since, past.since
         FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS past (user_id, email, since)
         ON CONFLICT DO NOTHING",
        &users,
        &emails as _,
        &times as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Inserts keys. Their MACs are those of no text.
pub(crate) async fn insert_keys(work: &mut Work, agents: &[PastAgent]) -> sqlx::Result<()> {
    let keys: Vec<Uuid> = agents.iter().map(|agent| agent.key.uuid()).collect();
    let users: Vec<Uuid> = agents.iter().map(|agent| agent.user.uuid()).collect();
    let mac =
        |agent: &PastAgent| [agent.key.uuid(), agent.user.uuid()].map(Uuid::into_bytes).concat();
    let macs: Vec<Vec<u8>> = agents.iter().map(mac).collect();
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let times: Vec<Timestamp> = agents.iter().map(|agent| agent.since).collect();
    sqlx::query!(
        "INSERT INTO platform.agent_key (key_id, mac, user_id, prefix, name, scopes, created_at)
         SELECT past.key_id, past.mac, past.user_id, 'agnt_', past.name, ARRAY['agent:checkout'], past.since
         FROM unnest($1::uuid[], $2::bytea[], $3::uuid[], $4::text[], $5::timestamptz[])
              AS past (key_id, mac, user_id, name, since)
         ON CONFLICT DO NOTHING",
        &keys,
        &macs,
        &users,
        &names as _,
        &times as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

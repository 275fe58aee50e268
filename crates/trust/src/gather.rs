//! Gathers the evidence of stores: their state, and the facts of the days that count.

use std::collections::HashMap;
use std::io::{self, BufWriter};

use database::Reading;
use merchants::StoreError;
use primitives::MerchantId;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::collected::CollectedDays;
use crate::computation::latest_at;
use crate::pseudonym::pseudonymized;
use crate::table::state::StoreState;
use crate::{
    AgentDay, Computation, Day, Epoch, Evidence, EvidenceRecord, TrustError, score, table,
};

/// Rows of days that are read for several stores together: about 10 MB. A store that has more is read alone.
const ROWS_MAX: usize = 100_000;

/// A store with the evidence of its score.
pub(crate) struct Gathered {
    pub(crate) merchant: MerchantId,
    pub(crate) slug: String,
    pub(crate) evidence: Evidence,
}

/// A store with the evidence of its score as it is read: accounts still have their ids.
pub(crate) struct Unnamed(Gathered);

impl Unnamed {
    /// Replaces accounts by their pseudonyms. Takes a second for a large store: not while a transaction is open.
    pub(crate) fn named(self) -> Gathered {
        let Self(mut store) = self;
        store.evidence.days = pseudonymized(store.merchant, store.evidence.days);
        store
    }

    /// Returns the store with other evidence.
    pub(crate) fn with_evidence(self, of: impl FnOnce(Evidence) -> Evidence) -> Self {
        let Self(Gathered { merchant, slug, evidence }) = self;
        Self(Gathered { merchant, slug, evidence: of(evidence) })
    }
}

/// Returns the evidence of stores at an epoch. Stores are given and returned in the order of their ids; merchants without a store
/// are left out. For few stores: see [`gather_part`].
pub(crate) async fn gather(
    sql: &mut PgConnection,
    merchants: &[MerchantId],
    epoch: Epoch,
) -> Result<Vec<Unnamed>, TrustError> {
    let (mut gathered, mut rest) = (Vec::with_capacity(merchants.len()), merchants);
    while !rest.is_empty() {
        let (part, remaining) = gather_part(sql, rest, epoch).await?;
        gathered.extend(part);
        rest = remaining;
    }
    Ok(gathered)
}

/// Returns the evidence of the first stores, as [`gather`] does, and the stores that remain: a part has at most [`ROWS_MAX`] rows
/// of days, or one store. Who computes scores part by part needs memory for one.
pub(crate) async fn gather_part<'store>(
    sql: &mut PgConnection,
    merchants: &'store [MerchantId],
    epoch: Epoch,
) -> Result<(Vec<Unnamed>, &'store [MerchantId]), TrustError> {
    let window = (epoch.first_day(), epoch.last_day());
    let (mut days, complete) = read_part(sql, merchants, window).await?;
    let (part, rest) = merchants.split_at(complete);
    let ids: Vec<Uuid> = part.iter().map(|merchant| merchant.uuid()).collect();
    let states = table::state::states(sql, &ids, epoch).await?;
    let gathered = |state: StoreState| {
        let StoreState { merchant, slug, mut evidence, .. } = state;
        evidence.days = days.remove(&merchant).unwrap_or_default();
        Unnamed(Gathered { merchant, slug, evidence })
    };
    Ok((states.into_iter().map(gathered).collect(), rest))
}

/// Returns rows of days of the first stores, and of how many stores all rows were read: of one at least.
async fn read_part(
    sql: &mut PgConnection,
    merchants: &[MerchantId],
    window: (Day, Day),
) -> Result<(HashMap<MerchantId, Vec<AgentDay>>, usize), TrustError> {
    let limit = i64::try_from(ROWS_MAX).ok();
    let mut collected = CollectedDays::default();
    table::rollup::read_days(sql, merchants, window, limit, &mut collected).await?;
    let incomplete = collected.incomplete(ROWS_MAX);
    let position = incomplete.and_then(|store| merchants.iter().position(|it| *it == store));
    let complete = match position {
        None => merchants.len(),
        Some(0) => {
            collected = CollectedDays::default();
            table::rollup::read_days(sql, &merchants[..1], window, None, &mut collected).await?;
            1
        }
        Some(position) => position,
    };
    Ok((collected.into_stores(), complete))
}

/// Returns the rows of days of a store between two days, both included. Accounts still have their ids.
pub(crate) async fn days_between(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: (Day, Day),
) -> Result<Vec<AgentDay>, TrustError> {
    let mut collected = CollectedDays::default();
    table::rollup::read_days(sql, &[merchant], days, None, &mut collected).await?;
    Ok(collected.into_stores().remove(&merchant).unwrap_or_default())
}

/// Returns the state of a store at an epoch: evidence without rows of days.
pub(crate) async fn state_at(
    sql: &mut PgConnection,
    merchant: MerchantId,
    epoch: Epoch,
) -> Result<Evidence, TrustError> {
    let states = table::state::states(sql, &[merchant.uuid()], epoch).await?;
    let state = states.into_iter().next().ok_or(TrustError::Store(StoreError::NotFound))?;
    Ok(state.evidence)
}

/// Returns the newest score of a store with the evidence it was computed from, all as of one moment. The days are those of now:
/// [`EvidenceRecord::is_unchanged`] says whether they are those of the score. A store without such a score has the evidence of
/// now.
pub async fn evidence_record(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<EvidenceRecord, TrustError> {
    let local_now = Epoch::of(reading.local_now());
    let (computation, gathered) = reading
        .run(async |sql| -> Result<(Option<Computation>, Unnamed), TrustError> {
            let newest = latest_at(sql, merchant, local_now).await?;
            let now = Epoch::of(sql.now().await?);
            newest_evidence(sql, merchant, newest, now).await
        })
        .await?;
    // A large store has hundreds of megabytes to hash.
    let recorded =
        tokio::task::spawn_blocking(move || record(gathered.named(), computation.as_ref()));
    recorded.await.map_err(|error| TrustError::Defect(error.to_string()))?
}

fn record(
    gathered: Gathered,
    computation: Option<&Computation>,
) -> Result<EvidenceRecord, TrustError> {
    let Gathered { slug, evidence, .. } = gathered;
    let (computed, hash) = (score(&evidence), evidence_hash(&evidence)?);
    let record = EvidenceRecord::of(slug, evidence, &computed);
    Ok(match computation {
        Some(computation) => record.compared(computation, &hash),
        None => record,
    })
}

/// Returns the newest score of a store and its evidence: the state as it was stored with the score, and the rows of its days. If
/// the score has no stored state, returns the evidence of now alone.
async fn newest_evidence(
    sql: &mut PgConnection,
    merchant: MerchantId,
    newest: Option<Computation>,
    now: Epoch,
) -> Result<(Option<Computation>, Unnamed), TrustError> {
    let stored = match &newest {
        Some(newest) => table::detail::state_of(sql, merchant, newest).await?,
        None => None,
    };
    let Some((newest, state)) = newest.zip(stored) else {
        return Ok((None, one(gather(sql, &[merchant], now).await?)?));
    };
    let gathered = one(gather(sql, &[merchant], newest.epoch).await?)?;
    let stored = state.into_evidence(newest.epoch);
    let gathered = gathered.with_evidence(|Evidence { days, .. }| Evidence { days, ..stored });
    Ok((Some(newest), gathered))
}

/// Returns the only element, or `NotFound`.
pub(crate) fn one(mut gathered: Vec<Unnamed>) -> Result<Unnamed, TrustError> {
    gathered.pop().ok_or(TrustError::Store(StoreError::NotFound))
}

/// Returns the SHA-256 of the evidence as it is exported: JSON without spaces, with the fields in their order.
pub fn evidence_hash(evidence: &Evidence) -> Result<Vec<u8>, TrustError> {
    let mut hashed = BufWriter::new(HashWriter(Sha256::new()));
    serde_json::to_writer(&mut hashed, evidence)
        .map_err(|error| TrustError::Defect(error.to_string()))?;
    let HashWriter(hash) =
        hashed.into_inner().map_err(|error| TrustError::Defect(error.error().to_string()))?;
    Ok(hash.finalize().to_vec())
}

/// A hash of what is written.
struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountRef, DayCounts};

    #[test]
    fn equal_evidence_has_an_equal_hash_and_other_evidence_another() {
        let evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        let hash = evidence_hash(&evidence).unwrap();
        assert_eq!(hash.len(), 32);
        assert_eq!(evidence_hash(&evidence.clone()).unwrap(), hash);
        let other = Evidence { delivered_total: 1, ..evidence };
        assert_ne!(evidence_hash(&other).unwrap(), hash);
    }

    #[test]
    fn the_hash_is_that_of_the_exported_bytes() {
        let mut evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        let (account, counts) = (AccountRef::default(), DayCounts::default());
        evidence.days = vec![AgentDay { day: Day(20_700), account, counts }; 500];
        let bytes = serde_json::to_vec(&evidence).unwrap();
        assert_eq!(evidence_hash(&evidence).unwrap(), Sha256::digest(&bytes).to_vec());
    }
}

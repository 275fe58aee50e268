//! Gathers the evidence of stores: their state, and the facts of the days that count.

use database::Reading;
use merchants::StoreError;
use primitives::MerchantId;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::pseudonym::pseudonymized;
use crate::table::state::StoreState;
use crate::{Computation, Epoch, Evidence, EvidenceRecord, TrustError, score, table};

/// A store with the evidence of its score.
pub(crate) struct Gathered {
    pub(crate) merchant: MerchantId,
    pub(crate) slug: String,
    /// Whether the catalog figures of the store were ever computed. Without them it has no listed products here.
    pub(crate) has_figures: bool,
    pub(crate) evidence: Evidence,
}

/// Returns the evidence of stores at an epoch, ordered by id, with pseudonyms of the accounts. Merchants without a store are
/// left out.
pub(crate) async fn gather(
    sql: &mut PgConnection,
    merchants: &[MerchantId],
    epoch: Epoch,
) -> Result<Vec<Gathered>, TrustError> {
    let ids: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
    let states = table::state::states(sql, &ids, epoch).await?;
    let (first, last) = (epoch.first_day(), epoch.last_day());
    let mut days = table::rollup::days_of(sql, merchants, first, last).await?;
    let gathered = |state: StoreState| {
        let StoreState { merchant, slug, has_figures, mut evidence } = state;
        evidence.days = pseudonymized(merchant, days.remove(&merchant).unwrap_or_default());
        Gathered { merchant, slug, has_figures, evidence }
    };
    Ok(states.into_iter().map(gathered).collect())
}

/// Returns the evidence of a store at an epoch. Its state is that of now.
pub async fn evidence_of(
    reading: &Reading,
    merchant: MerchantId,
    epoch: Epoch,
) -> Result<Evidence, TrustError> {
    let gathered: Vec<Gathered> =
        reading.run(async |sql| gather(sql, &[merchant], epoch).await).await?;
    Ok(one(gathered)?.evidence)
}

/// Returns the newest score of a store with the evidence it was computed from. A store without such a score has the
/// evidence of now.
pub async fn evidence_record(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<EvidenceRecord, TrustError> {
    let newest = crate::latest(reading, merchant).await?;
    let gathered = reading
        .run(async |sql| -> Result<Gathered, TrustError> {
            let now = Epoch::of(sql.now().await?);
            newest_evidence(sql, merchant, newest.as_ref(), now).await
        })
        .await?;
    let Gathered { slug, evidence, .. } = gathered;
    let computed = score(&evidence);
    Ok(EvidenceRecord::of(slug, evidence, &computed))
}

/// Returns the evidence that the newest score of a store was computed from; that of now if there is none.
pub(crate) async fn newest_evidence(
    sql: &mut PgConnection,
    merchant: MerchantId,
    newest: Option<&Computation>,
    now: Epoch,
) -> Result<Gathered, TrustError> {
    let epoch = newest.map_or(now, |newest| newest.epoch);
    let mut gathered = one(gather(sql, &[merchant], epoch).await?)?;
    if let Some(evidence) = stored(sql, merchant, newest).await? {
        let days = std::mem::take(&mut gathered.evidence.days);
        gathered.evidence = Evidence { days, ..evidence };
    } else if epoch != now {
        gathered = one(gather(sql, &[merchant], now).await?)?;
    }
    Ok(gathered)
}

async fn stored(
    sql: &mut PgConnection,
    merchant: MerchantId,
    computation: Option<&Computation>,
) -> Result<Option<Evidence>, TrustError> {
    let Some(computation) = computation else { return Ok(None) };
    let state = table::detail::state_of(sql, merchant, computation).await?;
    Ok(state.map(|state| state.into_evidence(computation.epoch)))
}

/// Returns the only element, or `NotFound`.
pub(crate) fn one(mut gathered: Vec<Gathered>) -> Result<Gathered, TrustError> {
    gathered.pop().ok_or(TrustError::Store(StoreError::NotFound))
}

/// Returns the SHA-256 of the evidence as it is exported: JSON without spaces, with the fields in their order.
pub fn evidence_hash(evidence: &Evidence) -> Result<Vec<u8>, TrustError> {
    let bytes =
        serde_json::to_vec(evidence).map_err(|error| TrustError::Defect(error.to_string()))?;
    Ok(Sha256::digest(&bytes).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_evidence_has_an_equal_hash_and_other_evidence_another() {
        let evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        let hash = evidence_hash(&evidence).unwrap();
        assert_eq!(hash.len(), 32);
        assert_eq!(evidence_hash(&evidence.clone()).unwrap(), hash);
        let other = Evidence { delivered_total: 1, ..evidence };
        assert_ne!(evidence_hash(&other).unwrap(), hash);
    }
}

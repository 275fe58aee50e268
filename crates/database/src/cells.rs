//! The cell directory: which cell owns which merchant.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use primitives::MerchantId;
use sqlx::PgConnection;

use crate::DatabaseError;

/// Number of virtual shards. It never changes; moving a shard to another cell updates one row.
pub const SHARDS: u16 = 1024;

/// Returns the virtual shard of a merchant: FNV-1a over the sixteen bytes of its id, folded to ten bits.
/// Routers compute the same number, so that the function is part of their contract.
#[must_use]
pub fn shard_of(merchant: MerchantId) -> u16 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = merchant
        .uuid()
        .as_bytes()
        .iter()
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    // The low bits of FNV depend only on the low bits of the input; folding mixes in the high ones.
    let folded = (hash >> 32) ^ hash;
    u16::try_from(folded % u64::from(SHARDS)).unwrap_or(0)
}

/// The name of a cell: lower-case letters, digits and hyphens, at most 32.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellName(Arc<str>);

impl CellName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CellName {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !text.is_empty() && text.len() <= 32 && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err("a cell name is 1 to 32 lower-case letters, digits and hyphens")
        }
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The cell directory at one epoch.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    epoch: i64,
    shards: Vec<String>,
    overrides: HashMap<MerchantId, String>,
}

impl Directory {
    /// Loads the directory: 1,024 shards and the overrides.
    pub(crate) async fn load(sql: &mut PgConnection) -> Result<Self, DatabaseError> {
        let epoch = sqlx::query_scalar!("SELECT epoch FROM platform.cell_epoch")
            .fetch_one(&mut *sql)
            .await?;
        let shards = sqlx::query_scalar!("SELECT cell FROM platform.cell_shard ORDER BY shard")
            .fetch_all(&mut *sql)
            .await?;
        let overrides = sqlx::query!(
            r#"SELECT merchant_id AS "merchant: MerchantId", cell FROM platform.cell_override"#
        )
        .fetch_all(sql)
        .await?;
        let overrides = overrides.into_iter().map(|row| (row.merchant, row.cell)).collect();
        Ok(Self { epoch, shards, overrides })
    }

    /// Returns `WrongCell` if another cell owns the merchant.
    pub(crate) fn check(&self, cell: &CellName, merchant: MerchantId) -> Result<(), DatabaseError> {
        let by_shard = || self.shards.get(usize::from(shard_of(merchant)));
        let owner = self.overrides.get(&merchant).or_else(by_shard);
        if owner.is_some_and(|owner| owner == cell.as_str()) {
            Ok(())
        } else {
            Err(DatabaseError::WrongCell { epoch: self.epoch })
        }
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn shards_are_stable_and_evenly_distributed() {
        // Routers compute the same number, so that it may never change.
        assert_eq!(
            shard_of(MerchantId::from_uuid(uuid::Uuid::nil())),
            shard_of(MerchantId::from_uuid(uuid::Uuid::nil()))
        );
        let mut counts = vec![0_u32; usize::from(SHARDS)];
        for number in 0..102_400_u128 {
            let merchant = MerchantId::from_random(
                number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
            );
            counts[usize::from(shard_of(merchant))] += 1;
        }
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(
            *least > 50 && *most < 160,
            "between {least} and {most} merchants per shard, 100 expected"
        );
    }
}

//! The directory of cells: which cell owns which merchant.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use primitives::MerchantId;
use sqlx::PgConnection;

use crate::DatabaseError;

/// How many virtual shards there are. It never changes: moving a shard is one row.
pub const SHARDS: u16 = 1024;

/// The virtual shard of a merchant: FNV-1a over the sixteen bytes of its id, folded to ten bits.
/// Part of the contract with routers, which compute it too.
#[must_use]
pub fn shard_of(merchant: MerchantId) -> u16 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = merchant
        .uuid()
        .as_bytes()
        .iter()
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    // FNV's low bits depend on the low bits of the input alone; folding brings the high ones in.
    let folded = (hash >> 32) ^ hash;
    u16::try_from(folded % u64::from(SHARDS)).unwrap_or(0)
}

/// The name of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellName(Arc<str>);

impl CellName {
    /// The name as text.
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
            Err("a cell name holds lower-case letters, digits and hyphens, at most 32")
        }
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The directory as it was at one epoch.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    epoch: i64,
    shards: Vec<String>,
    overrides: HashMap<MerchantId, String>,
}

impl Directory {
    /// Reads all of it: 1,024 rows and the few overrides.
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

    /// Refuses a merchant that another cell owns.
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
    fn shards_are_stable_and_even() {
        // Routers compute the same number; these two may never change.
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
        assert!(*least > 50 && *most < 160, "between {least} and {most} of 100 a shard");
    }
}

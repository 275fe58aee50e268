//! The two ways in, as the statement that opens a transaction.

use primitives::MerchantId;
use sqlx::AssertSqlSafe;
use sqlx::SqlSafeStr;
use sqlx::SqlStr;

/// Whose rows a transaction sees.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tenant {
    /// One merchant's, under row-level security.
    Store(MerchantId),
    /// All of the cell's.
    Platform,
}

/// Whether a transaction may write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    Write,
    Read,
}

impl Tenant {
    /// `BEGIN` with the role and the merchant in one round trip. The only values in the text are a
    /// role name of ours and the digits of a uuid.
    pub(crate) fn begin(self, access: Access) -> SqlStr {
        let mode = match access {
            Access::Write => "READ WRITE",
            Access::Read => "READ ONLY",
        };
        let (role, merchant) = match self {
            Self::Store(merchant) => ("souk_store", merchant.uuid().to_string()),
            Self::Platform => ("souk_platform", String::new()),
        };
        AssertSqlSafe(format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED {mode}; \
             SET LOCAL ROLE {role}; SET LOCAL souk.merchant_id = '{merchant}'"
        ))
        .into_sql_str()
    }
}

//! The tenant of a transaction, as the statement that opens it.

use primitives::MerchantId;
use sqlx::AssertSqlSafe;
use sqlx::SqlSafeStr;
use sqlx::SqlStr;

/// The rows a transaction can access.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tenant {
    /// The rows of one merchant, under row-level security.
    Store(MerchantId),
    /// The same rows, with the right to write orders and the evidence of checkouts.
    Checkout(MerchantId),
    /// The same rights, for what happens to orders after the purchase.
    Orders(MerchantId),
    /// All rows of the cell.
    Platform,
}

/// The access mode of a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    Write,
    Read,
}

impl Tenant {
    /// Returns `BEGIN` with the role and the merchant, for one round trip. The text interpolates only a fixed role name
    /// and a UUID.
    pub(crate) fn begin(self, access: Access) -> SqlStr {
        // All statements of a read see the same state: an order and its history, for example. A read never fails because of it.
        let mode = match access {
            Access::Write => "READ COMMITTED READ WRITE",
            Access::Read => "REPEATABLE READ READ ONLY",
        };
        let merchant = match self {
            Self::Store(merchant) | Self::Checkout(merchant) | Self::Orders(merchant) => {
                merchant.uuid().to_string()
            }
            Self::Platform => String::new(),
        };
        AssertSqlSafe(format!(
            "BEGIN ISOLATION LEVEL {mode}; {}; SET LOCAL souk.merchant_id = '{merchant}'",
            self.set_role()
        ))
        .into_sql_str()
    }

    /// Returns the statement that sets the role of the tenant in an open transaction.
    pub(crate) const fn set_role(self) -> &'static str {
        match self {
            Self::Store(_) => "SET LOCAL ROLE souk_store",
            Self::Checkout(_) | Self::Orders(_) => "SET LOCAL ROLE souk_checkout",
            Self::Platform => "SET LOCAL ROLE souk_platform",
        }
    }
}

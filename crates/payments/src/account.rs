//! Accounts of stores at payment processors.

mod credentials;
mod error;

use std::fmt;
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Work};
use identity::{Actor, AuditAction, SealingKey};
use primitives::{MerchantId, PaymentAccountId, Timestamp};
use processors::{Credentials, ProcessorError, Processors};
use serde_json::json;

pub use credentials::AccountCredentials;
pub use error::AccountError;

use crate::{ProviderName, table};

/// How long an account that is disabled stays, also if no payment refers to it: a transaction that starts one may be open.
const UNUSED_FOR: Duration = Duration::from_hours(1);
/// Accounts whose webhooks are accepted, the newest: a webhook of a replaced account arrives within days.
const WEBHOOK_ACCOUNTS_MAX: i64 = 5;

/// Time to check credentials: an owner waits for it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(8);
/// A reference that no payment has, to ask a processor for.
const NO_REFERENCE: &str = "NONE";

primitives::text_enum! {
    /// Whether a processor accepts the credentials of an account.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "PaymentAccountStatus", rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum AccountStatus {
        /// The processor accepts the credentials.
        Working,
        /// The processor refuses the credentials.
        Refused,
        /// The processor did not answer.
        Unknown,
    }
}

/// An account of a store at a payment processor, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentAccount {
    pub id: PaymentAccountId,
    pub provider: ProviderName,
    /// Whether its payments move real money.
    pub is_live: bool,
    /// What the merchant recognizes it by.
    pub label: String,
    pub created_at: Timestamp,
    /// When it was replaced or disconnected: no payment starts with it any more.
    pub disabled_at: Option<Timestamp>,
}

/// Connects and reads accounts, whose credentials are encrypted at rest. Cheap to clone.
#[derive(Clone)]
pub struct PaymentAccounts {
    database: Database,
    sealing: SealingKey,
    pub(crate) processors: Processors,
}

impl fmt::Debug for PaymentAccounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PaymentAccounts")
    }
}

impl PaymentAccounts {
    /// Creates the access to the accounts of a cell. The key is derived from the secret of the server.
    #[must_use]
    pub fn new(database: Database, secret: &identity::Secret, processors: Processors) -> Self {
        let sealing = SealingKey::new(secret.derived_key("payment accounts"));
        Self { database, sealing, processors }
    }

    /// Checks an account, and stores it: payments start with it from now on, in place of the present one of the provider. Returns
    /// `CredentialsRefused` if the processor does not accept the credentials, and `NotChecked` if it did not answer.
    pub async fn connect(
        &self,
        merchant: MerchantId,
        actor: Actor,
        credentials: &AccountCredentials,
    ) -> Result<PaymentAccount, AccountError> {
        let parsed = credentials.parse()?;
        match self.ask(&parsed).await {
            AccountStatus::Working => {}
            AccountStatus::Refused => return Err(AccountError::CredentialsRefused),
            AccountStatus::Unknown => return Err(AccountError::NotChecked),
        }
        let mut work = Work::for_store(&self.database, merchant).await?;
        let account = PaymentAccount {
            id: work.new_id(),
            provider: credentials.provider(),
            is_live: parsed.is_live(),
            label: credentials.label(),
            created_at: work.now(),
            disabled_at: None,
        };
        let owner = owner(merchant, account.id);
        let sealed = self.sealing.seal(work.random(), &owner, &credentials.to_json()?)?;
        table::account::disable(&mut work, merchant, account.provider).await?;
        table::account::insert(&mut work, merchant, &account, &sealed).await?;
        delete_unused(&mut work, merchant, account.provider).await?;
        let action = AuditAction::PaymentAccountConnected;
        record(&mut work, merchant, actor, action, &account).await?;
        work.commit().await?;
        Ok(account)
    }

    /// Ends payments with the account of a provider. Those that were started are completed with it. Returns `NotFound` if there is none.
    pub async fn disconnect(
        &self,
        merchant: MerchantId,
        actor: Actor,
        provider: ProviderName,
    ) -> Result<PaymentAccount, AccountError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        let disabled = table::account::disable(&mut work, merchant, provider).await?;
        let account = disabled.ok_or(AccountError::NotFound)?;
        delete_unused(&mut work, merchant, provider).await?;
        let action = AuditAction::PaymentAccountDisconnected;
        record(&mut work, merchant, actor, action, &account).await?;
        work.commit().await?;
        Ok(account)
    }

    /// Returns the accounts of a store with which payments start, by provider.
    pub async fn list(&self, merchant: MerchantId) -> Result<Vec<PaymentAccount>, AccountError> {
        Ok(accounts(&Reading::for_store(&self.database, merchant)?, merchant).await?)
    }

    /// Returns whether the processor accepts the credentials of an account.
    pub async fn status(
        &self,
        merchant: MerchantId,
        account: &PaymentAccount,
    ) -> Result<AccountStatus, AccountError> {
        Ok(self.ask(&self.credentials(merchant, account.id).await?).await)
    }

    /// Checks credentials by a call without effect: it asks the processor for a payment that does not exist.
    async fn ask(&self, credentials: &Credentials) -> AccountStatus {
        let fetched = self.processors.fetch(credentials, NO_REFERENCE);
        let Ok(fetched) = tokio::time::timeout(CHECK_TIMEOUT, fetched).await else {
            return AccountStatus::Unknown;
        };
        match fetched {
            Ok(_) | Err(ProcessorError::Refused(_)) => AccountStatus::Working,
            Err(ProcessorError::CredentialsRefused | ProcessorError::Invalid(_)) => {
                AccountStatus::Refused
            }
            Err(error) => {
                let processor = credentials.processor();
                tracing::warn!(%processor, %error, "the credentials of a payment account cannot be checked");
                AccountStatus::Unknown
            }
        }
    }

    /// Returns the credentials of an account, also of one that is disabled.
    pub(crate) async fn credentials(
        &self,
        merchant: MerchantId,
        id: PaymentAccountId,
    ) -> Result<Credentials, AccountError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let find = async |sql: &mut database::Snapshot| -> Result<_, DatabaseError> {
            Ok(table::account::find_sealed(sql, merchant, id).await?)
        };
        let sealed = reading.run(find).await?.ok_or(AccountError::NotFound)?;
        self.open(merchant, id, &sealed)
    }

    /// Returns the credentials of all accounts of a provider whose webhooks are accepted, the newest first. Those that cannot be read are
    /// left out.
    pub(crate) async fn webhook_credentials(
        &self,
        merchant: MerchantId,
        provider: ProviderName,
    ) -> Result<Vec<Credentials>, AccountError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let find = async |sql: &mut database::Snapshot| -> Result<_, DatabaseError> {
            let limit = WEBHOOK_ACCOUNTS_MAX;
            Ok(table::account::find_all_sealed(sql, merchant, provider, limit).await?)
        };
        let sealed = reading.run(find).await?;
        let open = |(id, sealed): (PaymentAccountId, Vec<u8>)| {
            let opened = self.open(merchant, id, &sealed);
            opened.inspect_err(|error| {
                tracing::error!(%merchant, account = %id, %error, "the credentials of a payment account are unreadable");
            })
        };
        Ok(sealed.into_iter().filter_map(|row| open(row).ok()).collect())
    }

    fn open(
        &self,
        merchant: MerchantId,
        id: PaymentAccountId,
        sealed: &[u8],
    ) -> Result<Credentials, AccountError> {
        let json = self.sealing.open(&owner(merchant, id), sealed)?;
        AccountCredentials::from_json(&json)?.parse()
    }
}

/// Returns the accounts of a store with which payments start, by provider.
pub async fn accounts(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<PaymentAccount>, DatabaseError> {
    reading.run(async |sql| Ok(table::account::find_enabled(sql, merchant).await?)).await
}

/// Returns the accounts of a store with which payments start, in the transaction that starts one. The account stays for as long as the
/// payment refers to it.
pub async fn accounts_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Vec<PaymentAccount>, DatabaseError> {
    Ok(table::account::find_enabled(work.sql(), merchant).await?)
}

/// Deletes accounts that were disabled earlier and to which no payment refers any more.
async fn delete_unused(
    work: &mut Work,
    merchant: MerchantId,
    provider: ProviderName,
) -> Result<(), DatabaseError> {
    let before = work.now().minus(UNUSED_FOR);
    Ok(table::account::delete_unused(work, merchant, provider, before).await?)
}

/// The associated data: encrypted credentials that are copied to another account are not readable there.
fn owner(merchant: MerchantId, account: PaymentAccountId) -> [u8; 32] {
    let mut data = [0; 32];
    data[..16].copy_from_slice(merchant.uuid().as_bytes());
    data[16..].copy_from_slice(account.uuid().as_bytes());
    data
}

/// Adds an entry to the audit log, which the role of stores may not write.
async fn record(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    action: AuditAction,
    account: &PaymentAccount,
) -> Result<(), DatabaseError> {
    let details = json!({
        "merchant": merchant,
        "provider": account.provider,
        "account": account.label,
        "is_live": account.is_live,
    });
    work.as_platform(async |work| {
        identity::record_audit(work, actor, action, &account.id, details).await
    })
    .await
}

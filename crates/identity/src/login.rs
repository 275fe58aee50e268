//! Logins: an access token for an email and a password.

use std::time::Duration;

use database::{Database, DatabaseError, Work};
use primitives::{ClientAddress, Timestamp};
use serde_json::json;

use crate::audit::{self, Actor, AuditAction};
use crate::password::Passwords;
use crate::secret::Mac;
use crate::token::Session;
use crate::{Email, IdentityError, Secret, Tokens, table};

/// Failed logins from one network.
const OF_ADDRESS: Allowance = Allowance { attempts_max: 5, window: Duration::from_mins(1) };
/// Failed logins with one email, from all networks.
const OF_EMAIL: Allowance = Allowance { attempts_max: 20, window: Duration::from_mins(10) };
/// Retention of attempts: longer than the longest window.
const RETENTION: Duration = Duration::from_hours(25);

/// A limit of failed attempts per window.
pub(crate) struct Allowance {
    pub(crate) attempts_max: i32,
    pub(crate) window: Duration,
}

impl Allowance {
    pub(crate) fn window_start(&self, now: Timestamp) -> Timestamp {
        let length = i64::try_from(self.window.as_secs()).unwrap_or(i64::MAX);
        let seconds = now.unix_seconds().div_euclid(length).saturating_mul(length);
        Timestamp::from_unix_micros(seconds.saturating_mul(1_000_000))
    }
}

/// Verifies passwords and issues access tokens.
#[derive(Clone)]
pub struct Logins {
    database: Database,
    secret: Secret,
    tokens: Tokens,
    passwords: Passwords,
}

impl Logins {
    /// Creates the service, which verifies up to `cores` passwords concurrently.
    #[must_use]
    pub fn new(database: Database, secret: Secret, tokens: Tokens, cores: usize) -> Self {
        Self { database, secret, tokens, passwords: Passwords::new(cores) }
    }

    /// Returns an access token if the password is correct. An unknown email, a disabled account and a wrong password yield
    /// the same error and take the same time.
    pub async fn login(
        &self,
        email: &str,
        password: String,
        from: ClientAddress,
    ) -> Result<String, IdentityError> {
        let email: Email = email.parse()?;
        let subjects = [
            (self.secret.mac(&format!("login from {}", from.network())), OF_ADDRESS),
            (self.secret.mac(&format!("login as {email}")), OF_EMAIL),
        ];
        let (account, since) = self.begin(&email, &subjects).await?;
        let account = account.filter(|account| !account.is_disabled);
        let hash = account.as_ref().map(|account| account.password_hash.clone());
        let is_correct = match self.passwords.verify(password, hash).await {
            Ok(is_correct) => is_correct,
            // The password was not verified, so that the attempt does not count.
            Err(error) => {
                let mut work = Work::for_platform(&self.database).await?;
                uncount(&mut work, &subjects, since).await?;
                work.commit().await?;
                return Err(error);
            }
        };
        let account = account.filter(|_| is_correct).ok_or(IdentityError::InvalidLogin)?;
        // If the password was changed during verification, the session has already ended: the token is issued for the
        // sessions of the verified password.
        let session = Session { user: account.user, sessions_from: account.sessions_from };
        let mut work = Work::for_platform(&self.database).await?;
        uncount(&mut work, &subjects, since).await?;
        let (user, now) = (session.user, work.now());
        audit::record(&mut work, Actor::Person(user), AuditAction::LoggedIn, &user, json!({}))
            .await?;
        work.commit().await?;
        self.tokens.issue(session, now).await
    }

    /// Counts the attempt and loads the account, in a transaction that ends before the password is verified.
    async fn begin(
        &self,
        email: &Email,
        subjects: &[(Mac, Allowance)],
    ) -> Result<(Option<table::person::Account>, Timestamp), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let now = work.now();
        for (subject, allowance) in subjects {
            let start = allowance.window_start(now);
            if !table::login::count(&mut work, subject, start, allowance.attempts_max).await? {
                let reset_at = start.plus(allowance.window);
                let limit = u32::try_from(allowance.attempts_max).unwrap_or(0);
                let wait = reset_at.since(now);
                return Err(IdentityError::TooManyLogins { limit, reset_at, wait });
            }
        }
        let account = table::person::with_email(work.sql(), email).await?;
        work.commit().await?;
        Ok((account, now))
    }
}

/// Takes back the count of an attempt that did not fail.
async fn uncount(
    work: &mut Work,
    subjects: &[(Mac, Allowance)],
    since: Timestamp,
) -> Result<(), IdentityError> {
    for (subject, allowance) in subjects {
        table::login::uncount(work, subject, allowance.window_start(since)).await?;
    }
    Ok(())
}

/// Deletes attempts that are older than every window, in a platform transaction.
pub async fn purge_login_attempts(work: &mut Work, limit: i64) -> Result<u64, DatabaseError> {
    let before = work.now().minus(RETENTION);
    Ok(table::login::purge(work, before, limit).await?)
}

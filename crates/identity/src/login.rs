//! Logging in: an email and a password for a token.

use std::time::Duration;

use database::{Database, DatabaseError, Work};
use primitives::{ClientAddress, Timestamp};
use serde_json::json;

use crate::audit::{self, Act, Actor};
use crate::password::Passwords;
use crate::secret::Mac;
use crate::token::Session;
use crate::{Email, IdentityError, Secret, Tokens, table};

/// Wrong logins from one address within a minute.
const OF_ADDRESS: Allowance = Allowance { attempts_max: 5, window: Duration::from_mins(1) };
/// Wrong logins with one email within ten minutes, from wherever.
const OF_EMAIL: Allowance = Allowance { attempts_max: 20, window: Duration::from_mins(10) };
/// How long attempts are kept: longer than the longest window, which is the day of sandbox keys.
const KEPT: Duration = Duration::from_hours(25);

/// How many wrong attempts there may be.
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

/// Lets people in.
#[derive(Clone)]
pub struct Logins {
    database: Database,
    secret: Secret,
    tokens: Tokens,
    passwords: Passwords,
}

impl Logins {
    /// Compares as many passwords at once as there are cores.
    #[must_use]
    pub fn new(database: Database, secret: Secret, tokens: Tokens, cores: usize) -> Self {
        Self { database, secret, tokens, passwords: Passwords::new(cores) }
    }

    /// A token for whoever knows the password. That there is no such account, that it is closed and that the
    /// password is wrong is said in the same words and takes as long.
    pub async fn login(
        &self,
        email: &str,
        password: String,
        from: ClientAddress,
    ) -> Result<String, IdentityError> {
        let email: Email = email.parse()?;
        let subjects = [
            (self.secret.mac(&format!("login from {}", from.line())), OF_ADDRESS),
            (self.secret.mac(&format!("login as {email}")), OF_EMAIL),
        ];
        let (account, since) = self.begin(&email, &subjects).await?;
        let account = account.filter(|account| !account.is_disabled);
        let hash = account.as_ref().map(|account| account.password_hash.clone());
        let is_right = match self.passwords.verify(password, hash).await {
            Ok(is_right) => is_right,
            // Nobody looked at the password, so nobody tried one.
            Err(error) => {
                let mut work = Work::for_platform(&self.database).await?;
                give_back(&mut work, &subjects, since).await?;
                work.commit().await?;
                return Err(error);
            }
        };
        let account = account.filter(|_| is_right).ok_or(IdentityError::WrongLogin)?;
        // A password that changed while this one was compared has ended the session already: it is issued for
        // the sessions of the password that was given.
        let session = Session { user: account.user, sessions_from: account.sessions_from };
        let mut work = Work::for_platform(&self.database).await?;
        give_back(&mut work, &subjects, since).await?;
        let (user, now) = (session.user, work.now());
        audit::record(&mut work, Actor::Person(user), Act::LoggedIn, &user, json!({})).await?;
        work.commit().await?;
        self.tokens.issue(session, now).await
    }

    /// Counts the attempt and looks the account up, in one work that ends before the password is looked at.
    async fn begin(
        &self,
        email: &Email,
        subjects: &[(Mac, Allowance)],
    ) -> Result<(Option<table::person::Account>, Timestamp), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let now = work.now();
        for (subject, allowance) in subjects {
            let start = allowance.window_start(now);
            if !table::login::take(&mut work, subject, start, allowance.attempts_max).await? {
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

/// An attempt that was none is not counted.
async fn give_back(
    work: &mut Work,
    subjects: &[(Mac, Allowance)],
    since: Timestamp,
) -> Result<(), IdentityError> {
    for (subject, allowance) in subjects {
        table::login::give_back(work, subject, allowance.window_start(since)).await?;
    }
    Ok(())
}

/// Removes attempts that no rule looks at any more, in a work for the platform.
pub async fn forget_attempts(work: &mut Work) -> Result<u64, DatabaseError> {
    let before = work.now().minus(KEPT);
    Ok(table::login::forget(work, before).await?)
}

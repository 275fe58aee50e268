//! `souk admin`: what an operator does for people.

use std::fmt::Write;
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use identity::{Actor, IdentityError, NewPerson, Secret};
use merchants::{StoreCache, StoreError};
use primitives::{MerchantId, StoreSlug};
use rand::Rng;

use crate::cli::AdminCommand;

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// There is no such person, or it cannot be made so.
    #[error("{0}")]
    Person(#[from] IdentityError),
    /// There is no such store.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// The database was in the way.
    #[error("the database: {0}")]
    Database(#[from] DatabaseError),
    /// No password came.
    #[error("the password cannot be read from standard input: {0}")]
    Input(#[from] std::io::Error),
}

/// Carries out a command and answers what to say.
pub(crate) async fn run(
    database: &Database,
    secret: &Secret,
    command: AdminCommand,
) -> Result<String, PeopleError> {
    if let AdminCommand::Audit { whom, limit } = command {
        return audit(database, &whom, limit).await;
    }
    database.refresh_directory().await?;
    let store = match &command {
        AdminCommand::AddMember { store, .. } | AdminCommand::RemoveMember { store, .. } => {
            Some(merchant(database, store).await?)
        }
        _ => None,
    };
    let mut work = Work::for_platform(database).await?;
    let said = change(&mut work, secret, command, store).await?;
    work.commit().await?;
    Ok(said)
}

async fn change(
    work: &mut Work,
    secret: &Secret,
    command: AdminCommand,
    store: Option<MerchantId>,
) -> Result<String, PeopleError> {
    let actor = Actor::Operator;
    Ok(match command {
        AdminCommand::Create { email, admin, plan, password_stdin } => {
            let password = Password::new(work, password_stdin)?;
            let new = NewPerson { email, plan, is_admin: admin };
            let user = identity::create_person(work, actor, &new, &password.text).await?;
            format!("{user}{}", password.shown())
        }
        AdminCommand::SetPassword { email, password_stdin } => {
            let user = identity::person_with(work, &email).await?;
            let password = Password::new(work, password_stdin)?;
            identity::set_password(work, actor, user, &password.text).await?;
            format!("{user} has another password; all its sessions ended.{}", password.shown())
        }
        AdminCommand::SetPlan { email, plan } => {
            let user = identity::person_with(work, &email).await?;
            identity::set_plan(work, actor, user, plan).await?;
            format!("{user} is on {}.", plan.name())
        }
        AdminCommand::AddMember { email, store: slug, role } => {
            let user = identity::person_with(work, &email).await?;
            let merchant = store.ok_or(StoreError::NotFound)?;
            identity::add_member(work, actor, user, merchant, role).await?;
            format!("{user} is {} of {slug}.", role.name())
        }
        AdminCommand::RemoveMember { email, store: slug } => {
            let user = identity::person_with(work, &email).await?;
            let merchant = store.ok_or(StoreError::NotFound)?;
            identity::remove_member(work, actor, user, merchant).await?;
            format!("{user} is no member of {slug} any more.")
        }
        AdminCommand::RotateSigningKey { at_once } => {
            let name = identity::rotate_signing_key(work, secret, actor, at_once).await?;
            let when =
                if at_once { "now; every session ends within 20 seconds" } else { "in a minute" };
            format!("{name} signs tokens from {when}.")
        }
        // Carried out before.
        AdminCommand::Audit { .. } => String::new(),
    })
}

async fn audit(database: &Database, whom: &str, limit: i64) -> Result<String, PeopleError> {
    let entries = identity::audit_of(database, whom, limit).await?;
    let lines = entries.iter().map(|entry| {
        let identity::AuditEntry { at, actor, act, subject, details } = entry;
        format!("{at}  {actor}  {act}  {subject}  {details}")
    });
    let lines: Vec<String> = lines.collect();
    Ok(if lines.is_empty() { format!("Nothing is known of {whom}.") } else { lines.join("\n") })
}

async fn merchant(database: &Database, slug: &StoreSlug) -> Result<MerchantId, StoreError> {
    let stores = StoreCache::new(database.clone(), Duration::ZERO);
    Ok(stores.find(slug).await?.merchant)
}

/// A password that was brought, or one that was made and is shown once.
struct Password {
    text: String,
    is_new: bool,
}

impl Password {
    fn new(work: &mut Work, from_stdin: bool) -> Result<Self, PeopleError> {
        let mut text = String::new();
        if from_stdin {
            std::io::stdin().read_line(&mut text)?;
            let text = text.trim_end_matches(['\r', '\n']).to_owned();
            return Ok(Self { text, is_new: false });
        }
        let mut bits = [0_u8; 12];
        work.random().fill_bytes(&mut bits);
        for byte in bits {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self { text, is_new: true })
    }

    fn shown(&self) -> String {
        if self.is_new {
            format!("\n{}\nThis is the only time the password is shown.", self.text)
        } else {
            String::new()
        }
    }
}

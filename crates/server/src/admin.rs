//! `souk admin`: manages accounts, plans, store members and signing keys.

use database::{Database, DatabaseError, Work};
use identity::{Actor, IdentityError, NewPerson, Secret};
use merchants::{StoreError, merchant_of};
use primitives::MerchantId;
use rand::Rng;

use crate::cli::AdminCommand;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("{0}")]
    Person(#[from] IdentityError),
    #[error("store lookup failed: {0}")]
    Store(#[from] StoreError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    #[error("reading the password from standard input failed: {0}")]
    Input(#[from] std::io::Error),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    secret: &Secret,
    command: AdminCommand,
) -> Result<String, AdminError> {
    if let AdminCommand::Audit { id, limit } = command {
        return audit(database, &id, limit).await;
    }
    database.refresh_directory().await?;
    let store = match &command {
        AdminCommand::AddMember { store, .. } | AdminCommand::RemoveMember { store, .. } => {
            Some(merchant_of(database, store).await?)
        }
        _ => None,
    };
    let mut work = Work::for_platform(database).await?;
    let output = change(&mut work, secret, command, store).await?;
    work.commit().await?;
    Ok(output)
}

async fn change(
    work: &mut Work,
    secret: &Secret,
    command: AdminCommand,
    store: Option<MerchantId>,
) -> Result<String, AdminError> {
    let actor = Actor::Operator;
    Ok(match command {
        AdminCommand::Create { email, admin, plan, password_stdin } => {
            let password = Password::new(work, password_stdin)?;
            let new = NewPerson { email, plan, is_admin: admin };
            let user = identity::create_person(work, actor, &new, &password.text).await?;
            format!("{user}{}", password.shown())
        }
        AdminCommand::SetPassword { email, password_stdin } => {
            let user = identity::person_by_email(work, &email).await?;
            let password = Password::new(work, password_stdin)?;
            identity::set_password(work, actor, user, &password.text).await?;
            format!(
                "The password of {user} is set; all its sessions have ended.{}",
                password.shown()
            )
        }
        AdminCommand::SetPlan { email, plan } => {
            let user = identity::person_by_email(work, &email).await?;
            identity::set_plan(work, actor, user, plan).await?;
            format!("{user} now has the plan {}.", plan.as_str())
        }
        AdminCommand::AddMember { email, store: slug, role } => {
            let user = identity::person_by_email(work, &email).await?;
            let merchant = store.ok_or(StoreError::NotFound)?;
            identity::add_member(work, actor, user, merchant, role).await?;
            format!("{user} is now {} of {slug}.", role.as_str())
        }
        AdminCommand::RemoveMember { email, store: slug } => {
            let user = identity::person_by_email(work, &email).await?;
            let merchant = store.ok_or(StoreError::NotFound)?;
            identity::remove_member(work, actor, user, merchant).await?;
            format!("{user} is no longer a member of {slug}.")
        }
        AdminCommand::RotateSigningKey { at_once } => {
            let name = identity::rotate_signing_key(work, secret, actor, at_once).await?;
            let when = if at_once {
                "now on; every session ends within 20 seconds"
            } else {
                "the next minute on"
            };
            format!("{name} signs access tokens from {when}.")
        }
        // Handled by `run`.
        AdminCommand::Audit { .. } => String::new(),
    })
}

async fn audit(database: &Database, id: &str, limit: i64) -> Result<String, AdminError> {
    let entries = identity::audit_entries(database, id, limit).await?;
    let lines = entries.iter().map(|entry| {
        let identity::AuditEntry { at, actor, action, subject, details } = entry;
        format!("{at}  {actor}  {action}  {subject}  {details}")
    });
    let lines: Vec<String> = lines.collect();
    Ok(if lines.is_empty() { format!("No audit log entries for {id}.") } else { lines.join("\n") })
}

/// A password that was read from standard input, or generated and shown once.
struct Password {
    text: String,
    is_generated: bool,
}

impl Password {
    fn new(work: &mut Work, from_stdin: bool) -> Result<Self, AdminError> {
        if from_stdin {
            let mut text = String::new();
            std::io::stdin().read_line(&mut text)?;
            let text = text.trim_end_matches(['\r', '\n']).to_owned();
            return Ok(Self { text, is_generated: false });
        }
        let mut bytes = [0_u8; 12];
        work.random().fill_bytes(&mut bytes);
        Ok(Self { text: hex::encode(bytes), is_generated: true })
    }

    fn shown(&self) -> String {
        if self.is_generated {
            format!("\n{}\nThis is the only time the password is shown.", self.text)
        } else {
            String::new()
        }
    }
}

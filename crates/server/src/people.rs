//! `souk people`: disables and enables accounts, and erases the data of buyers.

use database::{Database, DatabaseError, Work};
use identity::{Actor, IdentityError};
use merchants::Administration;

use crate::cli::{PeopleCommand, PersonAndReason};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum PersonCommandError {
    #[error("{0}")]
    Person(#[from] IdentityError),
    #[error("{0}")]
    Checkout(#[from] checkout::CheckoutError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    command: PeopleCommand,
) -> Result<String, PersonCommandError> {
    let mut work = Work::for_platform(database).await?;
    let actor = Actor::Operator;
    let (user, changed, state) = match command {
        PeopleCommand::EraseBuyer(PersonAndReason { email, reason }) => {
            let by = Administration { actor, reason: &reason };
            let erased = checkout::erase_buyer(&mut work, by, email.as_str()).await?;
            work.commit().await?;
            let checkout::Erased { carts, orders } = erased;
            return Ok(format!("Erased the buyer's data in {carts} carts and {orders} orders."));
        }
        PeopleCommand::Disable(PersonAndReason { email, reason }) => {
            let user = identity::person_by_email(&mut work, &email).await?;
            let changed = identity::disable_person(&mut work, actor, user, &reason).await?;
            (user, changed, "disabled")
        }
        PeopleCommand::Enable(PersonAndReason { email, reason }) => {
            let user = identity::person_by_email(&mut work, &email).await?;
            let changed = identity::enable_person(&mut work, actor, user, &reason).await?;
            (user, changed, "enabled")
        }
    };
    work.commit().await?;
    Ok(if changed {
        format!("{user} is now {state}; this takes effect within five seconds.")
    } else {
        format!("{user} was {state} before; nothing changed.")
    })
}

#[cfg(test)]
mod tests {
    use identity::NewPerson;
    use primitives::Plan;
    use testkit::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn an_account_is_disabled_and_enabled() {
        let test = TestDatabase::new().await;
        let email: identity::Email = "ada@example.com".parse().unwrap();
        let new = NewPerson { email: email.clone(), plan: Plan::Free, is_admin: false };
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let password = "correct horse battery";
        identity::create_person(&mut work, Actor::Operator, &new, password).await.unwrap();
        work.commit().await.unwrap();
        let of = |email: &identity::Email| PersonAndReason {
            email: email.clone(),
            reason: "stolen laptop".parse().unwrap(),
        };
        let run = async |command| run(test.database(), command).await;
        assert!(run(PeopleCommand::Disable(of(&email))).await.unwrap().contains("now disabled"));
        assert!(run(PeopleCommand::Disable(of(&email))).await.unwrap().contains("nothing changed"));
        assert!(run(PeopleCommand::Enable(of(&email))).await.unwrap().contains("now enabled"));
        let nobody = "eve@example.com".parse().unwrap();
        let refused = run(PeopleCommand::Disable(of(&nobody))).await;
        assert!(matches!(refused, Err(PersonCommandError::Person(IdentityError::PersonNotFound))));
    }
}

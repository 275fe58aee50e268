//! `souk stores`: creates stores, and what operators decide about them.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Work};
use identity::{Actor, IdentityError, Reason, Role};
use merchants::{
    Administration, Identity, IdentityStatus, NewStore, SettingsError, StoreCache, StoreError,
    StoreStatus,
};
use primitives::{MerchantId, StoreSlug};

use crate::cli::{NewStoreArguments, StoreAndReason, StoresCommand};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Owner(#[from] IdentityError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    command: StoresCommand,
) -> Result<String, StoresError> {
    database.refresh_directory().await?;
    match command {
        StoresCommand::Create(new) => create(database, new).await,
        StoresCommand::Show { store } => show(database, merchant(database, &store).await?).await,
        StoresCommand::Suspend(at) => set_status(database, at, StoreStatus::Suspended).await,
        StoresCommand::Reinstate(at) => set_status(database, at, StoreStatus::Open).await,
        StoresCommand::Pause(at) => set_status(database, at, StoreStatus::Paused).await,
        StoresCommand::Close(at) => set_status(database, at, StoreStatus::Closed).await,
        StoresCommand::SetIdentity { store, status, level, method, reason } => {
            let merchant = merchant(database, &store).await?;
            let mut work = Work::for_platform(database).await?;
            let verified_at = (status == IdentityStatus::Verified).then(|| work.now());
            let result = Identity { status, level, method, verified_at };
            merchants::verify_identity(&mut work, by(&reason), merchant, &result).await?;
            work.commit().await?;
            Ok(format!("The identity of {store} is now {status}."))
        }
        StoresCommand::AllowHost { store, host, reason } => {
            let merchant = merchant(database, &store).await?;
            let mut work = Work::for_platform(database).await?;
            let is_new = merchants::allow_host(&mut work, by(&reason), merchant, &host).await?;
            work.commit().await?;
            Ok(if is_new {
                format!("Owners of {store} may now direct buyers to {host}.")
            } else {
                format!("{host} was allowed for {store} before.")
            })
        }
    }
}

fn by(reason: &Reason) -> Administration<'_> {
    Administration { actor: Actor::Operator, reason }
}

async fn create(database: &Database, new: NewStoreArguments) -> Result<String, StoresError> {
    let mut work = Work::for_platform(database).await?;
    let (merchant, now) = (work.new_id(), work.now());
    let NewStoreArguments { slug, name, country, currency, .. } = new;
    let mut store = NewStore::new(merchant, slug.clone(), name, country, currency, now);
    store.website_url = new.website;
    store.support_email = new.support_email;
    if let Some(legal_name) = new.legal_name {
        store.legal_name = legal_name;
    }
    merchants::create_store(&mut work, by(&new.reason), &store).await?;
    if let Some(email) = new.owner {
        let user = identity::person_by_email(&mut work, &email).await?;
        let (actor, role) = (Actor::Operator, Role::Owner);
        identity::add_member(&mut work, actor, user, merchant, role).await?;
    }
    work.commit().await?;
    Ok(format!("{merchant}\n{slug} is open; it has no products and no trust score yet."))
}

async fn show(database: &Database, merchant: MerchantId) -> Result<String, StoresError> {
    let reading = Reading::for_platform(database);
    let store = merchants::store(&reading, merchant).await?;
    let hosts = merchants::allowed_hosts(&reading, merchant).await?;
    let trust = match (store.standing.score, store.standing.band()) {
        (Some(number), Some(band)) => format!("{number} ({band})"),
        _ => String::from("none"),
    };
    let rows = [
        ("merchant", merchant.to_string()),
        ("slug", store.slug.to_string()),
        ("name", store.name.clone()),
        ("status", if store.active { store.status.to_string() } else { "inactive".to_owned() }),
        ("listed", if store.is_listed() { "yes" } else { "no" }.to_owned()),
        ("trust score", trust),
        ("identity", store.identity.status.to_string()),
        ("products", store.product_count.to_string()),
        ("currency", store.currency.to_string()),
        ("payment hosts", if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") }),
        ("member since", store.member_since.to_string()),
    ];
    let lines: Vec<String> =
        rows.into_iter().map(|(name, value)| format!("{name:<14}{value}")).collect();
    Ok(lines.join("\n"))
}

async fn set_status(
    database: &Database,
    at: StoreAndReason,
    status: StoreStatus,
) -> Result<String, StoresError> {
    let StoreAndReason { store: slug, reason } = at;
    let merchant = merchant(database, &slug).await?;
    let mut work = Work::for_platform(database).await?;
    let changed = merchants::set_status(&mut work, by(&reason), merchant, status).await?;
    let store = merchants::store_now(&mut work, merchant).await?;
    work.commit().await?;
    let mut output = if changed {
        format!("{slug} is now {status}; this takes effect within seconds.")
    } else {
        format!("{slug} was {status} before; nothing changed.")
    };
    if status == StoreStatus::Open && store.standing.is_suspended() {
        output.push_str(" Its trust score still suspends it.");
    }
    Ok(output)
}

async fn merchant(database: &Database, slug: &StoreSlug) -> Result<MerchantId, StoreError> {
    let stores = StoreCache::new(database.clone(), Duration::ZERO);
    Ok(stores.find(slug).await?.merchant)
}

#[cfg(test)]
mod tests {
    use testkit::TestDatabase;

    use super::*;

    fn reason() -> Reason {
        "as agreed".parse().unwrap()
    }

    fn at(slug: &str) -> StoreAndReason {
        StoreAndReason { store: slug.parse().unwrap(), reason: reason() }
    }

    fn new_store(slug: &str) -> NewStoreArguments {
        NewStoreArguments {
            slug: slug.parse().unwrap(),
            name: String::from("Attic"),
            country: String::from("PT"),
            currency: primitives::Currency::EUR,
            legal_name: None,
            website: String::new(),
            support_email: String::new(),
            owner: None,
            reason: reason(),
        }
    }

    #[tokio::test]
    async fn a_store_is_created_shown_and_closed() {
        let test = TestDatabase::new().await;
        let run = async |command| run(test.database(), command).await;
        let made = run(StoresCommand::Create(new_store("attic"))).await.unwrap();
        assert!(made.starts_with("mer_") && made.contains("attic is open"), "{made}");
        let taken = run(StoresCommand::Create(new_store("attic"))).await;
        assert!(matches!(
            taken,
            Err(StoresError::Settings(SettingsError::Store(StoreError::SlugTaken)))
        ));
        let show = || StoresCommand::Show { store: "attic".parse().unwrap() };
        let shown = run(show()).await.unwrap();
        assert!(
            shown.contains("status        open") && shown.contains("listed        yes"),
            "{shown}"
        );
        for (command, status) in [
            (StoresCommand::Suspend(at("attic")), "suspended"),
            (StoresCommand::Pause(at("attic")), "paused"),
            (StoresCommand::Close(at("attic")), "closed"),
            (StoresCommand::Reinstate(at("attic")), "open"),
        ] {
            let done = run(command).await.unwrap();
            assert!(done.starts_with(&format!("attic is now {status}")), "{done}");
            assert!(run(show()).await.unwrap().contains(&format!("status        {status}")));
        }
        let again = run(StoresCommand::Reinstate(at("attic"))).await.unwrap();
        assert!(again.contains("nothing changed"), "{again}");
        let nowhere = run(StoresCommand::Pause(at("nowhere"))).await;
        assert!(matches!(nowhere, Err(StoresError::Store(StoreError::NotFound))));
    }

    #[tokio::test]
    async fn hosts_and_identities_are_set() {
        let test = TestDatabase::new().await;
        let run = async |command| run(test.database(), command).await;
        run(StoresCommand::Create(new_store("attic"))).await.unwrap();
        let allow = || StoresCommand::AllowHost {
            store: "attic".parse().unwrap(),
            host: String::from("pay.example"),
            reason: reason(),
        };
        assert!(run(allow()).await.unwrap().contains("may now"));
        assert!(run(allow()).await.unwrap().contains("before"));
        let verify = StoresCommand::SetIdentity {
            store: "attic".parse().unwrap(),
            status: IdentityStatus::Verified,
            level: None,
            method: Some(String::from("register")),
            reason: reason(),
        };
        assert!(run(verify).await.unwrap().contains("verified"));
        let shown = run(StoresCommand::Show { store: "attic".parse().unwrap() }).await.unwrap();
        assert!(shown.contains("pay.example") && shown.contains("verified"), "{shown}");
    }
}

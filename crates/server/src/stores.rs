//! `souk stores`: creates stores, and what operators decide about them.

use catalog::{CatalogError, Quota};
use database::{Database, DatabaseError, Reading, Work};
use identity::{Actor, IdentityError, Reason, Role};
use merchants::{
    Administration, NewStore, SettingsError, StoreError, StoreStatus, VerificationResult,
    merchant_of,
};
use primitives::{MerchantId, StoreSlug};

use crate::cli::{NewStoreArguments, QuotaMaximum, StoreAndReason, StoresCommand};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Owner(#[from] IdentityError),
    #[error("{0}")]
    Catalog(#[from] CatalogError),
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
        StoresCommand::Show { store } => show(database, merchant_of(database, &store).await?).await,
        StoresCommand::Suspend(at) => set_status(database, at, StoreStatus::Suspended).await,
        StoresCommand::Reinstate(at) => set_status(database, at, StoreStatus::Open).await,
        StoresCommand::Pause(at) => set_status(database, at, StoreStatus::Paused).await,
        StoresCommand::Close(at) => set_status(database, at, StoreStatus::Closed).await,
        StoresCommand::SetIdentity { store, status, level, method, reason } => {
            let merchant = merchant_of(database, &store).await?;
            let mut work = Work::for_platform(database).await?;
            let result = VerificationResult { status, level, method };
            merchants::verify_identity(&mut work, by(&reason), merchant, &result).await?;
            work.commit().await?;
            Ok(format!("The identity of {store} is now {status}."))
        }
        StoresCommand::AllowHost { store, host, reason } => {
            let merchant = merchant_of(database, &store).await?;
            let mut work = Work::for_platform(database).await?;
            let is_new = merchants::allow_host(&mut work, by(&reason), merchant, &host).await?;
            work.commit().await?;
            Ok(if is_new {
                format!("Owners of {store} may now direct buyers to {host}.")
            } else {
                format!("{host} was allowed for {store} before.")
            })
        }
        StoresCommand::DisallowHost { store, host, reason } => {
            let merchant = merchant_of(database, &store).await?;
            let mut work = Work::for_platform(database).await?;
            let by = by(&reason);
            let was_allowed = merchants::disallow_host(&mut work, by, merchant, &host).await?;
            work.commit().await?;
            Ok(if was_allowed {
                format!("Owners of {store} may no longer direct buyers to {host}.")
            } else {
                format!("{host} was not allowed for {store}; nothing changed.")
            })
        }
        StoresCommand::SetQuota { store, quota, maximum: QuotaMaximum(maximum), reason } => {
            set_quota(database, &store, quota, maximum, &reason).await
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
    let quotas = catalog::quotas(&reading, merchant).await?;
    let set = quotas.iter().filter(|quota| !quota.is_default);
    let set: Vec<String> = set.map(|own| format!("{} {}", own.quota, own.maximum)).collect();
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
        ("quotas", if set.is_empty() { "default".to_owned() } else { set.join(", ") }),
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
    let merchant = merchant_of(database, &slug).await?;
    let mut work = Work::for_platform(database).await?;
    let changed = merchants::set_status(&mut work, by(&reason), merchant, status).await?;
    let store = merchants::store_now(&mut work, merchant).await?;
    work.commit().await?;
    let mut output = if changed {
        format!("{slug} is now {}; this takes effect within seconds.", store.status)
    } else {
        format!("{slug} was {} before; nothing changed.", store.status)
    };
    if store.status_by_owner {
        output.push_str(" Its owner decided that; only an owner reopens it.");
    }
    if status == StoreStatus::Open && store.standing.is_suspended() {
        output.push_str(" Its trust score still suspends it.");
    }
    Ok(output)
}

async fn set_quota(
    database: &Database,
    slug: &StoreSlug,
    quota: Quota,
    maximum: Option<i64>,
    reason: &Reason,
) -> Result<String, StoresError> {
    let merchant = merchant_of(database, slug).await?;
    let mut work = Work::for_platform(database).await?;
    let set = catalog::set_quota_by_operator(&mut work, by(reason), merchant, quota, maximum);
    let differed = set.await?;
    work.commit().await?;
    let maximum = maximum.unwrap_or(quota.default_maximum());
    Ok(if differed {
        format!("The quota {quota} of {slug} is now {maximum}.")
    } else {
        format!("The quota {quota} of {slug} was {maximum} before; nothing changed.")
    })
}

#[cfg(test)]
mod tests {
    use merchants::IdentityStatus;
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
        let disallow = || StoresCommand::DisallowHost {
            store: "attic".parse().unwrap(),
            host: String::from("pay.example"),
            reason: reason(),
        };
        assert!(run(disallow()).await.unwrap().contains("may no longer"));
        assert!(run(disallow()).await.unwrap().contains("nothing changed"));
        let shown = run(StoresCommand::Show { store: "attic".parse().unwrap() }).await.unwrap();
        assert!(shown.contains("payment hosts none"), "{shown}");
    }

    #[tokio::test]
    async fn a_quota_is_set_and_removed() {
        let test = TestDatabase::new().await;
        let run = async |command| run(test.database(), command).await;
        run(StoresCommand::Create(new_store("attic"))).await.unwrap();
        let set = |maximum| StoresCommand::SetQuota {
            store: "attic".parse().unwrap(),
            quota: Quota::Products,
            maximum: QuotaMaximum(maximum),
            reason: reason(),
        };
        let show = || StoresCommand::Show { store: "attic".parse().unwrap() };
        assert!(run(show()).await.unwrap().contains("quotas        default"));
        assert!(run(set(Some(7))).await.unwrap().contains("products of attic is now 7"));
        assert!(run(set(Some(7))).await.unwrap().contains("nothing changed"));
        assert!(run(show()).await.unwrap().contains("quotas        products 7"));
        assert!(run(set(None)).await.unwrap().contains("is now 2000000"));
        assert!(run(set(None)).await.unwrap().contains("nothing changed"));
        assert!(run(set(Some(-1))).await.is_err());
        let merchant = merchant_of(test.database(), &"attic".parse().unwrap()).await.unwrap();
        let entries =
            identity::audit_entries(test.database(), &merchant.to_string(), 9).await.unwrap();
        let set: Vec<_> =
            entries.iter().filter(|entry| entry.action.as_str() == "store.quota_set").collect();
        assert_eq!(set.len(), 2);
        assert_eq!(
            (&set[1].details["maximum"], &set[1].details["reason"]),
            (&7.into(), &"as agreed".into())
        );
        let reading = Reading::for_store(test.database(), merchant).unwrap();
        let notices = merchants::notices(&reading, merchant, None, 9).await.unwrap().notices;
        assert_eq!((notices.len(), notices[0].kind), (2, merchants::NoticeKind::QuotaSet));
    }
}

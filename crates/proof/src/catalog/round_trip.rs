//! (e) Every store of the demo world, written in each format and brought in again: what the format can
//! carry arrives unchanged.

use std::collections::BTreeMap;

use catalog::{
    ApplyRun, FeedFormat, Lookup, NewProduct, NewRun, NewVariant, ProductDraft, RunMode, RunState,
    TakeStock, Upload,
};
use database::Reading;
use jobs::{Runner, RunnerSettings};
use primitives::{Currency, Id, MerchantId};
use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure, grouped};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let world = demo::world();
    let stores = trial.by_tier(4, world.stores.len());
    let (mut files, mut products, mut left_out) = (0, 0, 0);
    for (place, store) in world.stores.iter().take(stores).enumerate() {
        let currency: Currency = store.currency.parse()?;
        let drafts: Vec<ProductDraft> =
            store.products.iter().map(|product| demo::draft(store, product)).collect();
        for (number, (format, name)) in FeedFormat::ALL.into_iter().enumerate() {
            trial.progress(|| format!("{} as {name}", store.slug));
            let merchant = MerchantId::from_random((place * 10 + number + 1) as u128);
            let slug = format!("s{place}-{number}");
            testkit::open_store(test.database(), merchant, &slug, currency).await;
            import(&test, merchant, format, &connectors::write::write(format, &drafts, currency))
                .await?;
            let carried = drafts
                .iter()
                .filter(|draft| connectors::write::carries(format, draft, currency))
                .map(|draft| connectors::write::carried(format, draft, currency));
            let carried: Vec<ProductDraft> = carried.collect();
            left_out += drafts.len() - carried.len();
            products += compare(&test, merchant, name, &carried, currency).await?;
            files += 1;
        }
    }
    Ok(format!(
        "{} products in {files} files of {} formats arrived as they left; {left_out} could not be written, because \
         the format cannot name their currency",
        grouped(products),
        FeedFormat::ALL.len(),
    ))
}

async fn import(
    test: &TestDatabase,
    merchant: MerchantId,
    format: FeedFormat,
    feed: &[u8],
) -> Result<(), Failure> {
    let asked =
        NewRun { format, mode: RunMode::Merge, dry_run: false, force: false, file_name: None };
    let mut upload = Upload::begin(test.database(), merchant, &asked).await?;
    upload.write(feed).await?;
    let run = upload.finish().await?;
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<ApplyRun>(connectors::read_feed)
        .register::<TakeStock>(());
    runner.run_until_idle().await?;
    let reading = Reading::for_store(test.database(), merchant)?;
    let run = catalog::run(&reading, merchant, run).await?;
    let faults = catalog::row_faults(&reading, merchant, run.id, 0, 3).await?;
    ensure(run.state == RunState::Completed && run.tally.failed == 0, || {
        format!("{}: {:?} {:?}", format.name(), run.tally, faults)
    })
}

/// Holds what arrived against what was sent, product by product.
async fn compare(
    test: &TestDatabase,
    merchant: MerchantId,
    format: &str,
    sent: &[ProductDraft],
    currency: Currency,
) -> Result<usize, Failure> {
    let reading = Reading::for_store(test.database(), merchant)?;
    let mut compared = 0;
    for draft in sent {
        let expected = catalog::check(draft, currency)
            .map_err(|faults| format!("{format}: {} {faults:?}", draft.external_id))?;
        if !expected.facts.price.currency().is_supported() {
            continue;
        }
        let sku = Lookup::Sku(expected.facts.sku.clone());
        let found = catalog::find(&reading, merchant, &sku).await?;
        let found = found.into_iter().find(|it| it.facts.external_id == expected.facts.external_id);
        let product = found.ok_or_else(|| format!("{format}: {} is missing", draft.external_id))?;
        let mut facts: NewProduct = product.facts;
        facts.listed_at = expected.facts.listed_at.and(facts.listed_at);
        ensure(facts == expected.facts, || {
            format!("{format}: {facts:?} arrived, {:?} was sent", expected.facts)
        })?;
        let by_sku = |variants: Vec<NewVariant>| -> BTreeMap<String, NewVariant> {
            variants.into_iter().map(|variant| (variant.sku.clone(), variant)).collect()
        };
        let arrived = by_sku(product.variants.into_iter().map(|variant| variant.facts).collect());
        let sent = by_sku(expected.variants.into_iter().map(|(_, variant)| variant).collect());
        ensure(arrived == sent, || format!("{format}: the variants of {}", draft.external_id))?;
        compared += 1;
    }
    Ok(compared)
}

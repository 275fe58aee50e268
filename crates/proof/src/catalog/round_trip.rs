//! Every demo store is written in each feed format and imported again: what the format can represent
//! arrives unchanged.

use std::collections::BTreeMap;

use catalog::{
    ApplyFeedRun, FeedFormat, FeedRunMode, FeedRunState, Lookup, NewFeedRun, ProductDraft,
    ProductFacts, RefreshCatalogStats, Upload, VariantFacts,
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
    let (mut files, mut products, mut skipped) = (0, 0, 0);
    for (index, store) in world.stores.iter().take(stores).enumerate() {
        let currency: Currency = store.currency.parse()?;
        let drafts: Vec<ProductDraft> =
            store.products.iter().map(|product| demo::draft(store, product)).collect();
        for (number, format) in connectors::write::FORMATS.into_iter().enumerate() {
            trial.progress(|| format!("{} as {format}", store.slug));
            let merchant = MerchantId::from_random((index * 10 + number + 1) as u128);
            let slug = format!("s{index}-{number}");
            testkit::StoreBuilder::new(&slug)
                .merchant(merchant)
                .currency(currency)
                .build(test.database())
                .await;
            let feed = connectors::write::write(format, &drafts, currency);
            let carried = drafts
                .iter()
                .filter(|draft| connectors::write::can_represent(format, draft, currency))
                .map(|draft| connectors::write::representable(format, draft, currency));
            let carried: Vec<ProductDraft> = carried.collect();
            skipped += drafts.len() - carried.len();
            if carried.is_empty() {
                continue;
            }
            import(&test, merchant, format, &feed).await?;
            products += compare(&test, merchant, format.as_str(), &carried, currency).await?;
            files += 1;
        }
    }
    Ok(format!(
        "{} products in {files} files of {} formats imported unchanged; {skipped} skipped because the format cannot \
         represent them",
        grouped(products),
        connectors::write::FORMATS.len(),
    ))
}

async fn import(
    test: &TestDatabase,
    merchant: MerchantId,
    format: FeedFormat,
    feed: &[u8],
) -> Result<(), Failure> {
    let request = NewFeedRun {
        format,
        mode: FeedRunMode::Merge,
        dry_run: false,
        force: false,
        file_name: None,
        columns: None,
    };
    let gate = catalog::UploadGate::without_disk();
    let mut upload = Upload::begin(test.database(), &gate, merchant, &request, None).await?;
    upload.write(feed).await?;
    let run = upload.finish().await?;
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<ApplyFeedRun>(connectors::read_feed)
        .register::<RefreshCatalogStats>(());
    runner.run_until_idle().await?;
    let reading = Reading::for_store(test.database(), merchant)?;
    let run = catalog::feed_run(&reading, merchant, run).await?;
    let errors = catalog::row_errors(&reading, merchant, run.id, None, 0, 3).await?;
    ensure(run.state == FeedRunState::Completed && run.counts.failed == 0, || {
        format!("{format}: {:?} {errors:?}", run.counts)
    })
}

/// Compares each imported product with the draft that was sent.
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
            .map_err(|errors| format!("{format}: {} {errors:?}", draft.external_id))?;
        if !expected.facts.price.currency().is_supported() {
            continue;
        }
        let sku = Lookup::Sku(expected.facts.sku.clone());
        let found = catalog::find(&reading, merchant, &sku).await?;
        let found = found.into_iter().find(|it| it.facts.external_id == expected.facts.external_id);
        let product = found.ok_or_else(|| format!("{format}: {} is missing", draft.external_id))?;
        let mut facts: ProductFacts = product.facts;
        facts.listed_at = expected.facts.listed_at.and(facts.listed_at);
        ensure(facts == expected.facts, || {
            format!("{format}: imported {facts:?}, expected {:?}", expected.facts)
        })?;
        let by_sku = |variants: Vec<VariantFacts>| -> BTreeMap<String, VariantFacts> {
            variants.into_iter().map(|variant| (variant.sku.clone(), variant)).collect()
        };
        let arrived = by_sku(product.variants.into_iter().map(|variant| variant.facts).collect());
        let sent = by_sku(expected.variants.into_iter().map(|(_, variant)| variant).collect());
        ensure(arrived == sent, || {
            format!("{format}: the variants of {} differ", draft.external_id)
        })?;
        compared += 1;
    }
    Ok(compared)
}

//! Executes an operation through the catalog crate, in one `Work`.

use std::time::{Duration, Instant};

use catalog::{Amount, Incoming, Origin, ProductDraft, VariantDraft};
use database::{Database, Work};
use primitives::{Currency, FeedRunId, Id, ProductId, Timestamp};

use crate::catalog::model::{
    Draft, OfferChange, OfferDraft, OfferUpdate, OfferUpdateOutcome, Operation, OperationResult,
    Source,
};
use crate::catalog::store::merchant;
use crate::report::Failure;

/// The result of an operation and when it ran.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) result: OperationResult,
    /// Product ids in the result, by product number.
    pub(super) ids: Vec<(usize, ProductId)>,
    /// Id of the transaction; `None` if it wrote nothing.
    pub(super) transaction: Option<String>,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// Pauses before an operation begins and before it commits, so that its locks are held longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    pub(super) before_micros: u64,
    pub(super) before_commit_micros: u64,
}

pub(super) async fn execute(
    database: Database,
    group: usize,
    operation: Operation,
    pauses: Pauses,
) -> Result<Execution, Failure> {
    pause(pauses.before_micros).await;
    let began = Instant::now();
    let mut work = Work::for_store(&database, merchant()).await?;
    let (result, ids) = match &operation {
        Operation::Put { source, drafts } => {
            let mut incoming = Vec::new();
            for (product, draft) in drafts {
                incoming.push(checked(group, *product, draft)?);
            }
            let put =
                catalog::put_products(&mut work, merchant(), origin(*source), &incoming).await?;
            let ids = drafts.iter().zip(&put).map(|((product, _), put)| (*product, put.id));
            let ids = ids.collect();
            (OperationResult::Put(put.into_iter().map(|put| put.outcome).collect()), ids)
        }
        Operation::UpdateOffers(updates) => {
            let updates: Vec<_> = updates.iter().map(|it| offer_update(group, it)).collect();
            let outcomes = catalog::update_offers(&mut work, merchant(), &updates).await?;
            (
                OperationResult::OffersUpdated(outcomes.into_iter().map(outcome).collect()),
                Vec::new(),
            )
        }
        Operation::Retire { source, products } => {
            let named: Vec<String> = products.iter().map(|it| external_id(group, *it)).collect();
            let retired = catalog::retire(&mut work, merchant(), origin(*source), &named).await?;
            (retired_of(&mut work, products, &named, &retired).await?, Vec::new())
        }
    };
    let transaction = sqlx::query_scalar("SELECT pg_current_xact_id_if_assigned()::text");
    let transaction = transaction.fetch_one(work.sql()).await?;
    pause(pauses.before_commit_micros).await;
    work.commit().await?;
    Ok(Execution { result, ids, transaction, began, ended: Instant::now() })
}

async fn pause(micros: u64) {
    match micros {
        0..50 => (),
        50..150 => tokio::task::yield_now().await,
        _ => tokio::time::sleep(Duration::from_micros(micros)).await,
    }
}

/// Maps the ids that `retire` returned, in no particular order, to product numbers.
async fn retired_of(
    work: &mut Work,
    products: &[usize],
    named: &[String],
    retired: &[ProductId],
) -> Result<OperationResult, Failure> {
    let ids: Vec<uuid::Uuid> = retired.iter().map(|id| id.uuid()).collect();
    let found = sqlx::query_scalar("SELECT external_id FROM product WHERE product_id = ANY ($1)");
    let found: Vec<String> = found.bind(ids).fetch_all(work.sql()).await?;
    let position = |id: &String| named.iter().position(|other| other == id);
    let products = found.iter().filter_map(position).filter_map(|at| products.get(at));
    let result = products.copied().collect();
    if found.len() == retired.len() {
        Ok(OperationResult::Retired(result))
    } else {
        Err(format!("{retired:?} were retired, but only {found:?} exist").into())
    }
}

/// Returns the external id of a product.
pub(super) fn external_id(group: usize, product: usize) -> String {
    format!("t{group}-p{product:02}")
}

/// Returns the name of a product with this label.
pub(super) fn name(label: u8) -> String {
    format!("Mug {label}")
}

fn origin(source: Source) -> Origin {
    let run = FeedRunId::from_random(7);
    match source {
        Source::Push => Origin::Push,
        Source::OldFeed => Origin::FeedRun { run, received_at: Timestamp::from_unix_micros(0) },
        // The year 2100.
        Source::NewFeed => {
            Origin::FeedRun { run, received_at: Timestamp::from_unix_micros(4_102_444_800_000_000) }
        }
    }
}

fn checked(group: usize, product: usize, draft: &Draft) -> Result<Incoming, Failure> {
    let variant = |(sku, offer): &(&str, OfferDraft)| VariantDraft {
        sku: (*sku).to_owned(),
        price: Some(amount(offer.price)),
        list_price: offer.list_price.map(amount),
        stock_status: offer.stock.map(|stock| stock.to_string()),
        stock_quantity: offer.quantity.map(i64::from),
        ..VariantDraft::default()
    };
    let offer = &draft.offer;
    let draft = ProductDraft {
        external_id: external_id(group, product),
        name: Some(name(draft.label)),
        description: Some(String::from("Holds coffee.")),
        category: vec![String::from("Kitchen"), format!("Section {}", draft.category)],
        currency: Some(draft.currency.code().to_owned()),
        price: Some(amount(offer.price)),
        list_price: offer.list_price.map(amount),
        stock_status: offer.stock.map(|stock| stock.to_string()),
        stock_quantity: offer.quantity.map(i64::from),
        variants: draft.variants.iter().map(variant).collect(),
        ..ProductDraft::default()
    };
    catalog::check(&draft, Currency::EUR).map_err(|errors| format!("{errors:?}").into())
}

fn amount(minor: i64) -> Amount {
    Amount::new(format!("{}.{:02}", minor / 100, minor % 100))
}

fn offer_update(group: usize, update: &OfferUpdate) -> catalog::OfferUpdate {
    let change = match update.change {
        OfferChange::Price { price, list_price, currency } => catalog::OfferChange::Price {
            price: amount(price),
            list_price: list_price.map(amount),
            currency: currency.map(|currency| currency.code().to_owned()),
        },
        OfferChange::Stock { quantity, stock } => {
            catalog::OfferChange::Stock { quantity, status: stock }
        }
    };
    catalog::OfferUpdate {
        external_id: external_id(group, update.product),
        sku: update.sku.map(str::to_owned),
        change,
    }
}

fn outcome(outcome: catalog::OfferUpdateOutcome) -> OfferUpdateOutcome {
    match outcome {
        catalog::OfferUpdateOutcome::Updated => OfferUpdateOutcome::Updated,
        catalog::OfferUpdateOutcome::Unchanged => OfferUpdateOutcome::Unchanged,
        catalog::OfferUpdateOutcome::NotFound => OfferUpdateOutcome::NotFound,
        catalog::OfferUpdateOutcome::Rejected(error) => {
            OfferUpdateOutcome::Rejected(error.field.into_owned())
        }
    }
}

//! Doing an operation: in one work, through the catalog.

use std::time::{Duration, Instant};

use catalog::{Amount, Incoming, Origin, ProductDraft, VariantDraft};
use database::{Database, Work};
use primitives::{Currency, Id, JobId, ProductId, Timestamp};

use crate::catalog::model::{Answer, Change, Draft, OfferDraft, Operation, Revised, Source};
use crate::catalog::shop::merchant;
use crate::report::Failure;

/// What an operation did, and when.
#[derive(Debug)]
pub(super) struct Acted {
    pub(super) answer: Answer,
    /// The ids that were answered, by product.
    pub(super) ids: Vec<(usize, ProductId)>,
    /// The transaction, if it wrote anything.
    pub(super) transaction: Option<String>,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// Waits before it begins, acts, and waits again before it commits: what is held is held longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    pub(super) before_micros: u64,
    pub(super) inside_micros: u64,
}

pub(super) async fn act(
    database: Database,
    table: usize,
    operation: Operation,
    pauses: Pauses,
) -> Result<Acted, Failure> {
    pause(pauses.before_micros).await;
    let began = Instant::now();
    let mut work = Work::for_store(&database, merchant()).await?;
    let (answer, ids) = match &operation {
        Operation::Put { source, drafts } => {
            let mut incoming = Vec::new();
            for (product, draft) in drafts {
                incoming.push(checked(table, *product, draft)?);
            }
            let put =
                catalog::put_products(&mut work, merchant(), origin(*source), &incoming).await?;
            let ids = drafts.iter().zip(&put).map(|((product, _), put)| (*product, put.id));
            let ids = ids.collect();
            (Answer::Put(put.into_iter().map(|put| put.done).collect()), ids)
        }
        Operation::Revise(revisions) => {
            let revisions: Vec<_> = revisions.iter().map(|new| revision(table, new)).collect();
            let revised = catalog::revise(&mut work, merchant(), &revisions).await?;
            (Answer::Revised(revised.into_iter().map(outcome).collect()), Vec::new())
        }
        Operation::Retire { source, products } => {
            let named: Vec<String> = products.iter().map(|it| external_id(table, *it)).collect();
            let retired = catalog::retire(&mut work, merchant(), origin(*source), &named).await?;
            (retired_of(&mut work, products, &named, &retired).await?, Vec::new())
        }
    };
    let transaction = sqlx::query_scalar("SELECT pg_current_xact_id_if_assigned()::text");
    let transaction = transaction.fetch_one(work.sql()).await?;
    pause(pauses.inside_micros).await;
    work.commit().await?;
    Ok(Acted { answer, ids, transaction, began, ended: Instant::now() })
}

async fn pause(micros: u64) {
    match micros {
        0..50 => (),
        50..150 => tokio::task::yield_now().await,
        _ => tokio::time::sleep(Duration::from_micros(micros)).await,
    }
}

/// `retire` answers with ids, in no order.
async fn retired_of(
    work: &mut Work,
    products: &[usize],
    named: &[String],
    retired: &[ProductId],
) -> Result<Answer, Failure> {
    let ids: Vec<uuid::Uuid> = retired.iter().map(|id| id.uuid()).collect();
    let found = sqlx::query_scalar("SELECT external_id FROM product WHERE product_id = ANY ($1)");
    let found: Vec<String> = found.bind(ids).fetch_all(work.sql()).await?;
    let position = |id: &String| named.iter().position(|other| other == id);
    let products = found.iter().filter_map(position).filter_map(|at| products.get(at));
    let answer = products.copied().collect();
    if found.len() == retired.len() {
        Ok(Answer::Retired(answer))
    } else {
        Err(format!("{retired:?} was retired, and only {found:?} is there").into())
    }
}

/// The merchant's own identifier of a product.
pub(super) fn external_id(table: usize, product: usize) -> String {
    format!("t{table}-p{product:02}")
}

/// What a product of this label is called.
pub(super) fn name(label: u8) -> String {
    format!("Mug {label}")
}

fn origin(source: Source) -> Origin {
    let run = JobId::from_random(7);
    match source {
        Source::Push => Origin::Push,
        Source::OldFeed => Origin::Run { run, received_at: Timestamp::from_unix_micros(0) },
        // The year 2100.
        Source::NewFeed => {
            Origin::Run { run, received_at: Timestamp::from_unix_micros(4_102_444_800_000_000) }
        }
    }
}

fn checked(table: usize, product: usize, draft: &Draft) -> Result<Incoming, Failure> {
    let variant = |(sku, offer): &(&str, OfferDraft)| VariantDraft {
        sku: (*sku).to_owned(),
        price: Some(amount(offer.price)),
        list_price: offer.list_price.map(amount),
        stock_status: offer.stock.map(|stock| stock.name().to_owned()),
        stock_quantity: offer.quantity.map(i64::from),
        ..VariantDraft::default()
    };
    let offer = &draft.offer;
    let draft = ProductDraft {
        external_id: external_id(table, product),
        name: Some(name(draft.label)),
        description: Some(String::from("Holds coffee.")),
        category: vec![String::from("Kitchen"), format!("Shelf {}", draft.shelf)],
        currency: Some(draft.currency.code().to_owned()),
        price: Some(amount(offer.price)),
        list_price: offer.list_price.map(amount),
        stock_status: offer.stock.map(|stock| stock.name().to_owned()),
        stock_quantity: offer.quantity.map(i64::from),
        variants: draft.variants.iter().map(variant).collect(),
        ..ProductDraft::default()
    };
    catalog::check(&draft, Currency::EUR).map_err(|faults| format!("{faults:?}").into())
}

fn amount(minor: i64) -> Amount {
    Amount::new(format!("{}.{:02}", minor / 100, minor % 100))
}

fn revision(table: usize, new: &crate::catalog::model::Revision) -> catalog::Revision {
    let change = match new.change {
        Change::Price { price, list_price, meant } => catalog::Change::Price {
            price: amount(price),
            list_price: list_price.map(amount),
            currency: meant.map(|meant| meant.code().to_owned()),
        },
        Change::Stock { quantity, stock } => catalog::Change::Stock { quantity, status: stock },
    };
    catalog::Revision {
        external_id: external_id(table, new.product),
        sku: new.sku.map(str::to_owned),
        change,
    }
}

fn outcome(revised: catalog::Revised) -> Revised {
    match revised {
        catalog::Revised::Updated => Revised::Updated,
        catalog::Revised::Unchanged => Revised::Unchanged,
        catalog::Revised::NotFound => Revised::NotFound,
        catalog::Revised::Refused(fault) => Revised::Refused(fault.field.into_owned()),
    }
}

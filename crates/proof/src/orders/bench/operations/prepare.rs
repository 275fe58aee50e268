//! Stores, agents and the two orders whose copies fill the table.

use merchants::{Settings, ShippingRate, ShippingZone};
use primitives::{Id, MerchantId, OrderId};
use serde_json::json;
use testkit::{StoreBuilder, TestDatabase};
use uuid::Uuid;

use super::request::Request;
use super::{AGENTS_PER_STORE, MEASURED_STORES, Store};
use crate::checkout::store::{Agent, report_paid, settings_without_hold_limits};
use crate::http::Client;
use crate::identity::{Account, agent_key_for};
use crate::orders::sweeps::{Completion, Sweeps};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, store_key};

/// A server and what it serves before the table is filled.
pub(super) struct Prepared {
    pub(super) souk: Souk,
    pub(super) stores: Vec<Store>,
    pub(super) key_ids: Vec<Uuid>,
    pub(super) templates: [Uuid; 2],
}

/// Creates the stores that are called, their agents, and two orders.
pub(super) async fn prepare(test: &TestDatabase) -> Result<Prepared, Failure> {
    let mut built = Vec::new();
    for number in 0..MEASURED_STORES {
        built.push(build(test, number).await?);
    }
    let souk = Souk::serve(&test.url(), &[]).await?;
    let (mut stores, mut key_ids) = (Vec::new(), Vec::new());
    for store in &built {
        let (ids, agents) = agents(&test.url(), souk.port, store.slug.as_str()).await?;
        key_ids.extend(ids);
        let key = store_key(&test.url(), store.slug.as_str()).await?;
        let slug = store.slug.to_string();
        stores.push(Store { merchant: store.merchant, slug, key, agents });
    }
    let draft = testkit::product_draft("lamp", "12.50", 1_000);
    let products = built[0].put_products(test.database(), &[draft]).await;
    let completed = buy(&souk, &stores[0], products[0]).await?;
    complete(test, &souk, &stores[0], completed).await?;
    let pending = buy(&souk, &stores[0], products[0]).await?;
    Ok(Prepared { souk, stores, key_ids, templates: [completed.uuid(), pending.uuid()] })
}

/// Creates an account with five keys and returns their ids and the keys; the first may read the orders of the account.
async fn agents(url: &str, port: u16, slug: &str) -> Result<(Vec<Uuid>, Vec<String>), Failure> {
    let account = Account::create(url, &format!("{slug}@example.com"), "ENTERPRISE").await?;
    let token = account.log_in(port).await?;
    let (mut ids, mut keys) = (Vec::new(), Vec::new());
    for number in 0..AGENTS_PER_STORE {
        let own = ["agent:read", "agent:cart", "agent:checkout"];
        let all = [own.as_slice(), &["agent:orders"]].concat();
        let scopes = if number == 0 { all.as_slice() } else { own.as_slice() };
        let (id, key) = agent_key_for(port, &token, scopes).await?;
        ids.push(id.parse::<primitives::KeyId>()?.uuid());
        keys.push(key);
    }
    Ok((ids, keys))
}

async fn buy(
    souk: &Souk,
    store: &Store,
    product: primitives::ProductId,
) -> Result<OrderId, Failure> {
    let agent = Agent::at(&store.slug, &store.agents[0]);
    let mut client = agent.client(souk.port);
    let cart = agent.cart(&mut client, &[(product, 2)]).await?;
    let session = agent.complete(&mut client, &cart, None).await.success()?;
    let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
    let paid = report_paid(souk.port, &store.key, checkout, checkout).await.success()?;
    Ok(paid["order"]["order_id"].as_str().ok_or("a paid session without an order")?.parse()?)
}

/// Ships and delivers an order, and lets the job complete it.
async fn complete(
    test: &TestDatabase,
    souk: &Souk,
    store: &Store,
    order: OrderId,
) -> Result<(), Failure> {
    for body in [
        json!({ "action": "ship", "carrier": "DHL", "tracking_number": "00340434161094042557" }),
        json!({ "action": "deliver" }),
    ] {
        let path = format!("/merchant/orders/{order}");
        Request::by_store(&store.key, "PATCH", &path, &body).send(Client::new(souk.port)).await?;
    }
    let _worker = Souk::work(&test.url(), 10)?;
    let completion = Sweeps::start(test).watch().complete(order).await?;
    ensure(completion == Completion::Completed, || format!("the template: {completion:?}"))
}

/// Creates a store that ships.
async fn build(test: &TestDatabase, number: usize) -> Result<testkit::TestStore, Failure> {
    let rate = ShippingRate {
        name: String::from("standard"),
        price_minor: 4_90,
        min_subtotal_minor: None,
        days_min: 2,
        days_max: 4,
    };
    let zone = ShippingZone {
        name: String::from("home"),
        countries: vec![String::from("DE")],
        rates: vec![rate],
    };
    let settings = Settings { shipping: vec![zone], ..settings_without_hold_limits() };
    let merchant = format!("00000000-0000-4000-8000-{number:012x}").parse::<Uuid>()?;
    let builder = StoreBuilder::new(&format!("store-{number}")).score(0.9).settings(settings);
    Ok(builder.merchant(MerchantId::from_uuid(merchant)).build(test.database()).await)
}

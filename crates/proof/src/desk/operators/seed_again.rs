//! `seed-again`: products of a demo store are changed, deleted and added; `souk seed` restores the first two and retires the
//! third, and run once more it changes nothing.

use serde_json::{Value, json};

use crate::hardening::demo_database;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command, store_key};

const STORE: &str = "kivikiri";

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = demo_database().await;
    let souk = Souk::serve(&test.url(), &[]).await?;
    let key = store_key(&test.url(), STORE).await?;
    let before = products(&test).await?;
    let world = demo::world();
    let store = world.store(STORE).ok_or("no such demo store")?;
    let mut changed = serde_json::to_value(demo::draft(store, &store.products[0]))?;
    changed["name"] = json!("Another name");
    let added = json!({ "external_id": "extra-1", "name": "Something else", "price": "9.00", "category": ["Other"] });
    let body = json!({ "products": [changed, added] }).to_string();
    let mut client = Client::new(souk.port).with_key(&key);
    let pushed = client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await;
    let is_pushed = matches!(&pushed, Delivery::Answered { status: 200, body } if body.contains("\"failed\":0"));
    ensure(is_pushed, || format!("the push: {pushed:?}"))?;
    let path = format!("/api/v1/merchant/products/{}", store.products[1].sku);
    let deleted = client.send("DELETE", &path, b"").await;
    ensure(matches!(deleted, Delivery::Answered { status: 200 | 204, .. }), || {
        format!("DELETE {path}: {deleted:?}")
    })?;
    ensure(products(&test).await? != before, || String::from("nothing was changed"))?;
    command(&test.url(), &["seed"])?;
    let after = products(&test).await?;
    ensure(after == before, || String::from("`souk seed` does not restore the demo products"))?;
    let events = events(&test).await?;
    command(&test.url(), &["seed"])?;
    ensure(events == self::events(&test).await?, || String::from("seeding again writes"))?;
    ensure(products(&test).await? == before, || String::from("seeding again changes products"))?;
    Ok(format!("{} products as before: one restored, one listed again, one retired", before.len()))
}

/// Returns the listed products of the store.
async fn products(test: &testkit::TestDatabase) -> Result<Vec<Value>, Failure> {
    let sql = "SELECT jsonb_build_array(external_id, product.name, price_minor, stock_quantity)
               FROM product JOIN store USING (merchant_id)
               WHERE slug = $1 AND retired_at IS NULL ORDER BY external_id";
    Ok(sqlx::query_scalar(sql).bind(STORE).fetch_all(&mut test.raw().await).await?)
}

/// Returns the number of events about products.
async fn events(test: &testkit::TestDatabase) -> Result<i64, Failure> {
    let sql = "SELECT count(*) FROM outbox WHERE topic LIKE 'product.%'";
    Ok(sqlx::query_scalar(sql).fetch_one(&mut test.raw().await).await?)
}

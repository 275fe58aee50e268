//! `role-of-stores`: PostgreSQL itself refuses the role of stores what its standing follows from, while purchases write it.

use super::shop::{Shop, call, expect, paid_report};
use crate::report::{Failure, Trial, Verdict, ensure};

/// Statements that a store would like to execute.
const STATEMENTS: [&str; 13] = [
    "UPDATE standing SET score = 1, provisional = false",
    "DELETE FROM standing",
    "UPDATE identity_verification SET status = 'verified'",
    "DELETE FROM identity_verification",
    "DELETE FROM placed_order",
    "UPDATE placed_order SET status = 'completed'",
    "DELETE FROM agent_event",
    "UPDATE agent_event SET kind = 'CHECKOUT_COMPLETE'",
    "DELETE FROM payment_report",
    "UPDATE payment_report SET outcome = 'accepted'",
    "UPDATE store SET active = true",
    "DELETE FROM store",
    "UPDATE store_setting SET checkout_url_template = 'https://pay.evil.example/{items}'",
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let mut sql = shop.deployment.test.raw().await;
    let merchant = shop.merchant.uuid();
    for statement in STATEMENTS {
        let as_store = format!(
            "BEGIN; SET LOCAL ROLE souk_store; SET LOCAL souk.merchant_id = '{merchant}'; {statement}"
        );
        let done = sqlx::raw_sql(sqlx::AssertSqlSafe(as_store)).execute(&mut sql).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut sql).await?;
        let is_denied = matches!(&done, Err(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("42501"));
        ensure(is_denied, || format!("as the role of a store: {statement}: {done:?}"))?;
    }
    buy(&shop).await?;
    let written = "SELECT (SELECT count(*) FROM placed_order WHERE merchant_id = $1)
                        + (SELECT count(*) FROM agent_event WHERE merchant_id = $1)";
    let written = shop.count(written).await?;
    ensure(written == 3, || format!("expected an order and two events, found {written} rows"))?;
    Ok(format!(
        "{} statements of the role souk_store refused by PostgreSQL; a purchase wrote its order and both events",
        STATEMENTS.len()
    ))
}

/// Buys something, and reports it as paid.
async fn buy(shop: &Shop) -> Result<(), Failure> {
    let agent = shop.agent().await?;
    let cart = shop.cart(&agent).await?;
    let id = shop.complete(&agent, &cart).await?;
    let key = shop.key().await?;
    let path = format!("/merchant/checkouts/{id}/complete");
    let report = paid_report("SHOP-1");
    let reported = call(shop.port(), &key, "POST", &path, &report).await?;
    expect("the payment report", &reported, 200, None)
}

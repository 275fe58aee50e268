//! (g) A person pays on our own page, and the process dies on the way: before the payment is begun, while the provider is asked,
//! before what came of it is kept. Pressing again or waiting, it ends as one payment and one order.

use std::time::{Duration, Instant};

use super::checker;
use super::crashes::House;
use super::shop::{Agent, SLUG, Shop};
use crate::http::{Client, Fate};
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::Souk;

/// Places on the way, and whether somebody has to ask the provider what became of the payment.
const PLACES: [(&str, bool); 7] = [
    ("pay.before_commit", false),
    ("pay.committed", false),
    ("pay.begun", true),
    ("pay.charged", true),
    ("pay.order_placed", true),
    ("pay.units_sold", true),
    ("pay.settled", true),
];
/// A job asks again every minute for what is older than half of one.
const SETTLED_MAX: Duration = Duration::from_mins(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&[100]).await?;
    let mut house = House::open(shop, vec![("SOUK_TEST_PAYMENTS", String::from("on"))]).await?;
    let agent = house.agent().await?;
    let mut left = Vec::new();
    for (place, is_left) in PLACES {
        if is_left && trial.tier == Tier::Fast {
            continue;
        }
        trial.progress(|| format!("dies at {place}"));
        let path = house.die_paying(&agent, place).await?;
        if is_left {
            left.push(path);
        } else {
            press(house.port, &path).await?;
            stage(house.port, &path, "Paid.").await?;
        }
    }
    let waited = house.settled(&trial, &left).await?;
    let books = checker::check(&house.shop).await?;
    let paid = "SELECT count(*) FROM payment WHERE status = 'paid'";
    let paid: i64 = sqlx::query_scalar(paid).fetch_one(&mut house.shop.test.raw().await).await?;
    ensure(books.orders == i64::from(house.deaths) && paid == books.orders, || {
        format!("{} deaths, {paid} payments, {books:?}", house.deaths)
    })?;
    let asked = if left.is_empty() {
        String::from("pressed again")
    } else {
        format!(
            "{} pressed again, {} asked for by a job within {waited:.0?}",
            PLACES.len() - left.len(),
            left.len()
        )
    };
    Ok(format!(
        "{} deaths on the way of a payment, {asked}: {paid} payments, {} orders",
        house.deaths, books.orders
    ))
}

impl House {
    /// Lets a person pay while the process dies; the page they were on.
    async fn die_paying(&mut self, agent: &Agent, place: &str) -> Result<String, Failure> {
        self.restart(Some(place)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.shop.products[0], 1)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.done()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let path = format!("/{SLUG}/checkout/{checkout}");
        let fate = send(self.port, &path).await?;
        ensure(matches!(fate, Fate::Cut(_)), || format!("at {place} the page said {fate:?}"))?;
        self.died(place).await?;
        self.restart(None).await?;
        Ok(path)
    }

    /// Waits until a job has found out what became of payments; how long that took.
    async fn settled(&self, trial: &Trial, left: &[String]) -> Result<Duration, Failure> {
        let since = Instant::now();
        if left.is_empty() {
            return Ok(since.elapsed());
        }
        for path in left {
            stage(self.port, path, "under way").await?;
        }
        let _worker = Souk::work(&self.shop.url(), 1)?;
        for path in left {
            while stage(self.port, path, "Paid.").await.is_err() {
                ensure(since.elapsed() < SETTLED_MAX, || format!("{path} is still under way"))?;
                trial.progress(|| format!("waiting for a job, {:.0?}", since.elapsed()));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        Ok(since.elapsed())
    }
}

async fn shown(port: u16, path: &str) -> Result<String, Failure> {
    match Client::new(port).get(path).await {
        Fate::Answered { status: 200, body } => Ok(body),
        other => Err(format!("the page is {other:?}").into()),
    }
}

/// Whether the page says what it should.
async fn stage(port: u16, path: &str, words: &str) -> Result<(), Failure> {
    let page = shown(port, path).await?;
    ensure(page.contains(words), || format!("the page does not say {words:?}: {page}"))
}

/// Looks at the page and presses Pay, as its form says.
async fn send(port: u16, path: &str) -> Result<Fate, Failure> {
    let page = shown(port, path).await?;
    let field = page.split("name=\"form_token\" value=\"").nth(1);
    let token = field.and_then(|field| field.split('"').next()).ok_or("a page without a form")?;
    let form = format!("instrument=test_approves&form_token={token}");
    Ok(Client::new(port).sending_forms().post(&format!("{path}/pay"), &form).await)
}

/// Presses Pay if the page still asks for it.
async fn press(port: u16, path: &str) -> Result<(), Failure> {
    if stage(port, path, "Paid.").await.is_ok() {
        return Ok(());
    }
    let fate = send(port, path).await?;
    ensure(matches!(fate, Fate::Answered { status: 303, .. }), || {
        format!("pressed again: {fate:?}")
    })
}

//! `expected-failures`: what Souk does not serve yet, tried as a merchant, a buyer or an agent would. Each attempt must fail as
//! it is stated here; one that works fails the check, so that the list stays true.

use merchants::Settings;
use serde_json::{Value, json};

use super::pages::Site;
use crate::hardening::shop::{Shop, call, text};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict};

/// Results of a first page.
const RESULTS_SEEN: usize = 5;

/// Queries that name what is meant in other words than the products, or in another language. What is meant has one of the words
/// in its name or category, and this many of the first results have to be it. The demo stores sell all of it.
const BY_MEANING: [(&str, &[&str], usize); 7] = [
    ("gift for a coffee lover under 40 dollars", &["coffee", "pour-over", "espresso"], 3),
    ("running shoes size 42", &["shoe", "sneaker"], 1),
    ("thermos", &["bottle", "flask"], 1),
    ("casque audio sans fil", &["headphones"], 1),
    ("Regenjacke", &["jacket"], 1),
    ("chaqueta impermeable", &["jacket"], 1),
    ("Teekanne", &["teapot"], 1),
];

/// The outcome of an attempt: why it fails, or `None` if it works.
type Attempt = Result<Option<String>, Failure>;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], Settings::default()).await?;
    let mut attempts: Vec<(String, Option<String>)> = Vec::new();
    let site = Site::of(&trial).await?;
    for (query, words, wanted) in BY_MEANING {
        let found = search_by_meaning(&site, query, words, wanted).await?;
        attempts.push((format!("search by meaning, “{query}”"), found));
    }
    for (what, attempt) in [
        ("appeals against a trust score", appeal(&shop).await?),
        ("an account of the person who approves", approval_without_account(&shop).await?),
    ] {
        attempts.push((what.to_owned(), attempt));
    }
    let works: Vec<&str> = attempts
        .iter()
        .filter(|(_, failure)| failure.is_none())
        .map(|(what, _)| what.as_str())
        .collect();
    if !works.is_empty() {
        return Err(format!("works, and is listed as not served yet: {}", works.join("; ")).into());
    }
    let failures: Vec<String> = attempts
        .into_iter()
        .filter_map(|(what, failure)| Some(format!("{what}: {}", failure?)))
        .collect();
    Ok(format!("{} attempts, fails as expected: {}", failures.len(), failures.join("; ")))
}

/// Searches all stores. It works if enough of the first results are what is meant, within the price that the query names.
async fn search_by_meaning(site: &Site, query: &str, words: &[&str], wanted: usize) -> Attempt {
    let body = json!({ "query": query, "limit": RESULTS_SEEN }).to_string();
    let found: Value = match site.search(&body).await {
        Delivery::Answered { status: 200, body } => serde_json::from_str(&body)?,
        other => return Err(format!("a search for {query}: {other:?}").into()),
    };
    let results = found["data"].as_array().cloned().unwrap_or_default();
    let is_meant = |result: &&Value| {
        let described = format!("{} {}", result["name"], result["category"]).to_lowercase();
        let is_affordable =
            !query.contains("40 dollars") || result["price"].as_f64().is_some_and(|it| it <= 40.0);
        is_affordable && words.iter().any(|word| described.contains(word))
    };
    let meant = results.iter().filter(is_meant).count();
    Ok((meant < wanted).then(|| format!("{meant} of {}", results.len())))
}

async fn appeal(shop: &Shop) -> Attempt {
    let (_, owner) = shop.member("owner").await?;
    let body =
        json!({ "merchant_slug": shop.slug, "reason": "the return policy was read wrongly" });
    let (status, _) = call(shop.port(), &owner, "POST", "/trust/appeal", &body).await?;
    Ok((status == 404).then(|| status.to_string()))
}

/// A program that pretends to be a browser approves: nobody has to log in.
async fn approval_without_account(shop: &Shop) -> Attempt {
    let agent = shop.agent().await?;
    let cart = shop.cart(&agent).await?;
    let mut client = agent.client(shop.port());
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let id = text(&asked, "confirmation_id")?;
    let form = shop.decision_form(id, "approve").await?;
    let program = Client::new(shop.port()).sending_forms();
    let status = shop.submit_with(program, &format!("/confirm/{id}"), &form).await?;
    Ok((status == 303).then(|| String::from("a program with the headers of a browser approves")))
}

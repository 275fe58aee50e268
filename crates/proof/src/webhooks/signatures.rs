//! `signatures`: requests as a receiver recorded them, verified by others: the libraries of Stripe and of Standard Webhooks for
//! Python and JavaScript (`dev/webhooks/verify-third-party`), which must accept each and reject the forms of it that were tampered
//! with; and the three verifiers in `sdks/` with their receivers to copy.
//!
//! The requests: a first attempt; its repetition, with the same bytes and another time; one during the rotation of the secret,
//! which receivers with either secret accept; and one after it, which only those with the new secret accept.
//!
//! The gate runs it in a stage of its own, after the tests of the verifiers (`dev/webhooks/sdks`).

mod receivers;
mod verifiers;

use primitives::MerchantId;
use souk_webhooks::{HEADER, Verifier};

use super::evidence::{check_copies, check_request, signatures_of, time_of};
use super::receiver::Request;
use super::site::{PATIENCE, Registered, Site};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};

/// A recorded request, and a secret of its receiver.
struct Case {
    name: &'static str,
    request: Request,
    secret: String,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let cases = record().await?;
    trial.progress(|| String::from("libraries of others"));
    let results = verifiers::by_others(&cases).await?;
    let ids: Vec<&str> = cases.iter().map(|case| case.request.event()).collect();
    verifiers::build_typescript().await?;
    for language in verifiers::SDKS {
        let verified = verifiers::by_sdk(language, &cases).await?;
        ensure(verified == ids, || format!("{language} verified {verified:?} of {ids:?}"))?;
    }
    let mut accepted = 0;
    for language in receivers::LANGUAGES {
        trial.progress(|| format!("the receiver in {language}"));
        accepted += receivers::receive(language, &cases).await?;
    }
    Ok(format!(
        "{} recorded requests, among them a repetition and both secrets of a rotation: {} results of four libraries of others as \
         expected, with {} forms that were tampered with; accepted by the verifiers for Rust, Python and TypeScript, and {accepted} \
         times by the receivers to copy",
        cases.len(),
        grouped(results.all),
        grouped(results.rejected),
    ))
}

/// Lets requests be sent and records them.
async fn record() -> Result<Vec<Case>, Failure> {
    let site = Site::open().await?;
    let merchant = site.store("attic").await;
    let endpoint = site.endpoint(merchant, "/first-fails/signed").await?;
    let worker = site.worker(&[])?;
    site.publish(merchant).await?;
    let twice = site.receiver.until("a repetition", PATIENCE, |all| all.len() == 2).await?;
    let [first, second] = &twice[..] else { return Err("not two requests".into()) };
    check_copies(&[first, second])?;
    ensure(time_of(first) != time_of(second), || String::from("repeated with the same time"))?;
    ensure(signatures_of(first).len() == 1, || format!("signatures of one secret: {first:?}"))?;
    let secret = site.rotate(&endpoint).await?;
    let during = next(&site, merchant).await?;
    ensure(signatures_of(&during).len() == 2, || format!("no second signature: {during:?}"))?;
    // A day later.
    sqlx::query("UPDATE webhook_endpoint SET former_secret_until = now()")
        .execute(&mut site.raw().await)
        .await?;
    let after = next(&site, merchant).await?;
    ensure(signatures_of(&after).len() == 1, || format!("a second signature: {after:?}"))?;
    drop(worker);
    let cases = vec![
        case("at the first attempt", first, &endpoint.secret),
        case("at the second attempt", second, &endpoint.secret),
        case("during a rotation, with the new secret", &during, &secret),
        case("during a rotation, with the former secret", &during, &endpoint.secret),
        case("after a rotation", &after, &secret),
    ];
    for case in &cases {
        check_request(&case.request, &case.secret)?;
    }
    check_former(&after, &endpoint)?;
    Ok(cases)
}

fn case(name: &'static str, request: &Request, secret: &str) -> Case {
    Case { name, request: request.clone(), secret: secret.to_owned() }
}

/// Publishes an event, and returns its first request.
async fn next(site: &Site, merchant: MerchantId) -> Result<Request, Failure> {
    let id = site.publish(merchant).await?.to_string();
    let is_sent = |all: &[Request]| all.iter().any(|request| request.event() == id);
    let requests = site.receiver.until("another event", PATIENCE, is_sent).await?;
    let request = requests.into_iter().find(|request| request.event() == id);
    request.ok_or_else(|| "no request of the event".into())
}

/// Fails if a receiver that only knows the former secret still accepts requests.
fn check_former(request: &Request, endpoint: &Registered) -> Result<(), Failure> {
    let verifier = Verifier::new([endpoint.secret.as_str()])?;
    let header = request.headers.get(HEADER).map(String::as_str);
    let outcome = verifier.verify_at(header, request.body.as_bytes(), request.at_seconds());
    ensure(outcome.is_err(), || String::from("the former secret is valid after the rotation"))
}

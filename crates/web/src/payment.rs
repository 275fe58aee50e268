//! The page on which a person reviews and pays, for stores that have none of their own. Looking at it changes nothing.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use checkout::{At, CheckoutError, Status};
use database::Reading;
use payments::TestInstrument;
use primitives::{CheckoutId, ClientAddress, Failure};
use serde::Deserialize;

use crate::Web;
use crate::counter::{Open, page, sorry};
use crate::form::{is_ours, token, token_text};
use crate::terms_view::{TermsView, until};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/{slug}/checkout/{checkout_id}", get(show))
        .route("/{slug}/checkout/{checkout_id}/pay", post(pay))
        .route("/{slug}/checkout/{checkout_id}/turn-back", post(turn_back))
}

#[derive(Template)]
#[template(path = "checkout.html")]
struct Hosted<'shown> {
    view: TermsView<'shown>,
    stage: &'static str,
    is_test_money: bool,
    is_payment_failed: bool,
    order: Option<String>,
    action: String,
    form_token: String,
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
) -> Response {
    let found: Result<At, Failure> = async {
        let open = Open::at(&web, &slug, from).await?;
        let merchant = open.counter(&web).store.merchant;
        let reading = Reading::for_store(&web.database, merchant)?;
        Ok(checkout::session(&reading, merchant, named(&id)?, None).await?)
    }
    .await;
    match found {
        Ok(at) => shown(&web, &slug, &at),
        Err(failure) => sorry(&failure),
    }
}

fn shown(web: &Web, slug: &str, at: &At) -> Response {
    let session = &at.session;
    let takes = web.till.takes(session);
    let stage = match at.status() {
        Status::RequiresEscalation | Status::ReadyForComplete if session.is_holding && takes => {
            "open"
        }
        Status::RequiresEscalation | Status::ReadyForComplete if session.is_holding => "elsewhere",
        Status::RequiresEscalation | Status::ReadyForComplete | Status::Incomplete => "not_asked",
        Status::CompleteInProgress => "paying",
        Status::Completed => "paid",
        Status::Canceled => "canceled",
        Status::Expired => "expired",
    };
    let mut view = TermsView::of(&session.terms);
    // What is held for the person is held for longer than the cart would have lasted; what is over is not held at all.
    view.until = (stage == "open").then(|| until(session.expires_at));
    let hosted = Hosted {
        view,
        stage,
        is_test_money: !web.till.is_real(),
        is_payment_failed: session.is_payment_failed,
        order: session.order.map(|order| order.to_string()),
        action: format!("/{slug}/checkout/{}", session.id),
        form_token: token_text(&session.form_token),
    };
    page(StatusCode::OK, &hosted)
}

/// What the form of a payment sends.
#[derive(Deserialize)]
struct Payment {
    instrument: String,
    form_token: String,
}

async fn pay(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<Payment>, FormRejection>,
) -> Response {
    let done: Result<(), Failure> = async {
        let open = Open::at(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_ours(&headers, &web.site_url)) else {
            return Err(CheckoutError::ForeignForm.into());
        };
        let instrument = TestInstrument::from_name(&form.instrument);
        let instrument = instrument.ok_or(CheckoutError::UnknownMethod)?.name();
        let (counter, sent) = (open.counter(&web), token(&form.form_token));
        checkout::pay(&counter, &web.till, named(&id)?, instrument, &sent).await?;
        Ok(())
    }
    .await;
    again(done, &slug, &id)
}

/// What the form of turning back sends.
#[derive(Deserialize)]
struct TurnBack {
    form_token: String,
}

async fn turn_back(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<TurnBack>, FormRejection>,
) -> Response {
    let done: Result<(), Failure> = async {
        let open = Open::at(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_ours(&headers, &web.site_url)) else {
            return Err(CheckoutError::ForeignForm.into());
        };
        checkout::turn_back(&open.counter(&web), named(&id)?, &token(&form.form_token)).await?;
        Ok(())
    }
    .await;
    again(done, &slug, &id)
}

/// The page is shown again by its address, so that loading it anew sends nothing.
fn again(done: Result<(), Failure>, slug: &str, id: &str) -> Response {
    match done {
        Ok(()) => Redirect::to(&format!("/{slug}/checkout/{id}")).into_response(),
        Err(failure) => sorry(&failure),
    }
}

fn named(id: &str) -> Result<CheckoutId, CheckoutError> {
    id.parse().map_err(|_| CheckoutError::NotFound)
}

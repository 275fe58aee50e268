//! The payment page, for stores that have none of their own. Viewing it changes nothing.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use checkout::{CheckoutError, SessionSnapshot, Status};
use database::Reading;
use payments::TestInstrument;
use primitives::{CheckoutId, ClientAddress, Failure};
use serde::Deserialize;

use crate::Web;
use crate::form::{decode_token, encode_token, is_same_origin};
use crate::purchase_page::{AdmittedRequest, error_page, page};
use crate::terms_view::{TermsView, format_time};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/{slug}/checkout/{checkout_id}", get(show))
        .route("/{slug}/checkout/{checkout_id}/pay", post(pay))
        .route("/{slug}/checkout/{checkout_id}/turn-back", post(decline))
}

#[derive(Template)]
#[template(path = "payment.html")]
struct PaymentPage<'terms> {
    view: TermsView<'terms>,
    stage: &'static str,
    is_test_payment: bool,
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
    let found: Result<SessionSnapshot, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let merchant = request.context(&web).store.merchant;
        let reading = Reading::for_store(&web.database, merchant)?;
        Ok(checkout::session(&reading, merchant, parse_id(&id)?, None).await?)
    }
    .await;
    match found {
        Ok(snapshot) => render(&web, &slug, &snapshot),
        Err(failure) => error_page(&failure),
    }
}

fn render(web: &Web, slug: &str, snapshot: &SessionSnapshot) -> Response {
    let session = &snapshot.session;
    let is_accepted = web.payment_gateway.accepts(session);
    let stage = match snapshot.status() {
        Status::RequiresEscalation | Status::ReadyForComplete
            if session.is_holding && is_accepted =>
        {
            "open"
        }
        Status::RequiresEscalation | Status::ReadyForComplete if session.is_holding => "elsewhere",
        Status::RequiresEscalation | Status::ReadyForComplete | Status::Incomplete => "not_payable",
        Status::CompleteInProgress => "paying",
        Status::Completed => "paid",
        Status::Canceled => "canceled",
        Status::Expired => "expired",
    };
    let mut view = TermsView::of(&session.terms);
    // The session outlives the cart; a closed session has no expiry to show.
    view.valid_until = (stage == "open").then(|| format_time(session.expires_at));
    let payment = PaymentPage {
        view,
        stage,
        is_test_payment: !web.payment_gateway.is_live(),
        is_payment_failed: session.is_payment_failed,
        order: session.order.map(|order| order.to_string()),
        action: format!("/{slug}/checkout/{}", session.id),
        form_token: encode_token(&session.form_token),
    };
    page(StatusCode::OK, &payment)
}

/// The fields of the payment form.
#[derive(Deserialize)]
struct PaymentForm {
    instrument: String,
    form_token: String,
}

async fn pay(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<PaymentForm>, FormRejection>,
) -> Response {
    let result: Result<(), Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let instrument = TestInstrument::parse(&form.instrument);
        let instrument = instrument.ok_or(CheckoutError::UnknownPaymentMethod)?.as_str();
        let (context, token) = (request.context(&web), decode_token(&form.form_token));
        checkout::pay(&context, &web.payment_gateway, parse_id(&id)?, instrument, &token).await?;
        Ok(())
    }
    .await;
    redirect_back(result, &slug, &id)
}

/// The fields of the form that declines payment.
#[derive(Deserialize)]
struct DeclineForm {
    form_token: String,
}

async fn decline(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<DeclineForm>, FormRejection>,
) -> Response {
    let result: Result<(), Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        checkout::decline(&request.context(&web), parse_id(&id)?, &decode_token(&form.form_token))
            .await?;
        Ok(())
    }
    .await;
    redirect_back(result, &slug, &id)
}

/// Redirects to the page after a form, so that reloading it does not submit the form again.
fn redirect_back(result: Result<(), Failure>, slug: &str, id: &str) -> Response {
    match result {
        Ok(()) => Redirect::to(&format!("/{slug}/checkout/{id}")).into_response(),
        Err(failure) => error_page(&failure),
    }
}

fn parse_id(id: &str) -> Result<CheckoutId, CheckoutError> {
    id.parse().map_err(|_| CheckoutError::NotFound)
}

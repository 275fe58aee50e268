//! The approval page, on which a person approves or rejects a purchase. Viewing it changes nothing.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use checkout::{
    CheckoutError, ConfirmationRequest, ConfirmationStatus, DECLINE_LIFETIME, Decision,
};
use primitives::{ClientAddress, ConfirmationId, Failure};
use serde::Deserialize;

use crate::Web;
use crate::form::{decode_token, encode_token, is_same_origin};
use crate::purchase_page::{AdmittedRequest, error_page, page, visitor};
use crate::terms_view::{TermsView, format_time};

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/{slug}/confirm/{confirmation_id}", get(show).post(decide))
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage<'terms> {
    view: TermsView<'terms>,
    status: &'static str,
    /// Until when the agent cannot ask again; `None` unless the person declined.
    declined_until: Option<String>,
    form_token: String,
    quote_hash: String,
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
) -> Response {
    let found: Result<ConfirmationRequest, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        Ok(checkout::confirmation(&request.context(&web), parse_id(&id)?, None).await?)
    }
    .await;
    match found {
        Ok(found) => render(&found),
        Err(failure) => error_page(&failure),
    }
}

fn render(found: &ConfirmationRequest) -> Response {
    let confirmation = &found.confirmation;
    let status = match confirmation.status(found.now) {
        _ if confirmation.used_by.is_some() => "used",
        ConfirmationStatus::Pending => "pending",
        ConfirmationStatus::Confirmed => "confirmed",
        ConfirmationStatus::Rejected => "rejected",
        ConfirmationStatus::Expired => "expired",
    };
    let mut view = TermsView::of(&confirmation.terms);
    // A request expires before its cart does; one that is over has no expiry to show.
    let is_valid = matches!(status, "pending" | "confirmed");
    view.valid_until = is_valid.then(|| format_time(confirmation.expires_at));
    let declined_at = confirmation.decided_at.filter(|_| status == "rejected");
    let declined_until = declined_at.map(|at| format_time(at.plus(DECLINE_LIFETIME)));
    let approval = ApprovalPage {
        view,
        status,
        declined_until,
        form_token: encode_token(&confirmation.form_token),
        quote_hash: confirmation.quote_hash.to_string(),
    };
    page(StatusCode::OK, &approval)
}

/// The fields of the form.
#[derive(Deserialize)]
struct DecisionForm {
    decision: String,
    form_token: String,
    quote_hash: String,
}

async fn decide(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<DecisionForm>, FormRejection>,
) -> Response {
    let result: Result<(), Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let decision = match form.decision.as_str() {
            "approve" => Decision::Approve,
            "reject" => Decision::Reject,
            _ => return Err(CheckoutError::CsrfRejected.into()),
        };
        let (id, token) = (parse_id(&id)?, decode_token(&form.form_token));
        let quote_hash = form.quote_hash.parse().map_err(|_| CheckoutError::CsrfRejected)?;
        let (context, visitor) = (request.context(&web), visitor(from, &headers));
        checkout::decide(&context, id, decision, &token, quote_hash, visitor).await?;
        Ok(())
    }
    .await;
    match result {
        // A redirect, so that reloading the page does not submit the form again.
        Ok(()) => Redirect::to(&format!("/{slug}/confirm/{id}")).into_response(),
        Err(failure) => error_page(&failure),
    }
}

fn parse_id(id: &str) -> Result<ConfirmationId, CheckoutError> {
    id.parse().map_err(|_| CheckoutError::ConfirmationNotFound)
}

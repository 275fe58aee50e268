//! The page on which a person agrees to a purchase, or does not. Looking at it changes nothing.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use checkout::{CheckoutError, ConfirmationStatus, Decision, Requested};
use primitives::{ClientAddress, ConfirmationId, Failure};
use serde::Deserialize;

use crate::Web;
use crate::counter::{Open, page, sorry};
use crate::form::{is_ours, token, token_text};
use crate::terms_view::TermsView;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/{slug}/confirm/{confirmation_id}", get(show).post(answer))
}

#[derive(Template)]
#[template(path = "approval.html")]
struct Approval<'shown> {
    view: TermsView<'shown>,
    status: &'static str,
    form_token: String,
    quote_hash: String,
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
) -> Response {
    let found: Result<Requested, Failure> = async {
        let open = Open::at(&web, &slug, from).await?;
        Ok(checkout::confirmation(&open.counter(&web), named(&id)?, None).await?)
    }
    .await;
    match found {
        Ok(found) => shown(&found),
        Err(failure) => sorry(&failure),
    }
}

fn shown(found: &Requested) -> Response {
    let it = &found.confirmation;
    let status = match it.status(found.now) {
        _ if it.used_by.is_some() => "used",
        ConfirmationStatus::Pending => "pending",
        ConfirmationStatus::Confirmed => "confirmed",
        ConfirmationStatus::Rejected => "rejected",
        ConfirmationStatus::Expired => "expired",
    };
    let approval = Approval {
        view: TermsView::of(&it.terms),
        status,
        form_token: token_text(&it.form_token),
        quote_hash: it.quote_hash.to_string(),
    };
    page(StatusCode::OK, &approval)
}

/// What the form sends.
#[derive(Deserialize)]
struct Answer {
    decision: String,
    form_token: String,
    quote_hash: String,
}

async fn answer(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<Answer>, FormRejection>,
) -> Response {
    let done: Result<(), Failure> = async {
        let open = Open::at(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_ours(&headers, &web.site_url)) else {
            return Err(CheckoutError::ForeignForm.into());
        };
        let decision = match form.decision.as_str() {
            "approve" => Decision::Approve,
            "reject" => Decision::Reject,
            _ => return Err(CheckoutError::ForeignForm.into()),
        };
        let (id, sent) = (named(&id)?, token(&form.form_token));
        let shown = form.quote_hash.parse().map_err(|_| CheckoutError::ForeignForm)?;
        checkout::decide(&open.counter(&web), id, decision, &sent, shown).await?;
        Ok(())
    }
    .await;
    match done {
        // The page is shown again by its address, so that loading it anew sends nothing.
        Ok(()) => Redirect::to(&format!("/{slug}/confirm/{id}")).into_response(),
        Err(failure) => sorry(&failure),
    }
}

fn named(id: &str) -> Result<ConfirmationId, CheckoutError> {
    id.parse().map_err(|_| CheckoutError::ConfirmationNotFound)
}

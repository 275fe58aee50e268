//! The page of an order, for whoever has its link: what was bought, where it is, and how to return it. Viewing it changes
//! nothing.

mod disputes;
mod form;
mod history;
mod returns;
mod view;

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use checkout::CheckoutError;
use database::Reading;
use merchants::Store;
use orders::{BuyerOptions, OrderDetails, OrderError};
use primitives::{ClientAddress, Failure, MerchantId, OrderId};
use serde::Deserialize;

use self::disputes::DisputesView;
use self::form::{Action, Fields, Submission};
use self::history::history;
use self::returns::ReturnsView;
use self::view::OrderView;
use crate::Web;
use crate::form::is_same_origin;
use crate::purchase_page::{AdmittedRequest, error_page, page};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/{slug}/orders/{order_id}", get(show))
        .route("/{slug}/orders/{order_id}/{action}", post(submit))
}

/// The token of a link to the page, as a query parameter. A link without one has an empty token, which no order has.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LinkToken {
    #[serde(default)]
    pub(crate) token: String,
}

impl LinkToken {
    pub(crate) fn of(query: Result<Query<Self>, QueryRejection>) -> Self {
        query.map(|Query(token)| token).unwrap_or_default()
    }
}

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage<'order> {
    view: OrderView<'order>,
    returns: ReturnsView<'order>,
    disputes: DisputesView<'order>,
    /// Time and sentence of each thing that happened, the oldest first.
    history: Vec<(String, String)>,
    /// Why a form was rejected.
    problem: Option<&'static str>,
    can_cancel: bool,
    can_change_address: bool,
    /// Whether the address has a postal code, so that a new one needs one as well.
    has_postal_code: bool,
    action: String,
    token: &'order str,
    /// The version that the page shows: every form of it is executed once.
    version: i32,
}

/// An order that somebody with its link opened.
struct LinkedOrder {
    details: OrderDetails,
    options: BuyerOptions,
    token: String,
}

impl LinkedOrder {
    async fn load(
        web: &Web,
        merchant: MerchantId,
        id: OrderId,
        token: String,
    ) -> Result<Self, OrderError> {
        let reading = Reading::for_store(&web.database, merchant)?;
        let (details, options) = orders::buyer_options(&reading, merchant, id).await?;
        Ok(Self { details, options, token })
    }
}

/// Returns the id of an order if the token is that of its page. A wrong token and an unknown order are the same error, and
/// no order is read to tell them apart.
fn authorize(web: &Web, store: &Store, id: &str, token: &str) -> Result<OrderId, OrderError> {
    let id: OrderId = id.parse().map_err(|_| OrderError::NotFound)?;
    let is_valid = web.order_links.is_valid(store.merchant, id, token);
    is_valid.then_some(id).ok_or(OrderError::NotFound)
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    query: Result<Query<LinkToken>, QueryRejection>,
) -> Response {
    let found: Result<(AdmittedRequest, LinkedOrder), Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let LinkToken { token } = LinkToken::of(query);
        let id = authorize(&web, request.store(), &id, &token)?;
        let order = LinkedOrder::load(&web, request.store().merchant, id, token).await?;
        Ok((request, order))
    }
    .await;
    match found {
        Ok((request, order)) => render(request.store(), &order, None),
        Err(failure) => error_page(&failure),
    }
}

fn render(store: &Store, linked: &LinkedOrder, problem: Option<&'static str>) -> Response {
    let (details, options) = (&linked.details, &linked.options);
    let destination = details.order.destination();
    let order_page = OrderPage {
        view: OrderView::of(store, details),
        returns: ReturnsView::of(details, options),
        disputes: DisputesView::of(details, options),
        history: history(details),
        problem,
        can_cancel: options.can_cancel,
        can_change_address: options.can_change_destination,
        has_postal_code: destination.is_some_and(|it| it["postal_code"].is_string()),
        action: format!("/{}/orders/{}", store.slug, details.order.id),
        token: &linked.token,
        version: details.order.version,
    };
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page(status, &order_page)
}

async fn submit(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id, action)): Path<(String, String, String)>,
    headers: HeaderMap,
    form: Result<Form<Fields>, FormRejection>,
) -> Response {
    let result: Result<Response, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(fields)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url))
        else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let store = request.store();
        let id = authorize(&web, store, &id, fields.text("token"))?;
        let action = Action::parse(&action).ok_or(OrderError::NotFound)?;
        let submission = Submission { database: &web.database, store, order: id, fields: &fields };
        match submission.execute(action).await {
            // A redirect, so that reloading the page does not submit the form again.
            Ok(()) => {
                let link = web.order_links.path(store.slug.as_str(), store.merchant, id);
                Ok(Redirect::to(&link).into_response())
            }
            Err(error) => {
                let problem = form::problem(action, &error).ok_or(error)?;
                let token = fields.text("token").to_owned();
                let order = LinkedOrder::load(&web, store.merchant, id, token).await?;
                Ok(render(store, &order, Some(problem)))
            }
        }
    }
    .await;
    result.unwrap_or_else(|failure| error_page(&failure))
}

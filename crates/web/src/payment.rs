//! The payment page, for stores that have none of their own. Viewing it changes nothing.

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use carts::{CartError, PricedCart};
use checkout::{CheckoutContext, CheckoutError, PayRequest, SessionSnapshot, Status};
use database::Reading;
use merchants::Store;
use payments::TestInstrument;
use primitives::{CheckoutId, ClientAddress, Failure, Problem, Timestamp};
use serde::Deserialize;

use crate::Web;
use crate::delivery_form::{DeliveryForm, DeliveryView};
use crate::form::{decode_token, encode_token, is_same_origin};
use crate::order_page::LinkToken;
use crate::purchase_page::{AdmittedRequest, error_page, page, visitor};
use crate::terms_view::{TermsView, format_time};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/{slug}/checkout/{checkout_id}", get(show))
        .route("/{slug}/checkout/{checkout_id}/delivery", post(deliver))
        .route("/{slug}/checkout/{checkout_id}/pay", post(pay))
        .route("/{slug}/checkout/{checkout_id}/decline", post(decline))
}

/// What the page asks of the person, or tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The person enters an address first.
    Address,
    /// The person reviews the final total and pays.
    Review,
    /// The store accepts payment on its own page only.
    Elsewhere,
    /// The store sells nothing at the moment.
    StoreClosed,
    /// Nothing is held for the person.
    NotPayable,
    Paying,
    Paid,
    Canceled,
    Expired,
}

impl Stage {
    fn of(context: &CheckoutContext<'_>, snapshot: &SessionSnapshot) -> Self {
        let session = &snapshot.session;
        match snapshot.status() {
            Status::RequiresEscalation | Status::ReadyForComplete if session.is_holding => {
                if !context.is_paid_on_hosted_page(session) {
                    Self::Elsewhere
                } else if context.store.admit().is_err() {
                    Self::StoreClosed
                } else if session.needs_address() {
                    Self::Address
                } else {
                    Self::Review
                }
            }
            Status::RequiresEscalation | Status::ReadyForComplete | Status::Incomplete => {
                Self::NotPayable
            }
            Status::CompleteInProgress => Self::Paying,
            Status::Completed => Self::Paid,
            Status::Canceled | Status::Expired if session.order.is_some() => Self::Paid,
            Status::Canceled => Self::Canceled,
            Status::Expired => Self::Expired,
        }
    }
}

#[derive(Template)]
#[template(path = "payment.html")]
struct PaymentView<'terms> {
    view: TermsView<'terms>,
    stage: Stage,
    /// `None` unless the person can still change where the purchase is delivered.
    delivery: Option<DeliveryView>,
    /// Why the submitted address was rejected.
    problem: Option<&'static str>,
    is_test_payment: bool,
    is_payment_failed: bool,
    /// Until when the agent cannot buy the same items; `None` unless the person declined them.
    declined_until: Option<String>,
    order_number: Option<String>,
    /// The link to the page of the order, for whoever paid it.
    order_link: Option<String>,
    action: String,
    form_token: String,
    quote_hash: String,
}

/// A session with its cart, as the page shows them.
struct Purchase {
    snapshot: SessionSnapshot,
    stage: Stage,
    /// `None` if the cart was purged.
    cart: Option<PricedCart>,
    /// Until when the agent cannot buy the same items, once they cannot be paid.
    declined_until: Option<Timestamp>,
    country: String,
    /// The link to the page of the order, if the visitor has its token.
    order_link: Option<String>,
}

impl Purchase {
    async fn load(web: &Web, request: &AdmittedRequest, id: &str) -> Result<Self, Failure> {
        let store = request.context(web).store;
        let reading = Reading::for_store(&web.database, store.merchant)?;
        let snapshot = checkout::session(&reading, store.merchant, parse_id(id)?, None).await?;
        let cart = match carts::cart(&reading, store, snapshot.session.cart, None).await {
            Ok(cart) => Some(cart),
            Err(CartError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        let stage = Stage::of(&request.context(web), &snapshot);
        let declined_until = match stage {
            Stage::NotPayable | Stage::Canceled | Stage::Expired => {
                checkout::declined_until(&request.context(web), &snapshot.session).await?
            }
            _ => None,
        };
        let country = store.country.clone();
        Ok(Self { snapshot, stage, cart, declined_until, country, order_link: None })
    }

    /// Shows the link to the page of the order, if the token is that of the link. The URL of this page is known to the
    /// merchant, who must not act as the buyer; the token is in the URL that the person gets who pressed Pay.
    fn reveal_order(&mut self, web: &Web, store: &Store, token: &LinkToken) {
        let order = self.snapshot.session.order;
        let order = order.filter(|it| web.order_links.is_valid(store.merchant, *it, &token.token));
        self.order_link =
            order.map(|it| web.order_links.path(store.slug.as_str(), store.merchant, it));
    }
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    query: Result<Query<LinkToken>, QueryRejection>,
) -> Response {
    let found: Result<Purchase, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let mut purchase = Purchase::load(&web, &request, &id).await?;
        purchase.reveal_order(&web, request.store(), &LinkToken::of(query));
        Ok(purchase)
    }
    .await;
    match found {
        Ok(purchase) => render(&web, &slug, &purchase, None),
        Err(failure) => error_page(&failure),
    }
}

fn render(web: &Web, slug: &str, purchase: &Purchase, problem: Option<&'static str>) -> Response {
    let snapshot = &purchase.snapshot;
    let session = &snapshot.session;
    let stage = purchase.stage;
    let is_open = matches!(stage, Stage::Address | Stage::Review);
    let mut view = TermsView::of(&session.terms);
    // The session outlives the cart; a closed session has no expiry to show.
    view.valid_until = is_open.then(|| format_time(session.expires_at));
    // The link is known to the agent, and works for as long as the session is kept.
    if !is_open {
        view.hide_buyer();
    }
    let cart = purchase.cart.as_ref().filter(|_| is_open);
    let payment = PaymentView {
        view,
        stage,
        delivery: cart.map(|cart| DeliveryView::new(cart, &purchase.country)),
        problem,
        is_test_payment: !web.payment_gateway.is_live(),
        is_payment_failed: is_open && session.is_payment_failed,
        declined_until: purchase.declined_until.map(format_time),
        order_number: session.order.map(orders::order_number),
        order_link: purchase.order_link.clone(),
        action: format!("/{slug}/checkout/{}", session.id),
        form_token: encode_token(&session.form_token),
        quote_hash: session.quote_hash.to_string(),
    };
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page(status, &payment)
}

async fn deliver(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<DeliveryForm>, FormRejection>,
) -> Response {
    let result: Result<Option<(Purchase, &'static str)>, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let purchase = Purchase::load(&web, &request, &id).await?;
        let token = decode_token(&form.form_token);
        let buyer = purchase.cart.as_ref().and_then(|priced| priced.cart.buyer.clone());
        let delivery = form.delivery(buyer);
        let delivered =
            checkout::deliver(&request.context(&web), parse_id(&id)?, &token, delivery).await;
        match delivered {
            Ok(_) => Ok(None),
            Err(error) => match problem(&error) {
                Some(problem) => Ok(Some((purchase, problem))),
                None => Err(error.into()),
            },
        }
    }
    .await;
    match result {
        Ok(Some((purchase, problem))) => render(&web, &slug, &purchase, Some(problem)),
        Ok(None) => redirect_back(Ok(()), &slug, &id),
        Err(failure) => error_page(&failure),
    }
}

/// Returns why an address was rejected, if the person can correct it.
fn problem(error: &CheckoutError) -> Option<&'static str> {
    match error {
        CheckoutError::NotReady { .. } => {
            Some("The store does not ship to this address, or not with this shipping option.")
        }
        CheckoutError::OutOfStock { .. } | CheckoutError::ReservedElsewhere { .. } => {
            Some("An item is no longer available. Ask your agent to prepare the purchase again.")
        }
        CheckoutError::Cart(CartError::InvalidCountry { .. }) => {
            Some("Enter the country as two letters, for example DE or US.")
        }
        CheckoutError::Cart(CartError::InvalidEmail) => Some("Enter a valid email address."),
        CheckoutError::Cart(error) if error.code().status() == 400 => {
            Some("A part of the address is too long or contains invalid characters.")
        }
        _ => None,
    }
}

/// The fields of the payment form.
#[derive(Deserialize)]
struct PaymentForm {
    instrument: String,
    form_token: String,
    quote_hash: String,
}

async fn pay(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<PaymentForm>, FormRejection>,
) -> Response {
    let result: Result<Option<String>, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let instrument = TestInstrument::parse(&form.instrument);
        let instrument = instrument.ok_or(CheckoutError::UnknownPaymentMethod)?.as_str();
        let token = decode_token(&form.form_token);
        let payment = PayRequest {
            instrument,
            form_token: &token,
            quote_hash: form.quote_hash.parse().map_err(|_| CheckoutError::CsrfRejected)?,
            visitor: visitor(from, &headers),
        };
        let paid = checkout::pay(&request.context(&web), parse_id(&id)?, payment).await?;
        // Only whoever pays gets the link to the order, not whoever repeats the form.
        let merchant = request.store().merchant;
        Ok(paid.placed.map(|order| web.order_links.token(merchant, order)))
    }
    .await;
    match result {
        Ok(Some(token)) => {
            Redirect::to(&format!("/{slug}/checkout/{id}?token={token}")).into_response()
        }
        other => redirect_back(other.map(|_| ()), &slug, &id),
    }
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

//! The payment page, for stores that have none of their own. Viewing it changes nothing.

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use carts::{CartError, PricedCart};
use checkout::{
    CheckoutContext, CheckoutError, OpenPage, PageMethods, PayRequest, PayResult, SessionSnapshot,
    Status,
};
use database::Reading;
use merchants::Store;
use payments::{ProviderName, TestInstrument};
use primitives::{CheckoutId, ClientAddress, Failure, MerchantId, Problem, Timestamp};
use serde::Deserialize;

use crate::Web;
use crate::delivery_form::{DeliveryForm, DeliveryView};
use crate::form::{decode_token, encode_token, is_same_origin};
use crate::order_page::LinkToken;
use crate::purchase_page::{AdmittedRequest, error_page, page, page_to_provider, visitor};
use crate::terms_view::{TermsView, format_time};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/{slug}/checkout/{checkout_id}", get(show))
        .route("/{slug}/checkout/{checkout_id}/delivery", post(deliver))
        .route("/{slug}/checkout/{checkout_id}/pay", post(pay))
        .route("/{slug}/checkout/{checkout_id}/return", get(come_back))
        .route("/{slug}/checkout/{checkout_id}/cancel-payment", post(cancel_payment))
        .route("/{slug}/checkout/{checkout_id}/decline", post(decline))
}

/// The cookie of a browser that started a payment, sent with the page of that purchase only. It lasts for a day.
const PAYER_COOKIE: &str = "souk_payer";
const PAYER_COOKIE_SECONDS: u32 = 86_400;

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
    fn of(
        context: &CheckoutContext<'_>,
        snapshot: &SessionSnapshot,
        methods: &PageMethods,
    ) -> Self {
        let session = &snapshot.session;
        match snapshot.status() {
            Status::RequiresEscalation | Status::ReadyForComplete if session.is_holding => {
                if !context.is_paid_on_hosted_page(session, methods) {
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
    /// What the person can pay with.
    choices: Vec<Choice>,
    is_test_payment: bool,
    /// Where the person can continue the payment that is in progress.
    open_page: Option<&'terms OpenPage>,
    /// Where the agent wants the person to continue: text, not a link.
    return_url: Option<&'terms str>,
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

/// A choice of the form: a method of payment.
struct Choice {
    value: &'static str,
    label: &'static str,
    is_first: bool,
}

/// Returns the choices of the form.
fn choices(methods: &PageMethods) -> Vec<Choice> {
    let labels = methods.iter().flat_map(|method| match (method.provider, method.is_live) {
        (ProviderName::Test, _) => vec![
            (TestInstrument::Approves.as_str(), "Test card that succeeds"),
            (TestInstrument::Declines.as_str(), "Test card that is declined"),
        ],
        (name @ ProviderName::Stripe, true) => vec![(name.as_str(), "Card, on the page of Stripe")],
        (name @ ProviderName::Stripe, false) => {
            vec![(name.as_str(), "Test card, on the page of Stripe")]
        }
        (name @ ProviderName::Paypal, true) => vec![(name.as_str(), "PayPal")],
        (name @ ProviderName::Paypal, false) => vec![(name.as_str(), "PayPal sandbox")],
        (ProviderName::Merchant | ProviderName::X402, _) => Vec::new(),
    });
    let labels = labels.enumerate();
    labels.map(|(index, (value, label))| Choice { value, label, is_first: index == 0 }).collect()
}

/// Returns the provider and the instrument of a choice.
fn chosen(value: &str) -> Option<(ProviderName, &'static str)> {
    if let Some(instrument) = TestInstrument::parse(value) {
        return Some((ProviderName::Test, instrument.as_str()));
    }
    // The person selects the instrument on the page of the provider.
    let name = ProviderName::parse(value).filter(|name| name.is_processor())?;
    Some((name, name.as_str()))
}

/// A session with its cart, as the page shows them.
struct Purchase {
    snapshot: SessionSnapshot,
    stage: Stage,
    methods: PageMethods,
    /// Where the payment that is in progress can be continued.
    open_page: Option<OpenPage>,
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
        let context = request.context(web);
        let store = context.store;
        let reading = Reading::for_store(&web.database, store.merchant)?;
        let snapshot = checkout::session(&reading, store.merchant, parse_id(id)?, None).await?;
        let cart = match carts::cart(&reading, store, snapshot.session.cart, None).await {
            Ok(cart) => Some(cart),
            Err(CartError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        let methods = context.methods(snapshot.session.owner.is_sandbox).await?;
        let stage = Stage::of(&context, &snapshot, &methods);
        let open_page = match stage {
            Stage::Paying => checkout::open_page(&context, snapshot.session.id).await?,
            _ => None,
        };
        let declined_until = match stage {
            Stage::NotPayable | Stage::Canceled | Stage::Expired => {
                checkout::declined_until(&context, &snapshot.session).await?
            }
            _ => None,
        };
        let country = store.country.clone();
        Ok(Self {
            snapshot,
            stage,
            methods,
            open_page,
            cart,
            declined_until,
            country,
            order_link: None,
        })
    }

    /// Shows the link to the page of the order, if the token is that of the link, or the browser started the payment. The URL of this
    /// page is known to the merchant, who must not act as the buyer; the token is in the URL that the person gets who pressed Pay.
    fn reveal_order(&mut self, web: &Web, store: &Store, token: &LinkToken, headers: &HeaderMap) {
        let session = &self.snapshot.session;
        let is_payer = is_payer(web, store.merchant, session.id, headers);
        let is_valid =
            |order: &_| web.order_links.is_valid(store.merchant, *order, &token.token) || is_payer;
        let order = session.order.filter(is_valid);
        self.order_link =
            order.map(|it| web.order_links.path(store.slug.as_str(), store.merchant, it));
    }
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
    headers: HeaderMap,
    query: Result<Query<LinkToken>, QueryRejection>,
) -> Response {
    let found: Result<Purchase, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let mut purchase = Purchase::load(&web, &request, &id).await?;
        purchase.reveal_order(&web, request.store(), &LinkToken::of(query), &headers);
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
        choices: choices(&purchase.methods),
        is_test_payment: purchase.methods.is_test(),
        open_page: purchase.open_page.as_ref(),
        return_url: session.return_url.as_deref().filter(|_| stage == Stage::Paid),
        is_payment_failed: is_open && session.is_payment_failed,
        declined_until: purchase.declined_until.map(format_time),
        order_number: session.order.map(orders::order_number),
        order_link: purchase.order_link.clone(),
        action: format!("/{slug}/checkout/{}", session.id),
        form_token: encode_token(&session.form_token),
        quote_hash: session.quote_hash.to_string(),
    };
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    if stage == Stage::Review {
        page_to_provider(status, &web.site_url, &payment)
    } else {
        page(status, &payment)
    }
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
    let result: Result<Response, Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let Some(Form(form)) = form.ok().filter(|_| is_same_origin(&headers, &web.site_url)) else {
            return Err(CheckoutError::CsrfRejected.into());
        };
        let choice = chosen(&form.instrument).ok_or(CheckoutError::UnknownPaymentMethod)?;
        let (provider, instrument) = choice;
        let token = decode_token(&form.form_token);
        let payment = PayRequest {
            provider,
            instrument,
            form_token: &token,
            quote_hash: form.quote_hash.parse().map_err(|_| CheckoutError::CsrfRejected)?,
            visitor: visitor(from, &headers),
        };
        let paid = checkout::pay(&request.context(&web), parse_id(&id)?, payment).await?;
        Ok(redirect_on(&web, request.store(), paid))
    }
    .await;
    result.unwrap_or_else(|failure| error_page(&failure))
}

/// Redirects whoever pressed Pay: to the page of the provider, or back to the page with the result.
fn redirect_on(web: &Web, store: &Store, paid: PayResult) -> Response {
    let (merchant, id) = (store.merchant, paid.snapshot.session.id);
    let path = format!("/{}/checkout/{id}", store.slug);
    if let Some(url) = paid.page_url {
        let mut response = Redirect::to(&url).into_response();
        if let Some(cookie) = payer_cookie(web, merchant, id, &path) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        return response;
    }
    // Only whoever pays gets the link to the order, not whoever repeats the form.
    match paid.placed {
        Some(order) => {
            let token = web.order_links.token(merchant, order);
            Redirect::to(&format!("{path}?token={token}")).into_response()
        }
        None => Redirect::to(&path).into_response(),
    }
}

/// Returns the cookie by which a browser is recognized that comes back from the page of a provider. `SameSite=Lax` sends it with that
/// navigation, and with no request of another site.
fn payer_cookie(
    web: &Web,
    merchant: MerchantId,
    checkout: CheckoutId,
    path: &str,
) -> Option<HeaderValue> {
    let token = web.order_links.payer_token(merchant, checkout);
    let secure = if web.site_url.starts_with("https://") { "; Secure" } else { "" };
    let cookie = format!(
        "{PAYER_COOKIE}={token}; Path={path}; Max-Age={PAYER_COOKIE_SECONDS}; HttpOnly; SameSite=Lax{secure}"
    );
    HeaderValue::from_str(&cookie).ok()
}

/// Returns whether the browser started a payment of the session.
fn is_payer(web: &Web, merchant: MerchantId, checkout: CheckoutId, headers: &HeaderMap) -> bool {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        texts.flat_map(|text| text.split(';')).filter_map(|it| it.trim().split_once('='));
    cookies.any(|(name, token)| {
        name == PAYER_COOKIE && web.order_links.is_payer(merchant, checkout, token)
    })
}

/// The person comes back from the page of a provider. That says nothing about the payment: the provider is asked.
async fn come_back(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    Path((slug, id)): Path<(String, String)>,
) -> Response {
    let result: Result<(), Failure> = async {
        let request = AdmittedRequest::admit(&web, &slug, from).await?;
        let id = parse_id(&id)?;
        match checkout::refresh_payment(&request.context(&web), id).await {
            Err(CheckoutError::NotFound) => Err(CheckoutError::NotFound.into()),
            Err(error) => {
                // The schedule asks again. The page shows what is known.
                tracing::warn!(checkout = %id, %error, "the payment of a returning person could not be asked for");
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }
    .await;
    redirect_back(result, &slug, &id)
}

/// Cancels the payment that is in progress, so that the person can pay in another way.
async fn cancel_payment(
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
        let token = decode_token(&form.form_token);
        checkout::abandon_payment(&request.context(&web), parse_id(&id)?, &token).await?;
        Ok(())
    }
    .await;
    redirect_back(result, &slug, &id)
}

/// The fields of a form without choices.
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

//! Checkouts without an address: the person enters it on the payment page, and pays exactly what the page shows.

use carts::{ApprovalScope, Buyer, Delivery, Destination, OpenPart};
use checkout::{CheckoutError, SessionSnapshot, Status};
use payments::TestInstrument;
use primitives::ErrorCode;
use primitives::Problem;

use crate::shop::{Shop, agent};

fn delivery(country: &str) -> Delivery {
    let destination = Destination {
        country: country.to_owned(),
        city: Some(String::from("Berlin")),
        street: Some(String::from("Way 1")),
        ..Destination::default()
    };
    let buyer = Some(Buyer { email: Some(String::from("eve@example.com")), ..Buyer::default() });
    Delivery { destination, buyer, shipping_option: None }
}

async fn deliver(
    shop: &Shop,
    at: &SessionSnapshot,
    delivery: Delivery,
) -> Result<SessionSnapshot, CheckoutError> {
    checkout::deliver(&shop.context(), at.session.id, &at.session.form_token, delivery).await
}

#[tokio::test]
async fn the_person_enters_the_address_and_pays_the_shown_total() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let at = shop.complete_open(&agent(1), mug, 2).await;
    assert_eq!(at.status(), Status::RequiresEscalation);
    assert_eq!(at.session.terms.open, OpenPart::ALL);
    assert_eq!(at.session.terms.scope(), ApprovalScope::Items);
    assert_eq!(at.session.terms.total_minor, 2_500, "estimates are not part of the terms");
    assert_eq!(at.session.total.minor(), 2_990, "the agent sees the estimate");
    assert!(at.record().totals.is_estimate);
    let early = shop.pay(&at, TestInstrument::Approves).await.unwrap_err();
    assert_eq!(early.code(), ErrorCode::CheckoutNotReady);
    let abroad = deliver(&shop, &at, delivery("FR")).await.unwrap_err();
    assert_eq!(abroad.code(), ErrorCode::CheckoutNotReady, "the store does not ship there");
    let ready = deliver(&shop, &at, delivery("DE")).await.unwrap();
    assert_eq!(ready.session.terms.scope(), ApprovalScope::Total);
    let claimed = ready.record().human_confirmation.scope;
    assert_eq!(claimed, ApprovalScope::Items, "nobody has approved the total yet");
    let only_country = Delivery {
        destination: Destination { country: String::from("DE"), ..Destination::default() },
        ..delivery("DE")
    };
    let vague = deliver(&shop, &ready, only_country).await.unwrap();
    let early = shop.pay(&vague, TestInstrument::Approves).await.unwrap_err();
    assert_eq!(early.code(), ErrorCode::CheckoutNotReady, "goods are sent to an address");
    let ready = deliver(&shop, &at, delivery("DE")).await.unwrap();
    assert_ne!(ready.session.quote_hash, at.session.quote_hash);
    assert_eq!(shop.stock_and_held(mug).await, (2, 2), "the units stay held");
    let stale = shop.pay(&at, TestInstrument::Approves).await.unwrap_err();
    assert!(matches!(stale, CheckoutError::QuoteChanged { .. }), "only the shown total is paid");
    let paid = shop.pay(&ready, TestInstrument::Approves).await.unwrap();
    assert_eq!((paid.status(), paid.session.total.minor()), (Status::Completed, 2_990));
    assert_eq!(paid.record().human_confirmation.scope, ApprovalScope::Total);
    assert_eq!(paid.session.expires_at, at.session.expires_at);
    let order = paid.session.order.unwrap();
    let (reading, viewer) = (shop.reading(), orders::Viewer::Merchant);
    let order = orders::order(&reading, shop.store.merchant, order, &viewer).await.unwrap();
    assert_eq!((order.total.minor(), order.shipping_minor), (2_990, Some(490)));
    assert_eq!(order.confirmation.as_str(), "hosted");
    assert_eq!(order.buyer.unwrap()["email"], "eve@example.com");
}

#[tokio::test]
async fn an_address_needs_the_form_and_an_open_session() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let at = shop.complete_open(&agent(1), mug, 2).await;
    let mut forged = at.clone();
    forged.session.form_token = [0; 16];
    let refused = deliver(&shop, &forged, delivery("DE")).await;
    assert!(matches!(refused, Err(CheckoutError::CsrfRejected)));
    checkout::cancel(&shop.context(), &agent(1), at.session.id, None, None).await.unwrap();
    let late = deliver(&shop, &at, delivery("DE")).await;
    assert!(matches!(late, Err(CheckoutError::InvalidTransition { from: Status::Canceled })));
}

#[tokio::test]
async fn a_store_can_require_a_destination() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    shop.put_settings(&merchants::Settings { destination_required: true, ..known }).await;
    let cart = shop.open_cart(&agent(1), mug, 1).await;
    let refused = shop.complete(&agent(1), cart.cart.id).await.unwrap_err();
    assert!(
        matches!(refused, CheckoutError::NotReady { missing, .. } if missing == ["destination"])
    );
}

#[tokio::test]
async fn the_question_names_the_amounts_that_are_open() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let question = async |cart: &carts::PricedCart| {
        let asked = checkout::request(&shop.context(), &agent(1), cart.cart.id).await.unwrap();
        asked.question().split_once(" from ").unwrap().0.to_owned()
    };
    let open = shop.open_cart(&agent(1), mug, 1).await;
    assert_eq!(question(&open).await, "Buy 1 item(s) for 12.50 EUR plus shipping and tax");
    let closed = shop.cart(&agent(1), &[(mug, 1)]).await;
    assert_eq!(question(&closed).await, "Buy 1 item(s) for 17.40 EUR");
    // A store without rates states the price of shipping on its own page.
    let own_page = Some("https://attic.example/?order={checkout_id}".parse().unwrap());
    let settings = merchants::Settings { checkout_url: own_page, ..merchants::Settings::default() };
    shop.put_settings(&settings).await;
    let quantity = carts::Quantity::ONE;
    let items = vec![carts::Item { product: mug, variant: None, quantity }];
    let destination = Some(delivery("DE").destination);
    let new = carts::NewCart { items, destination, ..carts::NewCart::default() };
    let database = shop.test.database();
    let stated = carts::create(database, &shop.store, &agent(1), new, None).await.unwrap();
    assert_eq!(stated.terms.open, [OpenPart::Shipping]);
    assert_eq!(question(&stated).await, "Buy 1 item(s) for 12.50 EUR plus shipping");
}

#[tokio::test]
async fn the_hash_of_an_open_quote_covers_no_estimate() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let before = shop.open_cart(&agent(1), mug, 1).await;
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    let mut dearer = known.clone();
    dearer.shipping[0].rates[0].price_minor = 990;
    shop.put_settings(&dearer).await;
    let after = carts::cart(&shop.reading(), &shop.store, before.cart.id, None).await.unwrap();
    assert_ne!(after.quote.total_minor, before.quote.total_minor);
    assert_eq!(after.quote_hash, before.quote_hash);
}

#[tokio::test]
async fn a_started_checkout_can_be_finished_until_the_store_is_suspended() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let at = shop.complete_open(&agent(1), mug, 1).await;
    let other = shop.complete_open(&agent(2), mug, 1).await;
    // Too low for a checkout to start.
    shop.set_standing(0.5).await;
    let ready = deliver(&shop, &at, delivery("DE")).await.unwrap();
    let paid = shop.pay(&ready, TestInstrument::Approves).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    let ready = deliver(&shop, &other, delivery("DE")).await.unwrap();
    shop.set_standing(0.1).await;
    let late = deliver(&shop, &ready, delivery("DE")).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::StoreSuspended);
    let late = shop.pay(&ready, TestInstrument::Approves).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::StoreSuspended);
}

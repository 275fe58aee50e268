//! Reading an order: the callers that find it, and what is expected next.

use std::time::Duration;

use orders::{Order, OrderError, OrderStatus, Shipment};
use primitives::{Id, OrderId};
use serde_json::json;

use crate::fulfillment::{shipment, units};
use crate::shop::{Shop, agent, order};

#[tokio::test]
async fn the_merchant_and_the_agent_that_bought_read_an_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for caller in [None, Some(agent(1))] {
        assert_eq!(shop.read(order(1).id, caller).await.unwrap(), order(1));
    }
}

#[tokio::test]
async fn the_order_of_another_agent_is_as_unknown_as_one_that_does_not_exist() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for (id, agent) in [(order(1).id, agent(2)), (OrderId::from_random(9), agent(1))] {
        assert!(matches!(shop.read(id, Some(agent)).await, Err(OrderError::NotFound)));
    }
}

#[tokio::test]
async fn a_store_does_not_find_the_order_of_another_store() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.place(&order(1)).await.unwrap();
    for caller in [None, Some(agent(1))] {
        let read = shop.read_for(other, order(1).id, caller).await;
        assert!(matches!(read, Err(OrderError::NotFound)));
    }
    // Ids are unique per store only.
    shop.place_for(other, &order(1)).await.unwrap();
    assert!(shop.read_for(other, order(1).id, None).await.is_ok());
}

#[tokio::test]
async fn an_order_expects_another_status_until_it_has_ended() {
    let shop = Shop::open().await;
    for (number, status) in (1..).zip(OrderStatus::ALL.iter().copied()) {
        shop.place(&Order { status, ..order(number) }).await.unwrap();
        let expected = shop.details(order(number).id).await.expected_status();
        assert_eq!(expected.is_none(), status.is_final(), "{status}");
        assert!(expected.is_none_or(|it| it.status != status), "{status}");
    }
}

#[tokio::test]
async fn a_delivery_is_expected_as_it_was_announced_or_else_as_the_terms_promised() {
    let shop = Shop::open().await;
    let terms = json!({ "shipping": { "days_min": 1, "days_max": 4 } });
    shop.place(&Order { terms, ..order(1) }).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    let after_days = |days: u64| Some(order(1).created_at.plus(Duration::from_hours(days * 24)));
    let expected = async || {
        let expected = shop.details(id).await.expected_status().unwrap();
        (expected.status, expected.by)
    };
    assert_eq!(expected().await, (OrderStatus::Confirmed, None));
    let announced = Shipment { expected_by: after_days(2), ..shipment(&[units(1, 2)]) };
    let first = orders::ship(&merchant, id, None, announced).await.unwrap().subject.unwrap();
    assert_eq!(expected().await, (OrderStatus::Shipped, None));
    orders::ship(&merchant, id, None, Shipment::default()).await.unwrap();
    assert_eq!(expected().await, (OrderStatus::Delivered, after_days(2)));
    orders::deliver(&merchant, id, None, vec![first.parse().unwrap()]).await.unwrap();
    assert_eq!(expected().await, (OrderStatus::Delivered, after_days(4)));
    orders::deliver(&merchant, id, None, Vec::new()).await.unwrap();
    assert_eq!(expected().await, (OrderStatus::Completed, after_days(14)));
}

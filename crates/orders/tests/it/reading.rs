//! Reading an order: the callers that find it.

use orders::OrderError;
use primitives::{Id, OrderId};

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

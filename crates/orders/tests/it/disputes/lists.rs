//! Reading disputes: by id, of a store, and those that an administrator decides.

use orders::{DisputeCursor, DisputesFilter};
use primitives::MerchantId;

use super::*;

/// Opens a dispute about an order with this number, and answers it if it is to be decided.
async fn open_of(case: &Case, merchant: MerchantId, number: u128, answered: bool) -> DisputeId {
    let agent = by_agent();
    let context = OrderContext { merchant, ..case.context(&agent) };
    let opened = orders::open_dispute(&context, order(number).id, new_dispute()).await.unwrap();
    let id = opened.subject.unwrap().parse().unwrap();
    if answered {
        let by = by_merchant();
        // Merchants do not see orders of sandboxes.
        let context = OrderContext { merchant, viewer: Viewer::All, ..case.context(&by) };
        orders::answer_dispute(&context, order(number).id, id, statement("a")).await.unwrap();
    }
    id
}

#[tokio::test]
async fn a_dispute_is_read_by_who_sees_its_order() {
    let case = Case::new().await;
    let other = case.shop.another_merchant().await;
    let id = case.open().await;
    let database = case.shop.test.database();
    assert_eq!(orders::merchant_of_dispute(database, id).await.unwrap(), case.shop.merchant);
    let read = async |merchant, id, viewer: Viewer| {
        let reading = Reading::for_store(database, merchant).unwrap();
        orders::dispute(&reading, merchant, id, &viewer).await
    };
    let (merchant, keys) = (case.shop.merchant, vec![agent(2), agent(1)]);
    for viewer in [Viewer::Agent(keys), Viewer::Merchant, Viewer::All] {
        let (details, dispute) = read(merchant, id, viewer).await.unwrap();
        assert_eq!((details.order.id, dispute.id), (order(1).id, id));
        assert_eq!(dispute.statements.len(), 1);
    }
    for (merchant, id, viewer) in [
        (merchant, id, Viewer::Agent(vec![agent(2)])),
        (other, id, Viewer::All),
        (merchant, DisputeId::from_random(9), Viewer::All),
    ] {
        let unknown = read(merchant, id, viewer).await;
        assert!(matches!(unknown, Err(OrderError::DisputeNotFound)), "{unknown:?}");
    }
    let unknown = orders::merchant_of_dispute(database, DisputeId::from_random(9)).await;
    assert!(matches!(unknown, Err(OrderError::DisputeNotFound)), "{unknown:?}");
}

#[tokio::test]
async fn statements_are_read_with_one_dispute_and_on_the_page_and_not_in_lists() {
    let case = Case::new().await;
    let merchant = case.shop.merchant;
    let first = open_of(&case, merchant, 1, true).await;
    case.withdraw(&by_agent(), first).await.unwrap();
    case.advance(MICRO);
    let second = open_of(&case, merchant, 1, true).await;
    let numbers = |details: &OrderDetails| -> Vec<(u32, usize)> {
        details.disputes.iter().map(|it| (it.statement_count, it.statements.len())).collect()
    };
    // Lists of orders, of disputes, and an order by itself.
    let filter = orders::OrdersFilter { limit: 10, ..orders::OrdersFilter::default() };
    let (reading, keys) = (case.reading(), vec![agent(1)]);
    let database = case.shop.test.database();
    for viewer in [Viewer::Merchant, Viewer::Agent(keys.clone())] {
        let parts = orders::OrderParts::All;
        let page = orders::orders(&reading, merchant, &viewer, &filter, parts).await.unwrap();
        assert_eq!(numbers(&page.orders[0].1), [(2, 0), (2, 0)], "{viewer:?}");
    }
    let page = orders::orders_of_keys_at(database, None, &keys, &filter).await.unwrap();
    assert_eq!(numbers(&page.orders[0].1), [(2, 0), (2, 0)]);
    assert_eq!(numbers(&case.shop.details(order(1).id).await), [(2, 0), (2, 0)]);
    let all = DisputesFilter { limit: 10, ..DisputesFilter::default() };
    let page = orders::disputes_of_store(&reading, merchant, &all).await.unwrap();
    let undecided = orders::disputes_to_decide(database, None, 10).await.unwrap();
    for (.., dispute) in page.disputes.iter().chain(&undecided.disputes) {
        assert_eq!((dispute.statement_count, dispute.statements.len()), (2, 0));
    }
    // One dispute, a change of it, and the page.
    let (details, dispute) = case.read(second).await;
    assert_eq!((dispute.statements.len(), numbers(&details)), (2, vec![(2, 0), (2, 2)]));
    let said = case.answer(&by_agent(), second, statement("a")).await.unwrap();
    assert_eq!(numbers(&said.details), [(2, 0), (3, 3)]);
    let page = orders::buyer_options(&reading, merchant, order(1).id).await.unwrap().0;
    assert_eq!(numbers(&page), [(2, 2), (3, 3)]);
    // A change of something else.
    let confirmed = orders::confirm(&case.context(&by_merchant()), order(1).id, None).await;
    assert_eq!(numbers(&confirmed.unwrap().details), [(2, 0), (3, 0)]);
}

#[tokio::test]
async fn disputes_of_a_store_are_listed_newest_first_without_those_of_sandboxes() {
    let case = Case { shop: Shop::open().await };
    let other = case.shop.another_merchant().await;
    let merchant = case.shop.merchant;
    let mut ids = Vec::new();
    for number in 1..=5 {
        case.shop.place(&order(number)).await.unwrap();
        ids.push(open_of(&case, merchant, number, number > 3).await);
        // The third and fourth are opened at the same time.
        case.advance(if number == 3 { Duration::ZERO } else { MICRO });
    }
    case.shop.place(&Order { is_sandbox: true, ..order(6) }).await.unwrap();
    open_of(&case, merchant, 6, false).await;
    case.shop.place_for(other, &order(7)).await.unwrap();
    open_of(&case, other, 7, false).await;

    ids[2..4].sort_by(|a, b| b.cmp(a));
    ids.reverse();
    let list = async |filter: DisputesFilter| {
        let page = orders::disputes_of_store(&case.reading(), merchant, &filter).await.unwrap();
        let ids: Vec<DisputeId> = page.disputes.iter().map(|(.., dispute)| dispute.id).collect();
        assert!(page.disputes.iter().all(|(store, ..)| *store == merchant));
        (ids, page.next)
    };
    let all = DisputesFilter { limit: 10, ..DisputesFilter::default() };
    assert_eq!(list(all.clone()).await, (ids.clone(), None));
    let (mut seen, mut after): (Vec<DisputeId>, Option<DisputeCursor>) = (Vec::new(), None);
    loop {
        let (page, next) = list(DisputesFilter { after, limit: 1, ..all.clone() }).await;
        seen.extend(page);
        let Some(next) = next else { break };
        after = Some(next.to_string().parse().unwrap());
    }
    assert_eq!(seen, ids);
    let statuses = vec![DisputeStatus::UnderReview];
    assert_eq!(list(DisputesFilter { statuses, ..all.clone() }).await.0.len(), 2);
    let of_one = DisputesFilter { order: Some(order(5).id), ..all };
    assert_eq!(list(of_one).await.0, ids[..1]);
}

#[tokio::test]
async fn administrators_see_what_they_decide_the_most_urgent_first() {
    let case = Case { shop: Shop::open().await };
    let other = case.shop.another_merchant().await;
    let mut expected = Vec::new();
    for number in 1..=5 {
        let merchant = if number % 2 == 0 { case.shop.merchant } else { other };
        let placed = Order { is_sandbox: number == 4, ..order(number) };
        case.shop.place_for(merchant, &placed).await.unwrap();
        let id = open_of(&case, merchant, number, number != 3).await;
        if number < 3 || number == 5 {
            expected.push((merchant, order(number).id, id));
        }
        case.advance(DAY);
    }
    let list = async |after, limit| {
        let database = case.shop.test.database();
        let page = orders::disputes_to_decide(database, after, limit).await.unwrap();
        let ids = page.disputes.into_iter().map(|(merchant, order, it)| (merchant, order, it.id));
        (ids.collect::<Vec<_>>(), page.next)
    };
    assert_eq!(list(None, 10).await, (expected.clone(), None));
    let (page, next) = list(None, 2).await;
    assert_eq!(page, expected[..2]);
    assert_eq!(list(next, 2).await, (expected[2..].to_vec(), None));
}

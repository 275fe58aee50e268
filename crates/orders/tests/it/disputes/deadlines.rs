//! The deadline for the answer, and the reminder of it.

use jobs::{Sweep, SweepRow};
use orders::{EscalateDisputes, RemindOfDisputes};
use primitives::MerchantId;
use uuid::Uuid;

use super::*;

/// Returns the rows that a sweep finds.
async fn found<S: Sweep>(case: &Case, after: Option<SweepRow>, limit: i64) -> Vec<SweepRow> {
    let platform = Reading::for_platform(case.shop.test.database());
    platform.run(async |sql| S::find(sql, after, limit).await).await.unwrap()
}

#[tokio::test]
async fn a_dispute_without_an_answer_is_under_review_at_the_deadline() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance((DAY * 7).saturating_sub(MICRO));
    case.shop.run::<EscalateDisputes>().await;
    assert_eq!(case.read(id).await.1.status, DisputeStatus::Open);
    case.advance(MICRO);
    let now = Timestamp::from_unix_micros(testkit::START).plus(DAY * 7);
    for _ in 0..2 {
        case.shop.run::<EscalateDisputes>().await;
        let (details, dispute) = case.read(id).await;
        assert_eq!(dispute.status, DisputeStatus::UnderReview);
        assert_eq!((dispute.respond_by, dispute.updated_at), (now, now));
        assert_eq!((dispute.decide_by, dispute.answered_at), (Some(now.plus(DAY * 14)), None));
        let [_, entry] = details.history.as_slice() else { panic!("{details:?}") };
        assert_eq!((entry.kind, &entry.actor), (HistoryKind::DisputeChanged, &Actor::SYSTEM));
        assert_eq!(entry.reason.as_deref(), Some("no_answer"));
        let expected = json!({ "dispute_id": id, "dispute_status": "under_review" });
        assert_eq!((&entry.details, entry.occurred_at), (&expected, now));
        case.advance(DAY);
    }
    assert_eq!(case.shop.count(RESOLVED).await, 0);
    case.decide(&by_platform(), id, decision(Resolution::Buyer, None)).await.unwrap();
}

#[tokio::test]
async fn an_answered_or_ended_dispute_is_not_escalated() {
    let case = Case::new().await;
    let id = case.open().await;
    let row = SweepRow {
        merchant: case.shop.merchant,
        id: id.uuid(),
        due_at: Timestamp::from_unix_micros(testkit::START).plus(DAY * 7),
    };
    let process = async |row| {
        EscalateDisputes::process(case.shop.test.database().clone(), row, ()).await.unwrap();
    };
    // The row was read, and changed before it was processed.
    process(row).await;
    assert_eq!(case.read(id).await.1.status, DisputeStatus::Open, "before the deadline");
    case.answer(&by_merchant(), id, statement("It was delivered.")).await.unwrap();
    case.advance(DAY * 8);
    let answered = case.read(id).await;
    process(row).await;
    assert_eq!(case.read(id).await, answered);
    case.withdraw(&by_agent(), id).await.unwrap();
    process(row).await;
    assert_eq!(case.read(id).await.1.status, DisputeStatus::Withdrawn);
    assert_eq!(found::<EscalateDisputes>(&case, None, 10).await, []);
    // A row that was purged is no error, nor is one of a store that does not have it.
    process(SweepRow { id: Uuid::nil(), ..row }).await;
    let other = case.shop.another_merchant().await;
    process(SweepRow { merchant: other, ..row }).await;
}

#[tokio::test]
async fn concurrent_runs_escalate_a_dispute_once() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance(DAY * 7);
    let row = found::<EscalateDisputes>(&case, None, 10).await[0];
    let process = || EscalateDisputes::process(case.shop.test.database().clone(), row, ());
    let (one, two, three) = tokio::join!(process(), process(), process());
    one.and(two).and(three).unwrap();
    assert_eq!(case.read(id).await.0.history.len(), 2);
}

#[tokio::test]
async fn the_merchant_is_reminded_once_two_days_before_the_deadline() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance((DAY * 5).saturating_sub(MICRO));
    case.shop.run::<RemindOfDisputes>().await;
    assert_eq!(case.notices().await.len(), 1);
    case.advance(MICRO);
    let before = case.read(id).await;
    for _ in 0..2 {
        case.shop.run::<RemindOfDisputes>().await;
        let notices = case.notices().await;
        let [(NoticeKind::DisputeOpened, opened), (NoticeKind::DisputeReminder, reminder)] =
            notices.as_slice()
        else {
            panic!("{notices:?}")
        };
        assert_eq!(reminder, opened);
        let now = Timestamp::from_unix_micros(testkit::START).plus(DAY * 5);
        let (details, dispute) = case.read(id).await;
        assert_eq!(dispute, Dispute { reminded_at: Some(now), ..before.1.clone() });
        assert_eq!(
            (details.history, details.order),
            (before.0.history.clone(), before.0.order.clone())
        );
        case.advance(MICRO);
    }
    assert_eq!(found::<RemindOfDisputes>(&case, None, 10).await, []);
}

#[tokio::test]
async fn concurrent_runs_remind_once() {
    let case = Case::new().await;
    case.open().await;
    case.advance(DAY * 6);
    let row = found::<RemindOfDisputes>(&case, None, 10).await[0];
    let process = || RemindOfDisputes::process(case.shop.test.database().clone(), row, ());
    let (one, two) = tokio::join!(process(), process());
    one.and(two).unwrap();
    let notices = case.notices().await;
    let reminders = notices.iter().filter(|(kind, _)| *kind == NoticeKind::DisputeReminder);
    assert_eq!(reminders.count(), 1, "{notices:?}");
}

#[tokio::test]
async fn nobody_is_reminded_of_a_dispute_that_is_answered_or_overdue() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance(DAY * 6);
    let row = found::<RemindOfDisputes>(&case, None, 10).await[0];
    let process = || RemindOfDisputes::process(case.shop.test.database().clone(), row, ());
    case.answer(&by_merchant(), id, statement("It was delivered.")).await.unwrap();
    process().await.unwrap();
    assert_eq!(found::<RemindOfDisputes>(&case, None, 10).await, []);
    case.withdraw(&by_agent(), id).await.unwrap();

    let overdue = case.open().await;
    case.advance((DAY * 7).saturating_sub(MICRO));
    let row = found::<RemindOfDisputes>(&case, None, 10).await[0];
    assert_eq!(row.id, overdue.uuid());
    case.advance(MICRO);
    assert_eq!(found::<RemindOfDisputes>(&case, None, 10).await, []);
    RemindOfDisputes::process(case.shop.test.database().clone(), row, ()).await.unwrap();
    let kinds = case.notices().await.into_iter().map(|(kind, _)| kind);
    assert!(!kinds.collect::<Vec<_>>().contains(&NoticeKind::DisputeReminder));
}

#[tokio::test]
async fn disputes_of_sandboxes_pass_their_deadlines_in_silence() {
    let case = Case::with(Order { is_sandbox: true, ..order(1) }).await;
    let id = case.open().await;
    case.advance(DAY * 5);
    case.shop.run::<RemindOfDisputes>().await;
    assert_eq!(found::<RemindOfDisputes>(&case, None, 10).await, []);
    case.advance(DAY * 2);
    case.shop.run::<EscalateDisputes>().await;
    assert_eq!(case.read(id).await.1.status, DisputeStatus::UnderReview);
    assert_eq!(case.notices().await, []);
    assert_eq!(case.shop.count("SELECT count(*) FROM webhook_event").await, 0);
}

/// Opens disputes about orders 2 to 6 of two stores, a microsecond apart, and returns them.
async fn several(case: &Case) -> Vec<(MerchantId, DisputeId)> {
    let other = case.shop.another_merchant().await;
    let mut opened = Vec::new();
    for number in 2..=6 {
        let merchant = if number % 2 == 0 { case.shop.merchant } else { other };
        case.shop.place_for(merchant, &order(number)).await.unwrap();
        let agent = by_agent();
        let context = OrderContext { merchant, ..case.context(&agent) };
        let dispute = orders::open_dispute(&context, order(number).id, new_dispute()).await;
        opened.push((merchant, dispute.unwrap().subject.unwrap().parse().unwrap()));
        case.advance(MICRO);
    }
    opened
}

#[tokio::test]
async fn rows_are_found_in_the_order_of_their_deadlines() {
    let case = Case::new().await;
    let opened = several(&case).await;
    let expected: Vec<_> = opened.iter().map(|(merchant, id)| (*merchant, id.uuid())).collect();
    let names = |rows: &[SweepRow]| -> Vec<(MerchantId, Uuid)> {
        rows.iter().map(|row| (row.merchant, row.id)).collect()
    };
    case.advance((DAY * 5).saturating_sub(MICRO));
    let rows = found::<RemindOfDisputes>(&case, None, 10).await;
    assert_eq!(names(&rows), expected);
    assert!(found::<EscalateDisputes>(&case, None, 10).await.is_empty());
    let rest = found::<RemindOfDisputes>(&case, Some(rows[1]), 2).await;
    assert_eq!(names(&rest), expected[2..4]);
    case.advance(DAY * 2);
    let rows = found::<EscalateDisputes>(&case, None, 10).await;
    assert_eq!(names(&rows), expected);
    let rest = found::<EscalateDisputes>(&case, Some(rows[2]), 10).await;
    assert_eq!(names(&rest), expected[3..]);
    assert_eq!(names(&found::<EscalateDisputes>(&case, None, 2).await), expected[..2]);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_stop_the_others() {
    let case = Case::new().await;
    let opened = several(&case).await;
    case.advance(DAY * 7);
    sqlx::query("UPDATE order_dispute SET reason = 'unknown' WHERE dispute_id = $1")
        .bind(opened[0].1.uuid())
        .execute(&mut case.shop.test.raw().await)
        .await
        .unwrap();
    case.shop.run::<EscalateDisputes>().await;
    let open = found::<EscalateDisputes>(&case, None, 10).await;
    assert_eq!(open.iter().map(|row| row.id).collect::<Vec<_>>(), [opened[0].1.uuid()]);
    let failed = "SELECT count(*) FROM sweep_failure WHERE sweep = 'orders.escalate_disputes'";
    assert_eq!(case.shop.count(failed).await, 1);
    // It is processed once it can be read.
    case.shop.execute("UPDATE order_dispute SET reason = 'other'").await.unwrap();
    case.shop.run::<EscalateDisputes>().await;
    assert_eq!(found::<EscalateDisputes>(&case, None, 10).await, []);
    assert_eq!(case.shop.count(failed).await, 0);
}

//! Payments whose outcome is unknown.

use std::time::Duration;

use database::{Database, DatabaseError, Reading};
use primitives::{MerchantId, PaymentId, Timestamp};

use super::Finding;

/// Age of a pending payment from which its buyer waits too long. A job asks the provider every minute.
const PENDING_MAX: Duration = Duration::from_mins(10);
/// Payments that are counted.
const COUNTED_MAX: i64 = 1_000;

/// Checks for payments that stay pending: the buyer may have paid, and there is no order.
pub(super) async fn check(database: &Database) -> Finding {
    let remedy = "`souk jobs rows` and the log of `souk work` have the error of `checkout.ask_again`, which asks the \
                  provider every minute; ask the provider for these payments";
    match pending(database).await {
        Err(error) => Finding::problem("payments", error.to_string(), "see PostgreSQL"),
        Ok((_, old)) if old.is_empty() => {
            Finding::ok("payments", "none is pending for more than ten minutes")
        }
        Ok((now, old)) => {
            let (merchant, payment, since) = old[0];
            let is_all = i64::try_from(old.len()).is_ok_and(|count| count < COUNTED_MAX);
            let more = if is_all { "" } else { " or more" };
            let minutes = now.since(since).as_secs() / 60;
            let text = format!(
                "{}{more} pending for more than ten minutes, the oldest for {minutes}: {payment} of {merchant}",
                old.len(),
            );
            Finding::problem("payments", text, remedy)
        }
    }
}

type Pending = (MerchantId, PaymentId, Timestamp);

/// Returns the current time, and payments that are pending too long, the oldest first.
async fn pending(database: &Database) -> Result<(Timestamp, Vec<Pending>), DatabaseError> {
    let find = async |sql: &mut database::Snapshot| -> Result<_, DatabaseError> {
        let now = sql.now().await?;
        let before = now.minus(PENDING_MAX);
        Ok((now, payments::find_pending(sql, before, None, COUNTED_MAX).await?))
    };
    Reading::for_platform(database).run(find).await
}

#[cfg(test)]
mod tests {
    use database::Work;
    use primitives::{CheckoutId, Currency, Id, Money};
    use testkit::TestDatabase;

    use super::super::Level;
    use super::*;

    #[tokio::test]
    async fn a_payment_that_stays_pending_is_a_problem() {
        let test = TestDatabase::new().await;
        let begin = async |number| {
            let merchant = MerchantId::from_random(1);
            let mut work = Work::for_checkout(test.database(), merchant).await.unwrap();
            let (checkout, amount) =
                (CheckoutId::from_random(number), Money::new(1, Currency::EUR));
            let payment = payments::create(&mut work, merchant, checkout, "x", "card", amount);
            let id = payment.await.unwrap().id;
            work.commit().await.unwrap();
            id
        };
        let first = begin(1).await;
        test.clock().advance(PENDING_MAX);
        assert_eq!(check(test.database()).await.level, Level::Ok);
        begin(2).await;
        test.clock().advance(Duration::from_mins(5));
        let found = check(test.database()).await;
        assert_eq!(found.level, Level::Problem);
        let oldest = format!("the oldest for 15: {first} of");
        assert!(found.text.starts_with("1 pending") && found.text.contains(&oldest), "{found:?}");
        assert!(found.remedy.contains("souk jobs rows"));
    }
}

//! Ends without an order: called off by somebody, or noticed by a job when time is over. Either way the units go back and the
//! merchant hears of it, once.

use carts::{CartStatus, Owner};
use database::{Reading, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{CheckoutId, KeyId, MerchantId, Money};
use serde::{Deserialize, Serialize};
use webhooks::{AbandonedItem, Announcement, CheckoutAbandoned};

use crate::{At, CheckoutError, Counter, Session, Status, Step, read, table};

/// How many sessions are looked for at once.
const AT_ONCE: i64 = 200;

/// Calls a checkout off. Doing it again changes nothing.
pub async fn cancel(
    counter: &Counter<'_>,
    owner: &Owner,
    id: CheckoutId,
    reason_code: Option<&str>,
) -> Result<At, CheckoutError> {
    call_off(counter, id, Some(owner.key), reason_code).await
}

/// Calls a checkout off, by whoever may: its agent, or the person on our page.
pub(crate) async fn call_off(
    counter: &Counter<'_>,
    id: CheckoutId,
    agent: Option<KeyId>,
    reason_code: Option<&str>,
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = counter.work().await?;
    let now = work.now();
    let (mut session, _) = read::hold(&mut work, merchant, id, agent).await?;
    if session.kept_status == Status::Canceled {
        return Ok(At { session, now });
    }
    session.reason_code = reason_code.map(str::to_owned);
    end(&mut work, merchant, &mut session, Step::Cancel).await?;
    work.commit().await?;
    Ok(At { session, now })
}

/// Ends a session that is held: units back, cart closed, merchant told.
async fn end(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    step: Step,
) -> Result<(), CheckoutError> {
    let (now, before, stage) = (work.now(), session.version, session.kept_status);
    let last_activity_at = session.updated_at;
    session.step(step, now)?;
    if session.is_holding {
        let units = session.units();
        catalog::give_back(work, merchant, session.owner.shelf(), &units).await?;
        session.is_holding = false;
    }
    table::update(work, merchant, session, before).await?;
    let to = if step == Step::Cancel { CartStatus::Canceled } else { CartStatus::Expired };
    carts::set_status(work, merchant, session.cart, CartStatus::CheckoutStarted, to).await?;
    if session.owner.is_sandbox {
        return Ok(());
    }
    let settings = merchants::settings_now(work, merchant).await?;
    let items = session.lines.iter().map(|line| (line.sku.as_str(), line.quantity));
    let recovery_url = carts::shop_link(&settings, items);
    let currency = session.total.currency();
    let item = |line: &orders::OrderLine| AbandonedItem {
        product_id: line.product,
        quantity: line.quantity,
        unit_price: Money::new(line.unit_minor, currency).to_decimal(),
    };
    let told = Announcement::CheckoutAbandoned(CheckoutAbandoned {
        checkout: session.id,
        cart: session.cart,
        slug: session.terms.store.slug.clone(),
        total: session.total,
        status: session.kept_status.name(),
        stage: stage.name(),
        items: session.lines.iter().map(item).collect(),
        started_at: session.started_at,
        last_activity_at,
        reason_code: session.reason_code.clone(),
        recovery_url,
    });
    webhooks::announce(work, merchant, &told).await?;
    Ok(())
}

/// Notices sessions nobody paid in time. It comes round every minute; each session is ended in a work of its own, so a worker
/// that dies leaves the rest to the next round.
#[derive(Debug, Serialize, Deserialize)]
pub struct NoticeAbandoned {
    epoch: Epoch,
}

impl Scheduled for NoticeAbandoned {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for NoticeAbandoned {
    const NAME: &'static str = "checkout.notice_abandoned";
    type Needs = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let reading = Reading::for_platform(context.database());
        loop {
            let mut snapshot = reading.open().await?;
            let now = snapshot.now().await?;
            let over = table::over(&mut snapshot, now, AT_ONCE).await?;
            snapshot.close().await?;
            let is_last = i64::try_from(over.len()).unwrap_or(i64::MAX) < AT_ONCE;
            for (merchant, id) in over {
                expire(&context, merchant, id).await.map_err(failed)?;
            }
            if is_last {
                return Ok(Outcome::DONE);
            }
        }
    }
}

async fn expire(
    context: &JobContext,
    merchant: MerchantId,
    id: CheckoutId,
) -> Result<(), CheckoutError> {
    let mut work = context.work_for_store(merchant).await?;
    let now = work.now();
    let (mut session, _) = match read::hold(&mut work, merchant, id, None).await {
        Err(CheckoutError::NotFound) => return Ok(()),
        held => held?,
    };
    // Somebody may have been quicker.
    if session.status(now) != Status::Expired || session.kept_status == Status::Expired {
        return Ok(work.abandon().await?);
    }
    end(&mut work, merchant, &mut session, Step::Expire).await?;
    database::crash_point("expire.before_commit");
    Ok(work.commit().await?)
}

pub(crate) fn failed(error: CheckoutError) -> JobError {
    match error {
        CheckoutError::Job(error) => error,
        CheckoutError::Database(error) => JobError::Database(error),
        other => JobError::Failed(other.to_string()),
    }
}

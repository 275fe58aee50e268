//! The verbs, driven in random order: every change of a stored status is a transition of the table, and every transition
//! of the table is taken. A trigger records the changes, so that no change is missed inside a transaction.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use carts::{CartOwner, CartRef, CartUpdate, Destination, Edit};
use checkout::{
    CheckoutError, Complete, INITIAL_STATUSES, NewSession, PaymentReport, ReportedAmounts, Status,
    TRANSITIONS, Update,
};
use payments::TestInstrument;
use primitives::{CartId, CheckoutId, ProductId};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use sqlx::PgConnection;
use tokio::sync::Mutex;

use crate::shop::{Shop, agent};

/// Sequences of calls.
const CASES: u32 = 120;

const RECORD_CHANGES: &str = "
    CREATE TABLE status_change (before text, after text);
    CREATE FUNCTION record_status_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO status_change VALUES (NULL, NEW.status);
        ELSIF NEW.status <> OLD.status THEN
            INSERT INTO status_change VALUES (OLD.status, NEW.status);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER record_status_change AFTER INSERT OR UPDATE ON checkout_session
        FOR EACH ROW EXECUTE FUNCTION record_status_change();";

/// A call of a verb.
#[derive(Debug, Clone, Copy)]
enum Call {
    Create,
    Complete,
    /// Sets a destination that the store ships to.
    MoveHome,
    /// Sets a destination that the store does not ship to.
    MoveAbroad,
    UpdateNothing,
    /// Changes the session while the item is out of stock.
    RunOut,
    PayDeclined,
    PayApproved,
    ReportPaid,
    /// The person declines to pay.
    Decline,
    Cancel,
    /// The session's lifetime elapses.
    Expire,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let first = prop_oneof![Just(vec![]), Just(vec![Call::MoveAbroad])];
    let start = prop_oneof![Just(Call::Create), Just(Call::Complete)];
    let call = prop_oneof![
        4 => Just(Call::Complete),
        2 => Just(Call::MoveHome),
        2 => Just(Call::MoveAbroad),
        1 => Just(Call::UpdateNothing),
        4 => Just(Call::RunOut),
        3 => Just(Call::PayDeclined),
        1 => Just(Call::PayApproved),
        1 => Just(Call::ReportPaid),
        2 => Just(Call::Decline),
        1 => Just(Call::Cancel),
        1 => Just(Call::Expire),
    ];
    (first, start, proptest::collection::vec(call, 1..7)).prop_map(|(mut calls, start, rest)| {
        calls.push(start);
        calls.extend(rest);
        calls
    })
}

type Change = (Option<Status>, Status);

struct Driver {
    shop: Shop,
    mug: ProductId,
    /// Reads the recorded changes.
    log: Mutex<PgConnection>,
    /// One for each sequence, because a decline stands for the agent that asked.
    agents: AtomicU64,
}

impl Driver {
    async fn new() -> Self {
        let shop = Shop::open().await;
        let [mug] = shop.stock(&[("mug", "12.50", 9_999)]).await;
        let mut log = shop.test.raw().await;
        sqlx::raw_sql(RECORD_CHANGES).execute(&mut log).await.unwrap();
        Self { shop, mug, log: Mutex::new(log), agents: AtomicU64::new(1) }
    }

    /// Makes the calls for a new cart and returns the changes they stored.
    async fn run(&self, calls: &[Call]) -> Vec<Change> {
        let number = self.agents.fetch_add(1, Ordering::Relaxed);
        let owner = agent(u128::from(number));
        let cart = self.shop.cart(&owner, &[(self.mug, 1)]).await;
        let mut session = None;
        for call in calls {
            let result = self.call(&owner, *call, cart.cart.id, session).await;
            let is_defect = matches!(
                &result,
                Err(CheckoutError::Unreadable | CheckoutError::Database(_) | CheckoutError::Job(_))
            );
            assert!(!is_defect, "{call:?}: {result:?}");
            session = result.ok().flatten().or(session);
        }
        let stored: Vec<(Option<String>, String)> =
            sqlx::query_as("DELETE FROM status_change RETURNING before, after")
                .fetch_all(&mut *self.log.lock().await)
                .await
                .unwrap();
        let parse = |name: &str| Status::parse(name).unwrap();
        stored.iter().map(|(from, to)| (from.as_deref().map(parse), parse(to))).collect()
    }

    /// Makes a call and returns the session, if there is one.
    async fn call(
        &self,
        owner: &CartOwner,
        call: Call,
        cart: CartId,
        session: Option<CheckoutId>,
    ) -> Result<Option<CheckoutId>, CheckoutError> {
        let context = self.shop.context();
        let started = match call {
            Call::Create => {
                Some(checkout::create(&context, owner, cart, &NewSession::default(), None).await?)
            }
            Call::Complete => {
                self.shop.stock(&[("mug", "12.50", 9_999)]).await;
                Some(checkout::complete(&context, owner, &Complete::cart(cart), None).await?)
            }
            _ => None,
        };
        match (started, session) {
            (Some(started), _) => Ok(Some(started.session.id)),
            (None, Some(id)) => self.continue_session(owner, call, id).await.map(|()| Some(id)),
            (None, None) => self.change_cart(owner, call, cart).await.map(|()| None),
        }
    }

    async fn continue_session(
        &self,
        owner: &CartOwner,
        call: Call,
        id: CheckoutId,
    ) -> Result<(), CheckoutError> {
        let context = self.shop.context();
        let (reading, merchant) = (self.shop.reading(), self.shop.store.merchant);
        let at = checkout::session(&reading, merchant, id, None).await?;
        let token = at.session.form_token;
        let pay = |instrument: TestInstrument| self.shop.pay(&at, instrument);
        let update = async |country: Option<&str>| {
            let destination = country.map(destination);
            let data = CartUpdate { destination, ..CartUpdate::default() };
            let change = Update { data, session: NewSession::default() };
            checkout::update(&context, owner, id, &change, None).await
        };
        match call {
            Call::Create | Call::Complete => {}
            Call::MoveHome => drop(update(Some("DE")).await?),
            Call::MoveAbroad => drop(update(Some("FR")).await?),
            Call::UpdateNothing => drop(update(None).await?),
            Call::RunOut => {
                self.shop.stock(&[("mug", "12.50", 0)]).await;
                let updated = update(None).await;
                self.shop.stock(&[("mug", "12.50", 9_999)]).await;
                updated?;
            }
            Call::PayDeclined => drop(pay(TestInstrument::Declines).await?),
            Call::PayApproved => drop(pay(TestInstrument::Approves).await?),
            Call::ReportPaid => {
                let amounts = ReportedAmounts::default();
                let report = PaymentReport { reference: id.to_string(), amounts };
                checkout::report_paid(&context, id, &report).await?;
            }
            Call::Decline => drop(checkout::decline(&context, id, &token).await?),
            Call::Cancel => drop(checkout::cancel(&context, owner, id, None, None).await?),
            Call::Expire => {
                self.shop.advance(checkout::SESSION_LIFETIME + Duration::from_mins(1));
                self.shop.run::<checkout::ExpireSessions>(()).await;
            }
        }
        Ok(())
    }

    /// Changes the destination of a cart that has no session yet.
    async fn change_cart(
        &self,
        owner: &CartOwner,
        call: Call,
        cart: CartId,
    ) -> Result<(), CheckoutError> {
        let edit = match call {
            Call::MoveHome => Edit::Destination(destination("DE")),
            Call::MoveAbroad => Edit::Destination(destination("FR")),
            _ => return Ok(()),
        };
        let cart = CartRef { agent: owner.key, id: cart };
        let (database, store) = (self.shop.test.database(), &self.shop.store);
        carts::change(database, store, cart, None, &[edit], None).await?;
        Ok(())
    }
}

fn destination(country: &str) -> Destination {
    Destination { country: country.to_owned(), ..Destination::default() }
}

fn is_allowed(change: Change) -> bool {
    match change {
        (None, to) => INITIAL_STATUSES.iter().any(|(status, _)| *status == to),
        (Some(from), to) => TRANSITIONS.iter().any(|(a, _, b)| (*a, *b) == (from, to)),
    }
}

#[test]
fn the_verbs_take_exactly_the_transitions_of_the_table() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let driver = runtime.block_on(Driver::new());
    let observed = std::cell::RefCell::new(BTreeSet::new());
    let config = Config {
        cases: CASES,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&calls(), |calls| {
        for change in runtime.block_on(driver.run(&calls)) {
            if !is_allowed(change) {
                return Err(TestCaseError::fail(format!("{change:?} is not in the table")));
            }
            observed.borrow_mut().insert(change);
        }
        Ok(())
    });
    outcome.unwrap();
    let observed = observed.into_inner();
    for (from, transition, to) in TRANSITIONS {
        assert!(observed.contains(&(Some(*from), *to)), "{from} > {to} ({transition}) not taken");
    }
    for (status, _) in INITIAL_STATUSES {
        assert!(observed.contains(&(None, *status)), "no session started as {status}");
    }
}

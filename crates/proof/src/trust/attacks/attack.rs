//! What attackers do, and what it costs them.

use std::time::Duration;

use trust::{AgentDay, Component, DayCounts, Epoch, PolicyFigures, StateFigures};

use super::BEGIN;
use super::victim::{begin, row};

/// Price of a purchase.
const PRICE_MINOR: i64 = 20_00;
/// Delivered orders of one account that count, as published.
const ACCOUNT_DELIVERED_MAX: i64 = 5;

/// Who attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Somebody who wants the score of another store to fall.
    Competitor,
    /// The store itself, by accounts that it controls.
    Merchant,
}

/// What an account does on each day of the attack.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// Starts so many checkouts and pays none.
    Start(u32),
    /// Buys once, and starts so many checkouts that it does not pay.
    BuyAndStart(u32),
    /// Buys on one day, and on the next starts so many checkouts and pays none.
    BuyThenStart(u32),
    /// Buys once, and wins a dispute over it.
    BuyAndDispute,
    /// Buys so often, and everything goes well.
    Buy(u32),
}

impl Act {
    /// Returns the facts of the day with this number.
    fn counts(self, day: i32) -> DayCounts {
        let started = |started: u32| DayCounts { started, ..DayCounts::default() };
        match self {
            Self::Start(number) => started(number),
            Self::BuyAndStart(number) => {
                let bought = bought(1);
                DayCounts { started: bought.started.saturating_add(number), ..bought }
            }
            Self::BuyThenStart(number) if day % 2 == 1 => started(number),
            Self::BuyThenStart(_) => bought(1),
            Self::BuyAndDispute => DayCounts { disputes_lost: 1, ..bought(1) },
            Self::Buy(number) => bought(number),
        }
    }
}

/// Purchases of a day that went well.
fn bought(number: u32) -> DayCounts {
    DayCounts {
        started: number,
        completed: number,
        lasting: number,
        kept: number,
        orders: number,
        in_stock: number,
        on_time: number,
        delivered: number,
        price_equal: number,
        amount_minor: PRICE_MINOR * i64::from(number),
        ..DayCounts::default()
    }
}

/// Purchases of a day that are canceled once the day is settled, before anything is shipped.
fn canceled(counts: DayCounts) -> DayCounts {
    DayCounts { lasting: 0, in_stock: 0, on_time: 0, delivered: 0, ..counts }
}

/// An attack by accounts, with its budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) by: By,
    act: Act,
    pub(super) accounts: u32,
    pub(super) days: i32,
    /// Whether nobody else buys during the attack: the attacker holds all stock.
    pub(super) stops_sales: bool,
    /// Whether every purchase is canceled, after its day is settled and before it matures: the money comes back.
    pub(super) cancels: bool,
}

impl Attack {
    /// Returns the rows of all attackers, sorted by account and day.
    pub(super) fn rows(&self) -> Vec<AgentDay> {
        let of_account = |account: u128| {
            (0..self.days).map(move |day| row(account, BEGIN.0 + day, self.counts(day)))
        };
        (0..u128::from(self.accounts)).flat_map(of_account).collect()
    }

    /// Returns the rows of all attackers as if they had started nothing but what they bought.
    pub(super) fn purchases_alone(&self) -> Vec<AgentDay> {
        let mut rows = self.rows();
        for row in &mut rows {
            row.counts.started = row.counts.completed;
        }
        rows
    }

    /// Returns the facts of the day with this number.
    fn counts(&self, day: i32) -> DayCounts {
        let counts = self.act.counts(day);
        if self.cancels { canceled(counts) } else { counts }
    }

    /// Returns the orders that were delivered to the attackers until the last day that counts at an epoch, as far as they count.
    pub(super) fn delivered_until(&self, epoch: Epoch) -> i64 {
        let days = (0..self.days).filter(|day| BEGIN.0 + day <= epoch.last_day().0);
        let delivered: i64 = days.map(|day| i64::from(self.counts(day).delivered)).sum();
        delivered.min(ACCOUNT_DELIVERED_MAX) * i64::from(self.accounts)
    }

    pub(super) fn purchases(&self) -> u64 {
        let of_account = (0..self.days).map(|day| u64::from(self.act.counts(day).orders));
        of_account.sum::<u64>() * u64::from(self.accounts)
    }

    /// Returns the money that is paid and does not come back, in whole units of the currency.
    pub(super) fn turnover(&self) -> i64 {
        if self.cancels {
            return 0;
        }
        i64::try_from(self.purchases()).unwrap_or(i64::MAX).saturating_mul(PRICE_MINOR / 100)
    }

    /// Whether the attacker only does what costs nothing, and nothing may change.
    pub(super) fn is_free(&self) -> bool {
        self.purchases() == 0 && !self.stops_sales
    }
}

/// Attacks with the budgets that are tried. The large ones only in the long form.
pub(super) fn attacks(is_long: bool) -> Vec<Attack> {
    let attack = |name, by, act, accounts, days| Attack {
        name,
        by,
        act,
        accounts,
        days,
        stops_sales: false,
        cancels: false,
    };
    let competitor = |name, act, accounts, days| attack(name, By::Competitor, act, accounts, days);
    let merchant = |name, act, accounts, days| attack(name, By::Merchant, act, accounts, days);
    let hoarding = competitor("hoarding, all sales lost", Act::Start(50), 10, 90);
    let canceling = |name, act, accounts, days| Attack {
        cancels: true,
        ..competitor(name, act, accounts, days)
    };
    let mut attacks = vec![
        competitor("starts 1,000 checkouts a day", Act::Start(1_000), 1, 90),
        competitor("the same with 10,000 keys", Act::Start(10_000_000), 1, 90),
        competitor("the same with 100 accounts", Act::Start(1_000), 100, 30),
        competitor("hoards stock", Act::Start(50), 10, 90),
        Attack { stops_sales: true, ..hoarding },
        competitor("buys, starts 1,000 that day", Act::BuyAndStart(1_000), 1, 5),
        competitor("buys, starts 1,000 that day", Act::BuyAndStart(1_000), 10, 5),
        competitor("buys, starts 1,000 the next day", Act::BuyThenStart(1_000), 10, 10),
        canceling("buys, starts 1,000 that day, cancels later", Act::BuyAndStart(1_000), 15, 5),
        canceling(
            "buys, starts 1,000 the next day, cancels later",
            Act::BuyThenStart(1_000),
            15,
            10,
        ),
        competitor("buys, is right in every dispute", Act::BuyAndDispute, 1, 5),
        competitor("buys, is right in every dispute", Act::BuyAndDispute, 10, 5),
        competitor("buys, is wrong in every dispute", Act::Buy(1), 10, 5),
        merchant("buys from itself, 1,000 orders in a day", Act::Buy(1_000), 1, 1),
        merchant("the same with 3 accounts", Act::Buy(1_000), 3, 1),
        merchant("the same with 4 accounts", Act::Buy(1_000), 4, 1),
        merchant("buys from itself, wash volume", Act::Buy(1_000_000), 1, 90),
        merchant("buys from itself", Act::Buy(1), 1, 90),
        merchant("buys from itself", Act::Buy(1), 10, 5),
    ];
    if is_long {
        attacks.extend([
            competitor("the same with 1,000 accounts", Act::Start(1_000), 1_000, 5),
            competitor("buys, starts 1,000 that day", Act::BuyAndStart(1_000), 100, 5),
            competitor("buys, starts 1,000 the next day", Act::BuyThenStart(1_000), 100, 10),
            canceling(
                "buys, starts 1,000 that day, cancels later",
                Act::BuyAndStart(1_000),
                100,
                5,
            ),
            canceling(
                "buys, starts 1,000 the next day, cancels later",
                Act::BuyThenStart(1_000),
                100,
                10,
            ),
            competitor("buys, is right in every dispute", Act::BuyAndDispute, 100, 5),
            merchant("buys from itself", Act::Buy(1), 100, 5),
            merchant("buys from itself", Act::Buy(1), 1_000, 5),
        ]);
    }
    attacks
}

/// How far a change of a store's own figures may lift its score.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Nothing,
    /// The share of the score that a component decides, after redistribution.
    WeightOf(Component),
}

/// An attack of a merchant by its own catalog and settings, which cost nothing.
#[derive(Clone, Copy)]
pub(super) struct Stuffing {
    pub(super) name: &'static str,
    /// The figures before: as poor as this attack can begin with.
    pub(super) before: fn(&mut StateFigures),
    pub(super) after: fn(&mut StateFigures),
    pub(super) limit: Limit,
}

/// Attacks by figures of the store.
pub(super) const STUFFINGS: [Stuffing; 5] = [
    Stuffing {
        name: "fills in every policy",
        before: |state| state.policies = PolicyFigures::default(),
        after: |state| {
            state.policies = PolicyFigures { returns: true, shipping: true, privacy: true };
        },
        limit: Limit::WeightOf(Component::PolicyCoverage),
    },
    Stuffing {
        name: "rates one product with 5.0",
        before: |state| rate(state, 0),
        after: |state| rate(state, 1),
        limit: Limit::WeightOf(Component::ReviewSentiment),
    },
    Stuffing {
        name: "rates all products with 5.0",
        before: |state| rate(state, 0),
        after: |state| {
            let all = state.products;
            rate(state, all);
        },
        limit: Limit::WeightOf(Component::ReviewSentiment),
    },
    Stuffing {
        name: "invents images and GTINs",
        before: |state| state.complete = 0,
        after: |state| state.complete = state.products,
        limit: Limit::WeightOf(Component::CatalogCompleteness),
    },
    Stuffing {
        name: "synchronizes every minute",
        before: |state| synchronize(state, Duration::from_hours(24)),
        after: |state| synchronize(state, Duration::from_mins(1)),
        limit: Limit::Nothing,
    },
];

fn synchronize(state: &mut StateFigures, ago: Duration) {
    state.synced_at = Some(begin().as_of().minus(ago));
}

fn rate(state: &mut StateFigures, products: i64) {
    state.rated_products = products;
    state.rating_sum_hundredths = products * 500;
}

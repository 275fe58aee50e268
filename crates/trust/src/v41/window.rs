//! The facts of the last 90 days, by account.

use super::tier::EvidenceProfile;
use crate::evidence::{AgentDay, Day, Epoch, Evidence, matured_quarters};

/// Days of the window.
pub(super) const WINDOW_DAYS: i32 = 90;
/// Outcomes in the window that one account contributes to a rate; more are scaled down to this.
pub(super) const ACCOUNT_OUTCOMES_MAX: u32 = 5;
/// Least number of outcomes, after the limit of each account, for a rate.
pub(super) const OUTCOMES_MIN: u32 = 5;
/// Least number of accounts for a rate.
pub(super) const ACCOUNTS_MIN: u32 = 3;
/// Decimals of a cent.
const CENT_DECIMALS: u32 = 2;

/// Returns the first and the last day of the window of an epoch: the 90 days up to the last one that counts at it.
#[must_use]
pub fn v41_window(epoch: Epoch) -> (Day, Day) {
    let last = epoch.last_day();
    (Day(last.0.saturating_sub(WINDOW_DAYS - 1)), last)
}

/// The evidence of a store with the sums of each account over the window.
pub(super) struct Window<'e> {
    pub(super) evidence: &'e Evidence,
    accounts: Vec<AccountTotals>,
}

/// What one account did in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AccountTotals {
    pub(super) started: u32,
    pub(super) completed: u32,
    /// Of days that have begun to mature.
    pub(super) lasting: u32,
    pub(super) kept: u32,
    pub(super) orders: u32,
    /// Days with at least one order.
    pub(super) order_days: u32,
    pub(super) in_stock: u32,
    pub(super) out_of_stock: u32,
    pub(super) on_time: u32,
    pub(super) late: u32,
    pub(super) disputes_lost: u32,
    pub(super) amount_minor: i64,
}

impl AccountTotals {
    fn of<'d>(days: impl Iterator<Item = &'d AgentDay>, epoch: Epoch) -> Self {
        let mut totals = Self::default();
        for AgentDay { day, counts, .. } in days {
            let add = |sum: &mut u32, count: u32| *sum = sum.saturating_add(count);
            add(&mut totals.started, counts.started);
            add(&mut totals.completed, counts.completed);
            if matured_quarters(*day, epoch) > 0 {
                add(&mut totals.lasting, counts.lasting);
            }
            add(&mut totals.kept, counts.kept);
            add(&mut totals.orders, counts.orders);
            add(&mut totals.order_days, u32::from(counts.orders > 0));
            add(&mut totals.in_stock, counts.in_stock);
            add(&mut totals.out_of_stock, counts.out_of_stock);
            add(&mut totals.on_time, counts.on_time);
            add(&mut totals.late, counts.late);
            add(&mut totals.disputes_lost, counts.disputes_lost);
            totals.amount_minor = totals.amount_minor.saturating_add(counts.amount_minor);
        }
        totals
    }
}

impl<'e> Window<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let (first, last) = v41_window(evidence.epoch);
        let is_counted = |row: &&AgentDay| first <= row.day && row.day <= last;
        let rows = evidence.sorted_days();
        let accounts = rows.chunk_by(|one, other| one.account == other.account);
        let totals =
            |rows: &[AgentDay]| AccountTotals::of(rows.iter().filter(is_counted), evidence.epoch);
        Self { evidence, accounts: accounts.map(totals).collect() }
    }

    /// Returns the share of good outcomes, with the contribution of each account limited; `None` below the minimum sample.
    pub(super) fn rate(&self, outcomes: impl Fn(&AccountTotals) -> (u32, u32)) -> Option<f64> {
        let (mut good_sum, mut sum, mut accounts) = (0.0, 0.0, 0);
        for account in &self.accounts {
            let (good, bad) = outcomes(account);
            let all = f64::from(good) + f64::from(bad);
            if all > 0.0 {
                let factor = (f64::from(ACCOUNT_OUTCOMES_MAX) / all).min(1.0);
                good_sum += f64::from(good) * factor;
                sum += all * factor;
                accounts += 1;
            }
        }
        let is_sample = accounts >= ACCOUNTS_MIN && sum >= f64::from(OUTCOMES_MIN);
        is_sample.then(|| good_sum / sum)
    }

    /// Returns the accounts that placed an order.
    pub(super) fn buyers(&self) -> impl Iterator<Item = &AccountTotals> {
        self.accounts.iter().filter(|account| account.orders > 0)
    }

    /// Returns the orders that were placed.
    pub(super) fn orders(&self) -> i64 {
        self.accounts.iter().map(|account| i64::from(account.orders)).sum()
    }

    /// Returns the figures that decide about the tier.
    pub(super) fn profile(&self) -> EvidenceProfile {
        EvidenceProfile {
            human_orders: self.evidence.v41.human.fulfilled,
            agent_orders: self.evidence.delivered_total,
            store_age_days: self.evidence.v41.store_age_days,
            gmv_cents: self.gmv_cents(),
            unique_buyers: i64::try_from(self.buyers().count()).unwrap_or(i64::MAX),
        }
    }

    /// Returns the amount of the orders less all refunds, in cents; `None` in a currency that has no cents here.
    fn gmv_cents(&self) -> Option<i64> {
        let digits = self.evidence.v41.currency_decimals?.checked_sub(CENT_DECIMALS)?;
        let ordered = self
            .accounts
            .iter()
            .fold(0_i64, |sum, account| sum.saturating_add(account.amount_minor));
        let net = ordered.saturating_sub(self.evidence.v41.refunds.amount_minor).max(0);
        net.checked_div(10_i64.checked_pow(digits)?)
    }
}

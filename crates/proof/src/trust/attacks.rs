//! `attacks`: attackers with budgets, simulated on evidence alone, over ninety days of epochs, against stores of several sizes
//! and against stores that stand exactly on the edge of a band.
//!
//! Each attack is compared with the same store without it, epoch by epoch. The check fails
//! - if a competitor who buys nothing changes a score by a single bit, and so if one moves a store across a band;
//! - if one account, with everybody else's days fixed, changes a score by more than 0.01 from one epoch to the next;
//! - if purchases that are canceled after their days are settled make a single checkout count that was not completed: every
//!   score has to be, bit by bit, that with these purchases alone;
//! - if a new store with fewer than four accounts of its own is ranked higher than a provisional one;
//! - if a figure that a merchant states lifts its score by more than the redistributed weight of its component, or another
//!   statement than what happened by more than that of the component, or than the score without the purchases;
//! - if a competitor that holds all stock for ninety days leaves another score than that of the figures of the catalog.
//!
//! What attackers with money achieve is not prevented but bounded. The table states it: the largest change at any epoch, and
//! the cost. A competitor that holds all stock keeps buyers away: facts that do not happen cannot be counted, so that the score
//! moves towards the figures of the catalog, across bands too. Limits of holds (docs/contract/checkout.md#hold-limits) answer
//! for that, not the score.

mod attack;
mod evasion;
mod victim;

use merchants::{Band, PROVISIONAL_RANK_MAX, Standing};
use trust::{AgentDay, Day, Epoch, Evidence, matured_quarters, quarters};

use self::attack::{Attack, By, Limit, STUFFINGS, Stuffing, attacks};
use self::evasion::EVASIONS;
use self::victim::{Victim, begin};
use super::properties::ACCOUNT_CHANGE_MAX;
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::table_print::Table;

/// The first day of every attack.
const BEGIN: Day = Day(20_800);
/// Epochs in which attacked stores are compared: ninety days, and the time in which the last day enters.
const EPOCHS: i64 = 4 * 92;
/// Epochs after the begin of an attack until the days of an account have left the window: these steps are looked at as well.
const EPOCHS_UNTIL_LEFT: i64 = 4 * 188;
/// Quarters of a day that counts as a whole.
const WHOLE: u8 = 4;
/// Tolerance of comparisons: scores are rounded to twelve decimals.
const ROUNDING: f64 = 1e-11;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let rng = trial.rng(20);
    let is_long = trial.tier == Tier::Full;
    let simulated = tokio::task::spawn_blocking(move || {
        let mut rng = rng;
        simulate(&Victim::all(&mut rng), is_long)
    });
    let found = simulated.await??;
    found.table.print();
    println!(
        "Change: the largest at any epoch, with its sign. A purchase is 20; a merchant that buys from itself gets the money \
         back. Who cancels gets it back as well: the purchase stays counted as one that went well, and nothing else counts. Ranking: \
         the same of the score that a store is ranked by. The last rows are merchants that fail every fifth order, compared with \
         the same merchants if they state what happened; who cancels as requested loses the purchase, and nothing else."
    );
    Ok(format!(
        "{} attacks on {} stores: free ones change nothing, bit by bit; canceled purchases make no other checkout count; one \
         account at most {:.4} in an epoch, and none alone ends a provisional time; what is stated at most its weight",
        found.attacks, found.stores, found.largest_step
    ))
}

/// What the simulation found.
struct Found {
    table: Table,
    attacks: usize,
    stores: usize,
    largest_step: f64,
}

fn simulate(victims: &[Victim], is_long: bool) -> Result<Found, Failure> {
    let head = [
        "attack",
        "store",
        "accounts",
        "days",
        "purchases",
        "paid",
        "change",
        "ranking",
        "one account, one epoch",
        "band",
    ];
    let mut table = Table::new(&head);
    let (mut largest_step, attacks) = (0.0_f64, attacks(is_long));
    for attack in &attacks {
        let mut outcomes = Vec::new();
        for victim in victims.iter().filter(|victim| is_meant(attack, victim)) {
            let outcome = Outcome::of(attack, victim, is_long);
            outcome.check(attack, victim)?;
            largest_step = largest_step.max(outcome.step);
            outcomes.push((victim.name, outcome));
        }
        outcomes.sort_by(|(_, one), (_, other)| other.effect().total_cmp(&one.effect()));
        let shown = if is_long { outcomes.len() } else { 1 };
        for (name, outcome) in outcomes.iter().take(shown) {
            table.add(line(attack, name, outcome));
        }
    }
    for stuffing in STUFFINGS {
        for victim in victims.iter().filter(|victim| matches!(victim.name, "medium" | "at 0.20")) {
            let lift = lift(&stuffing, victim)?;
            table.add(free_line(stuffing.name, victim, "1", lift));
        }
    }
    for evasion in EVASIONS {
        for victim in victims.iter().filter(|victim| matches!(victim.name, "medium" | "large")) {
            table.add(free_line(evasion.name, victim, "90", evasion.gain(victim)?));
        }
    }
    let attacks = attacks.len() + STUFFINGS.len() + EVASIONS.len();
    Ok(Found { table, attacks, stores: victims.len(), largest_step })
}

/// Whether an attack makes sense at a store: a merchant lifts a score that is not high, or provisional.
fn is_meant(attack: &Attack, victim: &Victim) -> bool {
    let is_low = matches!(victim.name, "small" | "poor" | "at 0.70" | "at 0.20" | "new");
    attack.by == By::Competitor || is_low
}

/// Returns the line of a merchant that lifts its own score for nothing.
fn free_line(name: &str, victim: &Victim, days: &str, lift: f64) -> Vec<String> {
    let lift = format!("{lift:+.4}");
    [name, victim.name, "-", days, "0", "0", &lift, "-", "-", "-"].map(str::to_owned).to_vec()
}

fn line(attack: &Attack, store: &str, outcome: &Outcome) -> Vec<String> {
    let band = match outcome.bands {
        Some((from, to)) => format!("{from} to {to}"),
        None => String::from("-"),
    };
    vec![
        attack.name.to_owned(),
        store.to_owned(),
        grouped(attack.accounts),
        attack.days.to_string(),
        grouped(attack.purchases()),
        grouped(attack.turnover()),
        format!("{:+.4}", outcome.change),
        format!("{:+.4}", outcome.ranking),
        format!("{:.4}", outcome.step),
        band,
    ]
}

/// What an attack achieves at a store.
struct Outcome {
    /// The largest difference to the score without the attack, at any epoch.
    change: f64,
    /// The same of the score that the store is ranked by.
    ranking: f64,
    /// The highest score that the store is ranked by.
    ranked_max: f64,
    /// Whether the last score is that of the store without any buyer, bit by bit.
    is_of_catalog_alone: bool,
    /// Whether every score is that without the attack, bit by bit.
    is_equal: bool,
    /// Whether every score is that with the purchases of the attack alone, bit by bit.
    is_of_purchases_alone: bool,
    /// The bands without and with the attack, at the first epoch at which they differ.
    bands: Option<(Band, Band)>,
    /// The largest change from one epoch to the next by one account.
    step: f64,
}

impl Outcome {
    fn of(attack: &Attack, victim: &Victim, is_long: bool) -> Self {
        let rows = attack.rows();
        let mut without = victim.evidence();
        let mut others = victim.evidence();
        if attack.stops_sales {
            others.days.retain(|row| row.day < BEGIN);
        }
        let mut attacked = with(&rows, &others);
        let mut bought = attack.cancels.then(|| with(&attack.purchases_alone(), &others));
        let step = largest_step(&rows, &attacked);
        let mut outcome = Self {
            change: 0.0,
            ranking: 0.0,
            ranked_max: 0.0,
            is_equal: true,
            is_of_purchases_alone: true,
            is_of_catalog_alone: false,
            bands: None,
            step,
        };
        let stride = if is_long && rows.len() < 2_000 { 1 } else { 4 };
        for epoch in (begin().0..=begin().0 + EPOCHS).step_by(stride) {
            let delivered = attack.delivered_until(Epoch(epoch));
            attacked.delivered_total = victim.delivered_total + delivered;
            let score =
                outcome.compare(&standing(&mut without, epoch), &standing(&mut attacked, epoch));
            if let Some(bought) = &mut bought {
                outcome.is_of_purchases_alone &= at(bought, epoch).to_bits() == score.to_bits();
            }
        }
        let mut alone = Evidence { days: Vec::new(), ..victim.evidence() };
        let last = begin().0 + EPOCHS_UNTIL_LEFT;
        outcome.is_of_catalog_alone =
            at(&mut attacked, last).to_bits() == at(&mut alone, last).to_bits();
        outcome
    }

    /// Compares how a store stands without the attack and with it. Returns the score with it.
    fn compare(&mut self, without: &Standing, attacked: &Standing) -> f64 {
        let ranked = |standing: &Standing| standing.ranking_score().unwrap_or(0.0);
        let ranking = ranked(attacked) - ranked(without);
        if ranking.abs() > self.ranking.abs() {
            self.ranking = ranking;
        }
        self.ranked_max = self.ranked_max.max(ranked(attacked));
        let (without, attacked) = (without.score.unwrap_or(0.0), attacked.score.unwrap_or(0.0));
        let change = attacked - without;
        if change.abs() > self.change.abs() {
            self.change = change;
        }
        self.is_equal &= attacked.to_bits() == without.to_bits();
        let bands = (Band::of(without), Band::of(attacked));
        if bands.0 != bands.1 {
            self.bands.get_or_insert(bands);
        }
        attacked
    }

    /// Returns the largest change, of the score or of the ranking.
    fn effect(&self) -> f64 {
        self.change.abs().max(self.ranking.abs())
    }

    fn check(&self, attack: &Attack, victim: &Victim) -> Result<(), Failure> {
        let (what, store) = (format!("{attack:?}"), victim.name);
        ensure(self.step <= ACCOUNT_CHANGE_MAX, || {
            format!("one account moves the {store} store by {} in one epoch: {what}", self.step)
        })?;
        ensure(!attack.is_free() || self.is_equal, || {
            format!("a free attack moves the {store} store by {}: {what}", self.change)
        })?;
        ensure(!attack.is_free() || self.bands.is_none(), || {
            format!("a free attack moves the {store} store across a band: {what}")
        })?;
        ensure(!attack.cancels || self.is_of_purchases_alone, || {
            format!("canceled purchases make other checkouts count at the {store} store: {what}")
        })?;
        ensure(!attack.stops_sales || self.is_of_catalog_alone, || {
            format!("the {store} store without buyers has another score than its catalog: {what}")
        })?;
        // Twenty delivered orders end a provisional time, and five of an account count.
        let is_provisional = victim.delivered_total == 0 && attack.accounts < 4;
        ensure(!is_provisional || self.ranked_max <= PROVISIONAL_RANK_MAX, || {
            format!("the {store} store is ranked by {}: {what}", self.ranked_max)
        })
    }
}

/// Returns the evidence with the rows of attackers, whose accounts come before all others.
fn with(rows: &[AgentDay], others: &Evidence) -> Evidence {
    Evidence { days: [rows, others.days.as_slice()].concat(), ..others.clone() }
}

/// Returns the score of a store at an epoch.
fn at(evidence: &mut Evidence, epoch: i64) -> f64 {
    // Every store has products.
    standing(evidence, epoch).score.unwrap_or(0.0)
}

/// Returns how a store stands at an epoch.
fn standing(evidence: &mut Evidence, epoch: i64) -> Standing {
    evidence.epoch = Epoch(epoch);
    let computed = trust::score(evidence);
    let computed_at = evidence.epoch.as_of();
    Standing { score: computed.score, provisional: computed.provisional, computed_at }
}

/// Returns the largest change of a score from one epoch to the next by the first account. Days of all others that enter or leave
/// the window or mature between the two epochs are left out, so that nothing else changes.
fn largest_step(rows: &[AgentDay], attacked: &Evidence) -> f64 {
    let Some(first) = rows.first() else { return 0.0 };
    let (own, others): (Vec<AgentDay>, Vec<AgentDay>) =
        attacked.days.iter().copied().partition(|row| row.account == first.account);
    let mut evidence = Evidence { days: Vec::new(), ..attacked.clone() };
    let mut largest = 0.0_f64;
    for epoch in begin().0..begin().0 + EPOCHS_UNTIL_LEFT {
        let (now, next) = (Epoch(epoch), Epoch(epoch + 1));
        let phases =
            |row: &AgentDay, epoch| (quarters(row.day, epoch), matured_quarters(row.day, epoch));
        let is_constant = |row: &AgentDay| phases(row, now) == phases(row, next);
        if own.iter().all(is_constant) {
            continue;
        }
        let is_fixed = |row: &&AgentDay| is_constant(row) && quarters(row.day, now) == WHOLE;
        evidence.days.clear();
        // The first account has the smallest id, so that the rows stay sorted.
        evidence.days.extend(&own);
        evidence.days.extend(others.iter().filter(is_fixed));
        let before = at(&mut evidence, epoch);
        largest = largest.max((at(&mut evidence, epoch + 1) - before).abs());
    }
    largest
}

/// Returns by how much a merchant lifts its score by figures of its own. Fails if that is more than the limit.
fn lift(stuffing: &Stuffing, victim: &Victim) -> Result<f64, Failure> {
    let (mut before, mut after) = (victim.evidence(), victim.evidence());
    (stuffing.before)(&mut before.state);
    (stuffing.before)(&mut after.state);
    (stuffing.after)(&mut after.state);
    let computed = trust::score(&after);
    let former = at(&mut before, begin().0);
    let lift = computed.score.unwrap_or(0.0) - former;
    let limit = match stuffing.limit {
        Limit::Nothing => 0.0,
        Limit::WeightOf(component) => computed.effective_weight(component),
    };
    ensure(lift <= limit + ROUNDING, || {
        let (name, store) = (stuffing.name, victim.name);
        format!("{name}: lifts the {store} store by {lift}, its weight is {limit}")
    })?;
    Ok(lift)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn stores_on_an_edge_are_on_it_and_their_rows_are_sorted() {
        let victims = Victim::all(&mut StdRng::seed_from_u64(1));
        for victim in &victims {
            let key = |row: &AgentDay| (row.account, row.day);
            assert!(victim.days.is_sorted_by_key(key), "{}", victim.name);
            let Some(edge) = victim.name.strip_prefix("at ") else { continue };
            let edge: f64 = edge.parse().unwrap();
            for epoch in [0, 1, 2, 3, 77] {
                let score = at(&mut victim.evidence(), begin().0 + epoch);
                assert!((edge..edge + 1e-6).contains(&score), "{}: {score}", victim.name);
            }
        }
    }

    #[test]
    fn the_budget_of_an_attack_is_counted() {
        let paid = attacks(true).into_iter().find(|attack| attack.purchases() == 50).unwrap();
        assert_eq!((paid.accounts, paid.days, paid.turnover()), (10, 5, 1_000));
        assert!(!paid.is_free() && attacks(false)[0].is_free());
        assert_eq!(paid.rows().len(), 50);
    }
}

//! `properties`: what holds for the score of any evidence, tried on many random merchants, believable and adversarial.
//!
//! The tests of the crate search for small counterexamples; this check tries many more merchants, through the public functions
//! alone. Each property states what would be a defect: a sum that depends on the order of its rows, a unit that counts a second
//! time, a component whose improvement costs points.

use merchants::Band;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use trust::{
    AgentDay, Component, ComponentSource, Computed, Day, DayCounts, Epoch, Evidence, PolicyFigures,
};

use super::random_evidence::{account, any_counts, evidence, sorted};
use crate::report::{Failure, Trial, Verdict, grouped};

/// Tolerance of comparisons: scores are rounded to twelve decimals.
const ROUNDING: f64 = 1e-11;
/// Largest change of a score by one account from one epoch to the next, as published.
pub(super) const ACCOUNT_CHANGE_MAX: f64 = 0.01;
/// Epochs from the end of a day until it is settled, and until it matures.
const SETTLED_AFTER: i64 = 1;
const MATURED_AFTER: i64 = 4 * 10;
/// Threads that try merchants.
const THREADS: u64 = 2;

/// A property of the score of any evidence.
type Property = fn(&Evidence, &mut StdRng) -> Result<(), String>;

const PROPERTIES: [(&str, Property); 8] = [
    ("scores and figures are from 0 to 1", is_in_range),
    ("the order of rows does not matter, nor a way through JSON", is_bit_equal),
    ("a day on which everything happened a second time counts once", is_counted_once),
    ("a better outcome does not lower a score", is_monotone),
    ("nothing declared lifts a score by more than its redistributed weight", is_declared_little),
    ("an account that never paid changes nothing", is_unmoved_by_free_starts),
    ("one account changes a score by at most 0.01 from one epoch to the next", is_moved_slowly),
    ("what an account cancels changes no score at once", is_unmoved_by_cancellations),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let merchants: u64 = trial.by_tier(1_500, 60_000);
    let mut threads = Vec::new();
    for thread in 0..THREADS {
        let rng = trial.rng(10 + thread);
        threads.push(tokio::task::spawn_blocking(move || try_merchants(merchants / THREADS, rng)));
    }
    for thread in threads {
        thread.await??;
    }
    let names: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
    Ok(format!("{} random merchants: {}", grouped(merchants), names.join("; ")))
}

fn try_merchants(count: u64, mut rng: StdRng) -> Result<(), Failure> {
    for _ in 0..count {
        let seed: u64 = rng.random();
        let mut rng = StdRng::seed_from_u64(seed);
        let evidence = evidence(&mut rng);
        for (name, holds) in PROPERTIES {
            let outcome = holds(&evidence, &mut rng);
            outcome.map_err(|why| format!("not so: {name}: {why} (merchant of seed {seed})"))?;
        }
    }
    Ok(())
}

fn bits(computed: &Computed) -> Option<u64> {
    computed.score.map(f64::to_bits)
}

/// Returns the score; 0 for an unscored store, whose score no change of facts affects.
fn points(evidence: &Evidence) -> f64 {
    trust::score(evidence).score.unwrap_or(0.0)
}

fn expect(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn is_in_range(evidence: &Evidence, _: &mut StdRng) -> Result<(), String> {
    let computed = trust::score(evidence);
    let is_scored = evidence.state.products > 0;
    expect(computed.score.is_some() == is_scored, || format!("{computed:?}"))?;
    let range = 0.0..=1.0;
    let is_in_range = computed.score.is_none_or(|score| range.contains(&score));
    expect(is_in_range, || format!("the score is {:?}", computed.score))?;
    for figure in computed.figures.values().flatten() {
        let is_figure = range.contains(&figure.value)
            && figure.confidence > 0.0
            && range.contains(&figure.confidence);
        expect(is_figure, || format!("{figure:?}"))?;
    }
    let weights = Component::ALL.iter().map(|component| computed.effective_weight(*component));
    let sum: f64 = weights.sum();
    expect(!is_scored || (sum - 1.0).abs() < 1e-9, || format!("the weights sum to {sum}"))
}

fn is_bit_equal(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    let computed = trust::score(evidence);
    let mut shuffled = evidence.clone();
    shuffled.days.shuffle(rng);
    expect(bits(&trust::score(&shuffled)) == bits(&computed), || String::from("shuffled"))?;
    let json = serde_json::to_string(evidence).map_err(|error| error.to_string())?;
    let read: Evidence = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    expect(read == *evidence, || String::from("JSON does not preserve the evidence"))?;
    expect(trust::score(&read) == computed, || String::from("exported"))
}

/// Everything that happened on a day happens again, for more money.
fn is_counted_once(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    let times = rng.random_range(2..1_000_u32);
    let mut repeated = evidence.clone();
    for row in &mut repeated.days {
        let Some(counts) = multiplied(&row.counts, times) else { continue };
        row.counts = counts;
    }
    let (before, after) = (trust::score(evidence), trust::score(&repeated));
    expect(bits(&before) == bits(&after), || {
        format!("{times} times: {:?} became {:?}", before.score, after.score)
    })
}

/// Returns counts of everything several times; `None` if a number becomes too large.
fn multiplied(counts: &DayCounts, times: u32) -> Option<DayCounts> {
    Some(DayCounts {
        started: counts.started.checked_mul(times)?,
        completed: counts.completed.checked_mul(times)?,
        lasting: counts.lasting.checked_mul(times)?,
        kept: counts.kept.checked_mul(times)?,
        orders: counts.orders.checked_mul(times)?,
        in_stock: counts.in_stock.checked_mul(times)?,
        out_of_stock: counts.out_of_stock.checked_mul(times)?,
        on_time: counts.on_time.checked_mul(times)?,
        late: counts.late.checked_mul(times)?,
        delivered: counts.delivered.checked_mul(times)?,
        price_equal: counts.price_equal.checked_mul(times)?,
        price_different: counts.price_different.checked_mul(times)?,
        disputes_lost: counts.disputes_lost.checked_mul(times)?,
        amount_minor: counts.amount_minor.saturating_mul(i64::from(times)),
    })
}

/// A better figure of a store.
type Mend = fn(&mut Evidence);

const MENDS: [Mend; 6] = [
    |it| it.state.complete = (it.state.complete + 1).min(it.state.products),
    |it| it.state.consistent = (it.state.consistent + 1).min(it.state.products),
    |it| it.state.synced_at = Some(it.epoch.as_of()),
    |it| it.state.policies.privacy = true,
    |it| {
        let best = it.state.rated_products * 500;
        it.state.rating_sum_hundredths = (it.state.rating_sum_hundredths + 100).min(best);
    },
    |it| {
        for bucket in &mut it.state.latency.buckets {
            bucket.up_to_ms /= 2;
        }
    },
];

/// One bad outcome of a day as a good one.
type Outcome = fn(&mut DayCounts);

const OUTCOMES: [Outcome; 5] = [
    |day| (day.price_equal, day.price_different) = improved(day.price_equal, day.price_different),
    |day| (day.in_stock, day.out_of_stock) = improved(day.in_stock, day.out_of_stock),
    |day| (day.on_time, day.late) = improved(day.on_time, day.late),
    |day| (day.orders, day.disputes_lost) = improved(day.orders, day.disputes_lost),
    // Without a purchase the day is unpaid, and counts otherwise.
    |day| day.kept = day.kept.saturating_add(u32::from(day.completed > 0)),
];

fn improved(good: u32, bad: u32) -> (u32, u32) {
    let moved = bad.min(u32::MAX - good).min(1);
    (good + moved, bad - moved)
}

fn is_monotone(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    let before = points(evidence);
    for (number, mend) in MENDS.iter().enumerate() {
        let mut better = evidence.clone();
        mend(&mut better);
        let after = points(&better);
        expect(after >= before - ROUNDING, || format!("figure {number}: {before} to {after}"))?;
    }
    if evidence.days.is_empty() {
        return Ok(());
    }
    let row = rng.random_range(0..evidence.days.len());
    let mut better = evidence.clone();
    for (number, improve) in OUTCOMES.iter().enumerate() {
        let former = better.days[row].counts;
        improve(&mut better.days[row].counts);
        let after = points(&better);
        expect(after >= before - ROUNDING, || {
            format!("outcome {number} of {former:?}: {before} to {after}")
        })?;
        better.days[row].counts = former;
    }
    Ok(())
}

fn is_declared_little(evidence: &Evidence, _: &mut StdRng) -> Result<(), String> {
    let declared = Component::ALL.iter().filter(|it| it.source() == ComponentSource::Declared);
    for component in declared.copied() {
        let (without, with) = (undeclared(evidence), declaring(evidence, component)?);
        let computed = trust::score(&with);
        let lift = computed.score.unwrap_or(0.0) - points(&without);
        let weight = computed.effective_weight(component);
        expect(lift <= weight + ROUNDING, || format!("{component}: {lift}, weight {weight}"))?;
    }
    Ok(())
}

/// Returns the evidence of a merchant that declares nothing.
fn undeclared(evidence: &Evidence) -> Evidence {
    let mut without = evidence.clone();
    without.state.policies = PolicyFigures::default();
    without.state.rated_products = 0;
    without.state.rating_sum_hundredths = 0;
    without
}

/// Returns the evidence of a merchant that declares the best of one component, and nothing else.
fn declaring(evidence: &Evidence, component: Component) -> Result<Evidence, String> {
    let mut with = undeclared(evidence);
    match component {
        Component::PolicyCoverage => {
            with.state.policies = PolicyFigures { returns: true, shipping: true, privacy: true };
        }
        Component::ReviewSentiment => {
            with.state.rated_products = 1_000;
            with.state.rating_sum_hundredths = 500_000;
        }
        other => return Err(format!("{other} is declared, and no declaration is tried")),
    }
    Ok(with)
}

fn is_unmoved_by_free_starts(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    let mut flooded = evidence.clone();
    let first = evidence.epoch.first_day().0;
    for number in 0..rng.random_range(1..30_u32) {
        let (day, account) = (Day(first + rng.random_range(-2..94)), account(1_000 + number));
        let started = rng.random_range(1..=u32::MAX);
        let counts = DayCounts { started, ..DayCounts::default() };
        flooded.days.push(AgentDay { day, account, counts });
    }
    flooded.days = sorted(flooded.days);
    let (before, after) = (trust::score(evidence), trust::score(&flooded));
    let band = |computed: &Computed| computed.score.map(Band::of);
    expect(bits(&before) == bits(&after) && band(&before) == band(&after), || {
        format!("{:?} became {:?}", before.score, after.score)
    })
}

/// The account whose days change.
const OWN: u32 = 1;

/// Returns a store in which only the days of one account enter and leave the window and mature: those of all others stay in the
/// middle of it.
fn with_one_account(evidence: &Evidence, rng: &mut StdRng) -> Evidence {
    let (own, first) = (account(OWN), evidence.epoch.first_day().0);
    let mut one = evidence.clone();
    one.state.synced_at = None;
    one.days.retain(|row| row.account != own);
    for row in &mut one.days {
        row.day = Day(first + 5 + row.day.0.rem_euclid(70));
    }
    for _ in 0..rng.random_range(1..14_u32) {
        let places = [
            rng.random_range(-1..3),
            rng.random_range(40..60),
            rng.random_range(77..84),
            rng.random_range(86..93),
        ];
        let day = Day(first + places[rng.random_range(0..places.len())]);
        one.days.push(AgentDay { day, account: own, counts: extreme(rng) });
    }
    one.days = sorted(one.days);
    one
}

/// Returns the counts of a day of which the account canceled all orders before an epoch, as they are stored.
fn canceled(row: &AgentDay, before: Epoch) -> DayCounts {
    let (counts, ended) = (row.counts, Epoch::of(row.day.end()).0);
    if before.0 <= ended + SETTLED_AFTER {
        let started = counts.started.saturating_sub(counts.completed);
        return DayCounts { started, completed: 0, lasting: 0, kept: 0, orders: 0, ..counts };
    }
    let lasting = if before.0 <= ended + MATURED_AFTER { 0 } else { counts.lasting };
    DayCounts { lasting, ..counts }
}

/// Lets the account cancel everything that it bought on some days, in the epoch before this one.
fn cancel(evidence: &mut Evidence, before: Epoch, rng: &mut StdRng) {
    for row in evidence.days.iter_mut().filter(|row| row.account == account(OWN)) {
        if rng.random_bool(0.5) {
            row.counts = canceled(row, before);
        }
    }
}

fn is_moved_slowly(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    if evidence.state.products == 0 {
        return Ok(());
    }
    let mut one = with_one_account(evidence, rng);
    let before = points(&one);
    one.epoch = one.epoch.next();
    let change = points(&one) - before;
    let rows = one.days.len();
    expect(change.abs() <= ACCOUNT_CHANGE_MAX, || format!("{change} with {rows} rows"))?;
    let epoch = one.epoch;
    cancel(&mut one, epoch, rng);
    let change = points(&one) - before;
    expect(change.abs() <= ACCOUNT_CHANGE_MAX, || format!("{change} by cancellations"))
}

fn is_unmoved_by_cancellations(evidence: &Evidence, rng: &mut StdRng) -> Result<(), String> {
    let mut one = with_one_account(evidence, rng);
    let before = trust::score(&one);
    let next = one.epoch.next();
    cancel(&mut one, next, rng);
    let after = trust::score(&one);
    expect(bits(&before) == bits(&after), || format!("{:?} became {:?}", before.score, after.score))
}

/// A day on which everything went well, on which everything failed, without a purchase, with a purchase and many checkouts that
/// were not completed, or any other.
fn extreme(rng: &mut StdRng) -> DayCounts {
    let one = DayCounts { started: 1, completed: 1, lasting: 1, ..DayCounts::default() };
    match rng.random_range(0..5_u32) {
        0 => DayCounts { kept: 1, orders: 1, in_stock: 1, on_time: 1, price_equal: 1, ..one },
        1 => DayCounts { out_of_stock: 1, late: 1, price_different: 1, disputes_lost: 1, ..one },
        2 => DayCounts { started: 1_000_000, ..DayCounts::default() },
        3 => DayCounts { started: 1_000_000, kept: 1, orders: 1, ..one },
        _ => any_counts(rng),
    }
}

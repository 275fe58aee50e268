//! Properties of every score.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::weighted_mean;
use super::*;
use crate::component::units::ACCOUNT_CHANGE_MAX;
use crate::evidence::{LatencyHistogram, StateFigures};
use crate::{Component, Figure, Sample, score};

/// Tolerance of comparisons: scores are rounded.
const ROUNDING: f64 = 1e-11;
/// Days of the account that attacks, at most.
const OWN_DAYS_MAX: usize = 14;

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        5 => Just(0_u32),
        5 => 1_u32..4,
        1 => Just(1_000),
        1 => Just(u32::MAX),
    ]
}

prop_compose! {
    /// Any counts, also such that do not occur together.
    fn counts()(
        [started, completed, kept, orders, in_stock, out_of_stock] in proptest::array::uniform6(number()),
        [on_time, late, delivered, price_equal, price_different, disputes_lost]
            in proptest::array::uniform6(number()),
        lasting in number(),
    ) -> DayCounts {
        DayCounts {
            started,
            completed,
            lasting,
            kept,
            orders,
            in_stock,
            out_of_stock,
            on_time,
            late,
            delivered,
            price_equal,
            price_different,
            disputes_lost,
            amount_minor: 0,
        }
    }
}

prop_compose! {
    fn state()(
        products in 1_i64..40, complete in 0_i64..40, consistent in 0_i64..40,
        age_minutes in proptest::option::of(0_u64..12_000), policies in any::<[bool; 3]>(),
        ratings in proptest::collection::vec(0_i64..=500, 0..4),
        calls in proptest::collection::vec((1_u32..3_000, 0_u32..60), 0..4),
    ) -> StateFigures {
        let [returns, shipping, privacy] = policies;
        let bucket = |(up_to_ms, calls)| LatencyBucket { up_to_ms, calls };
        StateFigures {
            products,
            complete: complete.min(products),
            consistent: consistent.min(products),
            synced_at: age_minutes.map(|age| EPOCH.as_of().minus(Duration::from_mins(age))),
            policies: PolicyFigures { returns, shipping, privacy },
            rated_products: i64::try_from(ratings.len()).unwrap(),
            rating_sum_hundredths: ratings.iter().sum(),
            latency: LatencyHistogram { buckets: calls.into_iter().map(bucket).collect() },
        }
    }
}

fn rows(days: BTreeMap<(u128, i32), DayCounts>) -> Vec<AgentDay> {
    let row = |((account, day), counts)| AgentDay {
        day: Day(OLDEST.0 + day),
        account: AccountRef(Uuid::from_u128(account)),
        counts,
    };
    days.into_iter().map(row).collect()
}

prop_compose! {
    /// Evidence of up to sixty accounts, with days before, in and after the window.
    fn evidence()(
        step in 0_i64..4, state in state(), delivered_total in 0_i64..40,
        days in proptest::collection::btree_map((1_u128..60, -4_i32..96), counts(), 0..200),
    ) -> Evidence {
        let epoch = Epoch(EPOCH.0 + step);
        Evidence { epoch, state, days: rows(days), delivered_total, ..Evidence::default() }
    }
}

/// A state that is the same at every epoch: all figures at their best or all at their worst.
fn constant_state(is_good: bool) -> StateFigures {
    let all = i64::from(is_good);
    StateFigures {
        products: 1,
        complete: all,
        consistent: all,
        synced_at: is_good.then(|| Epoch(EPOCH.0 + 400).as_of()),
        policies: PolicyFigures { returns: is_good, shipping: is_good, privacy: is_good },
        ..StateFigures::default()
    }
}

/// A day on which everything went well, one on which the account bought and everything failed, one without a purchase, and one
/// with a purchase and many checkouts that were not completed.
const EXTREMES: [DayCounts; 4] = [
    DayCounts {
        started: 1,
        completed: 1,
        lasting: 1,
        kept: 1,
        orders: 1,
        in_stock: 1,
        out_of_stock: 0,
        on_time: 1,
        late: 0,
        delivered: 1,
        price_equal: 1,
        price_different: 0,
        disputes_lost: 0,
        amount_minor: 0,
    },
    DayCounts {
        started: 1_000_000,
        completed: 1,
        lasting: 1,
        kept: 0,
        orders: 0,
        in_stock: 0,
        out_of_stock: 1,
        on_time: 0,
        late: 1,
        delivered: 0,
        price_equal: 0,
        price_different: 1,
        disputes_lost: 1,
        amount_minor: 0,
    },
    DayCounts { started: 1_000_000, ..NOTHING },
    DayCounts { started: 1_000_000, completed: 1, lasting: 1, kept: 1, orders: 1, ..NOTHING },
];

const NOTHING: DayCounts = DayCounts {
    started: 0,
    completed: 0,
    lasting: 0,
    kept: 0,
    orders: 0,
    in_stock: 0,
    out_of_stock: 0,
    on_time: 0,
    late: 0,
    delivered: 0,
    price_equal: 0,
    price_different: 0,
    disputes_lost: 0,
    amount_minor: 0,
};

fn extreme_or_any() -> impl Strategy<Value = DayCounts> {
    prop_oneof![3 => proptest::sample::select(EXTREMES.to_vec()), 1 => counts()]
}

prop_compose! {
    /// A store in which only the days of account 0 change from epoch to epoch: those of the others are in the middle of the
    /// window. Few others leave a component near its minimum sample, where it is the most sensitive.
    fn attacked()(
        is_good in any::<bool>(), step in 0_i64..4,
        others in prop_oneof![3 => 0_u128..14, 1 => 60_u128..80], other in extreme_or_any(),
        days in proptest::collection::btree_map(
            prop_oneof![-1_i32..3, 40_i32..60, 78_i32..83, 86_i32..92], extreme_or_any(), 0..OWN_DAYS_MAX,
        ),
    ) -> Evidence {
        let others = (1..=others).map(|account| ((account, 45), other));
        // Account 0 has the first rows.
        let own = days.into_iter().map(|(day, counts)| ((0, day), counts));
        Evidence {
            epoch: Epoch(EPOCH.0 + step),
            state: constant_state(is_good),
            days: rows(own.chain(others).collect()),
            ..Evidence::default()
        }
    }
}

prop_compose! {
    /// How many epochs before that of the evidence account 0 cancels what it bought on each of its days. Often in that very
    /// epoch, so that it is known at the next one.
    fn cancellations()(
        before in proptest::collection::vec(
            proptest::option::of(prop_oneof![2 => Just(0_i64), 1 => 0_i64..60, 1 => 0_i64..400]), OWN_DAYS_MAX,
        ),
    ) -> Vec<Option<i64>> {
        before
    }
}

/// Returns the evidence that is known at an epoch if account 0 cancels what it bought so many epochs before `last`.
fn known_at(
    evidence: &Evidence,
    epoch: Epoch,
    last: Epoch,
    cancellations: &[Option<i64>],
) -> Evidence {
    let mut known = Evidence { epoch, ..evidence.clone() };
    let own = known.days.iter_mut().filter(|row| row.account == AccountRef::default());
    for (row, before) in own.zip(cancellations) {
        let canceled = before.map(|before| Epoch(last.0 - before));
        if let Some(canceled) = canceled.filter(|canceled| *canceled < epoch) {
            row.counts = after_cancellation(row, canceled);
        }
    }
    known
}

/// Returns the counts of a day of which all orders are canceled by the agent in an epoch, as `table/rollup/facts.rs` counts them.
fn after_cancellation(row: &AgentDay, canceled: Epoch) -> DayCounts {
    let (counts, ended) = (row.counts, Epoch::of(row.day.end()));
    let (settled, matured) = (Epoch(ended.0 + 1), Epoch(ended.0 + 4 * 10));
    if canceled < settled {
        let started = counts.started.saturating_sub(counts.completed);
        return DayCounts { started, completed: 0, lasting: 0, kept: 0, orders: 0, ..counts };
    }
    let lasting = if canceled < matured { 0 } else { counts.lasting };
    DayCounts { lasting, ..counts }
}

fn score_at(evidence: &Evidence, epoch: Epoch) -> f64 {
    score(&Evidence { epoch, ..evidence.clone() }).score.unwrap()
}

fn score_of(evidence: &Evidence) -> f64 {
    score_at(evidence, evidence.epoch)
}

proptest! {
    #[test]
    fn a_score_and_its_figures_are_from_0_to_1(evidence in evidence()) {
        let computed = score(&evidence);
        prop_assert!(computed.score.is_some_and(|score| (0.0..=1.0).contains(&score)));
        for figure in computed.figures.values().flatten() {
            prop_assert!((0.0..=1.0).contains(&figure.value), "{figure:?}");
            prop_assert!(figure.confidence > 0.0 && figure.confidence <= 1.0, "{figure:?}");
        }
        let weights = Component::ALL.iter().map(|component| computed.effective_weight(*component));
        prop_assert!((weights.sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(
        (evidence, shuffled) in evidence()
            .prop_flat_map(|evidence| (Just(evidence.clone()), Just(evidence.days).prop_shuffle())),
    ) {
        let computed = score(&evidence);
        let again = score(&Evidence { days: shuffled, ..evidence });
        prop_assert_eq!(computed.score.map(f64::to_bits), again.score.map(f64::to_bits));
        prop_assert_eq!(computed, again);
    }

    #[test]
    fn exported_evidence_has_the_same_score_bit_by_bit(evidence in evidence()) {
        let read: Evidence = serde_json::from_str(&serde_json::to_string(&evidence).unwrap()).unwrap();
        prop_assert_eq!(score(&read).score.map(f64::to_bits), score(&evidence).score.map(f64::to_bits));
        prop_assert_eq!(read, evidence);
    }

    #[test]
    fn a_score_does_not_fall_when_a_component_rises(
        evidence in evidence(), component in proptest::sample::select(Component::ALL.to_vec()),
        by in 0.0..1.0_f64,
    ) {
        let mut figures = score(&evidence).figures;
        let before = weighted_mean(&figures).unwrap();
        let figure = figures[&component];
        let raised = match figure {
            Some(figure) => Figure { value: (figure.value + by).min(1.0), ..figure },
            None => Figure::certain(by, Sample::default()),
        };
        figures.insert(component, Some(raised));
        let after = weighted_mean(&figures).unwrap();
        // A component that begins to apply moves the score towards its value.
        if figure.is_some() || by >= before {
            prop_assert!(after >= before - ROUNDING, "{before} {after}");
        } else {
            prop_assert!(after <= before + ROUNDING, "{before} {after}");
        }
    }

    #[test]
    fn a_better_outcome_does_not_lower_the_score(evidence in evidence(), row in any::<proptest::sample::Index>()) {
        let before = score_of(&evidence);
        let mut complete = evidence.clone();
        complete.state.complete = (complete.state.complete + 1).min(complete.state.products);
        prop_assert!(score_of(&complete) >= before);
        if evidence.days.is_empty() {
            return Ok(());
        }
        let row = row.index(evidence.days.len());
        let changes: [fn(&mut DayCounts); 4] = [
            |day| (day.price_equal, day.price_different) = improved(day.price_equal, day.price_different),
            |day| (day.in_stock, day.out_of_stock) = improved(day.in_stock, day.out_of_stock),
            |day| (day.on_time, day.late) = improved(day.on_time, day.late),
            |day| day.kept = if day.completed > 0 { day.kept.saturating_add(1) } else { day.kept },
        ];
        for change in changes {
            let mut better = evidence.clone();
            change(&mut better.days[row].counts);
            prop_assert!(score_of(&better) >= before - ROUNDING);
        }
    }

    #[test]
    fn what_a_merchant_declares_lifts_a_score_by_its_redistributed_weight_at_most(evidence in evidence()) {
        let mut without = evidence.clone();
        without.state.policies = PolicyFigures::default();
        without.state.rated_products = 0;
        for component in [Component::PolicyCoverage, Component::ReviewSentiment] {
            let mut with = without.clone();
            if component == Component::PolicyCoverage {
                with.state.policies = PolicyFigures { returns: true, shipping: true, privacy: true };
            } else {
                with.state.rated_products = 3;
                with.state.rating_sum_hundredths = 1_500;
            }
            let computed = score(&with);
            let lift = computed.score.unwrap() - score_of(&without);
            prop_assert!(lift <= computed.effective_weight(component) + ROUNDING, "{component} {lift}");
        }
    }

    #[test]
    fn an_account_that_never_paid_changes_nothing(
        evidence in evidence(),
        days in proptest::collection::btree_map((100_u128..110, -4_i32..96), number(), 1..40),
    ) {
        let unpaid = |started| DayCounts { started, ..DayCounts::default() };
        let days = days.into_iter().map(|(key, started)| (key, unpaid(started)));
        let mut flooded = evidence.clone();
        flooded.days.extend(rows(days.collect()));
        let (before, after) = (score(&evidence), score(&flooded));
        prop_assert_eq!(before.score.map(f64::to_bits), after.score.map(f64::to_bits));
        let values = |figures: &BTreeMap<Component, Option<Figure>>| -> Vec<Option<u64>> {
            figures.values().map(|figure| figure.map(|figure| figure.value.to_bits())).collect()
        };
        prop_assert_eq!(values(&before.figures), values(&after.figures));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn one_account_changes_a_score_by_a_hundredth_at_most_from_one_epoch_to_the_next(
        evidence in attacked(), cancellations in cancellations(),
    ) {
        let (now, next) = (evidence.epoch, evidence.epoch.next());
        let known = |epoch| score_of(&known_at(&evidence, epoch, now, &cancellations));
        let change = known(next) - known(now);
        prop_assert!(change.abs() <= ACCOUNT_CHANGE_MAX, "{change}");
    }

    #[test]
    fn what_an_account_cancels_changes_no_score_at_once(
        evidence in attacked(), cancellations in cancellations(),
    ) {
        // All that it cancels in this epoch is known at its end.
        let (now, next) = (evidence.epoch, evidence.epoch.next());
        let before = known_at(&evidence, now, now, &cancellations);
        let after = Evidence { epoch: now, ..known_at(&evidence, next, now, &cancellations) };
        prop_assert_eq!(score_of(&before).to_bits(), score_of(&after).to_bits());
    }

    #[test]
    fn the_newest_day_of_an_account_changes_a_score_by_a_hundredth_at_most(
        evidence in attacked(), before in proptest::option::of(extreme_or_any()), after in extreme_or_any(),
    ) {
        // The day after the newest whole one is in its first step.
        let (day, account) = (Day(NEWEST.0 + 1), AccountRef(Uuid::from_u128(0)));
        let mut old = Evidence { epoch: EPOCH.next(), ..evidence };
        old.days.retain(|row| row.account != account || row.day < day);
        let mut new = old.clone();
        old.days.extend(before.map(|counts| AgentDay { day, account, counts }));
        new.days.push(AgentDay { day, account, counts: after });
        let change = score_of(&new) - score_of(&old);
        prop_assert!(change.abs() <= ACCOUNT_CHANGE_MAX, "{change}");
    }
}

/// Returns one bad outcome as a good one.
fn improved(good: u32, bad: u32) -> (u32, u32) {
    let moved = bad.min(1);
    (good.saturating_add(moved), bad - moved)
}

/// The largest changes that the proof of docs/decisions/0034-units-of-trust.md considers, one after the other: a day enters while
/// another one matures and a third one leaves, with any history of the account, and with as many others as make each component
/// the most sensitive.
#[test]
fn the_worst_change_of_three_days_stays_within_the_bound() {
    let others_of = |number: u128, counts| (1..=number).map(move |account| ((account, 45), counts));
    let mut largest = 0.0_f64;
    for number in (0..=6).chain([8, 12, 30, 69, 74, 75, 76]) {
        for (other, is_good) in [(0, true), (0, false), (1, true), (1, false)] {
            for history in [0, 4, 20] {
                let kinds = |kind: usize| [kind % 4, kind / 4 % 4, kind / 16 % 4, kind / 64];
                for kinds in (0..256).map(kinds) {
                    let [entering, maturing, leaving, past] = kinds.map(|kind| EXTREMES[kind]);
                    let past = (0..history).map(|day| ((0, 50 + day % 20), past));
                    let changing = [((0, 90), entering), ((0, 80), maturing), ((0, 0), leaving)];
                    let own = past.chain(changing);
                    let days = own.chain(others_of(number, EXTREMES[other])).collect();
                    let state = constant_state(is_good);
                    let evidence =
                        Evidence { epoch: EPOCH, state, days: rows(days), ..Evidence::default() };
                    let change = score_at(&evidence, EPOCH.next()) - score_of(&evidence);
                    largest = largest.max(change.abs());
                }
            }
        }
    }
    assert!(largest > 0.001 && largest <= ACCOUNT_CHANGE_MAX, "{largest}");
}

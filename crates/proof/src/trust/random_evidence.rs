//! Random evidence: believable merchants, and such that no store has, with every limit and edge of the methodology.

use std::time::Duration;

use primitives::Timestamp;
use rand::RngExt;
use rand::rngs::StdRng;
use trust::{
    AccountRef, AgentDay, Day, DayCounts, Epoch, Evidence, LatencyBucket, LatencyHistogram,
    PolicyFigures, StateFigures,
};
use uuid::Uuid;

/// The epochs of the evidence: all phases of a day, around November 2026.
const FIRST_EPOCH: i64 = 83_000;
const EPOCHS: i64 = 400;
/// Days before an epoch that its evidence has rows of. More than count, so that some lie outside the window.
const DAYS: i32 = 97;
/// Ages of the last synchronization, in minutes, at which the value begins and ends to fall.
const AGE_EDGES: [u64; 6] = [0, 24 * 60, 24 * 60 + 1, 168 * 60 - 1, 168 * 60, 169 * 60];
/// Numbers of accounts at which a component begins to apply and has its whole weight, with one unit each.
const SIZE_EDGES: [u32; 6] = [4, 5, 6, 74, 75, 76];

/// Returns the evidence of a random merchant.
pub(super) fn evidence(rng: &mut StdRng) -> Evidence {
    let epoch = Epoch(FIRST_EPOCH + rng.random_range(0..EPOCHS));
    let days = match rng.random_range(0..10_u32) {
        0 => Vec::new(),
        1..3 => edge_days(rng, epoch),
        3..6 => adversarial_days(rng, epoch),
        _ => believable_days(rng, epoch),
    };
    let delivered_total = rng.random_range(0..60);
    Evidence { epoch, state: state(rng, epoch), days, delivered_total, ..Evidence::default() }
}

/// Returns the last day before an epoch, which does not count yet.
fn newest_day(epoch: Epoch) -> i32 {
    Day::of(epoch.as_of()).0 - 1
}

/// Returns an account by its number.
pub(super) fn account(number: u32) -> AccountRef {
    // Spread, so that the order of accounts is not that of their numbers.
    let bits = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    AccountRef(Uuid::from_u128(bits))
}

/// Accounts that buy on some days, mostly with success.
fn believable_days(rng: &mut StdRng, epoch: Epoch) -> Vec<AgentDay> {
    let accounts = [3, 8, 20, 90][rng.random_range(0..4_usize)];
    let share_good = rng.random_range(0.5..1.0);
    let mut rows = Vec::new();
    for number in 0..rng.random_range(1..=accounts) {
        for _ in 0..rng.random_range(1..4_u32) {
            let day = Day(newest_day(epoch) - rng.random_range(0..DAYS));
            rows.push(AgentDay { day, account: account(number), counts: counts(rng, share_good) });
        }
    }
    sorted(rows)
}

/// Returns the counts of a day on which somebody bought, or tried to.
fn counts(rng: &mut StdRng, share_good: f64) -> DayCounts {
    let started = rng.random_range(1..6_u32);
    let completed = rng.random_range(0..=started);
    // One in five accounts cancels some of what it bought.
    let lasting = if rng.random_bool(0.8) { completed } else { rng.random_range(0..=completed) };
    let orders = completed;
    let mut counts = DayCounts { started, completed, lasting, orders, ..DayCounts::default() };
    for _ in 0..completed {
        let (is_kept, is_on_time) = (rng.random_bool(share_good), rng.random_bool(share_good));
        counts.kept += u32::from(is_kept);
        counts.in_stock += u32::from(is_kept);
        counts.out_of_stock += u32::from(!is_kept);
        counts.on_time += u32::from(is_kept && is_on_time);
        counts.late += u32::from(!(is_kept && is_on_time));
        counts.delivered += u32::from(is_kept);
        let is_equal = rng.random_bool(share_good);
        counts.price_equal += u32::from(is_equal);
        counts.price_different += u32::from(!is_equal);
        counts.disputes_lost += u32::from(rng.random_bool((1.0 - share_good) / 4.0));
        counts.amount_minor += rng.random_range(1..100_000_i64);
    }
    counts
}

/// Rows with any counts, also such that do not occur together, on the edges of the window as well.
fn adversarial_days(rng: &mut StdRng, epoch: Epoch) -> Vec<AgentDay> {
    let edges = [-3, -2, -1, 0, 1, 2, 9, 10, 11, 12, 13, 88, 89, 90, 91, 92, 93];
    let mut rows = Vec::new();
    for _ in 0..rng.random_range(1..120_u32) {
        let ago = if rng.random_bool(0.5) {
            edges[rng.random_range(0..edges.len())]
        } else {
            rng.random_range(-2..DAYS)
        };
        let (day, account) = (Day(newest_day(epoch) - ago), account(rng.random_range(0..40)));
        rows.push(AgentDay { day, account, counts: any_counts(rng) });
    }
    sorted(rows)
}

/// Returns a number that is often 0, often small, and sometimes the largest.
fn any_number(rng: &mut StdRng) -> u32 {
    match rng.random_range(0..12_u32) {
        0..5 => 0,
        5..10 => rng.random_range(1..4),
        10 => 1_000,
        _ => u32::MAX,
    }
}

/// Returns any counts.
pub(super) fn any_counts(rng: &mut StdRng) -> DayCounts {
    DayCounts {
        started: any_number(rng),
        completed: any_number(rng),
        lasting: any_number(rng),
        kept: any_number(rng),
        orders: any_number(rng),
        in_stock: any_number(rng),
        out_of_stock: any_number(rng),
        on_time: any_number(rng),
        late: any_number(rng),
        delivered: any_number(rng),
        price_equal: any_number(rng),
        price_different: any_number(rng),
        disputes_lost: any_number(rng),
        amount_minor: rng.random_range(0..i64::MAX),
    }
}

/// As many accounts with one unit as lie at an edge of the ramp, and one account with many days, paid and unpaid.
fn edge_days(rng: &mut StdRng, epoch: Epoch) -> Vec<AgentDay> {
    let middle = newest_day(epoch) - 40;
    let mut rows = Vec::new();
    for number in 1..=SIZE_EDGES[rng.random_range(0..SIZE_EDGES.len())] {
        let counts = counts(rng, 0.9);
        rows.push(AgentDay { day: Day(middle), account: account(number), counts });
    }
    for ago in 0..rng.random_range(0..12) {
        let completed = rng.random_range(0..2_u32);
        let started = rng.random_range(1..1_000_u32);
        let (lasting, kept, orders) = (completed, completed, completed);
        // Half of the purchases are all that was started, and support unpaid days.
        let started = if completed > 0 && rng.random_bool(0.5) { completed } else { started };
        let counts =
            DayCounts { started, completed, lasting, kept, orders, ..DayCounts::default() };
        rows.push(AgentDay { day: Day(middle - ago), account: account(0), counts });
    }
    sorted(rows)
}

/// Sorts rows by account and day, and leaves one of each.
pub(super) fn sorted(mut rows: Vec<AgentDay>) -> Vec<AgentDay> {
    rows.sort_unstable_by_key(|row| (row.account, row.day));
    rows.dedup_by_key(|row| (row.account, row.day));
    rows
}

fn state(rng: &mut StdRng, epoch: Epoch) -> StateFigures {
    let products = [0, 1, 7, 1_000, 5_000_000][rng.random_range(0..5_usize)];
    let part = |rng: &mut StdRng| match rng.random_range(0..4_u32) {
        0 => 0,
        1 => products,
        _ => rng.random_range(0..=products),
    };
    let (complete, consistent, rated_products) = (part(rng), part(rng), part(rng));
    let rating_hundredths = rng.random_range(0..=500_i64);
    StateFigures {
        products,
        complete,
        consistent,
        synced_at: synced_at(rng, epoch),
        policies: PolicyFigures {
            returns: rng.random_bool(0.7),
            shipping: rng.random_bool(0.7),
            privacy: rng.random_bool(0.7),
        },
        rated_products,
        rating_sum_hundredths: rated_products * rating_hundredths,
        latency: latency(rng),
    }
}

fn synced_at(rng: &mut StdRng, epoch: Epoch) -> Option<Timestamp> {
    let as_of = epoch.as_of();
    match rng.random_range(0..8_u32) {
        0 => None,
        1 => Some(as_of.plus(Duration::from_secs(rng.random_range(1..90_000)))),
        2..4 => {
            let minutes = AGE_EDGES[rng.random_range(0..AGE_EDGES.len())];
            Some(as_of.minus(Duration::from_mins(minutes)))
        }
        _ => Some(as_of.minus(Duration::from_micros(rng.random_range(0..900_000_000_000)))),
    }
}

fn latency(rng: &mut StdRng) -> LatencyHistogram {
    if rng.random_bool(0.6) {
        return LatencyHistogram::default();
    }
    let bound =
        |rng: &mut StdRng| [100, 200, 400, 1_100, 2_000, 9_000][rng.random_range(0..6_usize)];
    let bucket =
        |rng: &mut StdRng| LatencyBucket { up_to_ms: bound(rng), calls: rng.random_range(0..60) };
    let buckets = (0..rng.random_range(1..5_u32)).map(|_| bucket(rng)).collect();
    LatencyHistogram { buckets }
}

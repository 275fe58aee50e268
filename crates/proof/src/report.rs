//! A run: its checks, one after another or side by side, what they share, one line for each and a summary at the end.

mod shared;

use std::error::Error;
use std::io::{IsTerminal, Write, stdout};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use shared::Shared;

/// Why a check failed.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The result of a check: a sentence with its measurements, or why it failed.
pub(crate) type Verdict = Result<String, Failure>;

/// A named check of a topic.
pub(crate) struct Check {
    /// In kebab case and unique within its topic; selected with `--only`.
    pub(crate) name: &'static str,
    /// The guarantee it verifies, in one line. `--list` prints it, and the README repeats it.
    pub(crate) guarantee: &'static str,
    pub(crate) run: fn(Trial) -> Pin<Box<dyn Future<Output = Verdict> + Send>>,
}

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// All checks of a topic within two minutes.
    Fast,
    /// All checks of a topic within fifteen minutes.
    Full,
}

/// How the checks of a topic are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// How many checks run side by side.
    pub(crate) lanes: usize,
    /// Long checks, which are started first.
    pub(crate) first: &'static [&'static str],
    /// Checks that measure time: they run after the others, one after another.
    pub(crate) alone: &'static [&'static str],
}

impl Schedule {
    /// One check after another.
    pub(crate) const SERIAL: Self = Self { lanes: 1, first: &[], alone: &[] };
}

/// The parameters of one run of one check.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) tier: Tier,
    seed: u64,
    /// `topic/name`
    label: Arc<str>,
    /// When progress was last printed.
    shown: Arc<Mutex<Option<Instant>>>,
    shared: Shared,
}

impl Trial {
    /// Returns `fast` or `full`, by tier.
    pub(crate) fn by_tier<T>(&self, fast: T, full: T) -> T {
        match self.tier {
            Tier::Fast => fast,
            Tier::Full => full,
        }
    }

    /// Returns the longest time that something may take: `full`, and four times that in the short form, which runs on
    /// machines of any speed, often beside other checks.
    pub(crate) fn time_max(&self, full: Duration) -> Duration {
        self.by_tier(full * 4, full)
    }

    /// Returns a random number generator for one purpose. Each purpose has its own stream, so that
    /// drawing one more number in one place does not change the numbers of another.
    pub(crate) fn rng(&self, purpose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose))
    }

    /// Returns all items; in the short form only `count` of them, which change from run to run.
    pub(crate) fn rotate<T>(&self, mut items: Vec<T>, count: usize) -> Vec<T> {
        if self.tier == Tier::Fast {
            let of_label = |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
            items.shuffle(&mut self.rng(self.label.bytes().fold(0, of_label)));
            items.truncate(count);
        }
        items
    }

    /// Returns what the checks of this run share, such as a server. The first of them creates it, and it is dropped after the
    /// last one. A check that fails may have damaged it: the next one creates another.
    pub(crate) async fn shared<T, F, Created>(&self, create: F) -> Result<Arc<T>, Failure>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> Created,
        Created: Future<Output = Result<T, Failure>>,
    {
        self.shared.find_or_create(create).await
    }

    /// Prints the progress of a long check on a line that is overwritten. Prints nothing if standard
    /// output is not a terminal.
    pub(crate) fn progress(&self, text: impl FnOnce() -> String) {
        if !stdout().is_terminal() {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_none_or(|at| at.elapsed() > Duration::from_millis(200)) {
            *shown = Some(Instant::now());
            print!("\r\x1b[2K     {}  {}", self.label, text());
            // Failing to print progress does not fail the check.
            let _ = stdout().flush();
        }
    }
}

/// Selects checks of a topic by name, in the topic's order. No names select all; an unknown name is
/// an error that lists the known ones.
pub(crate) fn select(
    topic: &str,
    checks: &'static [Check],
    only: &[String],
) -> Result<Vec<&'static Check>, Failure> {
    let is_known = |name: &&String| checks.iter().any(|check| check.name == name.as_str());
    if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
        let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
        let names = names.join(", ");
        return Err(format!("unknown check `{unknown}`; the checks of {topic} are: {names}").into());
    }
    let is_selected =
        |check: &&Check| only.is_empty() || only.iter().any(|name| name == check.name);
    Ok(checks.iter().filter(is_selected).collect())
}

/// Returns the checks that take turns and are left out on a day: all but `count`. Over the days, all have their turn.
pub(crate) fn left_out(rotated: &[&'static str], count: usize, day: u64) -> Vec<&'static str> {
    let days = rotated.len().div_ceil(count.max(1)).max(1);
    let turn = usize::try_from(day).unwrap_or(0) % days;
    let of_day = rotated.chunks(count.max(1)).nth(turn).unwrap_or_default();
    rotated.iter().filter(|name| !of_day.contains(name)).copied().collect()
}

/// Prints the names of the checks and what each guarantees.
pub(crate) fn list(topic: &str, checks: &[&Check]) {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for Check { name, guarantee, .. } in checks {
        println!("{topic}/{name:<width$}  {guarantee}");
    }
}

/// Runs the checks, prints a line for each when it ends and a summary at the end.
pub(crate) async fn run(
    topic: &str,
    checks: &[&Check],
    schedule: Schedule,
    tier: Tier,
    seed: u64,
) -> ExitCode {
    println!("seed {seed}");
    let (began, shared) = (Instant::now(), Shared::default());
    let (alone, mut together): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| schedule.alone.contains(&check.name));
    let turn = |check: &&Check| schedule.first.iter().position(|name| *name == check.name);
    together.sort_by_key(|check| turn(check).unwrap_or(usize::MAX));
    let mut failed = 0;
    for (checks, lanes) in [(together, schedule.lanes), (alone, 1)] {
        let runs = checks.into_iter().map(|it| run_one(topic, it, tier, seed, shared.clone()));
        let passed: Vec<bool> = stream::iter(runs).buffer_unordered(lanes).collect().await;
        failed += passed.into_iter().filter(|passed| !passed).count();
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} passed, {failed} failed ({seconds:.0} s)", checks.len() - failed);
    if failed == 0 && !checks.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a check, prints its line, and returns whether it passed.
async fn run_one(topic: &str, check: &Check, tier: Tier, seed: u64, shared: Shared) -> bool {
    let since = Instant::now();
    let label: Arc<str> = format!("{topic}/{}", check.name).into();
    let (shown, shared_by) = (Arc::default(), shared.clone());
    let trial = Trial { tier, seed, label: Arc::clone(&label), shown, shared: shared_by };
    // A separate task, so that a panic fails one check and not the whole run.
    let verdict = match tokio::spawn((check.run)(trial)).await {
        Ok(verdict) => verdict,
        Err(panic) => Err(panic.into()),
    };
    if stdout().is_terminal() {
        print!("\r\x1b[2K");
    }
    let seconds = since.elapsed().as_secs_f64();
    match &verdict {
        Ok(finding) => println!("ok   {label}  {finding} ({seconds:.1} s)"),
        Err(failure) => {
            shared.clear().await;
            let why = with_causes(failure.as_ref());
            println!("FAIL {label}: {why} (seed {seed}, {seconds:.1} s)");
        }
    }
    verdict.is_ok()
}

/// Converts the result of a command other than `prove` to an exit code, and prints the error if it
/// failed.
pub(crate) fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("FAIL {}", with_causes(failure.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// Fails with the message unless the condition holds.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(why().into()) }
}

fn with_causes(failure: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(failure.source(), |cause| (*cause).source());
    causes.fold(failure.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_turn() {
        let rotated = ["a", "b", "c", "d", "e"];
        let run: Vec<Vec<&str>> = (20_000..20_003)
            .map(|day| {
                let left_out = left_out(&rotated, 2, day);
                rotated.into_iter().filter(|name| !left_out.contains(name)).collect()
            })
            .collect();
        assert!(run.iter().all(|names| (1..=2).contains(&names.len())), "{run:?}");
        assert!(rotated.iter().all(|name| run.concat().contains(name)), "{run:?}");
    }

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0_u64, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}

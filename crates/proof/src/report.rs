//! The lines a run prints, and the tally at its end.

use std::error::Error;
use std::io::{IsTerminal, Write, stdout};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Why a promise is not kept.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a check found: a sentence with its figures, or why it failed.
pub(crate) type Verdict = Result<String, Failure>;

/// One promise, and how it is tried.
pub(crate) struct Check {
    /// `topic/letter`
    pub(crate) name: &'static str,
    pub(crate) run: fn(Trial) -> Pin<Box<dyn Future<Output = Verdict> + Send>>,
}

/// How thoroughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// All checks of a topic in less than a minute.
    Fast,
    /// All of them in less than a quarter of an hour.
    Full,
}

/// One run of one check.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) tier: Tier,
    seed: u64,
    name: &'static str,
    shown: Arc<Mutex<Option<Instant>>>,
}

impl Trial {
    /// The one or the other, by tier.
    pub(crate) fn by_tier<T>(&self, fast: T, full: T) -> T {
        match self.tier {
            Tier::Fast => fast,
            Tier::Full => full,
        }
    }

    /// Dice for one purpose. Each purpose has its own number, so that one more throw here does not
    /// change what falls there.
    pub(crate) fn dice(&self, purpose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose))
    }

    /// Shows how far a long check is, on a line that is overwritten. Nothing, if nobody looks.
    pub(crate) fn progress(&self, text: impl FnOnce() -> String) {
        if !stdout().is_terminal() {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_none_or(|at| at.elapsed() > Duration::from_millis(200)) {
            *shown = Some(Instant::now());
            print!("\r\x1b[2K     {}  {}", self.name, text());
            // A line that cannot be shown is no reason to stop.
            let _ = stdout().flush();
        }
    }
}

/// Runs the checks one after another, prints a line for each and the tally at the end.
pub(crate) async fn run(checks: &[&Check], tier: Tier, seed: u64) -> ExitCode {
    println!("seed {seed}");
    let mut failed = 0;
    for check in checks {
        let since = Instant::now();
        let trial = Trial { tier, seed, name: check.name, shown: Arc::default() };
        // As a task of its own, so that a panic is one failed check and not the end.
        let verdict = match tokio::spawn((check.run)(trial)).await {
            Ok(verdict) => verdict,
            Err(panic) => Err(panic.into()),
        };
        if stdout().is_terminal() {
            print!("\r\x1b[2K");
        }
        let seconds = since.elapsed().as_secs_f64();
        match verdict {
            Ok(finding) => println!("ok   {}  {finding} ({seconds:.1} s)", check.name),
            Err(failure) => {
                failed += 1;
                let why = with_causes(failure.as_ref());
                println!("FAIL {}: {why} (seed {seed}, {seconds:.1} s)", check.name);
            }
        }
    }
    println!("{} passed, {failed} failed", checks.len() - failed);
    if failed == 0 && !checks.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// For a command that is not a list of checks: says why it failed, if it did.
pub(crate) fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("FAIL {}", with_causes(failure.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// Fails with the reason, unless it holds.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(why().into()) }
}

fn with_causes(failure: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(failure.source(), |cause| (*cause).source());
    causes.fold(failure.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A number with a comma for each thousand.
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
    fn thousands_are_grouped() {
        let cases = [(0_u64, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}

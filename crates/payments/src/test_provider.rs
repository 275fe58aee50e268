//! Money that is none: for sandboxes, and for trying things out. It says so wherever it is shown.

use crate::{Answer, Asked, Outcome, Provider};

/// A provider that takes no money and does what its instrument says.
#[derive(Debug, Clone, Copy, Default)]
pub struct TestProvider;

/// What it can be told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestInstrument {
    /// Pays.
    Approves,
    /// Refuses.
    Declines,
}

impl TestInstrument {
    const ALL: [(Self, &'static str); 2] =
        [(Self::Approves, "test_approves"), (Self::Declines, "test_declines")];

    /// The name, as the page sends it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind)
    }
}

impl TestProvider {
    /// The same payment has the same end, also when it is asked for again by another process.
    fn outcome(asked: &Asked) -> Outcome {
        match TestInstrument::from_name(&asked.instrument) {
            Some(TestInstrument::Approves) => {
                Outcome::Paid { reference: format!("test_{}", asked.payment) }
            }
            Some(TestInstrument::Declines) | None => Outcome::Declined,
        }
    }
}

impl Provider for TestProvider {
    fn name(&self) -> &'static str {
        "test"
    }

    fn is_real(&self) -> bool {
        false
    }

    fn charge<'asked>(&'asked self, asked: &'asked Asked) -> Answer<'asked> {
        Box::pin(async { Ok(Self::outcome(asked)) })
    }

    fn find<'asked>(&'asked self, asked: &'asked Asked) -> Answer<'asked> {
        Box::pin(async { Ok(Self::outcome(asked)) })
    }
}

//! A payment provider that moves no money, for sandboxes and development.

use crate::{
    Attempt, Charge, ChargeOutcome, NextStep, PageRequest, Provider, ProviderFuture, ProviderName,
    ProviderStatus,
};

/// A provider that moves no money. The instrument determines the outcome, which is known at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct TestProvider;

primitives::text_enum! {
    /// A payment instrument of the [`TestProvider`].
    pub enum TestInstrument {
        /// Every charge succeeds.
        #[strum(serialize = "test_approves")]
        Approves,
        /// Every charge is declined.
        #[strum(serialize = "test_declines")]
        Declines,
    }
}

impl TestProvider {
    /// Depends on the attempt alone, so that every process returns the same outcome for a payment.
    fn outcome(attempt: &Attempt) -> ChargeOutcome {
        match TestInstrument::parse(&attempt.instrument) {
            Some(TestInstrument::Approves) => ChargeOutcome::Paid(Charge {
                reference: format!("test_{}", attempt.payment),
                amount: attempt.amount,
                fee: None,
            }),
            Some(TestInstrument::Declines) | None => ChargeOutcome::Declined,
        }
    }
}

impl Provider for TestProvider {
    fn name(&self) -> ProviderName {
        ProviderName::Test
    }

    fn is_live(&self) -> bool {
        false
    }

    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        _: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep> {
        Box::pin(async { Ok(NextStep::Done(Self::outcome(attempt))) })
    }

    fn status<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(async { Ok(ProviderStatus::Done(Self::outcome(attempt))) })
    }

    fn expire<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        self.status(attempt)
    }
}

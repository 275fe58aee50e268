//! A payment provider that moves no money, for sandboxes and development.

use crate::{ChargeFuture, ChargeOutcome, ChargeRequest, Provider};

/// A provider that moves no money. The instrument determines the outcome.
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
    /// Depends on the request alone, so that every process returns the same outcome for a payment.
    fn outcome(request: &ChargeRequest) -> ChargeOutcome {
        match TestInstrument::parse(&request.instrument) {
            Some(TestInstrument::Approves) => {
                ChargeOutcome::Paid { reference: format!("test_{}", request.payment) }
            }
            Some(TestInstrument::Declines) | None => ChargeOutcome::Declined,
        }
    }
}

impl Provider for TestProvider {
    fn name(&self) -> &'static str {
        "test"
    }

    fn is_live(&self) -> bool {
        false
    }

    fn charge<'request>(
        &'request self,
        request: &'request ChargeRequest,
    ) -> ChargeFuture<'request> {
        Box::pin(async { Ok(Self::outcome(request)) })
    }

    fn find<'request>(&'request self, request: &'request ChargeRequest) -> ChargeFuture<'request> {
        Box::pin(async { Ok(Self::outcome(request)) })
    }
}

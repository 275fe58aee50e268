//! A payment provider whose page, replies and money the tests control.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use payments::{
    Attempt, CallError, Charge, ChargeOutcome, NextStep, PageRequest, Provider, ProviderFuture,
    ProviderName, ProviderPage, ProviderStatus, RefundAttempt, RefundStatus,
};
use primitives::{Money, PaymentId, RefundId};
use tokio::sync::Semaphore;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The provider does not get it.
    NotSent,
    /// The provider acts, and its reply is lost.
    Lost,
    Refused,
}

/// What the provider knows of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    Open,
    Approved,
    Processing,
    Paid(Money),
    Declined,
    Ended,
}

#[derive(Debug, Default)]
struct State {
    attempts: BTreeMap<PaymentId, Known>,
    refunds: BTreeMap<RefundId, RefundStatus>,
    /// What happens to the next calls; they succeed after that.
    replies: VecDeque<Reply>,
    /// What happens to the next call of this name.
    of_call: Option<(&'static str, Reply)>,
    calls: Vec<&'static str>,
    /// What the next refunds become.
    is_refund_pending: bool,
    /// Refunds that were made, each once.
    refunded: i64,
}

/// A provider with hosted pages, whose money is real for the ledger.
#[derive(Debug)]
pub(crate) struct ScriptedProvider {
    name: ProviderName,
    state: Mutex<State>,
    /// Whether the provider takes approved money by itself; otherwise an order cannot be closed, and `capture` takes it.
    captures: bool,
    /// Calls with this name wait for a permit before they act or reply.
    gate: Option<(&'static str, Semaphore)>,
}

impl ScriptedProvider {
    pub(crate) fn new(name: ProviderName) -> Self {
        let captures = name == ProviderName::Paypal;
        Self { name, state: Mutex::default(), captures, gate: None }
    }

    /// Returns a provider whose calls with this name wait for [`release`](Self::release).
    pub(crate) fn gated(name: ProviderName, call: &'static str) -> Self {
        Self { gate: Some((call, Semaphore::new(0))), ..Self::new(name) }
    }

    pub(crate) fn release(&self) {
        self.gate.as_ref().unwrap().1.add_permits(1);
    }

    async fn wait(&self, call: &'static str) {
        if let Some((gated, permits)) = &self.gate
            && *gated == call
        {
            permits.acquire().await.unwrap().forget();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Sets what happens to the next calls.
    pub(crate) fn script(&self, replies: &[Reply]) {
        self.state().replies = replies.iter().copied().collect();
    }

    /// Sets what happens to the next call of this name.
    pub(crate) fn script_call(&self, call: &'static str, reply: Reply) {
        self.state().of_call = Some((call, reply));
    }

    /// Sets what the provider knows of the only attempt.
    pub(crate) fn set(&self, known: Known) {
        let mut state = self.state();
        let [attempt] = &mut state.attempts.values_mut().collect::<Vec<_>>()[..] else {
            panic!("not one attempt")
        };
        **attempt = known;
    }

    /// Sets what the provider knows of an attempt.
    pub(crate) fn set_of(&self, payment: PaymentId, known: Known) {
        self.state().attempts.insert(payment, known);
    }

    pub(crate) fn set_refunds_pending(&self, is_pending: bool) {
        self.state().is_refund_pending = is_pending;
    }

    /// Returns what the provider has returned to buyers, in minor units.
    pub(crate) fn refunded(&self) -> i64 {
        self.state().refunded
    }

    /// Returns the calls since the last time.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().calls)
    }

    /// Returns the reply that the test has set for this call.
    fn reply(&self, call: &'static str) -> Option<Reply> {
        let mut state = self.state();
        state.calls.push(call);
        let is_next = |(name, _): &mut (&'static str, Reply)| *name == call;
        match state.of_call.take_if(is_next) {
            Some((_, reply)) => Some(reply),
            None => state.replies.pop_front(),
        }
    }

    fn status_of(&self, attempt: &Attempt) -> ProviderStatus {
        let state = self.state();
        // Nobody got to a page without an address.
        let known = match &attempt.reference {
            Some(_) => state.attempts.get(&attempt.payment).cloned().unwrap_or(Known::Ended),
            None => Known::Ended,
        };
        let charge =
            |amount| Charge { reference: format!("money_{}", attempt.payment), amount, fee: None };
        match known {
            Known::Open => ProviderStatus::Open,
            Known::Approved => ProviderStatus::Approved,
            Known::Processing => ProviderStatus::Processing,
            Known::Paid(amount) => ProviderStatus::Done(ChargeOutcome::Paid(charge(amount))),
            Known::Declined => ProviderStatus::Done(ChargeOutcome::Declined),
            Known::Ended => ProviderStatus::Done(ChargeOutcome::Ended),
        }
    }
}

/// Runs a call as its reply says.
fn answer<T>(reply: Option<Reply>, act: impl FnOnce() -> T) -> Result<T, CallError> {
    match reply {
        None => Ok(act()),
        Some(Reply::NotSent) => Err(CallError::NotSent),
        Some(Reply::Refused) => Err(CallError::Refused),
        Some(Reply::Lost) => {
            act();
            Err(CallError::Unknown)
        }
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> ProviderName {
        self.name
    }

    fn is_live(&self) -> bool {
        true
    }

    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        page: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep> {
        assert!(page.success_url.starts_with("https://souk.example/attic/checkout/chk_"));
        Box::pin(async move {
            answer(self.reply("begin"), || {
                self.state().attempts.entry(attempt.payment).or_insert(Known::Open);
                let reference = format!("page_{}", attempt.payment);
                let url = format!("https://pay.example/{reference}");
                NextStep::Redirect(ProviderPage { reference, url })
            })
        })
    }

    fn status<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(async move {
            let status = answer(self.reply("status"), || self.status_of(attempt));
            self.wait("status").await;
            status
        })
    }

    fn capture<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(async move {
            let reply = self.reply("capture");
            self.wait("capture").await;
            answer(reply, || {
                let mut state = self.state();
                if let Some(known @ Known::Approved) = state.attempts.get_mut(&attempt.payment) {
                    *known = Known::Paid(attempt.amount);
                }
                drop(state);
                self.status_of(attempt)
            })
        })
    }

    fn expire<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(async move {
            answer(self.reply("expire"), || {
                let mut state = self.state();
                if self.captures {
                    // The order cannot be closed: it is not captured any more.
                    let known = state.attempts.get(&attempt.payment);
                    if matches!(known, Some(Known::Open | Known::Approved)) {
                        return ProviderStatus::Done(ChargeOutcome::Ended);
                    }
                } else if let Some(known @ Known::Open) = state.attempts.get_mut(&attempt.payment) {
                    *known = Known::Ended;
                }
                drop(state);
                self.status_of(attempt)
            })
        })
    }

    fn refund<'call>(
        &'call self,
        refund: &'call RefundAttempt,
    ) -> ProviderFuture<'call, RefundStatus> {
        Box::pin(async move {
            assert!(refund.attempt.charge.is_some(), "money is refunded by its own id");
            answer(self.reply("refund"), || {
                let mut state = self.state();
                let is_new = !state.refunds.contains_key(&refund.refund);
                let reference = format!("re_{}", refund.refund);
                if is_new {
                    state.refunded += refund.amount.minor();
                }
                let status = if state.is_refund_pending {
                    RefundStatus::Pending { reference }
                } else {
                    RefundStatus::Done { reference }
                };
                state.refunds.insert(refund.refund, status.clone());
                status
            })
        })
    }
}

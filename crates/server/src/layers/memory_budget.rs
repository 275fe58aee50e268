//! An amount of memory for bodies, of which one sender uses a part at most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use limits::Caller;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body_owner::{BodyOwner, OwnerKind};

/// One caller uses at most one of so many parts, but enough for its largest body.
const CALLER_SHARE: usize = 8;
/// Agents of one network together.
const NETWORK_SHARE: usize = 2;
/// All callers without a valid credential together.
const ANONYMOUS_SHARE: usize = 4;

/// An amount of memory. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct MemoryBudget {
    /// In KiB, like all amounts here.
    all: Arc<Semaphore>,
    all_kib: usize,
    /// The largest body.
    body_kib: usize,
    /// Parts in use, or waited for.
    parts: Arc<Mutex<HashMap<Part, Arc<Semaphore>>>>,
}

/// Who shares a part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Caller(Caller),
    Network(Caller),
    Anonymous,
}

/// Memory in use, released when dropped.
#[derive(Debug)]
pub(super) struct MemoryPermit {
    _parts: Vec<PartPermit>,
    _any: OwnedSemaphorePermit,
}

impl MemoryBudget {
    /// Creates a budget of at least the largest body.
    pub(super) fn new(bytes: usize, body_bytes_max: usize) -> Self {
        let body_kib = body_bytes_max.div_ceil(1024);
        let all_kib = (bytes / 1024).max(body_kib).min(Semaphore::MAX_PERMITS);
        let all = Arc::new(Semaphore::new(all_kib));
        Self { all, all_kib, body_kib, parts: Arc::default() }
    }

    /// Waits for memory for a body: of the parts of its sender first, so that what one sender waits for does not keep
    /// others waiting. The semaphores are never closed, so that there is some in the end.
    pub(super) async fn take(&self, owner: BodyOwner, bytes: u64) -> Option<MemoryPermit> {
        let kib = usize::try_from(bytes.div_ceil(1024)).unwrap_or(usize::MAX).min(self.body_kib);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        let mut parts = Vec::new();
        for part in parts_of(owner) {
            parts.push(self.take_part(part, kib).await?);
        }
        let any = Arc::clone(&self.all).acquire_many_owned(kib).await.ok()?;
        Some(MemoryPermit { _parts: parts, _any: any })
    }

    /// Waits for memory of a part.
    async fn take_part(&self, part: Part, kib: u32) -> Option<PartPermit> {
        let share = match part {
            Part::Caller(_) => CALLER_SHARE,
            Part::Network(_) => NETWORK_SHARE,
            Part::Anonymous => ANONYMOUS_SHARE,
        };
        let semaphore = {
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new((self.all_kib / share).max(self.body_kib)));
            Arc::clone(parts.entry(part.clone()).or_insert_with(new))
        };
        // Created before the wait, so that a part whose caller gives up is forgotten too.
        let mut permit = PartPermit { budget: self.clone(), part, permit: None };
        permit.permit = Some(semaphore.acquire_many_owned(kib).await.ok()?);
        Some(permit)
    }

    #[cfg(test)]
    fn is_unused(&self) -> bool {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.is_empty() && self.all.available_permits() == self.all_kib
    }
}

/// Returns the parts that memory of a sender is taken from.
fn parts_of(owner: BodyOwner) -> Vec<Part> {
    let own = owner.caller.map(Part::Caller);
    let shared = match owner.kind {
        OwnerKind::Account => None,
        OwnerKind::Agent { network } => network.map(Part::Network),
        OwnerKind::Anonymous => Some(Part::Anonymous),
    };
    own.into_iter().chain(shared).collect()
}

/// Memory of a part. When the last one is dropped the part is forgotten.
#[derive(Debug)]
struct PartPermit {
    budget: MemoryBudget,
    part: Part,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for PartPermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut parts = self.budget.parts.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has the only reference: nobody uses the part or waits for it.
        if parts.get(&self.part).is_some_and(|it| Arc::strong_count(it) == 1) {
            parts.remove(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use primitives::{ClientAddress, Id, KeyId, MerchantId};

    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn network(last: u8) -> Caller {
        Caller::address(ClientAddress([192, 0, 2, last].into()))
    }

    fn store(number: u128) -> BodyOwner {
        let caller = Some(Caller::store(MerchantId::from_random(number)));
        BodyOwner { caller, kind: OwnerKind::Account }
    }

    fn agent(number: u128, last: u8) -> BodyOwner {
        let caller = Some(Caller::agent(KeyId::from_random(number)));
        BodyOwner { caller, kind: OwnerKind::Agent { network: Some(network(last)) } }
    }

    fn anonymous(last: u8) -> BodyOwner {
        BodyOwner { caller: Some(network(last)), kind: OwnerKind::Anonymous }
    }

    async fn take(budget: &MemoryBudget, owner: BodyOwner, bytes: u64) -> Option<MemoryPermit> {
        let taken = tokio::time::timeout(Duration::from_millis(20), budget.take(owner, bytes));
        taken.await.ok().flatten()
    }

    /// Takes memory for bodies of one MiB until there is none left. Returns how many there were.
    async fn take_all(
        budget: &MemoryBudget,
        held: &mut Vec<MemoryPermit>,
        owner: impl Fn(u8) -> BodyOwner,
    ) -> u8 {
        for number in 0..u8::MAX {
            match take(budget, owner(number), MIB).await {
                Some(permit) => held.push(permit),
                None => return number,
            }
        }
        u8::MAX
    }

    #[tokio::test]
    async fn no_caller_network_or_crowd_has_all_of_it() {
        let budget = MemoryBudget::new(16 << 20, 1 << 20);
        let mut held = Vec::new();
        assert_eq!(take_all(&budget, &mut held, |_| store(1)).await, 2, "one store");
        held.clear();
        assert_eq!(take_all(&budget, &mut held, |_| agent(1, 1)).await, 2, "one key");
        held.clear();
        assert_eq!(take_all(&budget, &mut held, |n| agent(n.into(), 1)).await, 8, "one network");
        assert!(take(&budget, store(1), MIB).await.is_some());
        held.clear();
        assert_eq!(take_all(&budget, &mut held, anonymous).await, 4, "without a credential");
        assert_eq!(take_all(&budget, &mut held, |n| store(n.into())).await, 12);
        assert!(take(&budget, store(99), 1).await.is_none());
        held.clear();
        assert!(budget.is_unused());
    }

    #[tokio::test]
    async fn the_largest_body_fits_into_each_part() {
        let budget = MemoryBudget::new(1 << 20, 16 << 20);
        for owner in [store(1), agent(1, 1), anonymous(1)] {
            let _held = take(&budget, owner.clone(), 16 << 20).await.unwrap();
            assert!(take(&budget, owner.clone(), 1).await.is_none(), "{owner:?}");
        }
        assert!(budget.is_unused());
    }

    #[tokio::test]
    async fn who_waits_for_its_own_part_does_not_keep_others_waiting() {
        let budget = MemoryBudget::new(16 << 20, 1 << 20);
        let held = (take(&budget, store(1), MIB).await, take(&budget, store(1), MIB).await);
        let mut waiting = Box::pin(budget.take(store(1), MIB));
        assert!(futures::poll!(&mut waiting).is_pending());
        assert!(take(&budget, store(2), MIB).await.is_some());
        drop(held);
        assert!(waiting.await.is_some());
        assert!(budget.is_unused());
    }
}

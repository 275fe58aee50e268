//! Events that were forwarded: the service may return one more than once.

use std::collections::{HashSet, VecDeque};

use primitives::EventId;

/// The latest events. The service repeats those of the last seconds only.
#[derive(Debug, Default)]
pub(super) struct KnownEvents {
    ids: HashSet<EventId>,
    order: VecDeque<EventId>,
}

impl KnownEvents {
    const COUNT_MAX: usize = 100_000;

    /// Adds an event. Returns false if it is known.
    pub(super) fn insert(&mut self, id: EventId) -> bool {
        if !self.ids.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > Self::COUNT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn an_event_is_new_once_and_memory_is_bounded() {
        let mut known = KnownEvents::default();
        let count = u128::try_from(KnownEvents::COUNT_MAX).unwrap();
        for number in 0..=count {
            assert!(known.insert(EventId::from_random(number)));
        }
        assert!(!known.insert(EventId::from_random(count)));
        assert_eq!(known.ids.len(), KnownEvents::COUNT_MAX);
    }
}

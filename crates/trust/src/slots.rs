//! When the score of a store is computed: an epoch has 360 slots, one for each minute. Stores are computed in the order of
//! their ids, which are random, so that they are spread evenly, and which every table of stores is sorted by. Each epoch begins
//! at another id, which is drawn when the epoch begins: nobody knows before in which minute a store is looked at.

use std::time::Duration;

use primitives::Timestamp;
use uuid::Uuid;

use crate::Epoch;
use crate::evidence::{COUNTED_AFTER_SECONDS, EPOCH_SECONDS};

/// Slots of an epoch.
pub(crate) const SLOTS: u32 = 360;
/// Length of all slots. As much time is left after the last one as before the first one.
const SLOTS_SECONDS: i64 = EPOCH_SECONDS - 2 * COUNTED_AFTER_SECONDS;
/// Bits of a position that decide about its slot.
const PREFIX_BITS: u32 = 32;

/// The order of stores in an epoch: by id, from one on and around. The *position* of a store is the distance of its id from the
/// first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ring {
    first: u128,
}

/// Ids that follow each other, from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) first: Uuid,
    pub(crate) last: Uuid,
    /// The position of the last one.
    pub(crate) end: Uuid,
}

impl Ring {
    /// The order by ids alone.
    pub(crate) const BY_ID: Self = Self { first: 0 };

    /// Returns the order that begins at an id.
    pub(crate) const fn from(first_id: Uuid) -> Self {
        Self { first: first_id.as_u128() }
    }

    /// Returns the position of a store.
    pub(crate) const fn position_of(self, id: Uuid) -> Uuid {
        Uuid::from_u128(id.as_u128().wrapping_sub(self.first))
    }

    /// Returns the ids at the positions after one and up to another, as far as they follow each other; `None` if there are none.
    pub(crate) fn segment(self, after: Option<Uuid>, to: Uuid) -> Option<Segment> {
        let from = match after {
            None => 0,
            Some(after) => after.as_u128().checked_add(1)?,
        };
        let to = to.as_u128();
        if from > to {
            return None;
        }
        // The position of the largest id, after which ids begin again.
        let around = u128::MAX - self.first;
        let end = if (from..to).contains(&around) { around } else { to };
        let id_at = |position: u128| Uuid::from_u128(position.wrapping_add(self.first));
        Some(Segment { first: id_at(from), last: id_at(end), end: Uuid::from_u128(end) })
    }
}

/// Returns an id at which an epoch begins: of a random one the bits that decide about a slot.
pub(crate) const fn first_id(random: Uuid) -> Uuid {
    let rest = u128::BITS - PREFIX_BITS;
    Uuid::from_u128(random.as_u128() >> rest << rest)
}

/// Returns how many slots of an epoch are due, the first ones.
pub(crate) fn due_slots(epoch: Epoch, now: Timestamp) -> u32 {
    let seconds = now.unix_seconds() - epoch.as_of().unix_seconds() - COUNTED_AFTER_SECONDS;
    if seconds < 0 {
        return 0;
    }
    let due = seconds * i64::from(SLOTS) / SLOTS_SECONDS + 1;
    u32::try_from(due).unwrap_or(SLOTS).min(SLOTS)
}

/// Returns the time at which a slot of an epoch is due.
pub(crate) fn due_at(epoch: Epoch, slot: u32) -> Timestamp {
    let later = (u64::from(slot) * SLOTS_SECONDS.unsigned_abs()).div_ceil(SLOTS.into());
    epoch.as_of().plus(Duration::from_secs(COUNTED_AFTER_SECONDS.unsigned_abs() + later))
}

/// Returns the slot of a position.
pub(crate) fn slot_at(position: Uuid) -> u32 {
    let prefix = position.as_u128() >> (u128::BITS - PREFIX_BITS);
    u32::try_from((prefix * u128::from(SLOTS)) >> PREFIX_BITS).unwrap_or(SLOTS - 1)
}

/// Returns the last position of the first slots; `slots` is 1 to 360.
pub(crate) fn last_position(slots: u32) -> Uuid {
    let end = (u128::from(slots) << PREFIX_BITS).div_ceil(u128::from(SLOTS));
    // The end of all slots is 2^128, of which the shift leaves 0.
    Uuid::from_u128((end << (u128::BITS - PREFIX_BITS)).wrapping_sub(1))
}

/// Returns how many slots are done if all stores up to a position are.
pub(crate) fn slots_done(position: Option<Uuid>) -> u32 {
    match position.map(|position| position.as_u128().checked_add(1)) {
        None => 0,
        Some(None) => SLOTS,
        Some(Some(next)) => slot_at(Uuid::from_u128(next)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_become_due_one_by_one_once_the_facts_before_the_epoch_are_counted() {
        let epoch = Epoch(83_090);
        let at = |seconds| epoch.as_of().plus(Duration::from_secs(seconds));
        assert_eq!(due_slots(epoch, epoch.previous().as_of()), 0);
        assert_eq!((due_slots(epoch, at(0)), due_slots(epoch, at(119))), (0, 0));
        // 21,360 seconds / 360 = 59 1/3
        assert_eq!((due_slots(epoch, at(120)), due_slots(epoch, at(179))), (1, 1));
        assert_eq!(due_slots(epoch, at(180)), 2);
        assert_eq!(due_slots(epoch, at(6 * 3_600 - 120)), 360);
        assert_eq!(due_slots(epoch, at(60 * 3_600)), 360);
        for slot in 0..SLOTS {
            assert_eq!(due_slots(epoch, due_at(epoch, slot)), slot + 1);
        }
    }

    #[test]
    fn slots_are_ranges_of_positions_without_gaps() {
        for slots in 1..=SLOTS {
            let last = last_position(slots);
            assert_eq!(slot_at(last), slots - 1);
            assert_eq!(slots_done(Some(last)), slots);
            if slots < SLOTS {
                assert_eq!(slot_at(Uuid::from_u128(last.as_u128() + 1)), slots);
            }
        }
        assert_eq!(last_position(SLOTS), Uuid::max());
        assert_eq!((slots_done(None), slots_done(Some(Uuid::nil()))), (0, 0));
    }

    /// Returns the segments up to a position, as pairs of ids.
    fn segments(ring: Ring, to: Uuid) -> Vec<(u128, u128)> {
        let (mut after, mut found) = (None, Vec::new());
        while let Some(Segment { first, last, end }) = ring.segment(after, to) {
            assert_eq!(ring.position_of(last), end);
            found.push((first.as_u128(), last.as_u128()));
            after = Some(end);
        }
        found
    }

    #[test]
    fn an_epoch_goes_once_around_all_ids() {
        let max = u128::MAX;
        assert_eq!(segments(Ring::BY_ID, Uuid::max()), [(0, max)]);
        let ring = Ring::from(Uuid::from_u128(100));
        assert_eq!(segments(ring, Uuid::max()), [(100, max), (0, 99)]);
        assert_eq!(segments(ring, Uuid::from_u128(7)), [(100, 107)]);
        assert_eq!(segments(ring, Uuid::from_u128(max - 100)), [(100, max)]);
        assert_eq!(segments(ring, Uuid::from_u128(max - 98)), [(100, max), (0, 1)]);
        assert_eq!(segments(Ring::from(Uuid::max()), Uuid::max()), [(max, max), (0, max - 1)]);
    }

    #[test]
    fn a_store_has_another_slot_in_another_epoch() {
        let store = Uuid::from_u128(7 << 120);
        let slot = |random: u128| {
            let ring = Ring::from(first_id(Uuid::from_u128(random)));
            slot_at(ring.position_of(store))
        };
        assert_eq!((slot(7 << 120), slot((7 << 120) | 1)), (0, 0));
        assert_eq!(slot(8 << 120), SLOTS - 2, "it has just passed");
        assert_ne!(slot(200 << 120), slot(90 << 120));
    }
}

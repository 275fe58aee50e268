//! When the score of a store is computed: an epoch has 360 slots of almost a minute. Ids of stores are random, so that ranges of
//! ids spread stores evenly, and every table of stores is sorted by them. The ids are divided into 256 blocks, which each epoch
//! goes through in another order, by a key that is drawn when a worker first sees the epoch and is not published: nobody knows
//! before in which minute a store is looked at. The scores of other stores narrow it down: within a block the order is that of
//! ids, and a block has parts of two or three slots, so that the others of a block are due at most two minutes before or after
//! one that was computed; and blocks that are done do not come again in the epoch.

use std::time::Duration;

use primitives::{MerchantId, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Epoch;
use crate::evidence::{COUNTED_AFTER_SECONDS, EPOCH_SECONDS};

/// Slots of an epoch.
pub(crate) const SLOTS: u32 = 360;
/// Length of all slots. As much time is left after the last one as before the first one.
const SLOTS_SECONDS: i64 = EPOCH_SECONDS - 2 * COUNTED_AFTER_SECONDS;
/// Bits of a position that decide about its slot.
const PREFIX_BITS: u32 = 32;
/// Bits of an id, the first ones, that say which block it is in; an even number.
const BLOCK_BITS: u32 = 8;
/// Rounds of the permutation of blocks.
const ROUNDS: u8 = 6;

/// The order of stores in an epoch: by blocks of ids, and by id within a block. The *position* of a store is its id with the number
/// of the block in this order instead of that of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreOrder {
    /// `None`: by id alone.
    key: Option<Uuid>,
}

/// Ids that follow each other, from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) first: Uuid,
    pub(crate) last: Uuid,
    /// The position of the last one.
    pub(crate) end: Uuid,
}

impl StoreOrder {
    /// The order by ids alone.
    pub(crate) const BY_ID: Self = Self { key: None };

    /// Returns the order of an epoch.
    pub(crate) const fn of(key: Uuid) -> Self {
        Self { key: Some(key) }
    }

    /// Returns the position of a store.
    pub(crate) fn position_of(self, id: Uuid) -> Uuid {
        let (block, rest) = split(id);
        joined(self.permuted(block, false), rest)
    }

    /// Returns the ids at the positions after one and up to another, as far as they follow each other; `None` if there are none.
    pub(crate) fn segment(self, after: Option<Uuid>, to: Uuid) -> Option<Segment> {
        let from = match after {
            None => 0,
            Some(after) => after.as_u128().checked_add(1)?,
        };
        if from > to.as_u128() {
            return None;
        }
        let (block, first) = split(Uuid::from_u128(from));
        let end = joined(block, REST_MASK).min(to);
        let (_, last) = split(end);
        let of_ids = self.permuted(block, true);
        Some(Segment { first: joined(of_ids, first), last: joined(of_ids, last), end })
    }

    /// Exchanges the numbers of blocks by a Feistel network, or back.
    fn permuted(self, block: u8, is_inverse: bool) -> u8 {
        let Some(key) = self.key else { return block };
        let half = |bits: u8, round: u8| {
            let digest = Sha256::new().chain_update(key).chain_update([round, bits]).finalize();
            digest[0] & HALF_MASK
        };
        let (mut left, mut right) = (block >> (BLOCK_BITS / 2), block & HALF_MASK);
        if is_inverse {
            for round in (0..ROUNDS).rev() {
                (left, right) = (right ^ half(left, round), left);
            }
        } else {
            for round in 0..ROUNDS {
                (left, right) = (right, left ^ half(right, round));
            }
        }
        left << (BLOCK_BITS / 2) | right
    }
}

const HALF_MASK: u8 = 0x0f;
const REST_MASK: u128 = u128::MAX >> BLOCK_BITS;

/// Returns the block of an id, or its number in an order, and the rest.
fn split(id: Uuid) -> (u8, u128) {
    let [block, ..] = *id.as_bytes();
    (block, id.as_u128() & REST_MASK)
}

fn joined(block: u8, rest: u128) -> Uuid {
    Uuid::from_u128(u128::from(block) << (u128::BITS - BLOCK_BITS) | rest)
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

/// Returns the time from which the score of a store is due in an epoch, by the key of the order of the epoch: for measurements.
#[must_use]
pub fn due_time(epoch: Epoch, order_key: Uuid, merchant: MerchantId) -> Timestamp {
    due_at(epoch, slot_at(StoreOrder::of(order_key).position_of(merchant.uuid())))
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

    const KEYS: [u128; 4] = [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef];

    /// Returns the segments up to a position.
    fn segments(order: StoreOrder, to: Uuid) -> Vec<Segment> {
        let (mut after, mut found) = (None, Vec::new());
        while let Some(segment) = order.segment(after, to) {
            assert_eq!(order.position_of(segment.last), segment.end);
            found.push(segment);
            after = Some(segment.end);
        }
        found
    }

    #[test]
    fn an_epoch_goes_once_through_all_ids() {
        for key in KEYS {
            let order = StoreOrder::of(Uuid::from_u128(key));
            let mut found = segments(order, Uuid::max());
            assert_eq!(found.len(), 256);
            assert!(found.is_sorted_by_key(|segment| segment.end));
            found.sort_by_key(|segment| segment.first);
            assert_eq!((found[0].first, found[255].last), (Uuid::nil(), Uuid::max()));
            let follow = |pair: &[Segment]| pair[0].last.as_u128() + 1 == pair[1].first.as_u128();
            assert!(found.windows(2).all(follow));
        }
    }

    #[test]
    fn a_part_ends_with_its_last_position() {
        let order = StoreOrder::of(Uuid::from_u128(7));
        let to = Uuid::from_u128((5 << 120) | 0x63);
        let found = segments(order, to);
        assert_eq!(found.len(), 6);
        assert_eq!(found[5].end, to);
        assert_eq!(found[5].last.as_u128() & REST_MASK, 99);
        assert_eq!(order.segment(Some(to), to), None);
        assert_eq!(order.segment(Some(Uuid::max()), Uuid::max()), None);
    }

    #[test]
    fn ids_are_in_their_order_without_a_key() {
        assert_eq!(segments(StoreOrder::BY_ID, Uuid::max()).len(), 256);
        let id = Uuid::from_u128(7 << 121);
        assert_eq!(StoreOrder::BY_ID.position_of(id), id);
    }

    #[test]
    fn stores_that_follow_each_other_in_one_epoch_do_not_in_another() {
        let (left, right) = (Uuid::from_u128(7 << 120), Uuid::from_u128(8 << 120));
        let distance = |key: u128| {
            let order = StoreOrder::of(Uuid::from_u128(key));
            let slot = |id| i64::from(slot_at(order.position_of(id)));
            slot(left) - slot(right)
        };
        let distances: std::collections::BTreeSet<i64> = (0..100).map(distance).collect();
        assert!(distances.len() > 50, "{distances:?}");
    }
}

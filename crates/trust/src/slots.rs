//! When the score of a store is computed: an epoch has 360 slots, one for each minute. The slot of a store follows from its
//! id, which is random, so that stores are spread evenly. A slot is a range of ids, which every table of stores is sorted by.

use std::time::Duration;

use primitives::{MerchantId, Timestamp};
use uuid::Uuid;

use crate::Epoch;

/// Slots of an epoch.
pub(crate) const SLOTS: u32 = 360;
const SLOT_SECONDS: i64 = 60;
/// Bits of an id that decide about its slot.
const PREFIX_BITS: u32 = 32;

/// Returns how many slots of an epoch are due, the first ones.
pub(crate) fn due_slots(epoch: Epoch, now: Timestamp) -> u32 {
    let seconds = now.unix_seconds() - epoch.as_of().unix_seconds();
    if seconds < 0 {
        return 0;
    }
    u32::try_from(seconds / SLOT_SECONDS + 1).unwrap_or(SLOTS).min(SLOTS)
}

/// Returns the time at which a slot of an epoch is due.
pub(crate) fn due_at(epoch: Epoch, slot: u32) -> Timestamp {
    let seconds = u64::from(slot) * SLOT_SECONDS.unsigned_abs();
    epoch.as_of().plus(Duration::from_secs(seconds))
}

/// Returns the slot of a store.
pub(crate) fn slot_of(merchant: MerchantId) -> u32 {
    slot_of_id(merchant.uuid())
}

fn slot_of_id(id: Uuid) -> u32 {
    let prefix = id.as_u128() >> (u128::BITS - PREFIX_BITS);
    u32::try_from((prefix * u128::from(SLOTS)) >> PREFIX_BITS).unwrap_or(SLOTS - 1)
}

/// Returns the largest id of the first slots; `slots` is 1 to 360.
pub(crate) fn last_id(slots: u32) -> Uuid {
    let end = (u128::from(slots) << PREFIX_BITS).div_ceil(u128::from(SLOTS));
    // The end of all slots is 2^128, of which the shift leaves 0.
    Uuid::from_u128((end << (u128::BITS - PREFIX_BITS)).wrapping_sub(1))
}

/// Returns how many slots are done if all ids up to a position are.
pub(crate) fn slots_done(position: Option<Uuid>) -> u32 {
    match position.map(|position| position.as_u128().checked_add(1)) {
        None => 0,
        Some(None) => SLOTS,
        Some(Some(next)) => slot_of_id(Uuid::from_u128(next)),
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn a_slot_becomes_due_each_minute() {
        let epoch = Epoch(83_090);
        let at = |seconds| epoch.as_of().plus(Duration::from_secs(seconds));
        assert_eq!(due_slots(epoch, epoch.previous().as_of()), 0);
        assert_eq!(due_slots(epoch, at(0)), 1);
        assert_eq!(due_slots(epoch, at(59)), 1);
        assert_eq!(due_slots(epoch, at(60)), 2);
        assert_eq!(due_slots(epoch, at(6 * 3_600 - 1)), 360);
        assert_eq!(due_slots(epoch, at(60 * 3_600)), 360);
        assert_eq!(due_slots(epoch, due_at(epoch, 7)), 8);
    }

    #[test]
    fn slots_are_ranges_of_ids_without_gaps() {
        for slots in 1..=SLOTS {
            let last = last_id(slots);
            assert_eq!(slot_of_id(last), slots - 1);
            assert_eq!(slots_done(Some(last)), slots);
            if slots < SLOTS {
                assert_eq!(slot_of_id(Uuid::from_u128(last.as_u128() + 1)), slots);
            }
        }
        assert_eq!(last_id(SLOTS), Uuid::max());
        assert_eq!((slots_done(None), slots_done(Some(Uuid::nil()))), (0, 0));
        assert_eq!(slot_of(MerchantId::from_random(1)), 0);
    }
}

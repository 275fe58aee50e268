//! Names of accounts in evidence: a merchant can tell accounts apart, but not who they are.

use primitives::MerchantId;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{AccountRef, AgentDay};

/// Replaces the accounts of the rows of a store by pseudonyms, and sorts the rows by pseudonym and day. Equal accounts are
/// next to each other. The pseudonym of an account is another one at each store, and does not lead back to its id, which is
/// random.
pub(crate) fn pseudonymized(merchant: MerchantId, mut days: Vec<AgentDay>) -> Vec<AgentDay> {
    for rows in days.chunk_by_mut(|one, next| one.account == next.account) {
        let Some(account) = rows.first().map(|row| pseudonym(merchant, row.account)) else {
            continue;
        };
        for row in rows {
            row.account = account;
        }
    }
    days.sort_unstable_by_key(|row| (row.account, row.day));
    days
}

/// Returns the pseudonym of an account at a store.
pub(crate) fn pseudonym(merchant: MerchantId, account: AccountRef) -> AccountRef {
    let mut hash = Sha256::new();
    hash.update(merchant.uuid().as_bytes());
    hash.update(account.0.as_bytes());
    let mut bytes = [0; 16];
    for (byte, hashed) in bytes.iter_mut().zip(hash.finalize()) {
        *byte = hashed;
    }
    AccountRef(Uuid::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;
    use crate::{Day, DayCounts};

    fn row(account: u128, day: i32) -> AgentDay {
        let account = AccountRef(Uuid::from_u128(account));
        AgentDay { day: Day(day), account, counts: DayCounts::default() }
    }

    #[test]
    fn accounts_stay_apart_and_have_another_name_at_each_store() {
        let rows = vec![row(1, 5), row(1, 6), row(2, 4), row(3, 9)];
        let [one, two] = [1, 2].map(|number| {
            let store = MerchantId::from_random(number);
            assert_eq!(pseudonymized(store, rows.clone()), pseudonymized(store, rows.clone()));
            pseudonymized(store, rows.clone())
        });
        for named in [&one, &two] {
            assert!(named.is_sorted_by_key(|row| (row.account, row.day)), "{named:?}");
            let mut sizes: Vec<usize> =
                named.chunk_by(|one, next| one.account == next.account).map(<[_]>::len).collect();
            sizes.sort_unstable();
            assert_eq!(sizes, [1, 1, 2]);
        }
        let mut others = rows.iter().chain(&two);
        assert!(others.all(|row| one.iter().all(|named| named.account != row.account)));
    }
}

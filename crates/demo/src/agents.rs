//! Agents that bought at the demo stores. Their accounts are disabled, and nobody has their keys.

use identity::PastAgent;
use primitives::{Id, KeyId, UserId};

use crate::hash::between;
use crate::seed::{SeedError, days_ago};
use crate::world::{Store, id};

/// Agents that buy every third time, each at a store again after some weeks.
const REGULAR: u64 = 12;
/// Agents that buy seldom. A prime number, so that their turns differ from those of the regular ones.
const OCCASIONAL: u64 = 61;
/// Age of the accounts at the reference time: older than every purchase.
const ACCOUNTS_DAYS_AGO: u32 = 400;

const NAMES: [&str; 8] =
    ["Heron", "Plover", "Siskin", "Dunlin", "Wagtail", "Fieldfare", "Nuthatch", "Turnstone"];

/// An agent, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent(u64);

impl Agent {
    /// Returns the agent that makes the purchase with this number at a store.
    pub(crate) fn of(store: &Store, number: u64) -> Self {
        let first = u64::from(between(&store.slug, "agents", 0, 60));
        if number.is_multiple_of(3) {
            return Self((number / 3 * 5 + first) % REGULAR);
        }
        Self(REGULAR + (number * 29 + first) % OCCASIONAL)
    }

    /// Returns the id of its only key.
    pub(crate) fn key(self) -> KeyId {
        KeyId::from_uuid(id(&format!("agent-key/{}", self.0)))
    }

    /// Returns the name of the key, such as `Heron 3`.
    pub(crate) fn name(self) -> String {
        let index = usize::try_from(self.0).unwrap_or_default();
        format!("{} {}", NAMES[index % NAMES.len()], index / NAMES.len() + 1)
    }
}

/// Returns all agents with their accounts.
pub(crate) fn agents() -> Result<Vec<PastAgent>, SeedError> {
    let account = |number: u64| -> Result<PastAgent, SeedError> {
        let agent = Agent(number);
        let name = agent.name();
        let address = format!("{}@agents.example", name.to_lowercase().replace(' ', "-"));
        Ok(PastAgent {
            user: UserId::from_uuid(id(&format!("agent/{number}"))),
            email: address.parse()?,
            key: agent.key(),
            name,
            since: days_ago(ACCOUNTS_DAYS_AGO),
        })
    };
    (0..REGULAR + OCCASIONAL).map(account).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_addresses_are_unique() {
        let agents = agents().unwrap();
        assert_eq!(agents[0].name, "Heron 1");
        assert_eq!(agents[9].name, "Plover 2");
        let names: BTreeSet<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let addresses: BTreeSet<&str> = agents.iter().map(|agent| agent.email.as_str()).collect();
        assert_eq!((names.len(), addresses.len()), (73, 73));
    }

    #[test]
    fn most_agents_buy_at_a_store_within_a_quarter() {
        let world = crate::world();
        let store = world.store(crate::DEMO_STORE).unwrap();
        let buying = |first: u64| -> BTreeSet<u64> {
            (first..first + 78).map(|number| Agent::of(store, number).0).collect()
        };
        for first in [0, 17_000, 17_013] {
            assert!((55..=73).contains(&buying(first).len()), "{first}: {:?}", buying(first));
        }
    }
}

//! To which hosts connections stay open after a request: a limited number, so that many receivers do not use up the
//! open files.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// How often hosts without an open connection are forgotten, while there is no room for others.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The hosts to which connections may be open although no request is in flight.
#[derive(Debug)]
pub(crate) struct IdleHosts {
    max: usize,
    /// For how long after the start of a request a connection of it can be open.
    span: Duration,
    open_until: HashMap<String, Instant>,
    next_sweep: Option<Instant>,
}

impl IdleHosts {
    pub(crate) fn new(max: usize, span: Duration) -> Self {
        Self { max, span, open_until: HashMap::new(), next_sweep: None }
    }

    /// Returns whether the connection of a request that starts now may stay open.
    pub(crate) fn admit(&mut self, host: &str, now: Instant) -> bool {
        let until = now + self.span;
        if let Some(open_until) = self.open_until.get_mut(host) {
            *open_until = until;
            return true;
        }
        if self.open_until.len() >= self.max && self.next_sweep.is_none_or(|at| now >= at) {
            self.open_until.retain(|_, until| *until > now);
            self.next_sweep = Some(now + SWEEP_INTERVAL);
        }
        if self.open_until.len() >= self.max {
            return false;
        }
        self.open_until.insert(host.to_owned(), until);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(30);

    #[test]
    fn connections_to_a_limited_number_of_hosts_stay_open() {
        let (mut hosts, now) = (IdleHosts::new(2, SPAN), Instant::now());
        assert!(hosts.admit("a", now) && hosts.admit("b", now));
        assert!(!hosts.admit("c", now));
        assert!(hosts.admit("a", now + SPAN / 2), "it is one of them");
        assert!(!hosts.admit("c", now + SPAN / 2));
        assert!(hosts.admit("c", now + SPAN), "those of b are closed");
        assert!(!hosts.admit("b", now + SPAN));
        assert_eq!(hosts.open_until.len(), 2);
    }

    #[test]
    fn without_room_no_connection_stays_open() {
        assert!(!IdleHosts::new(0, SPAN).admit("a", Instant::now()));
    }
}

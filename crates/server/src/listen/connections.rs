//! The open connections, in all and of each client network. When there are too many, the oldest one without a request
//! gives way to the new one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use primitives::ClientAddress;
use tokio::sync::oneshot;

/// How many connections may be open.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    pub(crate) total: usize,
    /// Of one IPv4 address or IPv6 network.
    pub(crate) per_network: usize,
    /// Proxies, whose connections carry the requests of many clients: only the total counts for them.
    pub(crate) trusted_proxies: Arc<[IpNet]>,
}

/// Counts the open connections. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    limits: Arc<ConnectionLimits>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    open: usize,
    /// Networks with an open connection.
    networks: HashMap<IpAddr, Network>,
    /// Connections without a request, the oldest first.
    silent: BTreeMap<u64, SilentConnection>,
}

#[derive(Default)]
struct Network {
    open: usize,
    silent: BTreeSet<u64>,
}

struct SilentConnection {
    network: IpAddr,
    evict: oneshot::Sender<()>,
}

/// An open connection; it counts until dropped.
pub(super) struct Registration {
    connections: Connections,
    id: u64,
    network: IpAddr,
    evicted: Option<oneshot::Receiver<()>>,
}

/// Marks a connection as one that sent a request.
pub(super) struct FirstRequest {
    connections: Connections,
    id: u64,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self { limits: Arc::new(limits), state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection. Returns `None` if there are too many and each of them has sent a request.
    pub(super) fn register(&self, peer: IpAddr) -> Option<Registration> {
        let network = ClientAddress(peer).network();
        let is_proxy =
            self.limits.trusted_proxies.iter().any(|net| net.contains(&peer.to_canonical()));
        let mut state = self.state();
        let of_network = state.networks.get(&network);
        let is_network_full = of_network.is_some_and(|it| it.open >= self.limits.per_network);
        if is_network_full && !is_proxy {
            let oldest = of_network.and_then(|it| it.silent.first().copied())?;
            state.evict(oldest);
        } else if state.open >= self.limits.total {
            let oldest = state.silent.keys().next().copied()?;
            state.evict(oldest);
        }
        let (evict, evicted) = oneshot::channel();
        let id = state.next_id;
        state.next_id += 1;
        state.open += 1;
        state.silent.insert(id, SilentConnection { network, evict });
        let of_network = state.networks.entry(network).or_default();
        of_network.open += 1;
        of_network.silent.insert(id);
        metrics::gauge!("souk_connections_open").increment(1.0);
        Some(Registration { connections: self.clone(), id, network, evicted: Some(evicted) })
    }
}

impl State {
    fn evict(&mut self, id: u64) {
        metrics::counter!("souk_connections_evicted_total").increment(1);
        if let Some(connection) = self.forget_silent(id) {
            // The connection may have ended by itself.
            let _ = connection.evict.send(());
        }
    }

    /// Removes a connection from those without a request.
    fn forget_silent(&mut self, id: u64) -> Option<SilentConnection> {
        let connection = self.silent.remove(&id)?;
        if let Some(network) = self.networks.get_mut(&connection.network) {
            network.silent.remove(&id);
        }
        Some(connection)
    }
}

impl Registration {
    /// Returns the mark for the first request.
    pub(super) fn first_request(&self) -> FirstRequest {
        FirstRequest { connections: self.connections.clone(), id: self.id }
    }

    /// Waits until the connection has to give way to another.
    pub(super) async fn evicted(&mut self) {
        if let Some(evicted) = &mut self.evicted {
            if evicted.await.is_ok() {
                return;
            }
            // A request arrived: it is never evicted.
            self.evicted = None;
        }
        std::future::pending::<()>().await;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        state.forget_silent(self.id);
        state.open -= 1;
        metrics::gauge!("souk_connections_open").decrement(1.0);
        if let Some(network) = state.networks.get_mut(&self.network) {
            network.open -= 1;
            if network.open == 0 {
                state.networks.remove(&self.network);
            }
        }
    }
}

impl FirstRequest {
    pub(super) fn arrived(self) {
        self.connections.state().forget_silent(self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn connections(total: usize, per_network: usize) -> Connections {
        let trusted_proxies = ["10.0.0.0/8".parse().unwrap()].into();
        Connections::new(ConnectionLimits { total, per_network, trusted_proxies })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_evicted(registration: &mut Registration) -> bool {
        registration.evicted().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_silent_connection_gives_way() {
        let connections = connections(2, 2);
        let mut first = connections.register(address("192.0.2.1")).unwrap();
        let mut second = connections.register(address("192.0.2.2")).unwrap();
        let mut third = connections.register(address("192.0.2.3")).unwrap();
        assert!(is_evicted(&mut first) && !is_evicted(&mut second));
        drop(first);
        second.first_request().arrived();
        let _fourth = connections.register(address("192.0.2.4")).unwrap();
        assert!(is_evicted(&mut third) && !is_evicted(&mut second), "one with a request stays");
    }

    #[test]
    fn a_network_that_is_full_affects_no_other() {
        let connections = connections(10, 2);
        let mut open: Vec<Registration> =
            (0..2).map(|_| connections.register(address("2001:db8::1")).unwrap()).collect();
        for registration in &open {
            registration.first_request().arrived();
        }
        assert!(connections.register(address("2001:db8::2")).is_none(), "the same network");
        assert!(connections.register(address("2001:db8:1::1")).is_some());
        open.pop();
        assert!(connections.register(address("2001:db8::2")).is_some());
    }

    #[test]
    fn a_proxy_may_have_all_connections() {
        let connections = connections(3, 1);
        let open: Vec<Registration> =
            (0..3).map(|_| connections.register(address("10.0.0.1")).unwrap()).collect();
        for registration in &open {
            registration.first_request().arrived();
        }
        assert!(connections.register(address("192.0.2.1")).is_none(), "the total still counts");
    }

    #[test]
    fn closed_connections_are_forgotten() {
        let connections = connections(2, 2);
        drop(connections.register(address("192.0.2.1")));
        let state = connections.state();
        assert!(state.open == 0 && state.networks.is_empty() && state.silent.is_empty());
    }
}

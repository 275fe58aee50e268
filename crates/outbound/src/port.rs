//! Ports that outbound requests may use.

/// Ports from 1024 on that are refused: those of databases, caches, queues and orchestration, and those that the Fetch standard
/// blocks for browsers. A server there may interpret parts of an HTTP request as commands.
const REFUSED: &[u16] = &[
    1433,  // SQL Server
    1521,  // Oracle
    1719,  // H.323
    1720,  // H.323
    1723,  // PPTP
    2049,  // NFS
    2181,  // ZooKeeper
    2375,  // Docker
    2376,  // Docker
    2379,  // etcd
    2380,  // etcd
    3306,  // MySQL
    3659,  // Apple SASL
    4045,  // NFS lock
    4190,  // ManageSieve
    4222,  // NATS
    5060,  // SIP
    5061,  // SIP
    5432,  // PostgreSQL
    5672,  // AMQP
    6000,  // X11
    6379,  // Redis
    6443,  // Kubernetes
    6566,  // SANE
    6665,  // IRC
    6666,  // IRC
    6667,  // IRC
    6668,  // IRC
    6669,  // IRC
    6679,  // IRC
    6697,  // IRC
    9042,  // Cassandra
    9092,  // Kafka
    9200,  // Elasticsearch
    9300,  // Elasticsearch
    10080, // Amanda
    10250, // kubelet
    10255, // kubelet
    11211, // memcached
    26379, // Redis Sentinel
    27017, // MongoDB
    27018, // MongoDB
    27019, // MongoDB
];

/// Returns whether a request with this scheme may use the port: the standard port of the scheme, or one from 1024 on that is
/// not [`REFUSED`].
pub(crate) fn is_allowed(scheme: &str, port: u16) -> bool {
    match port {
        443 => scheme == "https",
        80 => scheme == "http",
        0..1024 => false,
        _ => REFUSED.binary_search(&port).is_err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_for_binary_search() {
        assert!(REFUSED.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_scheme_has_its_own_port_below_1024() {
        assert!(is_allowed("https", 443) && is_allowed("http", 80));
        assert!(!is_allowed("https", 80) && !is_allowed("http", 443));
        for port in [0, 1, 7, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 636, 873, 1023] {
            assert!(!is_allowed("https", port) && !is_allowed("http", port), "{port}");
        }
    }

    #[test]
    fn ports_of_well_known_services_are_refused() {
        for port in [2375, 2379, 3306, 5432, 6379, 6443, 9200, 10250, 11211, 27017] {
            assert!(!is_allowed("https", port), "{port}");
        }
        for port in [1024, 3000, 4443, 5000, 8000, 8080, 8443, 8888, 9443, 10443, 49152, 65535] {
            assert!(is_allowed("https", port), "{port}");
        }
    }
}

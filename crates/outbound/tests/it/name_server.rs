//! A name server whose answers the test chooses.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::CNAME;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

/// The answers to questions for a name: one list of records for each time it is asked, the last one for all further times.
type Zone = HashMap<Name, Vec<Vec<RData>>>;

/// A name server on loopback that answers over UDP, with a time to live of 0.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
}

impl NameServer {
    pub(crate) async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let zone = Arc::new(Mutex::new(Zone::new()));
        let shared = Arc::clone(&zone);
        tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            while let Ok((count, client)) = socket.recv_from(&mut buffer).await {
                let query = Message::from_vec(&buffer[..count]).unwrap();
                let response = respond(query, &mut shared.lock().unwrap()).to_vec().unwrap();
                socket.send_to(&response, client).await.unwrap();
            }
        });
        Self { address, zone }
    }

    /// Sets the addresses of a name.
    pub(crate) fn set(&self, name: &str, addresses: &[&str]) {
        self.set_records(name, vec![records(addresses)]);
    }

    /// Sets the addresses that the first question for A records gets, and those of all further questions.
    pub(crate) fn set_changing(&self, name: &str, first: &[&str], further: &[&str]) {
        self.set_records(name, vec![records(first), records(further)]);
    }

    /// Makes a name an alias of another.
    pub(crate) fn set_alias(&self, name: &str, target: &str) {
        self.set_records(name, vec![vec![RData::CNAME(CNAME(absolute(target)))]]);
    }

    fn set_records(&self, name: &str, answers: Vec<Vec<RData>>) {
        self.zone.lock().unwrap().insert(absolute(name), answers);
    }
}

fn records(addresses: &[&str]) -> Vec<RData> {
    addresses.iter().map(|address| RData::from(address.parse::<IpAddr>().unwrap())).collect()
}

fn absolute(name: &str) -> Name {
    let mut name = Name::from_ascii(name).unwrap();
    name.set_fqdn(true);
    name
}

/// Answers with the records of the name that have the type of the question; aliases are followed, as resolvers do.
fn respond(query: Message, zone: &mut Zone) -> Message {
    let question = query.queries[0].clone();
    let mut response = query.into_response();
    response.edns = None;
    response.metadata.recursion_available = true;
    let mut name = question.name().clone();
    if !zone.contains_key(&name) {
        response.metadata.response_code = ResponseCode::NXDomain;
    }
    while let Some(answers) = zone.get_mut(&name) {
        let changes = answers.len() > 1 && question.query_type() == RecordType::A;
        let records = if changes { answers.remove(0) } else { answers[0].clone() };
        let owner = name.clone();
        name = Name::root();
        for data in records {
            if let RData::CNAME(CNAME(target)) = &data {
                name = target.clone();
            } else if data.record_type() != question.query_type() {
                continue;
            }
            response.add_answer(Record::from_rdata(owner.clone(), 0, data));
        }
    }
    response
}

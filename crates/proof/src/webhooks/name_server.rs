//! A name server whose answers a check chooses. It answers over UDP, with a time to live of 0.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::CNAME;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::report::Failure;

/// The records of each name, one list for each time it is asked. After the last one the first follows.
type Zone = HashMap<Name, Vec<Vec<RData>>>;

/// A name server at a loopback address.
pub(super) struct NameServer {
    pub(super) address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    task: JoinHandle<()>,
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(zone: &Mutex<Zone>) -> MutexGuard<'_, Zone> {
    zone.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NameServer {
    pub(super) async fn start() -> Result<Self, Failure> {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let zone = Arc::new(Mutex::new(Zone::new()));
        let shared = Arc::clone(&zone);
        let task = tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            while let Ok((count, client)) = socket.recv_from(&mut buffer).await {
                let Ok(query) = Message::from_vec(&buffer[..count]) else { continue };
                let Ok(response) = respond(query, &mut lock(&shared)).to_vec() else { continue };
                let _ = socket.send_to(&response, client).await;
            }
        });
        Ok(Self { address, zone, task })
    }

    /// Sets the addresses of a name.
    pub(super) fn set(&self, name: &str, addresses: &[&str]) -> Result<(), Failure> {
        self.set_changing(name, &[addresses])
    }

    /// Sets the addresses of a name, in turn: those of each list answer one question for A records.
    pub(super) fn set_changing(&self, name: &str, answers: &[&[&str]]) -> Result<(), Failure> {
        let mut records = Vec::new();
        for addresses in answers {
            let parsed: Result<Vec<IpAddr>, _> = addresses.iter().map(|it| it.parse()).collect();
            records.push(parsed?.into_iter().map(RData::from).collect());
        }
        lock(&self.zone).insert(absolute(name)?, records);
        Ok(())
    }

    /// Makes a name an alias of another.
    pub(super) fn set_alias(&self, name: &str, target: &str) -> Result<(), Failure> {
        let alias = RData::CNAME(CNAME(absolute(target)?));
        lock(&self.zone).insert(absolute(name)?, vec![vec![alias]]);
        Ok(())
    }
}

fn absolute(name: &str) -> Result<Name, Failure> {
    let mut name = Name::from_ascii(name)?;
    name.set_fqdn(true);
    Ok(name)
}

/// Answers with the records of the name that have the type of the question; aliases are followed, as resolvers do.
fn respond(query: Message, zone: &mut Zone) -> Message {
    let question = query.queries.first().cloned();
    let mut response = query.into_response();
    response.edns = None;
    response.metadata.recursion_available = true;
    let Some(question) = question else { return response };
    let mut name = question.name().clone();
    if !zone.contains_key(&name) {
        response.metadata.response_code = ResponseCode::NXDomain;
    }
    while let Some(answers) = zone.get_mut(&name) {
        let records = answers[0].clone();
        if question.query_type() == RecordType::A {
            answers.rotate_left(1);
        }
        let owner = std::mem::replace(&mut name, Name::root());
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

//! A chain with a token of EIP-3009, behind the JSON-RPC interface of a node.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use x402::{Address, AtomicAmount, Authorization, Nonce, Token, TransactionHash};

use super::server::{Reply, Server};
use super::wallet::START_SECONDS;

const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// The block at the start of a test.
const FIRST: u64 = 100;
const SECONDS_PER_BLOCK: u64 = 2;

/// The end of an authorization.
#[derive(Debug, Clone)]
struct Ended {
    payer: Address,
    nonce: Nonce,
    /// `None` if the payer canceled it.
    transfer: Option<(Address, AtomicAmount)>,
    block: u64,
}

#[derive(Debug)]
struct State {
    latest: u64,
    ended: Vec<Ended>,
    balance: u128,
    is_down: bool,
}

/// A chain that gets blocks and transactions as a test says.
#[derive(Debug, Clone)]
pub struct Chain(Arc<Mutex<State>>);

/// The node of a chain.
#[derive(Debug)]
pub struct Node(Server);

impl Chain {
    /// Returns a chain whose authorizations are all unused.
    #[must_use]
    pub fn new() -> Self {
        let state = State { latest: FIRST, ended: Vec::new(), balance: 1 << 60, is_down: false };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Starts a node.
    pub async fn node(&self) -> Node {
        let chain = self.clone();
        Node(Server::start(move |request| chain.reply(&request.body)).await)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Lets the node respond with an error, or no longer.
    pub fn set_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Sets the balance of every account.
    pub fn set_balance(&self, balance: u128) {
        self.state().balance = balance;
    }

    /// Adds blocks until one is this many seconds after the start of the test.
    pub fn mine_until(&self, seconds: u64) {
        let number = FIRST + seconds.div_ceil(SECONDS_PER_BLOCK);
        let mut state = self.state();
        state.latest = state.latest.max(number);
    }

    /// Makes the authorized transfer in a new block, unless the authorization has ended. Returns the transaction.
    pub fn transfer(&self, authorization: &Authorization) -> Option<TransactionHash> {
        let transfer = Some((authorization.to, authorization.value));
        self.end(authorization, transfer)
    }

    /// Cancels the authorization in a new block.
    pub fn cancel(&self, authorization: &Authorization) {
        self.end(authorization, None).unwrap();
    }

    /// Uses the nonce for a transfer to somebody else.
    pub fn spend_elsewhere(&self, authorization: &Authorization) {
        let elsewhere = Some((Address::new([0x99; 20]), authorization.value));
        self.end(authorization, elsewhere).unwrap();
    }

    fn end(
        &self,
        authorization: &Authorization,
        transfer: Option<(Address, AtomicAmount)>,
    ) -> Option<TransactionHash> {
        let mut state = self.state();
        let (payer, nonce) = (authorization.from, authorization.nonce);
        if state.ended.iter().any(|it| (it.payer, it.nonce) == (payer, nonce)) {
            return None;
        }
        state.latest += 1;
        let block = state.latest;
        state.ended.push(Ended { payer, nonce, transfer, block });
        Some(transaction(nonce))
    }

    /// Returns what was transferred to an account, in the order of the transfers.
    #[must_use]
    pub fn received(&self, account: Address) -> Vec<u128> {
        let state = self.state();
        let transfers = state.ended.iter().filter_map(|ended| ended.transfer);
        transfers.filter(|(to, _)| *to == account).map(|(_, value)| value.units()).collect()
    }

    fn reply(&self, body: &str) -> Reply {
        let request: Value = serde_json::from_str(body).unwrap();
        let state = self.state();
        if state.is_down {
            return Reply::Json(503, String::from("{}"));
        }
        let result = state.result(request["method"].as_str().unwrap(), &request["params"]);
        Reply::Json(200, json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string())
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.0.requests().len()
    }
}

impl State {
    fn result(&self, method: &str, params: &Value) -> Value {
        match method {
            "eth_chainId" => json!("0x14a34"),
            "eth_getBlockByNumber" => match params[0].as_str().unwrap() {
                "latest" => block(self.latest),
                text => {
                    let number = quantity(text);
                    if number > self.latest { Value::Null } else { block(number) }
                }
            },
            "eth_call" => self.call(&params[0], &params[1]),
            "eth_getLogs" => {
                let filter = &params[0];
                let range = quantity(filter["fromBlock"].as_str().unwrap())
                    ..=quantity(filter["toBlock"].as_str().unwrap());
                let is_asked_for = |ended: &&Ended| {
                    range.contains(&ended.block)
                        && filter["topics"][1] == word(&ended.payer.bytes())
                        && filter["topics"][2] == json!(ended.nonce)
                };
                self.ended.iter().filter(is_asked_for).map(event).collect()
            }
            "eth_getTransactionReceipt" => {
                let found = self.ended.iter().find(|it| json!(transaction(it.nonce)) == params[0]);
                found.map_or(Value::Null, receipt)
            }
            other => panic!("{other}"),
        }
    }

    fn call(&self, call: &Value, block: &Value) -> Value {
        let data = hex::decode(&call["data"].as_str().unwrap()[2..]).unwrap();
        let hash = hex::decode(&block["blockHash"].as_str().unwrap()[2..]).unwrap();
        let number = u64::from_be_bytes(hash[24..].try_into().unwrap());
        if data[..4] == [0x70, 0xa0, 0x82, 0x31] {
            return json!(format!("0x{:064x}", self.balance));
        }
        let is_asked_for = |ended: &Ended| {
            ended.block <= number
                && data[16..36] == ended.payer.bytes()
                && data[36..] == ended.nonce.bytes()
        };
        json!(format!("0x{:064x}", u8::from(self.ended.iter().any(is_asked_for))))
    }
}

/// The transaction in which an authorization ended: the nonce with every bit flipped.
#[must_use]
pub fn transaction(nonce: Nonce) -> TransactionHash {
    TransactionHash::new(nonce.bytes().map(|byte| !byte))
}

fn hash_of(number: u64) -> String {
    format!("0x{}{number:016x}", "bb".repeat(24))
}

fn block(number: u64) -> Value {
    let timestamp = START_SECONDS + (number - FIRST) * SECONDS_PER_BLOCK;
    json!({ "number": format!("{number:#x}"), "hash": hash_of(number), "timestamp": format!("{timestamp:#x}") })
}

fn quantity(text: &str) -> u64 {
    u64::from_str_radix(&text[2..], 16).unwrap()
}

fn word(address: &[u8; 20]) -> Value {
    json!(format!("0x{}{}", "0".repeat(24), hex::encode(address)))
}

fn log(ended: &Ended, topics: &Value, data: &str, index: u64) -> Value {
    json!({
        "address": Token::BASE_SEPOLIA_USDC.address.to_string().to_lowercase(),
        "topics": topics,
        "data": data,
        "blockNumber": format!("{:#x}", ended.block),
        "blockHash": hash_of(ended.block),
        "transactionHash": transaction(ended.nonce),
        "logIndex": format!("{index:#x}"),
    })
}

fn event(ended: &Ended) -> Value {
    let signature = if ended.transfer.is_some() { USED } else { CANCELED };
    log(ended, &json!([signature, word(&ended.payer.bytes()), ended.nonce]), "0x", 1)
}

fn receipt(ended: &Ended) -> Value {
    let mut logs = vec![event(ended)];
    if let Some((to, value)) = ended.transfer {
        let topics = json!([TRANSFER, word(&ended.payer.bytes()), word(&to.bytes())]);
        logs.push(log(ended, &topics, &format!("0x{:064x}", value.units()), 2));
    }
    json!({
        "transactionHash": transaction(ended.nonce),
        "blockNumber": format!("{:#x}", ended.block),
        "blockHash": hash_of(ended.block),
        "status": "0x1",
        "logs": logs,
    })
}

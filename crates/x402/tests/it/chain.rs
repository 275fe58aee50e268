//! Reading a chain: what is asked of a node, and which answers are not believed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use primitives::Timestamp;
use serde_json::{Value, json};
use x402::{
    Address, AtomicAmount, AuthorizedTransfer, BlockHash, BlockName, ChainError, ChainReader,
    FailureReason, Finality, Network, Nonce, PendingReason, Resolution, TransactionHash,
};

use crate::client;
use crate::server::{Reply, Server};

const VALID_BEFORE: u64 = 1_800_000_060;
/// The block with the transfer, and the latest one.
const USED_IN: u64 = 105;
const LATEST: u64 = 110;

const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

fn transfer() -> AuthorizedTransfer {
    AuthorizedTransfer {
        network: Network::BASE_SEPOLIA,
        asset: Address::new([0xaa; 20]),
        from: Address::new([0x01; 20]),
        to: Address::new([0x02; 20]),
        value: AtomicAmount::new(10_000),
        nonce: Nonce::new([0x03; 32]),
        valid_before: VALID_BEFORE,
    }
}

fn transaction() -> TransactionHash {
    TransactionHash::new([0x77; 32])
}

fn hash_of(number: u64) -> BlockHash {
    BlockHash::new([u8::try_from(number % 251).unwrap(); 32])
}

fn topic(address: Address) -> String {
    format!("0x{}{}", "0".repeat(24), hex::encode(address.bytes()))
}

fn log(signature: &str, topics: &[Value; 2], data: &str, index: u64) -> Value {
    json!({
        // Nodes spell addresses without a checksum.
        "address": transfer().asset.to_string().to_lowercase(),
        "topics": [signature, topics[0], topics[1]],
        "data": data,
        "blockNumber": format!("{USED_IN:#x}"),
        "blockHash": hash_of(USED_IN),
        "transactionHash": transaction(),
        "transactionIndex": "0x0",
        "logIndex": format!("{index:#x}"),
        "removed": false
    })
}

fn event(signature: &str) -> Value {
    log(signature, &[json!(topic(transfer().from)), json!(transfer().nonce)], "0x", 4)
}

fn transfer_log() -> Value {
    let topics = [json!(topic(transfer().from)), json!(topic(transfer().to))];
    log(TRANSFER, &topics, &format!("0x{:064x}", 10_000), 5)
}

/// What a test does to the answers of a node: a function of method, parameters and the answer of an honest node.
type Change = fn(&str, &Value, Value) -> Value;

/// A node with the payment in one of its blocks.
struct Node {
    server: Server,
    /// What the honest node knows: the event of the nonce, if any.
    event: Arc<Mutex<Option<Value>>>,
}

impl Node {
    async fn start(
        event: Option<Value>,
        change: impl Fn(&str, &Value, Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        let event = Arc::new(Mutex::new(event));
        let known = Arc::clone(&event);
        let server = Server::start(move |request| {
            let request: Value = serde_json::from_str(&request.body).unwrap();
            let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
            let honest = honest(method, params, known.lock().unwrap().as_ref());
            let result = change(method, params, honest);
            let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            Reply::Json(200, body.to_string())
        })
        .await;
        Self { server, event }
    }

    fn reader(&self) -> ChainReader {
        reader(&self.server.url())
    }

    async fn resolve(&self) -> Result<Resolution, ChainError> {
        self.resolve_with(Finality::Confirmations(3)).await
    }

    async fn resolve_with(&self, finality: Finality) -> Result<Resolution, ChainError> {
        let now = Timestamp::from_unix_micros(1_800_001_000_000_000);
        self.reader().resolve(&transfer(), 100, finality, now).await
    }

    fn calls(&self, method: &str) -> Vec<Value> {
        let requests = self.server.requests().into_iter();
        let requests = requests.map(|request| serde_json::from_str(&request.body).unwrap());
        requests.filter(|request: &Value| request["method"] == method).collect()
    }
}

fn reader(url: &str) -> ChainReader {
    ChainReader::new(client(Duration::from_mins(1)), url, None, Network::BASE_SEPOLIA).unwrap()
}

fn number(text: &Value) -> u64 {
    u64::from_str_radix(text.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

fn honest(method: &str, params: &Value, event: Option<&Value>) -> Value {
    let block = |number: u64| {
        let timestamp = VALID_BEFORE - 60 + (number - 100) * 2;
        json!({"number": format!("{number:#x}"), "hash": hash_of(number), "timestamp": format!("{timestamp:#x}"), "transactions": []})
    };
    match method {
        "eth_chainId" => json!("0x14a34"),
        "eth_getBlockByNumber" => match params[0].as_str().unwrap() {
            "latest" => block(LATEST),
            "finalized" => block(LATEST - 4),
            _ => block(number(&params[0])),
        },
        "eth_call" => {
            assert_eq!(params[1]["requireCanonical"], true);
            let is_balance = params[0]["data"].as_str().unwrap().starts_with("0x70a08231");
            let word = if is_balance { 25_000 } else { u32::from(event.is_some()) };
            json!(format!("0x{word:064x}"))
        }
        "eth_getLogs" => {
            let (first, last) = (number(&params[0]["fromBlock"]), number(&params[0]["toBlock"]));
            json!(
                event.into_iter().filter(|_| (first..=last).contains(&USED_IN)).collect::<Vec<_>>()
            )
        }
        "eth_getTransactionReceipt" => json!({
            "transactionHash": params[0],
            "blockNumber": format!("{USED_IN:#x}"),
            "blockHash": hash_of(USED_IN),
            "status": "0x1",
            "logs": [event, transfer_log()]
        }),
        _ => panic!("{method}"),
    }
}

const HONEST: Change = |_, _, answer| answer;

#[tokio::test]
async fn a_settled_payment_is_found() {
    let node = Node::start(Some(event(USED)), HONEST).await;
    let settled = Resolution::Settled { transaction: transaction(), block_number: USED_IN };
    assert_eq!(node.resolve().await, Ok(settled));
    assert_eq!(node.resolve_with(Finality::Finalized).await, Ok(settled));
    // The transfer is in the sixth block from the end.
    assert_eq!(node.resolve_with(Finality::Confirmations(6)).await, Ok(settled));
    let pending = Resolution::Pending(PendingReason::EventNotFound);
    assert_eq!(node.resolve_with(Finality::Confirmations(7)).await, Ok(pending));
    let filter = &node.calls("eth_getLogs")[0]["params"][0];
    assert_eq!(filter["fromBlock"], "0x65");
    assert_eq!(filter["toBlock"], "0x6c");
    assert_eq!(filter["topics"][0], json!([USED, CANCELED]));
    assert_eq!(filter["topics"][1], topic(transfer().from));
    assert_eq!(filter["topics"][2], json!(transfer().nonce));
}

#[tokio::test]
async fn a_canceled_and_an_expired_authorization_have_failed() {
    let node = Node::start(Some(event(CANCELED)), HONEST).await;
    let failed = Resolution::Failed(FailureReason::Canceled);
    assert_eq!(node.resolve().await, Ok(failed));

    let node = Node::start(None, HONEST).await;
    let pending = Resolution::Pending(PendingReason::Unused);
    assert_eq!(node.resolve().await, Ok(pending));
    assert!(node.calls("eth_getLogs").is_empty(), "there is nothing to find");
    let node = Node::start(None, |method, _, mut answer| {
        if method == "eth_getBlockByNumber" {
            answer["timestamp"] = json!(format!("{VALID_BEFORE:#x}"));
        }
        answer
    })
    .await;
    let failed = Resolution::Failed(FailureReason::Expired);
    assert_eq!(node.resolve().await, Ok(failed));
}

#[tokio::test]
async fn a_snapshot_is_read_before_an_attempt() {
    let node = Node::start(None, HONEST).await;
    let snapshot = node.reader().snapshot(&transfer()).await.unwrap();
    assert_eq!((snapshot.block.number, snapshot.is_used), (LATEST, false));
    assert_eq!(snapshot.balance, AtomicAmount::new(25_000));
    *node.event.lock().unwrap() = Some(event(USED));
    assert!(node.reader().snapshot(&transfer()).await.unwrap().is_used);
}

#[tokio::test]
async fn a_node_of_another_chain_is_not_read() {
    let change: Change = |method, _, answer| match method {
        "eth_chainId" => json!("0x2105"),
        _ => answer,
    };
    let node = Node::start(Some(event(USED)), change).await;
    let wrong = ChainError::WrongChain { expected: 84_532, found: 8_453 };
    assert_eq!(node.resolve().await, Err(wrong));
    assert_eq!(node.reader().snapshot(&transfer()).await, Err(wrong));
    // Nor is a transfer of another chain looked for on this one.
    let node = Node::start(Some(event(USED)), HONEST).await;
    let on_base = AuthorizedTransfer { network: Network::BASE, ..transfer() };
    let finality = Finality::Confirmations(1);
    let now = Timestamp::from_unix_micros(0);
    let found = node.reader().resolve(&on_base, 100, finality, now).await;
    assert_eq!(found, Err(ChainError::WrongChain { expected: 8_453, found: 84_532 }));
}

/// Returns what a node responds to one method if a function changes it.
async fn resolved_with(
    method: &'static str,
    change: impl Fn(&Value, &mut Value) + Send + Sync + 'static,
) -> Result<Resolution, ChainError> {
    let node = Node::start(Some(event(USED)), move |called, params, mut answer| {
        if called == method {
            change(params, &mut answer);
        }
        answer
    });
    node.await.resolve().await
}

#[tokio::test]
async fn events_of_something_else_are_malformed() {
    type Field = (&'static str, fn() -> Value);
    let fields: [Field; 6] = [
        ("/0/topics/0", || json!(TRANSFER)),
        ("/0/topics/1", || json!(topic(Address::new([9; 20])))),
        ("/0/topics/2", || json!(Nonce::new([9; 32]))),
        ("/0/topics", || json!([USED, USED, USED, USED, USED])),
        ("/0/address", || json!(Address::new([9; 20]))),
        // Before the blocks that were asked for.
        ("/0/blockNumber", || json!("0x64")),
    ];
    for (path, value) in fields {
        let found = resolved_with("eth_getLogs", move |_, answer| {
            *answer.pointer_mut(path).unwrap() = value();
        });
        let malformed = ChainError::Malformed { method: "eth_getLogs" };
        assert_eq!(found.await, Err(malformed), "{path}");
    }
}

#[tokio::test]
async fn answers_about_something_else_are_malformed() {
    let receipt = "eth_getTransactionReceipt";
    let found = resolved_with(receipt, |_, answer| {
        answer["transactionHash"] = json!(TransactionHash::new([9; 32]));
    });
    assert_eq!(found.await, Err(ChainError::Malformed { method: receipt }));
    let block = "eth_getBlockByNumber";
    let found = resolved_with(block, |params, answer| {
        if params[0] == "0x6c" {
            answer["number"] = json!("0x6d");
        }
    });
    assert_eq!(found.await, Err(ChainError::Malformed { method: block }));
    let found = resolved_with("eth_call", |_, answer| *answer = json!(format!("0x{:064x}", 2)));
    assert_eq!(found.await, Err(ChainError::Malformed { method: "eth_call" }));
}

#[tokio::test]
async fn a_node_that_is_behind_or_reorganized_settles_nothing() {
    let inconsistent = Ok(Resolution::Pending(PendingReason::Inconsistent));
    // It does not have the receipt yet.
    let change: Change = |method, _, answer| match method {
        "eth_getTransactionReceipt" => Value::Null,
        _ => answer,
    };
    assert_eq!(Node::start(Some(event(USED)), change).await.resolve().await, inconsistent);
    // Another block has taken the place of the one in which the event was.
    let change: Change = |method, params, mut answer| {
        if method == "eth_getBlockByNumber" && params[0] == "0x69" {
            answer["hash"] = json!(BlockHash::new([0; 32]));
        }
        answer
    };
    for signature in [USED, CANCELED] {
        let node = Node::start(Some(event(signature)), change).await;
        assert_eq!(node.resolve().await, inconsistent, "{signature}");
    }
    // The transaction was reverted.
    let change: Change = |method, _, mut answer| {
        if method == "eth_getTransactionReceipt" {
            answer["status"] = json!("0x0");
        }
        answer
    };
    assert_eq!(Node::start(Some(event(USED)), change).await.resolve().await, inconsistent);
    // It does not have the block that it should have.
    let change: Change = |method, _, answer| match method {
        "eth_getBlockByNumber" => Value::Null,
        _ => answer,
    };
    let found = Node::start(Some(event(USED)), change).await.resolve().await;
    assert_eq!(found, Err(ChainError::MissingBlock));
}

#[tokio::test]
async fn the_search_for_events_is_bounded() {
    let change: Change = |method, params, answer| match (method, params[0].as_str()) {
        ("eth_getLogs", _) => json!([]),
        ("eth_getBlockByNumber", Some("latest")) => {
            let hash = hash_of(1);
            json!({"number": "0x100000", "hash": hash, "timestamp": "0x1"})
        }
        _ => answer,
    };
    let node = Node::start(Some(event(USED)), change).await;
    let pending = Resolution::Pending(PendingReason::EventNotFound);
    assert_eq!(node.resolve().await, Ok(pending));
    let calls = node.calls("eth_getLogs");
    assert_eq!(calls.len(), 10);
    let mut expected = 101;
    for call in calls {
        let filter = &call["params"][0];
        assert_eq!(
            (number(&filter["fromBlock"]), number(&filter["toBlock"])),
            (expected, expected + 999)
        );
        expected += 1_000;
    }
}

#[tokio::test]
async fn errors_of_a_node_are_told_apart() {
    let reply = |status: u16, body: &'static str| async move {
        let server = Server::start(move |_| Reply::Json(status, body.to_owned())).await;
        reader(&server.url()).check_chain().await.unwrap_err()
    };
    let rpc = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"limit\"}}";
    assert_eq!(reply(200, rpc).await, ChainError::Rpc(-32_005));
    assert_eq!(reply(429, rpc).await, ChainError::Rpc(-32_005));
    let too_many = http::StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(reply(429, "slow down").await, ChainError::Status(too_many));
    for body in [
        "",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"0x14a34\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":\"0x14a34\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":84532}",
    ] {
        let malformed = ChainError::Malformed { method: "eth_chainId" };
        assert_eq!(reply(200, body).await, malformed, "{body}");
    }
    let server = Server::start(|_| Reply::Close).await;
    let closed = ChainError::Request(outbound::RequestError::ConnectionClosed);
    assert_eq!(reader(&server.url()).check_chain().await, Err(closed));
}

#[test]
fn the_key_in_the_address_of_a_node_is_not_logged() {
    let reader = reader("http://127.0.0.1:8545/v2/secret-key");
    assert!(!format!("{reader:?}").contains("secret-key"));
}

#[tokio::test]
async fn a_missing_block_is_none() {
    let change: Change = |method, _, answer| match method {
        "eth_getBlockByNumber" | "eth_getTransactionReceipt" => Value::Null,
        _ => answer,
    };
    let node = Node::start(None, change).await;
    assert_eq!(node.reader().block(BlockName::Number(107)).await, Ok(None));
    assert_eq!(node.reader().receipt(transaction()).await, Ok(None));
}

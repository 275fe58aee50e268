//! Payments with the reference implementation: its client, its facilitator, a local chain. `dev/x402/run` sets it up.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::HeaderMap;
use outbound::Destination;
use primitives::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use x402::{
    Address, AtomicAmount, AuthorizedTransfer, ChainReader, Document, Facilitator, FailureReason,
    Finality, PaymentPayload, PaymentRequired, PaymentRequirements, PendingReason, Resolution,
    ResourceInfo, SettleOutcome, Token, TransactionHash, UnknownReason, VerifyOutcome, verify,
};

use crate::client;
use crate::server::{Reply, Server};

const PRICE: u128 = 10_000;
const TIMEOUT_SECONDS: u32 = 60;
/// The facilitator waits so long for a receipt, and scripts have so long to start: the machine may be busy.
const CONFIRMATION_MS: u32 = 5_000;
const START: Duration = Duration::from_mins(10);
const PATIENT: Duration = Duration::from_mins(2);

const ONE: Finality = Finality::Confirmations(1);

/// Scripts of dev/x402 that run until it is dropped.
struct Reference {
    chain_port: u16,
    facilitator: Facilitator,
    wallet_port: u16,
    reader: ChainReader,
    scripts: Vec<Child>,
}

/// A payment that was signed, with what is stored before it is settled.
struct Attempt {
    quoted: PaymentRequirements,
    payload: PaymentPayload,
    transfer: AuthorizedTransfer,
    since: u64,
}

fn seller() -> Address {
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906".parse().unwrap()
}

fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the reference implementation has this clock")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_micros(i64::try_from(since_epoch.as_micros()).unwrap())
}

fn required() -> PaymentRequired {
    let amount = AtomicAmount::new(PRICE);
    let token = &Token::BASE_SEPOLIA_USDC;
    PaymentRequired {
        version: x402::ProtocolVersion,
        error: None,
        resource: ResourceInfo {
            url: "https://souk.example/api/v1/agent/payment".to_owned(),
            description: Some("Order №7".to_owned()),
            mime_type: Some("application/json".to_owned()),
        },
        accepts: vec![PaymentRequirements::exact(token, amount, seller(), TIMEOUT_SECONDS)],
        extensions: x402::Extensions::default().with_payment_identifier(false),
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../dev/x402")
}

async fn start(script: &str, arguments: &[String]) -> Child {
    let mut command = Command::new("node");
    command.current_dir(folder()).arg(script).args(arguments).arg("--end-with-stdin");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(": ready") {
                return;
            }
        }
        panic!("{script} ended");
    };
    assert!(tokio::time::timeout(START, ready).await.is_ok(), "{script} is not ready");
    child
}

impl Reference {
    async fn start() -> Self {
        let [chain_port, port, wallet_port] = [free_port(), free_port(), free_port()];
        let ports = |own: u16| vec![own.to_string(), chain_port.to_string()];
        let mut options = ports(port);
        options.push(format!("--confirmation-timeout-ms={CONFIRMATION_MS}"));
        let scripts = vec![
            start("chain.mjs", &[chain_port.to_string()]).await,
            start("facilitator.mjs", &options).await,
            start("wallet.mjs", &ports(wallet_port)).await,
        ];
        let facilitator = Self::facilitator(port, PATIENT);
        let url = format!("http://127.0.0.1:{chain_port}");
        let network = Token::BASE_SEPOLIA_USDC.network;
        let reader = ChainReader::new(client(PATIENT), &url, None, network).unwrap();
        Self { chain_port, facilitator, wallet_port, reader, scripts }
    }

    fn facilitator(port: u16, timeout: Duration) -> Facilitator {
        Facilitator::new(client(timeout), &format!("http://127.0.0.1:{port}"), None).unwrap()
    }

    async fn post(port: u16, path: &str, body: String) -> String {
        let client = client(PATIENT);
        let url = format!("http://127.0.0.1:{port}{path}");
        let url = Destination::parse(&url, client.policy()).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        let response = client.post(&url, headers, Bytes::from(body)).await.unwrap();
        let text = String::from_utf8(response.body).unwrap();
        assert_eq!(response.status, 200, "{path}: {text}");
        text
    }

    async fn rpc(&self, method: &str, params: Value) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = Self::post(self.chain_port, "", body.to_string()).await;
        assert!(!answer.contains("\"error\""), "{method}: {answer}");
    }

    async fn wallet(&self, path: &str, body: String) -> String {
        Self::post(self.wallet_port, path, body).await
    }

    async fn transaction(&self, path: &str, body: &Value) -> TransactionHash {
        self.wallet(path, body.to_string()).await.parse().unwrap()
    }

    /// Lets the stock client sign, verifies the payment, and reads what has to be stored before it is settled.
    async fn attempt(&self) -> Attempt {
        let required = required();
        let header = required.to_header().unwrap().to_str().unwrap().to_owned();
        let header = self.wallet("/pay", header).await;
        let payload = PaymentPayload::from_header(header.as_bytes()).unwrap();
        let quoted = required.accepts[0].clone();
        let transfer = *verify(&quoted, &payload, now()).unwrap().transfer();
        let snapshot = self.reader.snapshot(&transfer).await.unwrap();
        assert!(!snapshot.is_used && snapshot.balance.units() >= PRICE);
        Attempt { quoted, payload, transfer, since: snapshot.block.number }
    }

    async fn settle(&self, attempt: &Attempt) -> SettleOutcome {
        self.facilitator.settle(&attempt.quoted, &attempt.payload).await
    }

    async fn resolve(&self, attempt: &Attempt, finality: Finality) -> Resolution {
        self.resolve_at(attempt, finality, now()).await
    }

    async fn resolve_at(&self, attempt: &Attempt, finality: Finality, at: Timestamp) -> Resolution {
        self.reader.resolve(&attempt.transfer, attempt.since, finality, at).await.unwrap()
    }

    async fn balance_of_seller(&self) -> u128 {
        let block = self.reader.block(x402::BlockName::Latest).await.unwrap().unwrap();
        let asset = Token::BASE_SEPOLIA_USDC.address;
        self.reader.balance(asset, seller(), block.hash).await.unwrap().units()
    }
}

#[track_caller]
fn settled_in(resolution: Resolution) -> TransactionHash {
    match resolution {
        Resolution::Settled { transaction, .. } => transaction,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn reported_failure(outcome: SettleOutcome) -> String {
    match outcome {
        SettleOutcome::Unknown {
            reason: UnknownReason::ReportedFailure,
            facilitator_reason: Some(reason),
            ..
        } => reason,
        other => panic!("{other:?}"),
    }
}

async fn a_payment_is_settled(reference: &Reference) {
    let attempt = reference.attempt().await;
    assert!(reference.facilitator.supported().await.unwrap().includes(&attempt.quoted));
    let opinion = reference.facilitator.verify(&attempt.quoted, &attempt.payload).await;
    assert_eq!(opinion, Ok(VerifyOutcome::Valid));
    let unused = Resolution::Pending(PendingReason::Unused);
    assert_eq!(reference.resolve(&attempt, ONE).await, unused);

    let before = reference.balance_of_seller().await;
    let SettleOutcome::Claimed { transaction } = reference.settle(&attempt).await else {
        panic!("not claimed");
    };
    assert_eq!(reference.balance_of_seller().await, before + PRICE);
    assert_eq!(settled_in(reference.resolve(&attempt, ONE).await), transaction);
    let three = Finality::Confirmations(3);
    assert_eq!(reference.resolve(&attempt, three).await, unused);
    reference.rpc("anvil_mine", json!(["0x2"])).await;
    assert_eq!(settled_in(reference.resolve(&attempt, three).await), transaction);
    assert_eq!(reference.resolve(&attempt, Finality::Finalized).await, unused);
    reference.rpc("anvil_mine", json!(["0x80"])).await;
    assert_eq!(settled_in(reference.resolve(&attempt, Finality::Finalized).await), transaction);

    // Again: refused, and still paid once.
    let reason = reported_failure(reference.settle(&attempt).await);
    assert!(reason.contains("nonce_already_used"), "{reason}");
    assert_eq!(reference.balance_of_seller().await, before + PRICE);
    assert_eq!(settled_in(reference.resolve(&attempt, ONE).await), transaction);
    // Presented for another order afterwards, the same authorization is no payment.
    let snapshot = reference.reader.snapshot(&attempt.transfer).await.unwrap();
    assert!(snapshot.is_used);
    let late = Attempt { since: snapshot.block.number, ..attempt };
    let not_found = Resolution::Pending(PendingReason::EventNotFound);
    assert_eq!(reference.resolve(&late, ONE).await, not_found);
}

async fn a_stranger_executes_the_authorization(reference: &Reference) {
    let attempt = reference.attempt().await;
    let payload = json!(attempt.payload.payload);
    let transaction = reference.transaction("/submit", &payload).await;
    reported_failure(reference.settle(&attempt).await);
    assert_eq!(settled_in(reference.resolve(&attempt, ONE).await), transaction);
}

async fn the_buyer_cancels(reference: &Reference) {
    let attempt = reference.attempt().await;
    reference.transaction("/cancel", &json!({"nonce": attempt.transfer.nonce})).await;
    reported_failure(reference.settle(&attempt).await);
    let failed = Resolution::Failed(FailureReason::Canceled);
    assert_eq!(reference.resolve(&attempt, ONE).await, failed);
}

async fn the_buyer_uses_the_nonce_elsewhere(reference: &Reference) {
    let attempt = reference.attempt().await;
    let mut authorization = json!(attempt.payload.payload.authorization);
    authorization["to"] = json!(attempt.transfer.from);
    let signature = reference.wallet("/sign", authorization.to_string()).await;
    let payload = json!({"authorization": authorization, "signature": signature});
    reference.transaction("/submit", &payload).await;
    reported_failure(reference.settle(&attempt).await);
    let failed = Resolution::Failed(FailureReason::NonceUsedElsewhere);
    assert_eq!(reference.resolve(&attempt, ONE).await, failed);
}

async fn the_receipt_is_late(reference: &Reference) {
    let attempt = reference.attempt().await;
    let before = reference.balance_of_seller().await;
    reference.rpc("evm_setAutomine", json!([false])).await;
    let outcome = reference.settle(&attempt).await;
    let SettleOutcome::Unknown {
        reason: UnknownReason::SettlementPending, hint: Some(hint), ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    let unused = Resolution::Pending(PendingReason::Unused);
    assert_eq!(reference.resolve(&attempt, ONE).await, unused);
    reference.rpc("evm_setAutomine", json!([true])).await;
    reference.rpc("evm_mine", json!([])).await;
    assert_eq!(settled_in(reference.resolve(&attempt, ONE).await), hint);
    // The identical request finds the transaction that was submitted.
    let again = reference.settle(&attempt).await;
    assert_eq!(again, SettleOutcome::Claimed { transaction: hint });
    assert_eq!(reference.balance_of_seller().await, before + PRICE);
}

async fn a_transaction_is_reverted(reference: &Reference) {
    let attempt = reference.attempt().await;
    // A stranger submits it with a value that was not signed; the contract reverts.
    let mut payload = json!(attempt.payload.payload);
    payload["authorization"]["value"] = json!("1");
    reference.transaction("/submit", &payload).await;
    let unused = Resolution::Pending(PendingReason::Unused);
    assert_eq!(reference.resolve(&attempt, ONE).await, unused);
    let SettleOutcome::Claimed { transaction } = reference.settle(&attempt).await else {
        panic!("not claimed");
    };
    assert_eq!(settled_in(reference.resolve(&attempt, ONE).await), transaction);
}

/// Changes the time of the chain, and is the last for that reason.
async fn an_authorization_expires(reference: &Reference) {
    let attempt = reference.attempt().await;
    let later = now().plus(Duration::from_secs(u64::from(TIMEOUT_SECONDS) + 1));
    let unused = Resolution::Pending(PendingReason::Unused);
    assert_eq!(reference.resolve_at(&attempt, ONE, later).await, unused);
    reference.rpc("evm_increaseTime", json!([TIMEOUT_SECONDS + 1])).await;
    reference.rpc("evm_mine", json!([])).await;
    let failed = Resolution::Failed(FailureReason::Expired);
    assert_eq!(reference.resolve_at(&attempt, ONE, later).await, failed);
    let transaction = reference.transaction("/submit", &json!(attempt.payload.payload)).await;
    let receipt = reference.reader.receipt(transaction).await.unwrap().unwrap();
    assert!(!receipt.succeeded);
    assert_eq!(reference.resolve_at(&attempt, ONE, later).await, failed);
}

/// The stock buyer understands what requires payment, and pays it in a form that is verified.
async fn the_stock_buyer_pays() {
    let seller = Server::start(|request| {
        let Some(header) = request.header("payment-signature") else {
            let header = required().to_header().unwrap().to_str().unwrap().to_owned();
            return Reply::Header(402, "PAYMENT-REQUIRED", header);
        };
        let payload = PaymentPayload::from_header(header.as_bytes()).unwrap();
        let quoted = &required().accepts[0];
        let transfer = *verify(quoted, &payload, now()).unwrap().transfer();
        let hash = TransactionHash::new([7; 32]);
        let settlement = x402::SettlementResponse::settled(
            transfer.network,
            transfer.from,
            transfer.value,
            hash,
        );
        let header = settlement.to_header().unwrap().to_str().unwrap().to_owned();
        Reply::Header(200, "PAYMENT-RESPONSE", header)
    })
    .await;
    let mut buyer = Command::new("node");
    let output = buyer.current_dir(folder()).args(["buyer.mjs", &seller.url()]).output().await;
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["status"], 200);
    assert_eq!(printed["settlement"]["success"], true);
    assert_eq!(printed["settlement"]["amount"], PRICE.to_string());
}

#[tokio::test]
#[ignore = "needs the reference implementation: dev/x402/run"]
async fn payments_with_the_reference_implementation() {
    #[expect(clippy::disallowed_methods, reason = "the switch of a test")]
    if std::env::var_os("SOUK_X402_REFERENCE").is_none() {
        eprintln!("skipped: SOUK_X402_REFERENCE is not set, dev/x402/run does");
        return;
    }
    the_stock_buyer_pays().await;
    let mut reference = Reference::start().await;
    a_payment_is_settled(&reference).await;
    a_stranger_executes_the_authorization(&reference).await;
    the_buyer_cancels(&reference).await;
    the_buyer_uses_the_nonce_elsewhere(&reference).await;
    the_receipt_is_late(&reference).await;
    a_transaction_is_reverted(&reference).await;
    an_authorization_expires(&reference).await;
    for script in &mut reference.scripts {
        // Closes its standard input, which ends it.
        drop(script.stdin.take());
        script.wait().await.unwrap();
    }
}

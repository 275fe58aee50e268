//! Reads an EVM chain: blocks, authorizations, receipts.

mod answer;
mod rpc;

use std::ops::RangeInclusive;

use alloy_primitives::B256;
use alloy_sol_types::{SolCall, SolEvent};
use http::StatusCode;
use http::header::HeaderValue;
use outbound::{Client, DestinationError, RequestError};
use serde_json::{Value, json};

use self::answer::{Quantity, RpcBlock, RpcLog, RpcReceipt, Word};
use self::rpc::Rpc;
use crate::contract::{
    AuthorizationCanceled, AuthorizationUsed, authorizationStateCall, balanceOfCall,
};
use crate::decimal::AtomicAmount;
use crate::hexadecimal::{Address, BlockHash, TransactionHash};
use crate::network::Network;
use crate::verify::AuthorizedTransfer;

/// Blocks that one request for events covers: nodes refuse more.
pub const EVENT_BLOCKS_MAX: u64 = 1_000;

/// What the client of a chain reader should read of a response: the receipt of a transaction with some thousand events.
pub const CHAIN_RESPONSE_MAX_BYTES: usize = 2 * 1_024 * 1_024;

/// Reads one chain through the JSON-RPC interface of a node. What a node says is believed only as far as its answers agree.
#[derive(Debug, Clone)]
pub struct ChainReader {
    rpc: Rpc,
    network: Network,
}

/// A block, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    pub hash: BlockHash,
    /// Unix seconds.
    pub timestamp: u64,
}

/// How a block is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockName {
    Number(u64),
    Latest,
    /// No longer reversible, by the rules of the chain.
    Finalized,
}

/// An event of a contract, in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub address: Address,
    pub topics: Vec<[u8; 32]>,
    pub data: Vec<u8>,
    pub block_number: u64,
    pub block_hash: BlockHash,
    pub transaction: TransactionHash,
    /// The position in the block.
    pub index: u64,
}

/// What a token recorded about a nonce: it was used by a transfer, or its payer canceled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationEventKind {
    Used,
    Canceled,
}

/// The event that ended an authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthorizationEvent {
    pub kind: AuthorizationEventKind,
    pub block_number: u64,
    pub block_hash: BlockHash,
    pub transaction: TransactionHash,
}

/// A transaction in a block, with its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub transaction: TransactionHash,
    pub block_number: u64,
    pub block_hash: BlockHash,
    pub succeeded: bool,
    pub logs: Vec<Log>,
}

/// The state of an authorization and its payer in the latest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSnapshot {
    pub block: Block,
    /// Whether the nonce was used or canceled before: such a payment is not accepted.
    pub is_used: bool,
    pub balance: AtomicAmount,
}

/// Why a chain was not read. It says nothing about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("the node did not respond: {}", .0.message())]
    Request(RequestError),
    #[error("the node responded with status {0}")]
    Status(StatusCode),
    #[error("the node responded with JSON-RPC error {0}")]
    Rpc(i64),
    #[error("the response of the node to {method} is malformed or too long")]
    Malformed { method: &'static str },
    #[error("the node serves chain {found} instead of {expected}")]
    WrongChain { expected: u64, found: u64 },
    #[error("the node lacks a block that it named")]
    MissingBlock,
}

impl ChainReader {
    /// Creates a reader of a network by the node at a URL. `authorization` is the value of the header `Authorization`. The
    /// client should read [`CHAIN_RESPONSE_MAX_BYTES`] of a response.
    pub fn new(
        client: Client,
        url: &str,
        authorization: Option<HeaderValue>,
        network: Network,
    ) -> Result<Self, DestinationError> {
        Ok(Self { rpc: Rpc::new(client, url, authorization)?, network })
    }

    /// Returns the network that is read.
    #[must_use]
    pub const fn network(&self) -> Network {
        self.network
    }

    /// Checks that the node serves the network.
    pub async fn check_chain(&self) -> Result<(), ChainError> {
        let Quantity(found) = self.rpc.call("eth_chainId", json!([])).await?;
        let expected = self.network.chain_id();
        if found == expected { Ok(()) } else { Err(ChainError::WrongChain { expected, found }) }
    }

    /// Returns a block, or `None` if the node does not have it.
    pub async fn block(&self, name: BlockName) -> Result<Option<Block>, ChainError> {
        const METHOD: &str = "eth_getBlockByNumber";
        let tag = match name {
            BlockName::Number(number) => hex_quantity(number),
            BlockName::Latest => "latest".to_owned(),
            BlockName::Finalized => "finalized".to_owned(),
        };
        let block: Option<RpcBlock> = self.rpc.call(METHOD, json!([tag, false])).await?;
        let block = block.map(Block::from);
        match (name, block) {
            (BlockName::Number(number), Some(block)) if block.number != number => {
                Err(ChainError::Malformed { method: METHOD })
            }
            _ => Ok(block),
        }
    }

    /// Returns the state of the authorization before a payment is settled. What happens to it from then on is after
    /// `block`, where [`resolve`](Self::resolve) looks for it.
    pub async fn snapshot(
        &self,
        transfer: &AuthorizedTransfer,
    ) -> Result<AccountSnapshot, ChainError> {
        self.check_network(transfer).await?;
        let block = self.block(BlockName::Latest).await?.ok_or(ChainError::MissingBlock)?;
        let is_used = self.is_used(transfer, block.hash).await?;
        let balance = self.balance(transfer.asset, transfer.from, block.hash).await?;
        Ok(AccountSnapshot { block, is_used, balance })
    }

    pub(crate) async fn check_network(
        &self,
        transfer: &AuthorizedTransfer,
    ) -> Result<(), ChainError> {
        let (expected, found) = (transfer.network.chain_id(), self.network.chain_id());
        if expected != found {
            return Err(ChainError::WrongChain { expected, found });
        }
        self.check_chain().await
    }

    /// Returns whether the nonce is used or canceled at the end of a block.
    pub async fn is_used(
        &self,
        transfer: &AuthorizedTransfer,
        block: BlockHash,
    ) -> Result<bool, ChainError> {
        let (authorizer, nonce) = (transfer.from.bytes().into(), transfer.nonce.bytes().into());
        let data = authorizationStateCall { authorizer, nonce }.abi_encode();
        let Word(word) = self.call_contract(transfer.asset, &data, block).await?;
        let malformed = ChainError::Malformed { method: "eth_call" };
        authorizationStateCall::abi_decode_returns_validate(&word).map_err(|_| malformed)
    }

    /// Returns the balance of an account at the end of a block; the highest amount if it is above that.
    pub async fn balance(
        &self,
        asset: Address,
        account: Address,
        block: BlockHash,
    ) -> Result<AtomicAmount, ChainError> {
        let data = balanceOfCall { account: account.bytes().into() }.abi_encode();
        let Word(word) = self.call_contract(asset, &data, block).await?;
        let malformed = ChainError::Malformed { method: "eth_call" };
        let balance = balanceOfCall::abi_decode_returns_validate(&word).map_err(|_| malformed)?;
        Ok(AtomicAmount::new(balance.saturating_to()))
    }

    /// Returns the events that ended the authorization, of at most [`EVENT_BLOCKS_MAX`] blocks.
    pub async fn authorization_events(
        &self,
        transfer: &AuthorizedTransfer,
        blocks: RangeInclusive<u64>,
    ) -> Result<Vec<AuthorizationEvent>, ChainError> {
        const METHOD: &str = "eth_getLogs";
        let (first, last) = (*blocks.start(), *blocks.end());
        let last = last.min(first.saturating_add(EVENT_BLOCKS_MAX - 1));
        let kinds = [AuthorizationUsed::SIGNATURE_HASH, AuthorizationCanceled::SIGNATURE_HASH];
        let filter = json!({
            "address": transfer.asset,
            "topics": [kinds.map(topic), topic(padded(transfer.from)), transfer.nonce],
            "fromBlock": hex_quantity(first),
            "toBlock": hex_quantity(last),
        });
        let logs: Vec<RpcLog> = self.rpc.call(METHOD, json!([filter])).await?;
        // A node that does not apply the filter is not believed.
        let event = |log: RpcLog| {
            let log = Log::from(log);
            let is_asked_for = (first..=last).contains(&log.block_number);
            log.authorization_event(transfer).filter(|_| is_asked_for)
        };
        let events: Option<Vec<AuthorizationEvent>> = logs.into_iter().map(event).collect();
        events.ok_or(ChainError::Malformed { method: METHOD })
    }

    /// Returns the receipt of a transaction, or `None` if it is in no block.
    pub async fn receipt(&self, hash: TransactionHash) -> Result<Option<Receipt>, ChainError> {
        const METHOD: &str = "eth_getTransactionReceipt";
        let receipt: Option<RpcReceipt> = self.rpc.call(METHOD, json!([hash])).await?;
        let receipt = receipt.map(Receipt::from);
        if receipt.as_ref().is_some_and(|receipt| receipt.transaction != hash) {
            return Err(ChainError::Malformed { method: METHOD });
        }
        Ok(receipt)
    }

    /// Calls a contract at the end of a block that is part of the chain.
    async fn call_contract(
        &self,
        contract: Address,
        data: &[u8],
        block: BlockHash,
    ) -> Result<Word, ChainError> {
        let call = json!({ "to": contract, "data": format!("0x{}", hex::encode(data)) });
        let block = json!({ "blockHash": block, "requireCanonical": true });
        self.rpc.call("eth_call", json!([call, block])).await
    }
}

impl Log {
    /// Returns what the log says about the authorization of a transfer, or `None` if it is about something else.
    pub(crate) fn authorization_event(
        &self,
        transfer: &AuthorizedTransfer,
    ) -> Option<AuthorizationEvent> {
        let [signature, authorizer, nonce] = self.topics.as_slice() else { return None };
        let is_about_it = self.address == transfer.asset
            && *authorizer == padded(transfer.from).0
            && *nonce == transfer.nonce.bytes();
        let kind = if *signature == AuthorizationUsed::SIGNATURE_HASH.0 {
            AuthorizationEventKind::Used
        } else if *signature == AuthorizationCanceled::SIGNATURE_HASH.0 {
            AuthorizationEventKind::Canceled
        } else {
            return None;
        };
        is_about_it.then_some(AuthorizationEvent {
            kind,
            block_number: self.block_number,
            block_hash: self.block_hash,
            transaction: self.transaction,
        })
    }
}

/// An address as a topic.
pub(crate) fn padded(address: Address) -> B256 {
    alloy_primitives::Address::from(address.bytes()).into_word()
}

fn topic(hash: B256) -> Value {
    Value::from(format!("0x{}", hex::encode(hash)))
}

fn hex_quantity(number: u64) -> String {
    format!("{number:#x}")
}

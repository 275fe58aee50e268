//! What a node returns: numbers and bytes in hexadecimal, objects with many fields more than are read.

use serde::{Deserialize, Deserializer};

use super::{Block, Log, Receipt};
use crate::decimal::Text;
use crate::hexadecimal::{Address, BlockHash, InvalidHexadecimal, TransactionHash, parse};

/// Topics of an event.
const TOPICS_MAX: usize = 4;

/// An integer of at most 64 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity(pub(super) u64);

/// The result of a call: 32 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word(pub(super) [u8; 32]);

#[derive(Deserialize)]
pub(super) struct RpcBlock {
    number: Quantity,
    hash: BlockHash,
    timestamp: Quantity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcLog {
    address: LowerAddress,
    #[serde(deserialize_with = "crate::bounded::list::<TOPICS_MAX, _, _>")]
    topics: Vec<Word>,
    #[serde(deserialize_with = "data")]
    data: Vec<u8>,
    block_number: Quantity,
    block_hash: BlockHash,
    transaction_hash: TransactionHash,
    log_index: Quantity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcReceipt {
    transaction_hash: TransactionHash,
    block_number: Quantity,
    block_hash: BlockHash,
    status: Quantity,
    logs: Vec<RpcLog>,
}

/// An address without a checksum: nodes do not agree on a case.
struct LowerAddress([u8; 20]);

impl From<RpcBlock> for Block {
    fn from(block: RpcBlock) -> Self {
        Self { number: block.number.0, hash: block.hash, timestamp: block.timestamp.0 }
    }
}

impl From<RpcLog> for Log {
    fn from(log: RpcLog) -> Self {
        Self {
            address: Address::new(log.address.0),
            topics: log.topics.into_iter().map(|topic| topic.0).collect(),
            data: log.data,
            block_number: log.block_number.0,
            block_hash: log.block_hash,
            transaction: log.transaction_hash,
            index: log.log_index.0,
        }
    }
}

impl From<RpcReceipt> for Receipt {
    fn from(receipt: RpcReceipt) -> Self {
        Self {
            transaction: receipt.transaction_hash,
            block_number: receipt.block_number.0,
            block_hash: receipt.block_hash,
            succeeded: receipt.status.0 == 1,
            logs: receipt.logs.into_iter().map(Log::from).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
            let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            number.map(Self).ok_or("must be 0x and hexadecimal digits of at most 64 bits")
        };
        deserializer.deserialize_str(Text(parse))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| parse(text).map(Self)))
    }
}

impl<'de> Deserialize<'de> for LowerAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| parse(text).map(Self)))
    }
}

fn data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let parse = |text: &str| {
        let digits = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        digits.ok_or(InvalidHexadecimal::Syntax { digits: 0 })
    };
    deserializer.deserialize_str(Text(parse))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quantity_is_hexadecimal() {
        let read = |text: &str| {
            serde_json::from_value::<Quantity>(json!(text)).ok().map(|quantity| quantity.0)
        };
        for (text, number) in
            [("0x0", 0), ("0x14a34", 84_532), ("0x01", 1), ("0xffffffffffffffff", u64::MAX)]
        {
            assert_eq!(read(text), Some(number));
        }
        for text in ["", "0x", "1", "0x+1", "0x-1", "0xg", "0x10000000000000000", "0X1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_log_of_an_unconfirmed_block_is_refused() {
        let mut log = json!({
            "address": "0x036CBD53842c5426634e7929541eC2318f3dCF7E",
            "topics": [format!("0x{}", "11".repeat(32))],
            "data": "0x00ff",
            "blockNumber": "0x7",
            "blockHash": format!("0x{}", "22".repeat(32)),
            "transactionHash": format!("0x{}", "33".repeat(32)),
            "logIndex": "0x1",
            "removed": false
        });
        let read = |log: &serde_json::Value| serde_json::from_value::<RpcLog>(log.clone());
        assert_eq!(Log::from(read(&log).unwrap()).data, [0, 255]);
        log["blockNumber"] = json!(null);
        assert!(read(&log).is_err());
    }
}

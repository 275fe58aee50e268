//! Requests of JSON-RPC.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use outbound::{Client, Destination, DestinationError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::ChainError;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const VERSION: &str = "2.0";
/// Each request has a connection to itself while it lasts, so that one id is enough.
const ID: u64 = 1;

/// The JSON-RPC interface of a node.
#[derive(Debug, Clone)]
pub(super) struct Rpc {
    client: Client,
    node: Destination,
    headers: HeaderMap,
}

#[derive(Deserialize)]
struct Reply {
    jsonrpc: String,
    id: u64,
    /// `null` is a result too: a block that does not exist.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
}

impl Rpc {
    pub(super) fn new(
        client: Client,
        url: &str,
        authorization: Option<HeaderValue>,
    ) -> Result<Self, DestinationError> {
        let node = Destination::parse(url, client.policy())?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, JSON);
        headers.insert(CONTENT_TYPE, JSON);
        if let Some(mut value) = authorization {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { client, node, headers })
    }

    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, ChainError> {
        let body = json!({ "jsonrpc": VERSION, "id": ID, "method": method, "params": params });
        let body = Bytes::from(body.to_string());
        let response = self.client.post(&self.node, self.headers.clone(), body).await;
        let response = response.map_err(ChainError::Request)?;
        let reply = serde_json::from_slice::<Reply>(&response.body).ok();
        match reply.filter(|reply| reply.jsonrpc == VERSION && reply.id == ID) {
            Some(Reply { error: Some(error), .. }) => Err(ChainError::Rpc(error.code)),
            _ if !response.status.is_success() => Err(ChainError::Status(response.status)),
            Some(Reply { result: Some(result), .. }) => {
                serde_json::from_value(result).map_err(|_| ChainError::Malformed { method })
            }
            _ => Err(ChainError::Malformed { method }),
        }
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

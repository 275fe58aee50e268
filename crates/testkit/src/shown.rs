//! Exchanges that the specification shows, as files: `NAME.http` is the request, byte for byte, and `NAME.json` what is shown
//! of the response. Clients of several kinds send the same list.

mod pattern;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use pattern::differences;

/// Values of `{{name}}` in requests and responses.
pub type Variables = BTreeMap<String, String>;

/// Who sends the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownClient {
    /// Sends the bytes as they are shown.
    Plain,
    /// Adds the headers and the id of an MCP client of a protocol version to calls of tools.
    Mcp(&'static str),
}

impl ShownClient {
    /// All clients that send the list.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Mcp("2025-11-25"), Self::Mcp(NEWEST)];
}

/// The protocol version whose requests name method and tool in headers.
const NEWEST: &str = "2026-07-28";

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRequest {
    pub method: String,
    pub path: String,
    /// Without `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// Empty if there is none.
    pub body: String,
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownResponse {
    pub status: u16,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// What is shown of a response, and how the request is sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// Sections of the specification that show it.
    pub section: String,
    pub status: u16,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A pattern; null if the body is not compared.
    #[serde(default)]
    pub body: Value,
    /// Variables for later requests: name, and JSON pointer into the body.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// How often the request is sent before the response is compared.
    #[serde(default)]
    pub repeat: u32,
    /// Minutes that pass before the request is sent.
    #[serde(default)]
    pub advance_minutes: u64,
    /// Whether MCP clients receive the error with its HTTP status.
    #[serde(default)]
    pub http_error: bool,
}

/// A shown exchange.
#[derive(Debug, Clone)]
pub struct ShownExample {
    /// Group and name.
    pub name: String,
    /// The request line, headers, an empty line and the body.
    request: String,
    pub shown: Shown,
}

impl ShownExample {
    /// Reads the examples of a group, ordered by name.
    #[must_use]
    pub fn read_group(group: &str) -> Vec<Self> {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/spec/examples").join(group);
        let entries = std::fs::read_dir(directory).expect("the group exists");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "http"));
        paths.sort();
        let example = |path: PathBuf| {
            let shown = std::fs::read_to_string(path.with_extension("json"));
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Self {
                request: std::fs::read_to_string(&path).expect("the request is a file"),
                shown: serde_json::from_str(&shown.expect("the response is a file"))
                    .expect("the response is JSON"),
                name: format!("{group}/{name}"),
            }
        };
        paths.into_iter().map(example).collect()
    }

    fn is_tool_call(&self) -> bool {
        self.request.contains("\"method\":\"tools/call\"")
    }

    /// Returns whether all values that the exchange needs are known.
    #[must_use]
    pub fn can_be_filled(&self, variables: &Variables) -> bool {
        let body = self.shown.body.to_string();
        let names = [self.request.as_str(), body.as_str()].into_iter().flat_map(|text| {
            text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0))
        });
        names.into_iter().all(|name| variables.contains_key(name))
    }

    /// Returns the request as a client sends it.
    #[must_use]
    pub fn request(&self, client: ShownClient, variables: &Variables) -> ShownRequest {
        let bytes = fill(&self.request, variables);
        let (head, body) = bytes.split_once("\n\n").expect("an empty line ends the headers");
        let mut lines = head.lines();
        let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, path, "HTTP/1.1"] = line[..] else { panic!("not a request line: {line:?}") };
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a header has a name and a value");
            (name.to_owned(), value.to_owned())
        };
        let headers = lines.map(header).filter(|(name, _)| name != "Host").collect();
        let body = body.trim_end_matches('\n').to_owned();
        let mut request =
            ShownRequest { method: method.to_owned(), path: path.to_owned(), headers, body };
        if let ShownClient::Mcp(version) = client
            && self.is_tool_call()
        {
            request.become_mcp(version);
        }
        request
    }

    /// Returns how a response differs from what is shown.
    #[must_use]
    pub fn differences(
        &self,
        client: ShownClient,
        response: &ShownResponse,
        variables: &Variables,
    ) -> Vec<String> {
        let shown = fill(&self.shown.body.to_string(), variables);
        let shown = serde_json::from_str(&shown).expect("the pattern is JSON");
        let is_mcp = matches!(client, ShownClient::Mcp(_)) && self.is_tool_call();
        let (status, body) =
            if is_mcp { self.to_mcp_client(shown) } else { (self.shown.status, shown) };
        let mut found = Vec::new();
        if response.status != status {
            found.push(format!("the status is {}, not {status}", response.status));
        }
        if !body.is_null() {
            found.extend(differences(&body, &response.readable_body()));
        }
        for (name, value) in &self.shown.headers {
            let sent = response.headers.get(name);
            let differs = differences(&json!({ name: value }), &json!({ name: sent }));
            found.extend(differs.into_iter().map(|difference| format!("header {difference}")));
        }
        found
    }

    /// Returns the status and the body that an MCP client receives instead of those that are shown.
    fn to_mcp_client(&self, mut shown: Value) -> (u16, Value) {
        if shown["jsonrpc"] == "2.0" {
            shown["id"] = json!(ID);
            return (self.shown.status, shown);
        }
        if self.shown.http_error {
            let error = json!({ "code": "<integer>", "message": "<string>", "data": shown });
            // A layer before the endpoint answers an overload without having read the id.
            let id = if self.shown.status == 503 { Value::Null } else { json!(ID) };
            return (self.shown.status, json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        let content = json!([{ "type": "text", "text": shown }]);
        let result = json!({ "isError": true, "content": content, "structuredContent": ABSENT });
        (200, json!({ "jsonrpc": "2.0", "id": ID, "result": result }))
    }

    /// Adds the values that later requests use to the variables. Returns an error if the response lacks one.
    pub fn save(
        &self,
        response: &ShownResponse,
        variables: &mut Variables,
    ) -> Result<(), &'static str> {
        for (name, pointer) in &self.shown.save {
            let body = response.readable_body();
            let saved = body.pointer(pointer).and_then(Value::as_str);
            let saved = saved.ok_or("the response lacks what a later request needs")?;
            variables.insert(name.clone(), saved.to_owned());
        }
        Ok(())
    }
}

/// The id of the requests of MCP clients.
const ID: u32 = 7;
/// Stands for `structuredContent`, which a failed result must not have.
const ABSENT: &str = "absent";

impl ShownRequest {
    /// Turns the request into that of an MCP client.
    fn become_mcp(&mut self, version: &str) {
        let mut body: Value = serde_json::from_str(&self.body).expect("a call is JSON");
        body["id"] = json!(ID);
        let mut header =
            |name: &str, value: &str| self.headers.push((name.to_owned(), value.to_owned()));
        header("Accept", "application/json, text/event-stream");
        header("MCP-Protocol-Version", version);
        if version == NEWEST {
            header("Mcp-Method", "tools/call");
            header("Mcp-Name", body["params"]["name"].as_str().unwrap_or_default());
            body["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": { "name": "example", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.body = body.to_string();
    }
}

impl ShownResponse {
    /// Returns the body as JSON, with the error envelope in the text of a failed result as JSON too. Null if it is not JSON.
    fn readable_body(&self) -> Value {
        let mut body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        if body["result"]["isError"] == true {
            let result = &mut body["result"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            result["content"][0]["text"] = serde_json::from_str(text).unwrap_or_default();
            if result.get("structuredContent").is_none() {
                result["structuredContent"] = json!(ABSENT);
            }
        }
        body
    }
}

/// Replaces `{{name}}` by its value.
fn fill(text: &str, variables: &Variables) -> String {
    let mut filled = text.to_owned();
    for (name, value) in variables {
        filled = filled.replace(&format!("{{{{{name}}}}}"), value);
    }
    assert!(!filled.contains("{{"), "a variable is missing: {filled}");
    filled
}

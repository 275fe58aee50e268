//! MCP clients and agent frameworks, unmodified, through their own path from a tool to what a model sees of its result.
//!
//! Each check runs the script of one client in dev/frameworks, with the packages pinned there, against the real server: a proxy
//! between the two counts what is sent and knows what the server answered. A server that refuses calls with HTTP 403 fails
//! here: the session of mcp 1 ends, Semantic Kernel waits for an answer, and other frameworks lose the hint.

mod client;
mod judge;
mod proxy;
mod store;

use crate::report::Check;

/// The clients of the short form.
pub(crate) const IN_SHORT_FORM: [&str; 4] =
    ["python-sdk", "python-sdk-previous", "openai-agents", "ai-sdk"];

/// A check of the client in the folder of this name in dev/frameworks.
macro_rules! client {
    ($name:literal, $guarantee:literal) => {
        Check {
            name: $name,
            guarantee: $guarantee,
            run: |trial| Box::pin(client::prove(trial, $name)),
        }
    };
}

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    client!("python-sdk", "mcp 2, the official Python client"),
    client!("python-sdk-previous", "mcp 1, the official Python client, previous major version"),
    client!("typescript-sdk", "@modelcontextprotocol/client 2, the official TypeScript client"),
    client!(
        "typescript-sdk-previous",
        "@modelcontextprotocol/sdk 1, the official TypeScript client, previous major version"
    ),
    client!("fastmcp", "FastMCP (Python)"),
    client!("langchain-mcp-adapters", "LangChain (Python): a session for each call"),
    client!("openai-agents", "OpenAI Agents SDK (Python), strict schemas"),
    client!("pydantic-ai", "Pydantic AI (Python)"),
    client!("llama-index", "LlamaIndex (Python)"),
    client!("google-adk", "Google Agent Development Kit (Python)"),
    client!("smolagents", "smolagents (Python)"),
    client!("autogen", "AutoGen (Python)"),
    client!("crewai-tools", "CrewAI (Python)"),
    client!("semantic-kernel", "Semantic Kernel (Python)"),
    client!("agno", "Agno (Python)"),
    client!("strands-agents", "Strands Agents (Python)"),
    client!("mcp-use", "mcp-use (Python)"),
    client!("mcp-haystack", "Haystack (Python)"),
    client!("ai-sdk", "AI SDK (TypeScript)"),
    client!("langchain-js", "LangChain (TypeScript)"),
    client!("mastra", "Mastra (TypeScript)"),
    client!("mcp-use-js", "mcp-use (TypeScript)"),
    client!("openai-agents-js", "OpenAI Agents SDK (TypeScript), strict schemas"),
    client!("inspector", "the command line of the MCP Inspector"),
];

//! A server with rmcp and a fixed tool result, the baseline of `just bench mcp`: the cost of a tool
//! call without any work.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::report::{self, Failure};

#[derive(Args)]
pub(crate) struct BareArgs {
    #[arg(long)]
    port: u16,
    /// JSON file with the tool result to return.
    #[arg(long)]
    answer: PathBuf,
}

/// Returns the same result for every call.
#[derive(Clone)]
struct Fixed(Arc<Value>);

impl ServerHandler for Fixed {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured((*self.0).clone()).into())
    }
}

pub(crate) async fn run(args: BareArgs) -> ExitCode {
    report::exit_code(serve(args).await)
}

async fn serve(args: BareArgs) -> Result<(), Failure> {
    let answer: Arc<Value> =
        Arc::new(serde_json::from_str(&std::fs::read_to_string(args.answer)?)?);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None);
    let service: StreamableHttpService<Fixed, NeverSessionManager> =
        StreamableHttpService::new(move || Ok(Fixed(Arc::clone(&answer))), Arc::default(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", args.port)).await?;
    let router = axum::Router::new().route_service("/demo-store/mcp", service);
    axum::serve(listener, router).await?;
    Ok(())
}

//! `maxim mcp`: the introspection tools for any client of the Model Context Protocol, on standard input and output.
//!
//! A thin client of the running daemon, which defines the tools, their schemas and their results. All of them only
//! read. Standard output carries the protocol and nothing else.

use std::io::{Read, Write};
use std::sync::Arc;

use clap::Args;
use maxim_actors::action::tools::{Door, ToolSpec, core_registry};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;

use super::{CliError, Exit, Global};

/// Buffer size in bytes.
const CARRIED: usize = 64 << 10;

/// Let an MCP client ask the brain about itself: recall, predictions, causes, stats. It reads and changes nothing.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  maxim mcp\n\nA client starts it itself; give it the command and its arguments, such as [\"maxim\", \"mcp\", \"--data\", \"DIR\"].\nIt speaks the Model Context Protocol on standard input and output and asks the running daemon, whose token it reads by itself: run it as the daemon's user."
)]
pub struct McpArgs {}

impl McpArgs {
    pub(super) fn run(self, global: &Global) -> Result<Exit, CliError> {
        let bug = |error: &dyn std::fmt::Display| CliError::new(Exit::Bug, error.to_string(), "report it");
        let registry = core_registry().map_err(|error| bug(&error))?;
        let questions = registry.specs().filter(|spec| spec.door == Door::Introspection);
        let mind = Mind { global: global.clone(), tools: questions.map(described).collect() };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| bug(&error))?;
        let served: Result<(), String> = runtime.block_on(async {
            let (input, output, written) = standard_streams();
            let transport = AsyncRwTransport::new_server(input, output);
            let ended = match serve_server(mind, transport).await {
                Ok(service) => service.waiting().await.map(drop).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            // The last answer must be written before the process ends.
            let _ = written.await;
            ended
        });
        // A question to the daemon may still be under way.
        runtime.shutdown_background();
        served.map_err(|error| {
            let found = format!("no client spoke the Model Context Protocol on standard input: {error}");
            CliError::new(Exit::Usage, found, "let an MCP client start this command")
        })?;
        Ok(Exit::Ok)
    }
}

/// Standard input and output, each copied by its own thread, because they block. The receiver is notified when all
/// output is written.
fn standard_streams() -> (DuplexStream, DuplexStream, oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Handle::current();
    let (mut to_input, input) = tokio::io::duplex(CARRIED);
    let reader = runtime.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; CARRIED];
        while let Ok(count @ 1..) = std::io::stdin().lock().read(&mut buffer) {
            if reader.block_on(to_input.write_all(&buffer[..count])).is_err() {
                break;
            }
        }
    });
    let (output, mut from_output) = tokio::io::duplex(CARRIED);
    let (tell, written) = oneshot::channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; CARRIED];
        while let Ok(count @ 1..) = runtime.block_on(from_output.read(&mut buffer)) {
            let mut stdout = std::io::stdout().lock();
            if stdout.write_all(&buffer[..count]).and_then(|()| stdout.flush()).is_err() {
                break;
            }
        }
        let _ = tell.send(());
    });
    (input, output, written)
}

fn described(spec: &ToolSpec) -> Tool {
    let schema = spec.parameters.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema)).with_annotations(hints)
}

struct Mind {
    global: Global,
    tools: Vec<Tool>,
}

impl ServerHandler for Mind {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("maxim", env!("CARGO_PKG_VERSION")))
            .with_instructions("Read-only questions to a Maxim brain: what it remembers, expects and has learned.")
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&call.name).is_none() {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", call.name), None));
        }
        let (global, name) = (self.global.clone(), call.name.to_string());
        let params = call.arguments.map_or(Value::Null, Value::Object);
        // The client blocks its thread.
        let asked = tokio::task::spawn_blocking(move || {
            let client = global.client()?;
            client.post(&["v1", "introspection", &name], &json!({ "params": params }))
        });
        let result = match asked.await {
            Ok(Ok(answer)) => answered(&answer.body),
            Ok(Err(error)) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!(
                "the question to the daemon failed: \
            {error}"
            ))]),
        };
        Ok(result.into())
    }
}

/// As structure, and as text for clients that read only text.
fn answered(answer: &Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
    result.structured_content = answer.is_object().then(|| answer.clone());
    result
}

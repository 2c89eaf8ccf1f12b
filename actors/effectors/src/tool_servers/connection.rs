//! The connection to one server: made in the background, kept, and made again when it is lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use maxim_bus::bounds::MCP_MESSAGE;
use maxim_bus::latch::StopLatch;
use reqwest::redirect;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomNotification, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, PingRequest, ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, Peer, RoleClient, RunningService, ServiceError, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;

use super::flood::Flood;
use super::offered::{Change, OfferedTool, TOOLS, ToolList, plain};
use super::server::{Server, State, TOLD, World};
use super::{HttpPlan, ProgramPlan, Reach};
use crate::http_client;
use maxim_tools::contained::{ChildSpec, Network, Running, SandboxPolicy, serve};
use maxim_tools::{ErrorKind, ToolFailure};

/// How long connecting and listing may take: a program may first have to be fetched.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server may take for a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// An idle server is asked for a sign of life this often.
const LOOK: Duration = Duration::from_secs(30);
/// The delay before the next attempt, doubled with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After a connection of this length, the pauses start again with the shortest.
const HELD: Duration = Duration::from_secs(60);
/// How often a raised latch is checked.
const LATCH_LOOK: Duration = Duration::from_millis(100);
/// The biggest message of a server, in bytes. A bigger one is dropped, and the call that waits for it times out.
const MESSAGE: usize = MCP_MESSAGE.limit;
/// Bytes of a program's standard error that are kept.
const STDERR: usize = 2_000;
/// How long to wait for a program's end.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A program has no time limit; the kernel wants a number.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Keeps one server connected until the end.
pub(super) async fn keep(server: Arc<Server>, world: World) {
    let mut ended = world.ended.clone();
    let keeping = async {
        let mut pause = FIRST_PAUSE;
        loop {
            if world.latch.is_stopped() {
                server.stand(
                    State::Stopped,
                    Some("the brain is stopped; a person clears that with `maxim reset`".into()),
                );
                while world.latch.is_stopped() {
                    tokio::time::sleep(LATCH_LOOK).await;
                }
            }
            server.stand(State::Connecting, None);
            let begun = tokio::time::Instant::now();
            // On its own task: a panic that a server causes in this code must not end the keeping.
            let attempt = tokio::spawn(hold(Arc::clone(&server), world.clone()));
            let why = match attempt.await {
                Ok(why) => why,
                Err(error) => format!("the connection broke: {error}"),
            };
            if begun.elapsed() >= HELD {
                pause = FIRST_PAUSE;
            }
            tracing::warn!(server = server.plan.name, why, "a tool server is not connected");
            server.stand(State::Down, Some(why));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    tokio::select! {
        () = keeping => {}
        _ = async { while ended.changed().await.is_ok() {} } => {}
    }
    server.stand(State::Off, None);
}

/// Connects and stays connected; returns the reason for the end.
async fn hold(server: Arc<Server>, world: World) -> String {
    let opened = match open(&server, &world.latch, &world.sandbox).await {
        Ok(opened) => opened,
        Err(failure) => return failure.message,
    };
    let Opened { service, list, changed, program, flood } = opened;
    let peer = service.peer().clone();
    take_in(&server, &world, &peer, &list);
    let mut gone = Box::pin(service.waiting());
    let why = loop {
        tokio::select! {
            // First, because a refused reading also ends the connection.
            biased;
            why = flood.over() => break why,
            _ = &mut gone => break "it closed the connection".to_owned(),
            () = changed.notified() => match tokio::time::timeout(PATIENCE, tools_of(&server.plan.name, &peer)).await {
                Ok(Ok(list)) => take_in(&server, &world, &peer, &list),
                Ok(Err(why)) => break why,
                Err(_) => break "it didn't list its tools in time".to_owned(),
            },
            () = server.suspected.notified() => {
                if let Some(why) = lost(&peer).await {
                    break why;
                }
            }
            // A lost address is only noticed in this way. A server that is busy with a call may answer nothing else.
            () = tokio::time::sleep(LOOK) => if !server.is_busy() && let Some(why) = lost(&peer).await {
                break why;
            },
        }
    };
    drop(gone);
    // A refused reading also closes the connection. The flood is the reason then, whichever is noticed first.
    let why = flood.reason().unwrap_or(why);
    match program {
        Some(program) => last_words(program, why).await,
        None => why,
    }
}

/// Why it gives no sign of life; `None` if it does. Every server answers a ping at once, even if only with an error.
async fn lost(peer: &Peer<RoleClient>) -> Option<String> {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    match tokio::time::timeout(SIGN_OF_LIFE, peer.send_request(ping)).await {
        Ok(Ok(_)) => None,
        Ok(Err(ServiceError::McpError(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => None,
        Ok(Err(error)) => Some(format!("it is lost: {}", plain(&error.to_string(), TOLD))),
        Err(_) => Some(format!("it hangs: no sign of life for {} s", SIGN_OF_LIFE.as_secs())),
    }
}

/// How a program ended, if it ended by itself; otherwise it is ended here.
async fn last_words(program: Running, why: String) -> String {
    let Running { ended, .. } = program;
    match tokio::time::timeout(LAST_WORDS, ended).await {
        Ok(Ok(end)) if end.said.is_empty() => format!("{why}; {}", end.how),
        Ok(Ok(end)) => format!("{why}; {}; it said: {}", end.how, plain(&end.said, TOLD)),
        _ => why,
    }
}

/// Its offers: they apply to calls from now on, and to the next start.
fn take_in(server: &Server, world: &World, peer: &Peer<RoleClient>, list: &ToolList) {
    let Some(changes) = server.up(peer, list) else { return };
    if let Err(failure) = world.folder.save(list) {
        (world.tell)(format!("{failure}"));
        return;
    }
    let name = &server.plan.name;
    (world.tell)(match &server.remembered {
        Some(_) if changes.is_empty() => format!("the tool server {name} offers the same tools again as at the start"),
        None => format!("the tool server {name} is new and brings {} tools, from the next start on", list.tools.len()),
        Some(_) => format!("the tool server {name} has changed ({}), for the next start", told(&changes)),
    });
}

fn told(changes: &[Change]) -> String {
    const MOST: usize = 10;
    let shown = changes.iter().take(MOST).map(|change| match change {
        Change::New(tool) => format!("new: {}", plain(tool, 64)),
        Change::Changed(tool) => format!("changed, and not called until then: {}", plain(tool, 64)),
        Change::Gone(tool) => format!("gone: {}", plain(tool, 64)),
    });
    let mut shown = shown.collect::<Vec<_>>().join(", ");
    if changes.len() > MOST {
        shown.push_str(&format!(" and {} more", changes.len() - MOST));
    }
    shown
}

/// Asks once what the server offers.
pub(super) fn look(server: &Server, latch: &StopLatch, sandbox: &SandboxPolicy) -> Result<ToolList, ToolFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ToolFailure::new(ErrorKind::Io, format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let Opened { service, list, .. } = open(server, latch, sandbox).await?;
        let _ = service.cancel().await;
        Ok(list)
    })
}

struct Opened {
    flood: Flood,
    service: RunningService<RoleClient, Client>,
    list: ToolList,
    changed: Arc<Notify>,
    program: Option<Running>,
}

async fn open(server: &Server, latch: &StopLatch, sandbox: &SandboxPolicy) -> Result<Opened, ToolFailure> {
    let failed = |why: String| ToolFailure::new(ErrorKind::Unavailable, why);
    let changed = Arc::new(Notify::new());
    let flood = Flood::new();
    let client = Client { changed: Arc::clone(&changed), flood: None };
    let mut program = None;
    let connecting = match &server.plan.reach {
        Reach::Program(plan) => {
            let (input, output, running) = start(plan, sandbox, latch, &flood)?;
            program = Some(running);
            let transport = AsyncRwTransport::new_client(flood.reading(output), input).with_max_line_length(MESSAGE);
            serve_client(client, transport).boxed()
        }
        Reach::Http(plan) => {
            let transport = address(plan)?;
            let client = Client { flood: Some(flood.clone()), ..client };
            serve_client(client, transport).boxed()
        }
    };
    let listing = async {
        let service = match tokio::time::timeout(PATIENCE, connecting).await {
            Err(_) => return Err(format!("it didn't answer for {} s", PATIENCE.as_secs())),
            Ok(Err(error)) => return Err(plain(&error.to_string(), TOLD)),
            Ok(Ok(service)) => service,
        };
        match tokio::time::timeout(PATIENCE, tools_of(&server.plan.name, service.peer())).await {
            Ok(Ok(list)) => Ok((service, list)),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("it didn't list its tools in time".to_owned()),
        }
    };
    let listed = tokio::select! {
        // First, because a refused reading also ends the connection.
        biased;
        why = flood.over() => Err(why),
        listed = listing => listed,
    };
    match (listed, program) {
        (Ok((service, list)), program) => Ok(Opened { flood, service, list, changed, program }),
        (Err(why), Some(program)) => Err(failed(last_words(program, why).await)),
        (Err(why), None) => Err(failed(why)),
    }
}

fn start(
    plan: &ProgramPlan,
    sandbox: &SandboxPolicy,
    latch: &StopLatch,
    flood: &Flood,
) -> Result<(ChildStdin, ChildStdout, Running), ToolFailure> {
    let named = plan.command.first().map(String::as_str).unwrap_or_default();
    let found = if named.contains('/') { Some(PathBuf::from(named)) } else { sandbox.find(named) };
    let program = found.filter(|path| path.is_file()).ok_or_else(|| {
        ToolFailure::new(ErrorKind::Unavailable, format!("the program {named:?} isn't there; correct its command"))
    })?;
    let mut policy = sandbox.clone();
    policy.readable.extend(plan.readable.iter().cloned());
    policy.readable.extend(program.parent().filter(|_| named.contains('/')).map(Path::to_owned));
    policy.network = if plan.network { Network::On } else { Network::Off };
    policy.environment.extend(plan.environment.clone());
    let own = plan.writable.iter().chain(&plan.readable).find(|place| place.is_dir());
    // A server keeps its settings between runs in its own folder.
    if let Some(own) = own {
        policy.environment.entry("HOME".into()).or_insert_with(|| own.display().to_string());
    }
    let spec = ChildSpec {
        program: program.display().to_string(),
        args: plan.command.get(1..).unwrap_or_default().to_vec(),
        cwd: own.cloned().unwrap_or_else(|| PathBuf::from("/")),
        writable: plan.writable.clone(),
        stdin: Vec::new(),
        deadline: FOR_GOOD,
        output_cap: STDERR,
    };
    let (input, output, running) = serve(&spec, &policy, latch, flood.pace())?;
    let no_pipes = |error: std::io::Error| ToolFailure::new(ErrorKind::Io, format!("its pipes can't be used: {error}"));
    let input = ChildStdin::from_std(input).map_err(no_pipes)?;
    let output = ChildStdout::from_std(output).map_err(no_pipes)?;
    Ok((input, output, running))
}

fn address(plan: &HttpPlan) -> Result<StreamableHttpClientTransport<reqwest::Client>, ToolFailure> {
    // A redirect would send the session and the token to an address that nobody configured.
    let http =
        http_client::builder(&plan.roots).redirect(redirect::Policy::none()).connect_timeout(SIGN_OF_LIFE).build();
    let http = http.map_err(|error| ToolFailure::new(ErrorKind::Unavailable, format!("no HTTP client: {error}")))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(plan.url.clone())
        .max_sse_event_size(MESSAGE)
        .max_json_response_size(MESSAGE);
    if let Some(token) = &plan.token {
        config = config.auth_header(token.clone());
    }
    Ok(StreamableHttpClientTransport::with_client(http, config))
}

/// Everything that it offers, page by page, within bounds.
async fn tools_of(server: &str, peer: &Peer<RoleClient>) -> Result<ToolList, String> {
    let mut offered: Vec<OfferedTool> = Vec::new();
    let mut cursor = None;
    // A server that gives ever more pages is left at some point; what it named by then is reported as left out.
    while offered.len() <= 16 * TOOLS {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(|error| plain(&error.to_string(), TOLD))?;
        let ListToolsResult { tools, next_cursor, .. } = page;
        let is_last = next_cursor.is_none() || tools.is_empty();
        offered.extend(tools.iter().map(OfferedTool::of));
        if is_last {
            break;
        }
        cursor = next_cursor;
    }
    Ok(ToolList::of(server, offered))
}

/// The client side of a connection. It offers the server nothing: no model, no files, no questions to a person.
#[derive(Clone)]
struct Client {
    changed: Arc<Notify>,
    /// For a server whose bytes aren't read here: its messages are counted.
    flood: Option<Flood>,
}

impl Client {
    async fn heard(&self) {
        if let Some(flood) = &self.flood {
            flood.message().await;
        }
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("maxim", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.heard().await;
        self.changed.notify_one();
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard().await;
    }

    // The protocol has removed it, and older servers still send it.
    #[allow(deprecated)]
    async fn on_logging_message(
        &self,
        _: rmcp::model::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.heard().await;
    }

    async fn on_resource_updated(&self, _: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard().await;
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard().await;
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard().await;
    }

    async fn on_custom_notification(&self, _: CustomNotification, _: NotificationContext<RoleClient>) {
        self.heard().await;
    }
}

//! The daemon: one process with one brain, its doors, its stop threads, and a way to end in order.

// A print macro panics once the reader is gone, and blocks while the reader is slow. `standard_error` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod console;
mod found;
pub mod opening;
mod port;
mod signals;
mod stop_socket;
mod stop_ways;
pub mod systemd;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use maxim_actors::action::tools::OwnFiles;
use maxim_actors::action::tools::hands::SANDBOX_FOLDER;
use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::region::Tap;
use maxim_actors::store::{AgentStore, OpenReport, StateStore, StoreOptions};
use maxim_bus::clock::{Stopwatch, SystemClock};
use maxim_bus::latch::{LatchFile, LatchRecord, LoadedLatch, Mirror, StopDetail, StopLatch};
use maxim_bus::{AgentId, Clock, SharedClock};
use rustix::process::{Resource, getrlimit};
use tokio::sync::watch;

use crate::agent::containment::Containment;
use crate::agent::{Agent, AgentHandle, AgentSettings, AgentWorld};
use crate::backups::Backups;
use crate::cli::{CliError, Exit};
use crate::config::{self, Mode, Secret, Settings};
use crate::data_folder::{DaemonNote, DataFolder};
use crate::http::{self, EventLog, Figures, Proof, Served};
use crate::machine_clock;
use crate::machines::{self, Machines, Taken};
use crate::recorder::{Header, Limits, Recorder, retake};
use crate::standard_error;
use crate::stopping::{SignsOfLife, stop_by};
use crate::token;
use crate::working_set::{TIDY_EVERY, let_go_of_start, tidy};

/// How long to wait for the end of the session when the daemon ends.
const SESSION_GRACE: Duration = Duration::from_secs(1);
/// How long to wait for open requests when the daemon ends.
const HTTP_GRACE: Duration = Duration::from_secs(1);
/// How long other machines may take to hear what the latch says, before the next one takes the agent.
const LATCH_GRACE: Duration = Duration::from_secs(3);

/// What a start with `http.open` says.
const OPEN: &str = "http.open = true: the HTTP door asks NOBODY for a token. EVERY program and EVERY account of this \
machine can command this agent, answer its questions and clear its stop. Remove http.open to end that";

/// How the daemon was asked to run.
pub struct Plan {
    pub settings: Settings,
    pub folder: DataFolder,
    pub workdir: PathBuf,
    /// Files that none of its tools may change.
    pub own: OwnFiles,
    pub chaos: bool,
    /// Typed lines are percepts.
    pub console: bool,
}

/// Everything that was opened before the brain starts.
struct Opened {
    store: StateStore,
    report: OpenReport,
    latch: StopLatch,
    listener: TcpListener,
    address: SocketAddr,
    proof: Proof,
    containment: Containment,
    machines: Option<Arc<Machines>>,
}

/// Runs until it is told to end.
///
/// # Errors
/// Something that it needs isn't available: the folder, the store, the port. The error names the fix.
pub fn run(plan: Plan) -> Result<Exit, CliError> {
    let watch = Stopwatch::start();
    standard_error::take_panics();
    enough_files(getrlimit(Resource::Nofile).current)?;
    machine_clock::check()?;
    let opened = open(&plan)?;
    let system = actix::System::new();
    let exit = system.block_on(live(plan, opened, watch));
    actix::System::current().stop();
    exit
}

/// Files that may be open at least: some 60 are while it is idle.
const FILES: u64 = 96;

/// With fewer open files than it needs, the daemon would fail in the middle of something.
fn enough_files(limit: Option<u64>) -> Result<(), CliError> {
    match limit {
        Some(limit) if limit < FILES => {
            let found = format!("only {limit} files may be open at once, and it needs {FILES} at least");
            let fix = "raise the limit: `ulimit -n 1024` in a shell, LimitNOFILE= in a unit of systemd";
            Err(CliError::new(Exit::TryAgain, found, fix))
        }
        _ => Ok(()),
    }
}

fn open(plan: &Plan) -> Result<Opened, CliError> {
    let folder = plan.folder.path();
    if !plan.workdir.is_dir() {
        let found = format!("the working folder {} is not there", plan.workdir.display());
        return Err(CliError::new(Exit::Usage, found, "make it, or name another with --workdir"));
    }
    // The sandbox is tried out while the store is read.
    let tools = plan.settings.tools.clone();
    let containment = std::thread::spawn(move || Containment::find(&tools));
    let of_config = |fault| CliError::Failed { exit: Exit::BadConfig, faults: vec![fault] };
    let bearer = plan.settings.http.bearer().map_err(of_config)?;
    http::check_listen(plan.settings.http.listen, bearer.as_ref(), plan.settings.http.open)
        .map_err(|error| CliError::told(Exit::BadConfig, &error))?;
    plan.folder.restore().iter().for_each(standard_error::tell);
    // If the store is missing but other traces of a run are there, the store was lost: it is no new brain.
    let was_used = plan.folder.holds_recordings() || plan.folder.latch().exists();
    let options = StoreOptions { was_used, ..opening::options(&plan.settings.store) };
    let (store, report, elsewhere) = match &plan.settings.nats.url {
        None => {
            let (store, report) = opening::open(&plan.folder, options)?;
            (store, report, None)
        }
        Some(_) => {
            // A standby machine only listens once it runs the agent. It should find out now whether it can.
            drop(port::bind(plan.settings.http.listen)?);
            let Taken { store, report, latch, mirror, machines } =
                machines::join(&plan.settings.nats, &plan.folder, options)?;
            (store, report, Some((latch, mirror, Arc::new(machines))))
        }
    };
    let (found, mirror, machines) = match elsewhere {
        None => (None, None, None),
        Some((found, mirror, machines)) => (found, Some(mirror), Some(machines)),
    };
    let latch = open_latch(&plan.folder.latch(), !report.fresh, found, mirror)
        .map_err(|error| unusable("the latch file", &plan.folder.latch(), &error))?;
    let listener = port::bind(plan.settings.http.listen)?;
    let ready = listener.set_nonblocking(true).and_then(|()| listener.local_addr());
    let address = ready.map_err(|error| unusable("the listening socket", folder, &error))?;
    let proof = proof(plan, bearer.as_ref())?;
    let containment = containment.join().map_err(|_| {
        CliError::new(Exit::Bug, "looking for what contains child processes ended in a panic", "report it")
    })?;
    let containment = containment.map_err(of_config)?;
    if let Some(machines) = &machines {
        latch.bind(machines.lease());
    }
    Ok(Opened { store, report, latch, listener, address, proof, containment, machines })
}

/// What callers will have to show.
fn proof(plan: &Plan, configured: Option<&Secret>) -> Result<Proof, CliError> {
    if plan.settings.http.open {
        return Ok(Proof::Open);
    }
    if let Some(secret) = configured {
        return Ok(Proof::configured(secret));
    }
    let own = token::of_daemon(&plan.folder).map_err(|error| unusable("the token", &plan.folder.token(), &error))?;
    if let Some(told) = &own.told {
        standard_error::tell(told);
    }
    Ok(Proof::own(&own.secret))
}

/// The latch of this machine's folder. If another machine ran the agent before, the stricter of the two latch states
/// holds.
fn open_latch(
    path: &Path,
    is_used: bool,
    elsewhere: Option<LatchRecord>,
    mirror: Option<Mirror>,
) -> std::io::Result<StopLatch> {
    if let Some(elsewhere) = elsewhere {
        let file = LatchFile::new(path);
        let holds = match file.load(false) {
            LoadedLatch::Fresh => elsewhere,
            here => elsewhere.or_stricter(here.into_record()),
        };
        file.write(&holds, 0)?;
    }
    StopLatch::open_mirrored(path, is_used, mirror)
}

/// The folder that programs of tools write in.
pub fn written_folder(mode: Mode, workdir: &Path) -> PathBuf {
    match mode {
        Mode::Passive => workdir.join(SANDBOX_FOLDER),
        Mode::Active => workdir.to_owned(),
        Mode::Singularity => "/".into(),
    }
}

fn unusable(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    let found = format!("{what} {} can't be used: {error}", path.display());
    CliError::new(Exit::TryAgain, found, "check its permissions and the disk, or name another with --data")
}

async fn live(plan: Plan, opened: Opened, watch: Stopwatch) -> Result<Exit, CliError> {
    let Opened { store, report, latch, listener, address, proof, containment, machines } = opened;
    let clock = SystemClock;
    let started = clock.now();
    let figures = Figures::of(&latch);
    honour_request(&plan.folder, &latch, started);
    let saved = plan.folder.saved();
    let mut rooms = AgentSettings::new(
        &plan.settings,
        report.boot,
        &plan.workdir,
        &saved,
        ListFolder::new(plan.folder.tool_lists()),
    )
    .map_err(|error| CliError::told(Exit::BadConfig, &error))?
    .owning(plan.own.clone());
    let tools = &plan.settings.tools;
    rooms.action.hands.sandbox.namespaces = containment.namespaces();
    rooms.gate.fear.walls.barriers = containment.barriers();
    // The port is known before any child starts, because the daemon listens already.
    rooms.action.hands.sandbox.own_ports = containment.own_ports(vec![address.port()], tools);
    let id = AgentId::new(opening::AGENT).map_err(|error| CliError::told(Exit::Bug, &error))?;
    let seed = plan.settings.agent.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
    let clock: SharedClock = Arc::new(clock);
    let retaken = retaken(&plan, &report, &store, &id);
    let recorder = record(&plan, &store.agent(&id), &clock, seed, report.boot, &saved, &rooms);
    let recording = recorder.clone().map(|recorder| recorder as Arc<dyn Tap>);
    let told = match &machines {
        Some(machines) => machines.tap(recording),
        None => recording,
    };
    let events = EventLog::new(report.boot, told);
    let config::Store { backup_every, backup_keep, .. } = &plan.settings.store;
    let backups = Backups::new(store.clone(), backup_every.get(), *backup_keep as usize);
    let backing_up = backups
        .start(Arc::clone(&clock))
        .map_err(|error| unusable("the thread of backups", plan.folder.path(), &error))?;
    let under_way = found::under_way(&store.agent(&id));
    let world = AgentWorld {
        store: store.agent(&id),
        id,
        clock,
        latch: latch.clone(),
        seed,
        tap: Some(Arc::clone(&events) as Arc<dyn Tap>),
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let agent = Agent::live(world, &rooms, threads).map_err(|error| CliError::told(Exit::Bug, &error))?;
    agent.supervision.on_notice(|text| standard_error::tell_now(text));

    let connected = rooms
        .tool_servers
        .connect(&latch, &rooms.action.hands.sandbox, standard_error::tell)
        .map_err(|error| unusable("the thread of tool servers", plan.folder.path(), &error))?;

    let (end, ended) = watch::channel(false);
    let end = Arc::new(end);
    let of_channels = agent.outside.clone();
    let signs = Arc::new(SignsOfLife::now());
    signals::listen(&agent.outside.door, &end, &signs)
        .map_err(|error| unusable("signals", plan.folder.path(), &error))?;
    if let Some(machines) = &machines {
        let (end, lost_by) = (Arc::clone(&end), Arc::clone(machines));
        let lost = move || {
            let why = lost_by.lost().unwrap_or_default();
            standard_error::tell(format_args!("this machine doesn't run the agent any more: {why}"));
            let _ = end.send(true);
        };
        machines.live(&agent, lost)?;
    }
    let poll = plan.settings.stop.file_poll.get();
    stop_ways::serve(&plan.folder, &agent.outside.door, &latch, poll, &signs)
        .map_err(|error| unusable("the stop socket", &plan.folder.stop_socket(), &error))?;

    // The token has been read before.
    let config::Http { listen: _, token: _, token_file: _, open: _, session_idle, origins, body_max } =
        &plan.settings.http;
    let draining = Arc::new(AtomicBool::new(false));
    let is_stop_path_tested = Arc::new(AtomicBool::new(false));
    let served = Arc::new(Served {
        agent: agent.handle(),
        store: store.clone(),
        events,
        chaos: plan.chaos,
        proof,
        sessions: http::Sessions::new(session_idle.get()),
        guesses: http::Guesses::default(),
        origins: origins.clone(),
        listen: address,
        started,
        zone: rooms.memory.zone.clone(),
        draining: Arc::clone(&draining),
        llm: rooms.effectors.model.as_ref().map_or_else(|| "none".into(), ToString::to_string),
        tokens: rooms.effectors.model.is_some().then(|| rooms.deliberation.prefrontal.counter.to_string()),
        body: rooms.effectors.body.clone(),
        backups: Arc::clone(&backups),
        text_max: plan.settings.perception.gateway.text_max.as_usize(),
        latch_file: Some(plan.folder.latch()),
        is_stop_path_tested: Arc::clone(&is_stop_path_tested),
        stop_threads: Some(Arc::clone(&signs)),
        figures,
        machines: machines.clone(),
        tools: Arc::clone(&rooms.action.registry),
        tool_servers: Arc::clone(&rooms.tool_servers),
        containment: Some(containment.clone()),
        channels: Arc::clone(&rooms.effectors.channels),
        imports: http::Imports::default(),
        body_max: usize::try_from(body_max.get()).unwrap_or(usize::MAX),
    });
    if let Some(machines) = &machines {
        machines.observe(&served);
    }
    let (close_http, http_closes) = watch::channel(false);
    let (server, serving) = serve(listener, served, http_closes)?;
    let note = DaemonNote::own(format!("http://{address}"), started, proof.kind());
    if let Err(error) = note.write(&plan.folder) {
        // On a full disk the daemon starts all the same, so that it can be asked and stopped.
        let path = plan.folder.daemon_note();
        standard_error::tell(format_args!(
            "the daemon's note {} can't be written ({error}): commands find it by --url http://{address}",
            path.display()
        ));
    }
    until_up(&agent).await;
    stop_ways::test(&plan.folder).map_err(|error| unusable("the stop socket", &plan.folder.stop_socket(), &error))?;
    is_stop_path_tested.store(true, Ordering::SeqCst);
    let said = found::said(&agent).await;
    for line in found::tell(&report, &retaken, &agent, &latch, said, &under_way) {
        standard_error::tell(line);
    }
    let written = written_folder(plan.settings.agent.mode, &plan.workdir);
    let own_files = containment.own_files(&plan.own, &written, plan.settings.tools.expose_own_data);
    for (_, line) in containment.lines().into_iter().chain(own_files) {
        standard_error::tell(format_args!("sandbox: {line}"));
    }
    if proof == Proof::Open {
        standard_error::tell(OPEN);
    }
    let took = watch.elapsed().as_millis();
    standard_error::tell(format_args!(
        "ready in {took} ms on http://{address}, data in {}",
        plan.folder.path().display()
    ));
    systemd::ready(&agent, &signs);
    if let Some(recorder) = &recorder {
        recorder.rooms_are_up();
    }
    // Only now, because incoming messages must find a brain that accepts them.
    let channels = rooms
        .effectors
        .channels
        .connect(move |name| of_channels.desk(name), standard_error::tell)
        .map_err(|error| unusable("the thread of channels", plan.folder.path(), &error))?;
    if plan.console {
        console::start(&agent.outside, &agent.supervision);
    } else if console::is_fed() {
        standard_error::tell(
            "standard input is not read, because it is no terminal; `maxim chat --plain` reads lines from a pipe or a \
            file",
        );
    }
    let_go_of_start();

    let mut wait = ended;
    // The recorder's first file is begun a little later, and is a part of the start too.
    let mut is_begun = false;
    while !*wait.borrow_and_update() {
        match tokio::time::timeout(TIDY_EVERY, wait.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => break,
            Err(_) if std::mem::replace(&mut is_begun, true) => tidy(),
            Err(_) => let_go_of_start(),
        }
    }
    systemd::stopping();
    let is_lost = || machines.as_ref().is_some_and(|machines| machines.lost().is_some());
    if is_lost() {
        return Ok(end_at_once(&plan.folder));
    }
    standard_error::tell(format_args!(
        "ending; running actions may take {} s more",
        plan.settings.agent.drain_grace.get().as_secs()
    ));
    draining.store(true, Ordering::SeqCst);
    drop(channels);
    drain(&agent, plan.settings.agent.drain_grace.get()).await;
    drop(connected);
    end_session(&agent).await;
    // Only now, so that a stop also comes in by HTTP while an action still runs. Admitted requests get an answer.
    let _ = close_http.send(true);
    let _ = tokio::time::timeout(HTTP_GRACE, serving).await;
    agent.stop();
    backups.end();
    if let Some(thread) = backing_up {
        // A backup under way ends first: closing the store under it would leave half a copy.
        let _ = thread.join();
    }
    // A runtime can't be shut down from a thread of another one.
    let _ = std::thread::spawn(move || server.shutdown_timeout(Duration::from_secs(2))).join();
    drop(agent);
    if let Some(recorder) = recorder {
        recorder.close();
    }
    let closed = store.close();
    if is_lost() {
        return Ok(end_at_once(&plan.folder));
    }
    if let Some(machines) = &machines {
        if !latch.settle(LATCH_GRACE) {
            tracing::warn!(
                "other machines were not told the state of the stop latch; they start with the last state \
            they know"
            );
        }
        machines.end();
    }
    let _ = DaemonNote::remove(&plan.folder);
    let _ = fs::remove_file(plan.folder.stop_socket());
    closed.map_err(|error| opening::failed(&error))?;
    standard_error::tell("ended, everything acknowledged is on disk");
    Ok(Exit::Ok)
}

/// Another machine has the agent. The work that is left here has no effect, and the input that was accepted is on no
/// disk. So the process ends at once. If it is started again, this machine is a standby.
fn end_at_once(folder: &DataFolder) -> Exit {
    let _ = DaemonNote::remove(folder);
    let _ = fs::remove_file(folder.stop_socket());
    standard_error::tell_now("ended; start it again, and it stands by");
    std::process::exit(Exit::TryAgain as i32)
}

/// The flight recorder, if it is enabled. If it can't begin, this is reported, and the brain runs without it.
fn record(
    plan: &Plan,
    store: &AgentStore,
    clock: &SharedClock,
    seed: u64,
    boot: u64,
    saved: &Path,
    rooms: &AgentSettings,
) -> Option<Arc<Recorder>> {
    if !plan.settings.recorder.enabled {
        return None;
    }
    let header = Header::new(store.id().clone(), seed, boot, &plan.settings, &plan.workdir, saved);
    let folder = plan.folder.recordings();
    let limits = Limits::from(&plan.settings.recorder);
    Recorder::start(folder, limits, store.clone(), Arc::clone(clock), header, rooms)
        .inspect_err(|error| standard_error::tell(format_args!("nothing is recorded: {error}")))
        .ok()
}

/// Restores from the recordings what a damaged store lost, and reports it in words.
fn retaken(plan: &Plan, report: &OpenReport, store: &StateStore, id: &AgentId) -> Vec<String> {
    if report.lost.is_empty() && report.restored_from.is_none() {
        return Vec::new();
    }
    standard_error::tell("restoring what the recordings hold; that may take minutes");
    let since = report.restored_from.as_deref().and_then(StateStore::backup_made);
    // Panics are caught: the daemon starts, whatever a recording holds.
    let agent = store.agent(id);
    let take = || catch_unwind(AssertUnwindSafe(|| retake(&agent, &plan.folder.recordings(), since, None)));
    let lost = |why: String| vec![format!("LOST: nothing more could be restored from the recordings: {why}")];
    match systemd::taking_long(take) {
        Ok(Ok(taken)) => match store.count_boots(taken.boot) {
            Ok(()) => taken.lines(),
            Err(error) => lost(error.to_string()),
        },
        Ok(Err(error)) => lost(error.to_string()),
        Err(_) => lost("a room panicked on them".into()),
    }
}

/// HTTP has its own threads, so a room that blocks can't keep it from answering.
fn serve(
    listener: TcpListener,
    served: Arc<Served>,
    mut closes: watch::Receiver<bool>,
) -> Result<(tokio::runtime::Runtime, tokio::task::JoinHandle<()>), CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("http").enable_all().build();
    let runtime = runtime.map_err(|error| {
        CliError::new(Exit::TryAgain, format!("threads for HTTP: {error}"), "raise the limit of threads")
    })?;
    let serving = runtime.spawn(async move {
        let shutdown = async move {
            while !*closes.borrow_and_update() {
                if closes.changed().await.is_err() {
                    break;
                }
            }
        };
        let served = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => http::serve(listener, served, shutdown).await,
            Err(error) => Err(error),
        };
        if let Err(error) = served {
            tracing::error!(%error, "the HTTP door failed; stop, signals and the console still work");
        }
    });
    Ok((runtime, serving))
}

/// Takes a stop request that was left while no daemon was there.
fn honour_request(folder: &DataFolder, latch: &StopLatch, at: Timestamp) {
    let path = folder.stop_request();
    if let Ok(reason) = stop_ways::requested(&path) {
        let reason = if reason.trim().is_empty() { "a stop request file".to_owned() } else { reason.trim().to_owned() };
        let (_, durable) = latch.raise(StopDetail { reason, by: stop_by::FILE.into(), at: Some(at) });
        if durable.wait(Duration::from_secs(5)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Waits until every room that was started runs, or is held. By then supervision has reported held rooms.
pub async fn until_up(agent: &AgentHandle) {
    while !agent.supervision.has_begun() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Ends the session in order. If the hub doesn't get to it, the next start notices the end. Sleep goes on there either
/// way.
async fn end_session(agent: &AgentHandle) {
    agent.outside.door.end_session("shutdown");
    let watch = Stopwatch::start();
    let hub = || agent.frame.bus.inbox("memory_hub").map_or(0, |inbox| inbox.counters().depth);
    while watch.elapsed() < SESSION_GRACE && hub() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drain(agent, SESSION_GRACE).await;
}

/// Waits until no action runs any more, at most `grace`.
async fn drain(agent: &AgentHandle, grace: Duration) {
    let watch = Stopwatch::start();
    while watch.elapsed() < grace && !found::under_way(&agent.frame.store).is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let head = agent.frame.store.head();
    if let Err(error) = agent.frame.store.wait_durable_blocking(head, grace) {
        tracing::error!(%error, "what was accepted last is not on disk");
    }
}

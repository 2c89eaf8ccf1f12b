//! A contained program that keeps running and communicates by pipes, such as a server of tools.

use std::io::Write;
use std::process::{ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, HeldFolder, StopLatch};
use tokio::sync::oneshot;

use super::capture::{Pace, Reading};
use super::disk::{self, DiskWatch};
use super::gate::Gate;
use super::group::{Group, Remains};
use super::{
    AFTER_THE_KILL, ChildSpec, ErrorKind, SandboxPolicy, SandboxReport, Scratch, ToolFailure, Waiting, no_thread,
    not_started, processes, wait_at_gate,
};

/// Holds a running program. The program and all that it started are killed when this is dropped, when the latch is
/// raised, and when this process dies.
pub struct Running {
    pub report: SandboxReport,
    /// Sent once, when none of its processes runs any more.
    pub ended: oneshot::Receiver<ServedEnd>,
    _end: EndOnDrop,
}

/// How such a program ended.
#[derive(Clone, Debug)]
pub struct ServedEnd {
    /// By the stop latch.
    pub by_stop: bool,
    /// In words, for a person.
    pub how: String,
    /// The end of its standard error, at most `output_cap` bytes.
    pub said: String,
}

enum News {
    Ended(std::io::Result<ExitStatus>),
    EndIt,
    /// It has written more than allowed.
    Filled(String),
}

/// Waits for the end. A program that runs for months writes much, so its bound is for each minute.
fn wait(
    news: &Receiver<News>,
    mut disk: DiskWatch,
    group: &Group<'_>,
    gate: u32,
    mark: &str,
    own: Option<&HeldFolder>,
) -> News {
    let mut watch = Stopwatch::start();
    loop {
        match news.recv_timeout(disk::OFTEN) {
            Ok(news) => return news,
            Err(RecvTimeoutError::Disconnected) => return News::EndIt,
            Err(RecvTimeoutError::Timeout) => {}
        }
        group.tidy(gate);
        tell_restored(own.map(HeldFolder::restore));
        if let Some(why) = disk.look(group.id(), mark) {
            return News::Filled(why);
        }
        if watch.elapsed() > Duration::from_secs(60) {
            disk.again();
            watch = Stopwatch::start();
        }
    }
}

/// Logs changed modes of the agent's own folder.
fn tell_restored(restored: Option<Vec<String>>) {
    if let Some(restored) = restored.filter(|restored| !restored.is_empty()) {
        tracing::warn!(restored = restored.join("; "), "the agent's own folder was changed while a server ran");
    }
}

struct EndOnDrop(Sender<News>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.send(News::EndIt);
    }
}

/// Starts a program. `spec.stdin` and `spec.deadline` are ignored: it runs until it is ended. Its standard error is
/// read as fast as `pace` allows.
///
/// # Errors
/// The latch is raised, the program can't be started, or its sandbox has gaps and the policy refuses that.
pub fn serve(
    spec: &ChildSpec,
    policy: &SandboxPolicy,
    latch: &StopLatch,
    pace: Pace,
) -> Result<(ChildStdin, ChildStdout, Running), ToolFailure> {
    let (say, news) = mpsc::channel();
    let (say_started, started) = mpsc::channel();
    let (say_end, ended) = oneshot::channel();
    let (spec, policy, latch, end) = (spec.clone(), policy.clone(), latch.clone(), EndOnDrop(say.clone()));
    // This thread registers the group with the latch for as long as the thread lives.
    let keeper = move || {
        let begun = latch.permit(EffectKind::Other).map_err(|stopped| {
            ToolFailure::new(ErrorKind::Stopped, format!("{} was not started: {stopped}", spec.program))
        });
        let (mut group, scratch) =
            match begun.and_then(|permit| Ok((Group::lead(&permit, &policy.limits)?, Scratch::make()?))) {
                Ok(begun) => begun,
                Err(failure) => return drop(say_started.send(Err(failure))),
            };
        let ended = move |status| drop(say.send(News::Ended(status)));
        let begun = wait_at_gate(&spec, &policy, &mut group, &scratch, ended).and_then(|mut waiting| {
            let keeper = waiting.keeper.take();
            Ok((let_go(&spec, waiting, &group, pace)?, keeper))
        });
        let ((pipes, stderr, hand_over, child), _keeper) = match begun {
            Ok(begun) => begun,
            Err(failure) => return drop(say_started.send(Err(failure))),
        };
        let gate = child.id();
        let _ = hand_over.send(child);
        let _ = say_started.send(Ok(pipes));
        let mark = scratch.mark();
        let disk = DiskWatch::begin(&scratch.and(&spec.writable), policy.limits.disk_bytes);
        let first = wait(&news, disk, &group, gate, &mark, latch.folder());
        let strays = group.strays(&group.members(&mark));
        group.kill();
        let how = match (group.was_stopped(), first) {
            (true, _) => "it was ended by the stop".to_owned(),
            (false, News::Ended(Ok(status))) => format!("it ended by itself ({status})"),
            (false, News::Ended(Err(error))) => format!("sight of it was lost: {error}"),
            (false, News::Filled(why)) => format!("it was ended: {why} within a minute"),
            (false, News::EndIt) => "it was ended".to_owned(),
        };
        let (said, _) = stderr.finish(AFTER_THE_KILL);
        let Remains { strays, living } = group.end(&mark, strays, AFTER_THE_KILL);
        tell_restored(latch.folder().map(HeldFolder::restore_all));
        if !strays.is_empty() {
            let strays = processes::in_words(&strays);
            tracing::warn!(program = spec.program, strays, "processes of a server had left their group and were ended");
        }
        if !living.is_empty() {
            let living = processes::in_words(&living);
            tracing::error!(program = spec.program, living, "processes of a server outlived their kill");
        }
        let _ = say_end.send(ServedEnd { by_stop: group.was_stopped(), how, said: said.text.trim().to_owned() });
    };
    let thread = std::thread::Builder::new().name("contained-server".into());
    thread.spawn(keeper).map_err(|error| no_thread(&error))?;
    let lost = || ToolFailure::new(ErrorKind::Io, "the thread that keeps a server has died");
    let (stdin, stdout, report) = started.recv().map_err(|_| lost())??;
    Ok((stdin, stdout, Running { report, ended, _end: end }))
}

type Pipes = (ChildStdin, ChildStdout, SandboxReport);

/// Opens the gate.
fn let_go(
    spec: &ChildSpec,
    waiting: Waiting,
    group: &Group<'_>,
    pace: Pace,
) -> Result<(Pipes, Reading, Sender<Gate>, Gate), ToolFailure> {
    let Waiting { mut child, report, hand_over, .. } = waiting;
    let stderr = Reading::paced(child.stderr.take(), spec.output_cap, pace)?;
    if group.was_stopped() {
        group.kill();
        let _ = child.wait();
        return Err(not_started(spec));
    }
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ToolFailure::new(ErrorKind::Io, format!("{} has no pipes", spec.program)));
    };
    stdin
        .write_all(b"\n")
        .map_err(|error| ToolFailure::new(ErrorKind::Io, format!("{} can't be spoken to: {error}", spec.program)))?;
    Ok(((stdin, stdout, report), stderr, hand_over, child))
}

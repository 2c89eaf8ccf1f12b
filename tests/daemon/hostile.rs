//! A thousand random programs that try to survive: after a stop or a deadline none of their processes remains, in
//! time.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use maxim_actors::action::tools::contained::{ChildOutcome, Ending};
use maxim_bus::latch::{StopDetail, StopLatch};

use crate::escapes::{Place, has_seccomp, landlock_abi, place, place_in_namespaces};
use crate::raw_calls::{ORDER, call, clone_with, close_all, exec, fork, ignore_signals, leave};

/// Programs for each of stop and deadline, without namespaces; a tenth of that with them.
const PROGRAMS: u64 = 500;
/// Concurrent programs.
const AT_ONCE: u64 = 8;
/// Allowed time beyond the deadline. Machines are shared; each wait of the sandbox for a death takes two seconds.
const BOUND: Duration = Duration::from_secs(15);
/// A hard stop freezes a body within this time (P1). Programs must be sent their kill just as promptly: by a stop,
/// and after their deadline.
const PROMPT: Duration = Duration::from_millis(20);
/// The programs use every core meanwhile, and more want to run than there are cores. Half of all kills must keep the
/// bound; the slowest may take this many times it.
const BUSY: u32 = 100;

/// Only one storm at a time, so that the bound applies to one.
static ALONE: Mutex<()> = Mutex::new(());

fn programs() -> u64 {
    std::env::var("MAXIM_HOSTILE").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS)
}

/// splitmix64, by Sebastiano Vigna.
struct Chance(u64);

impl Chance {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

/// The hostile program itself, in the sandbox.
pub(crate) fn live(seed: u64) {
    let mut chance = Chance(seed);
    let mut depth = 0;
    for _ in 0..3 + chance.draw(8) {
        act(&mut chance, &mut depth);
    }
    let _ = fs::write(format!("{ACTED}{}", std::process::id()), "");
    last(&mut chance, seed);
}

/// Prefix of files that show that a process has reached its surviving state.
const ACTED: &str = "acted-";

/// One namespace of each kind, as flags of `clone`.
const NAMESPACES: [i64; 7] =
    [0x1000_0000, 0x3000_0000, 0x2000_0000, 0x0002_0000, 0x4000_0000, 0x0800_0000, 0x1000_0000 | 0x0002_0000];

fn act(chance: &mut Chance, depth: &mut u32) {
    let namespace = NAMESPACES[chance.draw(NAMESPACES.len() as u64) as usize];
    let own = i64::from(std::process::id() as i32);
    match chance.draw(16) {
        // Both continue, differently.
        0..3 if *depth < 4 => {
            *depth += 1;
            if fork() {
                chance.0 ^= u64::from(std::process::id()) << 32;
            }
        }
        // Like a daemon: the child of a child, in its own session, without outputs.
        3 | 4 if *depth < 4 => {
            *depth += 1;
            if !fork() {
                return;
            }
            let _ = call(libc::SYS_setsid, [0; 5]);
            if !fork() {
                leave();
            }
            close_all();
        }
        5 => drop(call(libc::SYS_setsid, [0; 5])),
        6 => drop(call(libc::SYS_setpgid, [0, [0, own, 1, 2][chance.draw(4) as usize], 0, 0, 0])),
        7 => drop(call(libc::SYS_unshare, [namespace, 0, 0, 0, 0])),
        8 => drop(clone_with(namespace)),
        9 => drop(clone_with(libc::CLONE_PARENT.into())),
        10 => ignore_signals(),
        11 => close_all(),
        // Adopt orphans; become unreadable; end with a parent, or not.
        12 => drop(call(libc::SYS_prctl, [[36, 4, 1][chance.draw(3) as usize], chance.draw(2) as i64, 0, 0, 0])),
        // Sends its own signals to processes around it.
        13 => {
            let whom =
                [0, -1, 1, i64::from(rustix::process::getppid().map_or(1, |parent| parent.as_raw_nonzero().get()))];
            let signal = [i64::from(libc::SIGSTOP), i64::from(libc::SIGTERM), i64::from(libc::SIGCONT)];
            let whom = whom[chance.draw(4) as usize];
            let _ = call(libc::SYS_kill, [whom, signal[chance.draw(3) as usize], 0, 0, 0]);
        }
        14 => {
            let limit = [1_u64, 1];
            let _ = call(libc::SYS_prlimit64, [own - 1, chance.draw(16) as i64, limit.as_ptr() as i64, 0, 0]);
        }
        _ => drop(std::thread::Builder::new().spawn(burn)),
    }
}

/// How each of its processes survives.
fn last(chance: &mut Chance, seed: u64) {
    match chance.draw(6) {
        0 => burn(),
        1 => exec(&["/bin/sleep", "600"]),
        2 => exec(&["/bin/sh", "-c", "trap '' TERM INT HUP QUIT; while :; do :; done"]),
        3 => exec(&["/bin/sh", "-c", "while :; do (sleep 600 &) >&- 2>&-; sleep 1; done"]),
        4 => fill(&format!("fill-{seed}-{}", std::process::id())),
        _ => {}
    }
    loop {
        std::thread::sleep(Duration::from_secs(600));
    }
}

fn burn() {
    loop {
        std::hint::spin_loop();
    }
}

fn fill(name: &str) {
    let Ok(mut file) = fs::File::create(name) else { return };
    let block = vec![1; 1 << 20];
    for _ in 0..64 {
        if std::io::Write::write_all(&mut file, &block).is_err() {
            return;
        }
    }
}

/// Living processes of the programs in these folders, found by executable, working folder and arguments. A descendant
/// of this process that hides even those also counts.
fn left(folders: &[PathBuf]) -> Vec<String> {
    let own = rustix::process::geteuid().as_raw();
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let processes =
        processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let is_ours = |path: &Path| {
        let in_folder = |link: &str| {
            fs::read_link(path.join(link)).is_ok_and(|place| folders.iter().any(|folder| place.starts_with(folder)))
        };
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&environment);
        in_folder("cwd") || (text.contains(ORDER) && folders.iter().any(|at| text.contains(&*at.to_string_lossy())))
    };
    let told = |path: &Path| fs::read_to_string(path.join("stat")).unwrap_or_default();
    let is_dead =
        |stat: &str| stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with(['Z', 'X']));
    processes
        .filter(|(pid, path)| {
            *pid != std::process::id() && path.metadata().is_ok_and(|meta| meta.uid() == own || own == 0)
        })
        .filter(|(_, path)| is_ours(path) && !is_dead(&told(path)))
        .map(|(_, path)| told(&path))
        .collect()
}

struct Tally {
    /// How they ended, in words.
    endings: BTreeSet<String>,
    folders: Vec<PathBuf>,
    /// Programs, and processes of them, that had reached their surviving state.
    acted: (usize, usize),
    /// According to the sandbox's time stamps: how long after its deadline each was sent the kill.
    late: Vec<Duration>,
    /// How long after its end none of its processes ran any more.
    dying: Vec<Duration>,
}

impl Tally {
    fn empty() -> Self {
        Self { endings: BTreeSet::new(), folders: Vec::new(), acted: (0, 0), late: Vec::new(), dying: Vec::new() }
    }
}

fn checked(tally: &mut Tally, seed: u64, place: &Place, outcome: &ChildOutcome, took: Duration) {
    let bound = place.deadline + BOUND;
    assert!(took < bound, "seed {seed}: {took:?} of {bound:?}: {outcome:?}");
    assert!(outcome.report.gaps().iter().all(|gap| !gap.starts_with("process group")), "seed {seed}: {outcome:?}");
    tally.endings.insert(format!("{:?}", outcome.ending));
    tally.folders.push(place.folder.path().to_owned());
    if let (Ending::DeadlinePassed, Some(killed)) = (outcome.ending, outcome.times.killed) {
        assert!(killed >= place.deadline, "seed {seed}: {:?}", outcome.times);
        tally.late.push(killed.saturating_sub(place.deadline));
    }
    tally.dying.push(outcome.times.gone.saturating_sub(outcome.times.killed.unwrap_or(outcome.times.ended)));
    let acted = acted(place.folder.path());
    tally.acted = (tally.acted.0 + usize::from(acted > 0), tally.acted.1 + acted);
}

/// Prints the distribution; returns the median and the maximum.
fn spread(what: &str, mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 1000];
    let (half, most) = (at(500), at(1000));
    let (p90, p99, p999) = (at(900), at(990), at(999));
    println!("{what}: {} times, p50 {half:?}, p90 {p90:?}, p99 {p99:?}, p99.9 {p999:?}, most {most:?}", times.len());
    (half, most)
}

/// Checks the bound for sending the kill.
fn prompt(what: &str, times: Vec<Duration>) {
    let (half, most) = spread(what, times);
    // Other tests share the cores, so the median may take ten times a quiet machine's maximum.
    assert!(half <= PROMPT * 10, "{what}: half of them took more than {:?}: {half:?}", PROMPT * 10);
    assert!(most <= PROMPT * BUSY, "{what}: {most:?} of at most {:?}", PROMPT * BUSY);
}

/// Dying is up to the kernel; a wait of the sandbox for it takes two seconds.
fn slowly(what: &str, times: Vec<Duration>) {
    let (half, most) = spread(what, times);
    assert!(half <= PROMPT * BUSY && most < BOUND, "{what}: {half:?}, at most {most:?}");
}

/// Processes of a program that have reached their surviving state; none once the folder is gone.
fn acted(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("work")).into_iter().flatten().flatten();
    files.filter(|file| file.file_name().to_string_lossy().starts_with(ACTED)).count()
}

/// How long a program may run.
#[derive(Clone, Copy)]
enum Deadline<'a> {
    /// Until it is stopped; the list has their folders.
    Never(&'a Mutex<Vec<PathBuf>>),
    /// At least this many milliseconds; longer while programs don't reach their surviving state on a busy machine.
    Learned(&'a AtomicU64),
}

/// Makes a place for one program.
type Make<'a> = dyn Fn() -> Place + Sync + 'a;

/// Takes seeds until none are left.
fn storm(first: u64, count: u64, make: &Make, latch: &StopLatch, deadline: Deadline) -> Tally {
    let next = AtomicU64::new(first);
    let tallies = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    let mut tally = Tally::empty();
                    let mut places = Vec::new();
                    loop {
                        let seed = next.fetch_add(1, Ordering::SeqCst);
                        if seed >= first + count || latch.is_stopped() {
                            break;
                        }
                        let mut place = make();
                        place.latch = latch.clone();
                        place.deadline = match deadline {
                            Deadline::Never(folders) => {
                                folders.lock().expect("no thread failed").push(place.folder.path().to_owned());
                                Duration::from_secs(600)
                            }
                            Deadline::Learned(base) => {
                                let base = base.load(Ordering::SeqCst);
                                Duration::from_millis(base + seed * 7 % base)
                            }
                        };
                        place.policy.limits.disk_bytes = 256 << 20;
                        let begun = Instant::now();
                        if let Some(outcome) = place.order_or_stopped(&format!("be hostile {seed}")) {
                            checked(&mut tally, seed, &place, &outcome, begun.elapsed());
                            if let (0, Deadline::Learned(base)) = (acted(place.folder.path()), deadline) {
                                let longer = base.load(Ordering::SeqCst) * 3 / 2;
                                base.store(longer.min(4_000), Ordering::SeqCst);
                            }
                        }
                        places.push(place);
                        let folders: Vec<PathBuf> = places.iter().map(|place| place.folder.path().to_owned()).collect();
                        // The call has returned.
                        assert_eq!(left(&folders), Vec::<String>::new(), "seed {seed}");
                        places.clear();
                    }
                    tally
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no seed failed")).collect::<Vec<_>>()
    });
    tallies.into_iter().fold(Tally::empty(), |mut all, one| {
        all.endings.extend(one.endings);
        all.folders.extend(one.folders);
        all.acted = (all.acted.0 + one.acted.0, all.acted.1 + one.acted.1);
        all.late.extend(one.late);
        all.dying.extend(one.dying);
        all
    })
}

fn under_the_deadline(count: u64, make: &Make) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let latch = StopLatch::in_memory();
    let base = AtomicU64::new(80);
    let tally = storm(0, count, make, &latch, Deadline::Learned(&base));
    let (programs, processes) = tally.acted;
    println!(
        "{count} programs, {programs} of which came so far, as {processes} processes; ended by {:?}",
        tally.endings
    );
    assert!(programs as u64 > count / 4, "too few have done anything before their deadline: {programs} of {count}");
    assert_eq!(tally.folders.len() as u64, count);
    assert!(tally.endings.contains(&format!("{:?}", Ending::DeadlinePassed)), "{:?}", tally.endings);
    prompt("from the deadline to the kill", tally.late);
    slowly("from the end to nobody", tally.dying);
}

fn under_the_stop(count: u64, make: &Make) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut stopped, mut round, mut came_so_far) = (0, 0, 0);
    let (mut raised, mut dying) = (Vec::new(), Vec::new());
    while stopped < count {
        let latch = StopLatch::in_memory();
        let first = 1_000_000 + round * AT_ONCE;
        let folders = Mutex::default();
        let (watched, latch) = (&folders, &latch);
        let tally = std::thread::scope(|scope| {
            // As in a daemon, the thread that raises the stop has waited before.
            let (say_now, now) = mpsc::channel::<()>();
            let raising = scope.spawn(move || {
                now.recv().expect("it is said");
                let detail = StopDetail { reason: "test".into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) };
                latch.raise(detail).0
            });
            let running = scope.spawn(move || self::storm(first, AT_ONCE, make, latch, Deadline::Never(watched)));
            // Stops when a random number of them have reached that state, from none to nearly all. Some end by
            // themselves.
            let begun = Instant::now();
            let enough = (round % AT_ONCE) as usize;
            let have = || watched.lock().expect("no thread failed").iter().filter(|folder| acted(folder) > 0).count();
            while !running.is_finished() && have() < enough && begun.elapsed() < Duration::from_secs(3) {
                std::thread::yield_now();
            }
            say_now.send(()).expect("it waits");
            let told = raising.join().expect("raised");
            raised.push(Duration::from_micros(told.latency_us));
            running.join().expect("no seed failed")
        });
        assert_eq!(left(&tally.folders), Vec::<String>::new());
        stopped += AT_ONCE;
        round += 1;
        came_so_far += tally.acted.0 as u64;
        dying.extend(tally.dying);
    }
    println!("{stopped} programs stopped, {came_so_far} of which came so far as to stay");
    assert!(came_so_far > stopped / 10, "too few have done anything before their stop: {came_so_far} of {stopped}");
    prompt("from the stop to the kill of all", raised);
    slowly("from the end to nobody", dying);
}

/// Without these restrictions the programs would reach others on this machine.
fn is_held() -> bool {
    let is_held = has_seccomp() && landlock_abi() >= 6;
    if !is_held {
        println!("SKIPPED: needs seccomp and Landlock 6; the test of the report asserts that this is told");
    }
    is_held
}

#[test]
fn hostile_programs_do_not_outlive_their_deadline() {
    if is_held() {
        under_the_deadline(programs(), &place);
    }
}

#[test]
fn hostile_programs_do_not_outlive_a_stop() {
    if is_held() {
        under_the_stop(programs(), &place);
    }
}

#[test]
fn hostile_programs_in_namespaces_do_not_outlive_their_deadline_or_a_stop() {
    let namespaces = place_in_namespaces().and_then(|found| found.policy.namespaces);
    if namespaces.is_some() && is_held() {
        let make = || {
            let mut place = place();
            place.policy.namespaces.clone_from(&namespaces);
            place
        };
        // The time they need here is learned from the first ones.
        let count = (programs() / 10).max(40);
        under_the_deadline(count, &make);
        under_the_stop(count, &make);
    }
}

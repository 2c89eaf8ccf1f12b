//! A failing disk isn't a damaged store: nothing is put aside or started again, and a full disk only stops new data.
//! The kernel's refusal can't be undone within a process, so each case runs in its own process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::*;

/// Tells a case's process its engine, and where its store is.
const CASE: &str = "MAXIM_TEST_REFUSED";
const HELD: &str = "the refusal was told";
const TEXTS: [&str; 3] = ["one", "two", "three"];

/// The engine and folder of this process's case; none in the process that starts the cases.
fn case() -> Option<(EngineKind, PathBuf)> {
    let told = std::env::var(CASE).ok()?;
    let (engine, folder) = told.split_once(' ')?;
    Some((if engine == "redb" { EngineKind::Redb } else { EngineKind::Sled }, folder.into()))
}

/// Runs a test of this module again, alone in a process started by `through`; returns its output.
fn again(test: &str, through: &[&str], engine: EngineKind, folder: &Path) -> String {
    let (program, test) = (std::env::current_exe().expect("this program"), format!("tests::refused::{test}"));
    let mut command = match through.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", &test, "--nocapture"]).env(CASE, format!("{} {}", engine.word(), folder.display()));
    command.output().map_or_else(
        |error| error.to_string(),
        |ran| String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr),
    )
}

/// A store with a backup that could replace it.
fn fill(folder: &Path, engine: EngineKind) {
    let (store, _) = StateStore::open(folder, StoreOptions { engine, ..small() }).expect("opens");
    let agent = ada(&store);
    event(&agent, GATE, TEXTS[0]);
    settle(&agent);
    store.backup_rotating(3).expect("backs up");
    event(&agent, GATE, TEXTS[1]);
    put(&agent, GATE, "long", &[5; 100_000]);
    event(&agent, GATE, TEXTS[2]);
    settle(&agent);
    drop(agent);
    store.close().expect("closes");
}

fn assert_whole(folder: &Path, engine: EngineKind) {
    let (store, report) = StateStore::open(folder, StoreOptions { engine, ..small() }).expect("opens");
    assert!(report.is_sound() && !report.full, "{report:?}");
    let agent = ada(&store);
    assert_eq!(texts(&agent.recover(GATE).expect("recovers")), TEXTS);
    assert_eq!(agent.record(GATE, b"long").expect("reads").map(|value| value.len()), Some(100_000));
    assert!(!folder.join("quarantine").exists(), "nothing was put aside");
}

/// For each engine, `refused` meets the fault in its own process; afterwards the store must be unchanged.
fn each_engine(test: &str, refused: impl Fn(EngineKind, &Path)) {
    if let Some((engine, folder)) = case() {
        refused(engine, &folder);
        println!("{HELD}");
        return;
    }
    for engine in [EngineKind::Sled, EngineKind::Redb] {
        let folder = tempfile::tempdir().expect("a folder");
        fill(folder.path(), engine);
        let said = again(test, &[], engine, folder.path());
        assert!(said.contains(HELD), "{engine:?}: {said}");
        assert_whole(folder.path(), engine);
    }
}

/// From now on these calls fail with this error for all files except the standard ones, in every thread of this
/// process.
fn refuse(calls: &[i64], error: i32) {
    let condition = SeccompCondition::new(0, Len::Dword, Op::Gt, 2).expect("a condition");
    let rule = SeccompRule::new(vec![condition]).expect("a rule");
    let rules: BTreeMap<i64, Vec<SeccompRule>> = calls.iter().map(|call| (*call, vec![rule.clone()])).collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
    let failing = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, failing, arch).expect("a filter");
    let program = BpfProgram::try_from(filter).expect("a program");
    seccompiler::apply_filter_all_threads(&program).expect("the kernel takes it");
}

#[test]
fn a_disk_that_can_not_be_read_is_told_and_the_store_stays_as_it_is() {
    each_engine("a_disk_that_can_not_be_read_is_told_and_the_store_stays_as_it_is", |engine, folder| {
        refuse(&[libc::SYS_pread64, libc::SYS_preadv], libc::EIO);
        let opened = StateStore::open(folder, StoreOptions { engine, ..small() }).map(|(_, report)| report);
        let told = opened.expect_err("it can't be read").to_string();
        assert!(told.contains(&folder.display().to_string()) && told.contains("os error 5"), "{told}");
    });
}

#[test]
fn too_few_open_files_are_told_wherever_they_run_out_and_the_store_stays_as_it_is() {
    each_engine("too_few_open_files_are_told_wherever_they_run_out_and_the_store_stays_as_it_is", |engine, folder| {
        let before = getrlimit(Resource::Nofile);
        let mut refused = 0;
        for files in 4.. {
            setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..before }).expect("lowered");
            let opened = StateStore::open(folder, StoreOptions { engine, ..small() });
            setrlimit(Resource::Nofile, before).expect("raised");
            match opened {
                Ok((_, report)) => {
                    assert!(report.is_sound(), "with {files} files: {report:?}");
                    break;
                }
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.contains("os error 24") && told.contains("open files"), "with {files} files: {told}");
                    refused += 1;
                }
            }
        }
        assert!(refused >= 3, "it takes several files to open a store");
    });
}

#[test]
fn a_disk_without_room_even_for_opening_is_told_in_bytes_and_the_store_stays_as_it_is() {
    each_engine(
        "a_disk_without_room_even_for_opening_is_told_in_bytes_and_the_store_stays_as_it_is",
        |engine, folder| {
            refuse(&[libc::SYS_write, libc::SYS_pwrite64, libc::SYS_pwritev, libc::SYS_fallocate], libc::ENOSPC);
            let options = StoreOptions { engine, close_limit: Duration::from_millis(50), ..small() };
            match StateStore::open(folder, options) {
                Ok((_, report)) => assert!(report.full && report.is_sound(), "{report:?}"),
                Err(StoreError::NoSpace { needed, .. }) => assert!(needed >= 1 << 20, "{needed}"),
                Err(error) => panic!("{error}"),
            }
        },
    );
}

/// Fills a file until the disk is full.
fn fill_up(file: &Path) {
    let mut file = File::create(file).expect("a file");
    for size in [64 << 10, 4 << 10, 512, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
    let _ = file.sync_all();
}

#[test]
fn on_a_full_disk_it_starts_takes_nothing_for_durable_and_catches_up_when_there_is_room() {
    let test = "on_a_full_disk_it_starts_takes_nothing_for_durable_and_catches_up_when_there_is_room";
    let Some((engine, disk)) = case() else {
        for engine in [EngineKind::Sled, EngineKind::Redb] {
            let disk = tempfile::tempdir().expect("a folder");
            // A separate file system, which disappears with the process. A user other than root gets root rights in a
            // user namespace.
            let ways = [&["unshare", "--mount"][..], &["unshare", "--user", "--map-root-user", "--mount"]];
            let said = ways.map(|way| again(test, way, engine, disk.path()));
            if said.iter().all(|said| said.contains("NO SMALL DISK") || !said.contains("running 1 test")) {
                println!("SKIPPED: {test}: no small file system can be mounted here: {said:?}");
                return;
            }
            assert!(said.iter().any(|said| said.contains(HELD)), "{engine:?}: {said:?}");
        }
        return;
    };
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|ran| ran.status.success()) {
        println!("NO SMALL DISK");
        return;
    }
    let (folder, crashed, ballast) = (disk.join("store"), disk.join("crashed"), disk.join("ballast"));
    fill(&folder, engine);
    let options = StoreOptions { engine, close_limit: Duration::from_millis(50), ..small() };
    let mut kept: Vec<String> = TEXTS.map(str::to_owned).into();
    // The last run ended badly, so opening has something to do.
    {
        let (store, _) = StateStore::open(&folder, options).expect("opens");
        event(&ada(&store), GATE, "four");
        settle(&ada(&store));
        kept.push("four".into());
        let copied = Command::new("cp").args(["-r", "--sparse=never"]).arg(&folder).arg(&crashed).status();
        assert!(copied.is_ok_and(|ended| ended.success()));
    }
    fs::remove_dir_all(&folder).expect("room");
    fill_up(&ballast);
    // Repeatedly: each start finds the space it needs, and durable data is still there.
    for life in 0..4 {
        let (store, report) =
            StateStore::open(&crashed, options).unwrap_or_else(|error| panic!("life {life}: {error}"));
        assert!(report.is_sound(), "life {life}: {report:?}");
        let agent = ada(&store);
        let found = texts(&agent.recover(GATE).expect("recovers"));
        assert!(found.starts_with(&kept) && found.len() <= kept.len() + 1, "life {life}: {found:?}");
        kept = found;
        assert_eq!(agent.record(GATE, b"long").expect("reads").map(|value| value.len()), Some(100_000));
        // Free space within a file may still be used; after that a write fails.
        let refused = loop {
            let text = format!("{} {}", kept.len(), "x".repeat(3_000));
            let lsn = event(&agent, GATE, &text);
            match agent.wait_durable_blocking(lsn, PATIENCE) {
                Ok(()) => kept.push(text),
                Err(refused) => break refused,
            }
        };
        assert!(matches!(&refused, NotDurable::Degraded(why) if why.contains("space")), "life {life}: {refused}");
        assert!(matches!(store.health().status, StoreStatus::Degraded { .. }));
        if life == 3 {
            fs::remove_file(&ballast).expect("room");
            until("it catches up", || agent.durable() == agent.head());
            until("its health is good again", || store.health().status == StoreStatus::Ok);
            kept = texts(&agent.recover(GATE).expect("recovers"));
            drop(agent);
            store.close().expect("closes");
        } else {
            drop(agent);
            store.close().expect_err("the disk is full");
        }
    }
    let (store, report) = StateStore::open(&crashed, options).expect("opens");
    assert!(report.is_sound() && report.clean && !report.full, "{report:?}");
    assert_eq!(texts(&ada(&store).recover(GATE).expect("recovers")), kept);
    println!("{HELD}");
}

//! Data that the kernel didn't sync is never called durable. The sync calls are made to fail, which a store that
//! omits one wouldn't notice. A filter can't be removed from a process, so each case runs in its own process.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::*;

/// Tells a case's process its engine.
const CASE: &str = "MAXIM_TEST_UNSYNCED";
const HELD: &str = "the unsynced was refused";

/// Runs a test of this module again, alone in a process, once for each engine on disk; `case` runs there.
fn alone(test: &str, case: impl Fn(EngineKind)) {
    match std::env::var(CASE).as_deref() {
        Ok("sled") => case(EngineKind::Sled),
        Ok("redb") => case(EngineKind::Redb),
        _ => {
            for kind in ["sled", "redb"] {
                let test = format!("tests::unsynced::{test}");
                let program = std::env::current_exe().expect("this program");
                let mut command = Command::new(program);
                let ran = command.args(["--exact", &test, "--nocapture"]).env(CASE, kind).output().expect("it runs");
                let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success() && said.contains(HELD), "{kind}: {said}");
            }
            return;
        }
    }
    println!("{HELD}");
}

/// From now on syncing these files fails in every thread of this process; without a list, syncing any file fails.
fn refuse_syncing(files: Option<&[u64]>) {
    let of = |file: &u64| {
        let condition = SeccompCondition::new(0, Len::Dword, Op::Eq, *file).expect("a condition");
        SeccompRule::new(vec![condition]).expect("a rule")
    };
    let rules: Vec<SeccompRule> = files.unwrap_or_default().iter().map(of).collect();
    assert!(files.is_none() || !rules.is_empty(), "no such file is open");
    // sled itself calls `sync_file_range`, which guarantees nothing.
    let calls = [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_msync];
    let rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (call, rules.clone())).into();
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
    let failing = SeccompAction::Errno(libc::EIO.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, failing, arch).expect("a filter");
    let program = BpfProgram::try_from(filter).expect("a program");
    seccompiler::apply_filter_all_threads(&program).expect("the kernel takes it");
}

/// The descriptor numbers of this process's open files with this name.
fn open_files(name: &str) -> Vec<u64> {
    let links = fs::read_dir("/proc/self/fd").expect("this process's files").flatten();
    let named = links.filter(|link| fs::read_link(link.path()).is_ok_and(|file| file.ends_with(name)));
    named.filter_map(|link| link.file_name().to_str()?.parse().ok()).collect()
}

fn refused(agent: &AgentStore) {
    let answer = agent.wait_durable_blocking(agent.head(), PATIENCE);
    assert!(matches!(&answer, Err(NotDurable::Degraded(why)) if why.contains("os error 5")), "{answer:?}");
    assert!(agent.durable() < agent.head());
}

#[test]
fn a_commit_that_the_engine_could_not_sync_is_not_durable() {
    alone("a_commit_that_the_engine_could_not_sync_is_not_durable", |kind| {
        let home = Home::folder(kind);
        let (store, _) = home.open_with(StoreOptions { close_limit: Duration::from_millis(5), ..small() });
        let agent = ada(&store);
        event(&agent, GATE, "before");
        settle(&agent);
        refuse_syncing(None);
        event(&agent, GATE, "small enough to need no pack");
        refused(&agent);
    });
}

#[test]
fn a_commit_that_the_pack_could_not_sync_is_not_durable() {
    alone("a_commit_that_the_pack_could_not_sync_is_not_durable", |kind| {
        let home = Home::folder(kind);
        let (store, _) = home.open_with(StoreOptions { close_limit: Duration::from_millis(5), ..small() });
        let agent = ada(&store);
        put(&agent, GATE, "before", &[5; 100_000]);
        settle(&agent);
        refuse_syncing(Some(&open_files("pack")));
        put(&agent, GATE, "long enough for the pack", &[5; 100_000]);
        refused(&agent);
    });
}

#[test]
fn a_store_whose_files_can_not_be_synced_is_not_begun() {
    alone("a_store_whose_files_can_not_be_synced_is_not_begun", |kind| {
        let folder = tempfile::tempdir().expect("a folder");
        refuse_syncing(None);
        let opened = StateStore::open(folder.path(), StoreOptions { engine: kind, ..small() });
        assert!(opened.is_err(), "{:?}", opened.map(|(_, report)| report));
    });
}

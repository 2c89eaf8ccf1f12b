//! Which code may use which. A stage is a crate, so the compiler separates the stages; here their manifests are
//! checked. Within a stage, each room uses only its own folder and a few places of shared vocabulary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates with rooms; each folder or file in them is a room.
const STAGES: [&str; 8] = ["perception", "memory", "deliberation", "gate", "action", "learning", "sleep", "effectors"];

/// What a stage may depend on, the lowest first. Each of these may use those before it, and no stage.
const GROUND: [&str; 7] = ["config", "bus", "store", "region", "language", "speech", "tools"];

/// The only stage that uses another: only a cleared intent is carried out, and only the gate can make one.
const EXCEPTION: (&str, &str) = ("action", "gate");

/// Code of a stage that assembles its rooms. It knows them, and isn't a room itself.
const ASSEMBLY: [&str; 1] = ["effectors/outside_doors"];

/// Vocabulary shared by rooms of a stage: the place, who may use it (empty: any room of the stage), and why that
/// doesn't break the rule.
const VOCABULARY: [(&str, &str, &str); 18] = [
    ("effectors/http_client", "", "how servers outside are reached, alike for all effectors"),
    ("effectors/server_fault", "", "why a model server gave no answer, alike for replies and vectors"),
    ("effectors/outside_doors", "effectors/channels", "how a channel finds its desk"),
    ("effectors/outside_doors", "effectors/door", "how the door keeper finds its door"),
    ("effectors/door", "effectors/channels", "a channel's desk puts its messages through the door"),
    ("memory/section", "memory/hippocampus", "keys that several memories share"),
    ("memory/packing", "", "bytes of sealed segments, alike in all memories"),
    ("memory/hippocampus/spreading", "", "the one law of spreading activation"),
    ("memory/suprachiasmatic_nucleus/law", "memory/entorhinal_cortex", "signatures of times: pure calendar"),
    ("gate/cleared_intent", "", "a signal that only the gate can build, hence not in the bus"),
    ("gate/ClearedIntent", "", "the same by its short name"),
    ("gate/Terms", "", "what a clearance is given under"),
    ("perception/inbound", "", "the one constructor of outside text; the gateway is its only user"),
    ("deliberation/section", "deliberation/initiative", "keys of acting unasked"),
    ("deliberation/prompt", "", "how a prompt is fitted into a window: pure"),
    ("deliberation/recollection", "deliberation/turns", "what to ask memory, and what the answer is: pure"),
    ("deliberation/initiative", "deliberation/turns", "which act is worth it when nobody wants anything: pure"),
    ("deliberation/reply", "", "how a model's reply is read: pure grammar"),
];

/// Our crates that a crate depends on, without those only for its tests.
fn builds_upon(manifest: &str) -> BTreeSet<String> {
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let ours = dependencies.lines().filter_map(|line| line.strip_prefix("maxim-")?.split(['.', ' ', '=']).next());
    ours.map(str::to_owned).collect()
}

#[test]
fn no_stage_builds_upon_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for stage in STAGES {
        let manifest = fs::read_to_string(root.join(stage).join("Cargo.toml")).expect("a manifest");
        let used = builds_upon(&manifest);
        assert!(used.contains("bus") && used.contains("region") || stage == "effectors", "{stage}: {used:?}");
        for other in used {
            let may = GROUND.contains(&other.as_str()) || (stage, other.as_str()) == EXCEPTION;
            assert!(
                may,
                "the stage {stage} builds upon {other}: ask it by a signal, or move what both use into the bus"
            );
        }
    }
}

#[test]
fn the_ground_is_laid_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (place, name) in GROUND.iter().enumerate() {
        let folder = if *name == "bus" { root.join("../bus") } else { root.join(name) };
        let used = builds_upon(&fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest"));
        for other in used.iter().filter(|other| *other != "token-table") {
            assert!(GROUND[..place].contains(&other.as_str()), "{name} builds upon {other}, which isn't below it");
        }
    }
}

#[test]
fn a_manifest_is_read() {
    let text = "[dependencies]\nmaxim-bus.workspace = true\nmaxim-gate = { path = \"x\" }\n\n[dev-dependencies]\nmaxim-store.workspace = true\n";
    assert_eq!(builds_upon(text), BTreeSet::from(["bus".to_owned(), "gate".to_owned()]));
}

#[test]
fn no_room_reaches_into_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut faults, mut looked_at) = (Vec::new(), 0);
    for file in STAGES.iter().flat_map(|stage| files(&root.join(stage).join("src"))) {
        let inside = file.strip_prefix(root).expect("below the root").to_string_lossy().replacen("/src/", "/", 1);
        let module = module_of(&inside);
        let Some(room) = room_of(&module) else { continue };
        looked_at += 1;
        let text = fs::read_to_string(&file).expect("readable");
        let used = uses(without_tests(&text), &module);
        let bad = used.into_iter().filter(|used| !may_use(&room, used));
        faults.extend(bad.map(|used| format!("{inside} uses {}", used.join("::"))));
    }
    assert!(looked_at > 100, "only {looked_at} files were looked at: has the tree moved?");
    let fix = "ask by a signal, or move what is shared into the bus or a shared folder";
    assert!(faults.is_empty(), "rooms reach into others; {fix}:\n{}", faults.join("\n"));
}

/// So a room is listed once: in `rooms()` of its stage.
#[test]
fn nothing_but_a_stage_lists_its_rooms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let product = files(&root.join("../src"));
    assert!(product.len() > 100, "only {} files were looked at: has the tree moved?", product.len());
    for file in product {
        let text = fs::read_to_string(&file).expect("readable");
        let listed = without_tests(&text).lines().find(|line| line.contains("::room("));
        assert_eq!(listed, None, "{} makes a room: list it in rooms() of its stage", file.display());
    }
    for stage in STAGES {
        let text = fs::read_to_string(root.join(stage).join("src/lib.rs")).expect("readable");
        assert!(text.contains("\npub fn rooms("), "the stage {stage} has no rooms()");
    }
}

#[test]
fn the_check_sees_what_it_forbids() {
    let module = module_of("learning/nucleus_accumbens/region.rs");
    let text = "use super::model::X;\nuse maxim_region::{Card, Pulse};\n\
                use crate::{\n    bridges::fear::{A, B},\n    packing::Z,\n};\n\
                pub use super::super::thin;\nuse maxim_bus::Stage;\n";
    let room = room_of(&module).expect("a room");
    let bad: Vec<_> = uses(text, &module).into_iter().filter(|used| !may_use(&room, used)).collect();
    let bad: Vec<String> = bad.iter().map(|used| used.join("::")).collect();
    let expected =
        ["learning::bridges::fear::A", "learning::bridges::fear::B", "learning::packing::Z", "learning::thin"];
    assert_eq!(bad, expected);
    assert!(may_use("memory/hippocampus", &["memory".into(), "packing".into()]));
    assert_eq!(without_tests("use a;\n#[cfg(test)]\nmod tests {\n    use crate::gate;\n}\n"), "use a;\n");
}

/// Source files other than tests, sorted by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut entries: Vec<PathBuf> =
        entries.filter(|path| path.file_stem().is_none_or(|name| name != "tests")).collect();
    entries.sort();
    let inside = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false if path.extension().is_some_and(|kind| kind == "rs") => vec![path],
        false => Vec::new(),
    };
    entries.into_iter().flat_map(inside).collect()
}

fn module_of(file: &str) -> Vec<String> {
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// The room that a module belongs to; none for the stages' own lists.
fn room_of(module: &[String]) -> Option<String> {
    match module {
        [stage, room, ..] if STAGES.contains(&stage.as_str()) => {
            Some(format!("{stage}/{room}")).filter(|room| !ASSEMBLY.contains(&room.as_str()))
        }
        _ => None,
    }
}

/// The text before the tests at the end of a file.
fn without_tests(text: &str) -> &str {
    &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())]
}

/// Places of this crate named in `use` statements, each as its parts.
fn uses(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let line = if line.starts_with("pub") { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
        let Some(path) = line.strip_prefix("use ") else { continue };
        let mut path = path.to_owned();
        while !path.contains(';') {
            let Some(more) = lines.next() else { break };
            path.push_str(more.trim());
        }
        let path = path.split(';').next().unwrap_or_default();
        found.extend(expand(path).iter().filter_map(|path| resolve(path, module)));
    }
    found
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn expand(path: &str) -> Vec<String> {
    let Some((head, inner)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let named = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    named.flat_map(|part| expand(&format!("{}{part}", head.trim()))).collect()
}

/// A path within this crate; none for other crates.
fn resolve(path: &str, module: &[String]) -> Option<Vec<String>> {
    let path = path.split(" as ").next().unwrap_or(path);
    let mut parts = path.split("::").map(str::trim).peekable();
    let first = *parts.peek()?;
    let mut place = match first {
        "crate" => module.first().cloned().into_iter().collect(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(place.pop()),
            name => place.push(name.to_owned()),
        }
    }
    Some(place)
}

fn may_use(room: &str, used: &[String]) -> bool {
    let path = used.join("/");
    let lies_in = |folder: &str| path == folder || path.starts_with(&format!("{folder}/"));
    let is_of = |user: &str| user.is_empty() || room == user || room.starts_with(&format!("{user}/"));
    lies_in(room) || VOCABULARY.iter().any(|(folder, user, _)| lies_in(folder) && is_of(user))
}

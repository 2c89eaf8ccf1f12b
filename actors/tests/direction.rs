//! Who may know whom. A room may use the bus, the furniture in `region`, its own folder, and the few places that are
//! shared vocabulary. It never reaches into another room.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that rooms stand in; each of their entries is a room.
const STAGES: [&str; 8] = ["perception", "memory", "deliberation", "gate", "action", "learning", "sleep", "effectors"];

/// What any room may use. Rooms reach the store through their pulse, never by its name.
const FURNITURE: [&str; 3] = ["region", "wiring", "thin_room"];

/// Vocabulary that rooms share: the place, who may use it (empty: anybody), and why that is no reaching into a room.
const VOCABULARY: [(&str, &str, &str); 35] = [
    ("language", "", "words and stems are no room's own"),
    ("effectors/http_client", "effectors", "how servers outside are reached, alike for all effectors"),
    ("effectors/server_fault", "effectors", "why a model server gave no answer, alike for replies and vectors"),
    ("memory/packing", "memory", "bytes of sealed segments, alike in all memories"),
    ("gate/cleared_intent", "", "a signal that only the gate can build, hence not in the bus"),
    ("gate/ClearedIntent", "", "the same by its short name"),
    ("gate/Terms", "", "what a clearance is given under"),
    ("gate/fear_agent/may_hold_secret", "action/tools", "what counts as a credential is said in one place"),
    ("gate/fear_agent/unfit_url", "action/tools", "what counts as a public host is said in one place"),
    ("gate/fear_agent/unfit_address", "action/tools", "likewise"),
    ("action/tools", "", "what a tool is: specifications and their registry"),
    ("perception/inbound", "perception", "the one constructor of outside text; the gateway is its only user"),
    ("perception/stop_phrase", "perception", "the grammar of stop phrases, part of that constructor"),
    ("perception/stop_phrase", "effectors/door", "a stop phrase raises the latch before any mailbox"),
    ("perception/gateway/Gateway", "effectors/door", "whose record says that a message has stopped it before"),
    ("perception/gateway/stopped_key", "effectors/door", "where that record stands"),
    ("gate/fear_agent/FearAgent", "effectors/door", "a room's name, to address a question to it"),
    ("effectors/door", "effectors/channels", "a channel's desk puts its messages through the door"),
    ("deliberation/prompt", "deliberation", "how a prompt is fitted into a window: pure"),
    ("deliberation/reply", "deliberation", "how a model's reply is read: pure grammar"),
    ("action/executor/RESPOND", "", "the name of the tool by which it speaks"),
    ("memory/angular_gyrus/statistics", "", "pure statistics, the same for all who count"),
    ("memory/angular_gyrus/arithmetic", "deliberation/habit", "whether words are a sum: pure grammar"),
    ("memory/hippocampus/spreading", "memory", "the one law of spreading activation"),
    ("memory/hippocampus/packing", "memory", "`memory/packing` by the name that it had there"),
    ("memory/suprachiasmatic_nucleus/law", "memory/entorhinal_cortex", "signatures of times: pure calendar"),
    ("memory/anterior_temporal_lobe/relations", "", "names of relation types"),
    ("memory/anterior_temporal_lobe/naming", "sleep/semantic_promoter", "how names are compared: pure words"),
    ("memory/hippocampus/Hippocampus", "", "a room's name, to address a question to it"),
    ("memory/anterior_temporal_lobe/AnteriorTemporalLobe", "", "likewise"),
    ("memory/entorhinal_cortex/EntorhinalCortex", "", "likewise"),
    ("memory/angular_gyrus/AngularGyrus", "", "likewise"),
    ("learning/intraparietal_sulcus/IntraparietalSulcus", "", "likewise"),
    ("effectors/vital_signs/VitalSigns", "action/introspector", "likewise"),
    ("sleep/semantic_promoter/SemanticPromoter", "", "likewise"),
];

#[test]
fn no_room_reaches_into_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut faults, mut looked_at) = (Vec::new(), 0);
    for file in files(&root) {
        let inside = file.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
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

#[test]
fn the_check_sees_what_it_forbids() {
    let module = module_of("learning/nucleus_accumbens/region.rs");
    let text = "use super::model::X;\nuse crate::region::{Card, Pulse};\n\
                use crate::memory::{\n    hippocampus::model::{A, B},\n    packing::Z,\n};\n\
                pub use super::super::thin;\nuse crate::store::AgentStore;\nuse maxim_bus::Stage;\n";
    let room = room_of(&module).expect("a room");
    let bad: Vec<_> = uses(text, &module).into_iter().filter(|used| !may_use(&room, used)).collect();
    let bad: Vec<String> = bad.iter().map(|used| used.join("::")).collect();
    let expected = [
        "memory::hippocampus::model::A",
        "memory::hippocampus::model::B",
        "memory::packing::Z",
        "learning::thin",
        "store::AgentStore",
    ];
    assert_eq!(bad, expected);
    assert!(may_use("memory/hippocampus", &["memory".into(), "packing".into()]));
    assert_eq!(without_tests("use a;\n#[cfg(test)]\nmod tests {\n    use crate::gate;\n}\n"), "use a;\n");
}

/// Sources that aren't tests, in the order of their names.
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

/// The room that a module is part of; nothing for furniture, the store and the stages' own lists.
fn room_of(module: &[String]) -> Option<String> {
    match module {
        [stage, room, ..] if STAGES.contains(&stage.as_str()) => Some(format!("{stage}/{room}")),
        _ => None,
    }
}

/// Up to the tests at the end of a file.
fn without_tests(text: &str) -> &str {
    &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())]
}

/// Places of this crate that the `use` statements name, each as its parts.
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

/// A path as it stands in this crate; nothing for other crates.
fn resolve(path: &str, module: &[String]) -> Option<Vec<String>> {
    let path = path.split(" as ").next().unwrap_or(path);
    let mut parts = path.split("::").map(str::trim).peekable();
    let first = *parts.peek()?;
    let mut place = match first {
        "crate" => Vec::new(),
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
    let is_furniture = used.first().is_some_and(|first| FURNITURE.contains(&first.as_str()));
    is_furniture || lies_in(room) || VOCABULARY.iter().any(|(folder, user, _)| lies_in(folder) && is_of(user))
}

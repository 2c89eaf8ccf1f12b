//! Containers: looking passes; running, building and removing is asked about; giving a container the machine is
//! blocked.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::tables::{self, Effect};
use super::super::verdict::rules;
use super::Role::Custom;
use super::{Parsed, Program, program, wrappers};

pub(super) const PROGRAMS: &[Program] =
    &[program("docker podman nerdctl docker-compose podman-compose buildah skopeo crictl ctr", "", Custom(container))];

fn container(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let table = "^H,host=V c,context=V l,log-level=V config=V f,file=R p,project-name=V env-file=R profile=V D,debug url=V connection=V runtime=V conmon=V hooks-dir=V module=V";
    let parsed = super::options::parse(table, &call.args);
    for host in parsed.values(&["H", "c", "url", "connection"]) {
        if !matches!(host, "default" | "unix:///var/run/docker.sock") {
            walker
                .findings
                .ask(rules::REMOTE_CHANGE, format!("{} would talk to another machine: {host:.80}", call.name));
        }
    }
    for path in parsed.values(&["config", "runtime", "conmon", "hooks-dir", "module"]) {
        walker.loads(&call.name, path);
    }
    let words = parsed.operands;
    let nouns = [
        "container",
        "image",
        "volume",
        "network",
        "system",
        "compose",
        "builder",
        "buildx",
        "context",
        "node",
        "service",
        "stack",
        "swarm",
        "secret",
        "config",
        "manifest",
        "plugin",
        "trust",
        "machine",
        "pod",
        "play",
        "checkpoint",
    ];
    let at =
        words.iter().position(|word| !nouns.contains(&word.as_str()) && !word.starts_with('-')).unwrap_or(words.len());
    let verb = words.get(at).map_or("", String::as_str);
    match verb {
        "ps" | "ls" | "list" | "images" | "logs" | "log" | "inspect" | "version" | "info" | "stats" | "top"
        | "port" | "history" | "search" | "events" | "diff" | "df" | "help" | "config" | "show" | "wait" | "use"
        | "" | "du" | "pull" | "tag" | "stat" | "pods" => {}
        "create" => {
            if at == 0 || words[at - 1] == "container" {
                container_options(walker, &words[at..]);
            }
        }
        "run" | "exec" => {
            walker.findings.ask(rules::RUN_CODE, format!("{} {verb} runs a program in a container", call.name));
            container_options(walker, &words[at..]);
        }
        "build" | "bake" | "up" | "start" | "restart" | "unpause" | "pause" | "commit" | "load" | "import" | "save"
        | "export" | "cp" | "copy" | "rename" | "connect" | "attach" | "update" | "init" | "join" | "watch"
        | "scale" | "deploy" => {
            walker.findings.ask(rules::BUILD, format!("{} {verb} builds or runs containers", call.name));
            container_options(walker, &words[at..]);
        }
        "push" | "login" | "logout" | "publish" | "sync" => {
            walker.findings.ask(rules::REMOTE_CHANGE, format!("{} {verb} changes a registry", call.name))
        }
        _ => walker
            .findings
            .ask(rules::SERVICE, format!("{} {verb} stops or deletes containers, images or volumes", call.name)),
    }
    Stream::unknown()
}

/// The program that a container runs, after the name of its image or of itself. It is judged as on another machine.
fn inner(walker: &mut Walker, words: &[String]) {
    let Some(wrapper) = tables::wrapper(&format!("docker {}", words[0])) else { return };
    let opened = wrapper.open(&words[1..], &|text| vec![text.to_owned()]);
    let entry = opened.given.iter().find(|(option, _, _)| *option == "--entrypoint");
    let mut program: Vec<String> = entry.and_then(|(_, _, values)| values.first().cloned()).into_iter().collect();
    program.extend(opened.rest);
    for (_, effect, values) in &opened.given {
        match (effect, values.first()) {
            (Effect::Reads, Some(path)) => {
                walker.read(path, By::Shell);
            }
            (Effect::Writes, Some(path)) => walker.write(path),
            _ => {}
        }
    }
    for option in opened.unknown {
        let shown = option.replace(UNKNOWN, "…");
        walker.findings.ask(rules::UNKNOWN_PROGRAM, format!("what {shown} of docker {} does is not known", words[0]));
    }
    wrappers::within(walker, program);
}

/// Options that give a container the machine.
fn container_options(walker: &mut Walker, words: &[String]) {
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", String::as_str);
        let mounted = match word.as_str() {
            "-v" | "--volume" | "--mount" => Some(next),
            _ => word
                .strip_prefix("--volume=")
                .or_else(|| word.strip_prefix("--mount="))
                .or_else(|| word.strip_prefix("-v")),
        };
        let source = mounted.map(|mount| {
            let part = mount
                .split(',')
                .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
                .unwrap_or(mount);
            part.split(':').next().unwrap_or(part)
        });
        if let Some(source) = source
            && (source == "/"
                || source.contains("docker.sock")
                || ["/etc", "/root", "/proc", "/dev", "/sys", "/boot", "/usr", "/var"]
                    .contains(&source.trim_end_matches('/')))
        {
            walker.findings.block(rules::ESCAPE, format!("the container would get the machine's {source}"));
        } else if let Some(source) = source.filter(|source| source.starts_with(['/', '~', '.'])) {
            walker.read(source, By::Shell);
        }
        if word == "--privileged"
            || word.starts_with("--pid=host")
            || word.starts_with("--cap-add=SYS")
            || (word == "--cap-add" && next.starts_with("SYS"))
        {
            walker.findings.ask(rules::ESCAPE, "the container would have rights over the machine");
        }
    }
    if matches!(words.first().map(String::as_str), Some("run" | "exec" | "create")) {
        inner(walker, words);
        return;
    }
    // What runs in it is judged as on another machine.
    if let Some(at) = words.iter().position(|word| matches!(word.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash")) {
        wrappers::elsewhere(walker, words[at..].to_vec());
    }
}

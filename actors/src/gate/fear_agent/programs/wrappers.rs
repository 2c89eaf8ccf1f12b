//! Programs and built-ins that run other programs: seen through, whatever the order of their options.

use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Asks, Custom, Inert};
use super::{Parsed, Program, files, interpreters, judge_environment, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "nohup setsid time builtin exec caffeinate unbuffer chronic fakeroot dbus-run-session rlwrap ltrace xvfb-run coproc eatmydata stdbuf nice ionice chrt proxychains proxychains4 torsocks torify tsocks not catchsegv linux32 linux64 noglob nocorrect",
        "^n,adjustment=V c=V p=V i=V o=V e=V a=V f=V s=V u=V P=V v",
        Custom(tail),
    ),
    program("command", "^p v V", Custom(command)),
    program(
        "timeout taskset flock gtimeout",
        "^k,kill-after=V s,signal=V c=X w=V E=V n x u o foreground preserve-status",
        Custom(after_first),
    ),
    program(
        "strace perf valgrind gdb lldb systemtap bpftrace rr heaptrack hyperfine catchsegv",
        "^o=W e=V p=V E=V u=V P=V s=V f F w=V r=V ex=V",
        Custom(traced),
    ),
    program("env", "^u,unset=V C,chdir=V P=V S,split-string=S i,ignore-environment 0,null v", Custom(environment)),
    program(
        "sudo doas run0 sudoedit",
        "^u,user=V g,group=V h,host=V p,prompt=V C=V r=V t=V T=V U=V R=V D=V A b E e H i K k l n P S s v V",
        Custom(elevated),
    ),
    program(
        "su runuser pkexec machinectl gosu su-exec setpriv",
        "^c,command=S s,shell=V g=V G=V u,user=V l,login m p",
        Custom(switch_user),
    ),
    program(
        "xargs",
        "^a,arg-file=R d,delimiter=V E=V I=V L=V n,max-args=V P,max-procs=V s,max-chars=V 0,null r,no-run-if-empty t p x o i e l replace",
        Custom(xargs),
    ),
    program(
        "parallel sem rush",
        "^j,jobs=V a,arg-file=R S,sshlogin=V I=V N=V n=V L=V C,colsep=V d=V delay=V timeout=V joblog=W results=W tmpdir=V workdir,wd=V retries=V load=V memfree=V tagstring=V basefile=V \
        k q X m u t v z bar eta dry-run plus ungroup linebuffer keep-order tag pipe progress will-cite silent",
        Custom(parallel),
    ),
    program("watch entr", "^n,interval=V d t g e c x r s p z", Custom(watched)),
    program("busybox toybox", "", Custom(multi_call)),
    program("script", "c,command=X q a f O=W I=W B=W T=W e E=V", Custom(recorded)),
    program("eval", "", Custom(evaluated)),
    program("trap", "", Custom(trapped)),
    program("alias", "", Custom(aliased)),
    program("unalias", "", Inert),
    program("cd pushd chdir", "^P L e @ n", Custom(change_folder)),
    program("popd", "", Custom(change_back)),
    program(
        "unshare nsenter systemd-run firejail bwrap proot capsh newgrp sg chpst start-stop-daemon daemonize cgexec aa-exec",
        "",
        Asks(rules::ESCAPE, "runs a program under other rights"),
    ),
    program("zmodload", "", Asks(rules::RUN_CODE, "loads a module into the shell")),
    program("ztcp", "", Asks(rules::REMOTE_SHELL, "opens a connection from the shell")),
];

fn tail(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut words = parsed.operands.clone();
    // `nice -10 cmd` and `nice -n 10 cmd` have been read; `exec` may only carry redirections.
    if words.is_empty() && call.name == "exec" {
        return Stream::of("");
    }
    if words.first().is_some_and(|word| word.starts_with('-')) {
        words.remove(0);
    }
    walker.words(words, call.stdin.clone())
}

/// `command -v` names a program and runs nothing.
fn command(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["v", "V"]) {
        return parsed.operands.first().map_or_else(Stream::unknown, |name| Stream::of(name.as_str()));
    }
    walker.words(parsed.operands.clone(), call.stdin.clone())
}

fn after_first(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut words = parsed.operands.get(1..).unwrap_or_default().to_vec();
    if call.name == "flock" && words.first().is_some_and(|word| word == "-c" || word == "--command") {
        let source = words.get(1).cloned().unwrap_or_default();
        return walker.apart(|walker| walker.script(&source, &call.stdin));
    }
    while words.first().is_some_and(|word| word.starts_with('-')) {
        words.remove(0);
    }
    walker.words(words, call.stdin.clone())
}

fn traced(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    walker.findings.ask(rules::RUN_CODE, format!("{} runs and watches another program", call.name));
    for command in call.args.iter().filter(|arg| arg.starts_with('!')) {
        walker.apart(|walker| walker.script(&command[1..], &Stream::unknown()));
    }
    let words = parsed
        .operands
        .iter()
        .skip_while(|word| matches!(word.as_str(), "stat" | "record" | "trace" | "top" | "report"))
        .cloned()
        .collect::<Vec<_>>();
    if call.name == "hyperfine" {
        for source in &words {
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        }
        return Stream::unknown();
    }
    walker.words(words, call.stdin.clone())
}

fn split_assignments(words: &[String]) -> (Vec<(String, String)>, Vec<String>) {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let count = words.iter().take_while(|word| word.split_once('=').is_some_and(|(name, _)| is_name(name))).count();
    let assigned = words[..count]
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect();
    (assigned, words[count..].to_vec())
}

fn environment(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut words: Vec<String> = Vec::new();
    for text in parsed.values(&["S"]) {
        words.extend(
            walker.apart(|walker| text.split_whitespace().flat_map(|word| walker.expand(word)).collect::<Vec<_>>()),
        );
    }
    words.extend(parsed.operands.iter().filter(|word| *word != "-").cloned());
    while words.first().is_some_and(|word| word.starts_with('-')) {
        words.remove(0);
    }
    let (assigned, words) = split_assignments(&words);
    judge_environment(walker, &assigned);
    if words.is_empty() {
        return Stream::unknown();
    }
    walker.apart(|walker| {
        if let Some(folder) = parsed.value(&["C"]) {
            files::change_folder(walker, folder);
        }
        walker.with_variables(&assigned, |walker| walker.words(words, call.stdin.clone()))
    })
}

fn elevated(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    walker.findings.ask(rules::ELEVATE, format!("{} gives the rights of another user", call.name));
    if parsed.has(&["e"]) || call.name == "sudoedit" {
        for path in &parsed.operands {
            walker.write(path);
        }
        return Stream::unknown();
    }
    let (assigned, words) = split_assignments(&parsed.operands);
    judge_environment(walker, &assigned);
    walker.words(words, call.stdin.clone())
}

fn switch_user(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    walker.findings.ask(rules::ELEVATE, format!("{} gives the rights of another user", call.name));
    for source in parsed.values(&["c"]).map(str::to_owned).collect::<Vec<_>>() {
        walker.apart(|walker| walker.script(&source, &call.stdin));
    }
    let rest: Vec<String> = match call.name.as_str() {
        // `su - user -c 'command'`.
        "su" => {
            let rest = super::options::parse("c,command=S", &parsed.operands);
            for source in rest.values(&["c"]) {
                walker.apart(|walker| walker.script(source, &call.stdin));
            }
            Vec::new()
        }
        "gosu" | "su-exec" | "machinectl" => parsed.operands.get(1..).unwrap_or_default().to_vec(),
        _ => parsed.operands.clone(),
    };
    walker.words(rest, call.stdin.clone());
    Stream::unknown()
}

/// The items that `xargs` and `parallel` read from standard input, or one unknown item.
fn items(stdin: &Stream) -> Vec<String> {
    match stdin.text.as_deref() {
        Some(text) => text.split_whitespace().map(str::to_owned).take(32).collect(),
        None => vec![UNKNOWN.to_string()],
    }
}

fn xargs(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut words = parsed.operands.clone();
    if words.is_empty() {
        words.push(String::from("echo"));
    }
    let placeholder =
        parsed.value(&["I"]).map(str::to_owned).or_else(|| parsed.has(&["i", "replace"]).then(|| String::from("{}")));
    let items = items(&call.stdin);
    match placeholder {
        Some(mark) if !mark.is_empty() => {
            let words: Vec<String> = words.iter().map(|word| word.replace(&mark, "{}")).collect();
            for item in items {
                files::run_on(walker, words.clone(), &item);
            }
            Stream::unknown()
        }
        _ => {
            words.extend(items);
            walker.words(words, Stream::default());
            Stream::unknown()
        }
    }
}

fn parallel(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let is_mark = |word: &String| matches!(word.as_str(), ":::" | "::::" | ":::+" | "::::+");
    let cut = parsed.operands.iter().position(is_mark).unwrap_or(parsed.operands.len());
    let mut command: Vec<String> = parsed.operands[..cut].to_vec();
    let values: Vec<String> = if cut == parsed.operands.len() {
        items(&call.stdin)
    } else {
        parsed.operands[cut..].iter().filter(|word| !is_mark(word)).cloned().collect()
    };
    if command.is_empty() {
        // Each value is a command line of its own.
        for value in values {
            walker.apart(|walker| walker.script(&value, &Stream::default()));
        }
        return Stream::unknown();
    }
    if !command.iter().any(|word| word.contains("{")) {
        command.push(String::from("{}"));
    }
    for value in values {
        // parallel gives the joined words to a shell.
        let command: Vec<String> =
            command.iter().map(|word| word.replace("{.}", "{}").replace("{/}", "{}").replace("{//}", "{}")).collect();
        if let [source, _] = command.as_slice()
            && source.contains(' ')
        {
            let source = format!("{source} ${{_item}}");
            walker.apart(|walker| {
                walker.variables.insert(String::from("_item"), value.clone());
                walker.script(&source, &Stream::default());
            });
        } else {
            files::run_on(walker, command, &value);
        }
    }
    Stream::unknown()
}

fn watched(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if call.name == "watch" {
        let source = parsed.operands.join(" ");
        walker.apart(|walker| walker.script(&source, &Stream::default()));
    } else {
        walker.words(parsed.operands.clone(), Stream::default());
    }
    Stream::unknown()
}

fn multi_call(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    walker.words(call.args.clone(), call.stdin.clone())
}

fn recorded(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        walker.write(path);
    }
    if !parsed.has(&["c"]) {
        walker.findings.ask(rules::RUN_CODE, "an interactive shell would be started");
    }
    Stream::unknown()
}

fn evaluated(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let source = call.args.join(" ");
    walker.script(&source, &call.stdin)
}

fn trapped(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let args = call.args.strip_prefix(&[String::from("--")]).unwrap_or(&call.args);
    if let Some(source) = args.first().filter(|arg| !arg.starts_with('-') && args.len() > 1) {
        walker.apart(|walker| walker.script(source, &Stream::default()));
    }
    Stream::of("")
}

/// An alias runs when it is used, which may be in a later call; so it is judged where it is made.
fn aliased(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    for (name, value) in call.args.iter().filter_map(|arg| arg.split_once('=')) {
        walker.forget_function(name);
        walker.apart(|walker| walker.script(value, &Stream::default()));
    }
    Stream::unknown()
}

fn change_folder(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    let folder = parsed.operands.first().cloned().unwrap_or_else(|| String::from("~"));
    if walker.setting.mode == super::super::Mode::Passive {
        walker.findings.block(rules::PASSIVE, "passive mode keeps its folder");
    }
    files::change_folder(walker, &folder);
    Stream::of("")
}

fn change_back(walker: &mut Walker, _: &Call, _: &Parsed) -> Stream {
    walker.cwd = UNKNOWN.to_string();
    Stream::of("")
}

/// A wrapper of the shell's own kind: `ssh host command` and `docker exec` hand a command to another machine.
pub(super) fn elsewhere(walker: &mut Walker, words: Vec<String>) {
    let source = words.join(" ");
    if !source.is_empty() {
        walker.apart(|walker| {
            interpreters::run_stream(walker, &Stream::of(source));
        });
    }
}

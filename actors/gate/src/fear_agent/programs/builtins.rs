//! Built-ins of the shell that set, test and reckon: what they are given may run when it is evaluated.

use super::super::effects::By;
use super::super::options;
use super::super::paths::UNKNOWN;
use super::super::reckoned::substitutes;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::{Custom, Inert};
use super::{Parsed, Program, judge_environment, program};

pub(super) const PROGRAMS: &[Program] = &[
    program("test [", "", Custom(tested)),
    program("let", "", Custom(reckoned)),
    program("unset", "f v n", Custom(unset)),
    program("export declare typeset local readonly", "", Custom(declared)),
    program("read", "a=V d=V i=V n=V N=V p=V t=V u=V e r s", Custom(filled)),
    program("mapfile readarray", "C=V c=V d=V n=V O=V s=V u=V t", Custom(filled)),
    program("getopts", "", Custom(filled)),
    program("wait", "p=V n f", Custom(waited)),
    program("set", "", Custom(set)),
    program("shift", "", Custom(shifted)),
    program("hash", "p=V d l r t", Custom(remembered)),
    program("enable", "f=R a d n p s", Custom(enabled)),
    program("compgen complete", "C=X W=V F=V A=V G=V P=V S=V X=V o=V", Custom(completed)),
    program("bind", "x=V f=R m=V q=V u=V r=V l p P s S v V X", Custom(bound)),
    program("jobs", "x l n p r s", Custom(jobs)),
    program("fc", "l n r s e=V", Custom(recalled)),
    program("history", "w=W a=W r=R n=R d=V c p s", Inert),
];

/// `-v` takes a name, whose subscript is evaluated.
fn tested(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    for pair in call.args.windows(2).filter(|pair| matches!(pair[0].as_str(), "-v" | "-R")) {
        walker.evaluate_name(&pair[1]);
    }
    Stream::of("")
}

fn reckoned(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    call.args.iter().for_each(|expression| walker.evaluate(expression));
    Stream::of("")
}

fn unset(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for name in &parsed.operands {
        walker.evaluate_name(name);
        walker.variables.insert(name.clone(), String::new());
    }
    Stream::of("")
}

fn declared(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let (flags, words): (Vec<&String>, Vec<&String>) = call.args.iter().partition(|arg| arg.starts_with(['-', '+']));
    let has = |flag: char| flags.iter().any(|arg| arg.starts_with('-') && arg.contains(flag));
    walker.has_integers |= has('i');
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            walker.evaluate_name(word);
            // `X=1; export X`.
            if let Some(value) = walker.variables.get(word.as_str()).cloned() {
                judge_environment(walker, &[(word.clone(), value)]);
            }
            continue;
        };
        let name = name.trim_end_matches('+');
        if has('n') {
            walker.evaluate_name(value);
        }
        // `declare -a 'x=(…)'` is read as an array, so it is expanded again.
        if value.starts_with('(') && substitutes(value) {
            walker.once_more(value);
        }
        walker.traces_setting(name, value, None);
        walker.assign(name, value.to_owned());
        judge_environment(walker, &[(name.to_owned(), value.to_owned())]);
    }
    Stream::unknown()
}

fn filled(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for callback in parsed.values(&["C"]) {
        // It is given the index and the line.
        walker.apart(|walker| {
            walker.variables.insert(String::from("_line"), UNKNOWN.to_string());
            walker.script(&format!("{callback} 0 \"$_line\""), &Stream::unknown());
        });
    }
    // What could run when it is evaluated is kept; everything else is for the running shell to know.
    let text = call.stdin.text.as_deref().filter(|text| substitutes(text));
    let names: Vec<String> =
        parsed.operands.iter().map(String::as_str).chain(parsed.values(&["a"])).map(str::to_owned).collect();
    let names = if names.is_empty() { vec![String::from("REPLY")] } else { names };
    for name in names {
        let value = text.map_or_else(|| UNKNOWN.to_string(), |text| text.trim_end().to_owned());
        walker.traces_setting(&name, &value, Some(&call.stdin));
        walker.assign(&name, value);
    }
    Stream::of("")
}

fn waited(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    parsed.values(&["p"]).for_each(|name| walker.evaluate_name(name));
    Stream::of("")
}

fn set(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let end = call.args.iter().position(|arg| arg == "--");
    let flags = &call.args[..end.unwrap_or(call.args.len())];
    let is_short = |arg: &String| arg.starts_with('-') && arg.contains('a');
    walker.exports_all |= flags.iter().any(|arg| is_short(arg) || arg == "allexport");
    walker.exports_all &= !flags.iter().any(|arg| arg.starts_with('+') && arg.contains('a'));
    // Without `--` the first word that is no option begins the arguments.
    let mut at = 0;
    while let Some(flag) = flags.get(at).filter(|flag| flag.starts_with(['-', '+'])) {
        at += 1;
        if flag == "-" {
            break;
        }
        at += usize::from(flag.ends_with('o'));
    }
    match end {
        Some(end) if at >= flags.len() => walker.positional = Some(call.args[end + 1..].to_vec()),
        _ if at < flags.len() => walker.positional = Some(call.args[at..].to_vec()),
        _ => {}
    }
    Stream::unknown()
}

fn shifted(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let count = call.args.iter().find(|arg| *arg != "--").map_or(Ok(1), |count| count.trim().parse::<usize>());
    match (&mut walker.positional, count) {
        // More than there are shifts nothing; a word that isn't known may be several.
        (Some(values), Ok(count)) if values.iter().take(count).any(|value| value.contains(UNKNOWN)) => {
            values.insert(0, UNKNOWN.to_string());
        }
        (Some(values), Ok(count)) if count <= values.len() => drop(values.drain(..count)),
        (Some(_), Ok(_)) => {}
        (positional, Err(_)) => *positional = None,
        (None, Ok(_)) => {}
    }
    Stream::of("")
}

/// `hash -p /bin/rm ls` makes `ls` run `rm`.
fn remembered(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["p"]) {
        walker.findings.ask(rules::RUN_CODE, "hash makes a name run another program");
    }
    parsed.operands.first().map_or_else(Stream::unknown, |name| Stream::of(name.as_str()))
}

fn enabled(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["f"]) {
        walker.findings.ask(rules::RUN_CODE, "enable loads a library into the shell");
    }
    Stream::unknown()
}

fn completed(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for words in parsed.values(&["W"]).filter(|words| substitutes(words)) {
        walker.once_more(words);
    }
    Stream::unknown()
}

/// `"keys": command`.
fn bound(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    for binding in parsed.values(&["x"]) {
        let command = binding.rsplit_once("\":").or_else(|| binding.split_once(':')).map_or(binding, |(_, rest)| rest);
        walker.findings.ask(rules::RUN_CODE, "a key would run a command");
        walker.apart(|walker| walker.script(command, &Stream::default()));
    }
    Stream::unknown()
}

/// `jobs -x command` runs it.
fn jobs(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    if parsed.has(&["x"]) {
        let words = options::parse("^x", &call.args).operands;
        return walker.words(words, call.stdin.clone());
    }
    Stream::unknown()
}

fn recalled(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    if !parsed.has(&["l"]) {
        walker.findings.ask(rules::RUN_CODE, "fc runs commands of the history again");
    }
    for editor in parsed.values(&["e"]) {
        walker.read(editor, By::Shell);
    }
    Stream::unknown()
}

//! Programs that run another one: each row of their table, and what is like it.

use super::super::tables::{self, Effect, Runs, Takes, Wrapper};
use super::*;

fn caught(rows: &[(&str, Verdict)]) {
    check(rows, command);
}

fn free(lines: &[&str]) {
    check(&lines.iter().map(|line| (*line, Verdict::Allow)).collect::<Vec<_>>(), command);
}

/// How a wrapper is typed, so that the shell takes it for a program and not for a word of its own.
fn typed(wrapper: &Wrapper) -> String {
    if wrapper.name == "time" { String::from("/usr/bin/time") } else { wrapper.name.to_owned() }
}

/// What stands between the options and the program.
fn before(wrapper: &Wrapper) -> String {
    use super::super::tables::Before;
    let word = |before: &Before| match before {
        Before::Value => "1",
        Before::File => "lock",
        Before::Folder => "sub",
        Before::Number => "5",
        Before::Options => "",
        Before::Assignments => "A=1",
        Before::Verb => "stat",
    };
    let words: Vec<&str> = wrapper.before.iter().map(word).filter(|word| !word.is_empty()).collect();
    format!("{} {}", words.join(" "), if wrapper.permuted { "--" } else { "" })
}

/// Every way in which the table lets an option be written.
fn spellings(name: &str, takes: Takes, value: &str) -> Vec<String> {
    match (takes, name) {
        (_, "--*") => vec![String::from("--something"), String::from("--something=1")],
        (Takes::Number, _) => vec![String::from("-10")],
        (Takes::Nothing, _) => vec![name.to_owned()],
        (Takes::Attached, _) if name.starts_with("--") => vec![name.to_owned(), format!("{name}=1")],
        (Takes::Attached, _) => vec![name.to_owned(), format!("{name}1")],
        (Takes::Values(count), _) => {
            let values = format!("{value} ").repeat(count);
            let mut all = vec![format!("{name} {values}")];
            if count == 1 && name.starts_with("--") {
                all.push(format!("{name}={value}"));
            } else if count == 1 && name.len() == 2 {
                all.push(format!("{name}{value}"));
            }
            all
        }
    }
}

/// Each wrapper with each of its options, in each spelling, before what deletes the home.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for wrapper in tables::all_wrappers() {
        let program = match wrapper.runs {
            Runs::Words | Runs::Shell => Some("rm -rf ~"),
            Runs::Each => Some("'rm -rf ~'"),
            Runs::Nothing => None,
        };
        let (name, before) = (typed(wrapper), before(wrapper));
        lines.extend(program.map(|program| format!("{name} {before} {program}")));
        for entry in &wrapper.entries {
            let value = match entry.effect {
                Effect::Stops | Effect::Names => continue,
                Effect::Shell => "'rm -rf ~'",
                Effect::Split => "B=1",
                Effect::Assigns => "C=1",
                Effect::Words if wrapper.runs == Runs::Nothing => continue,
                Effect::Words => "rm",
                // It comes before the program's words.
                _ if entry.name == "--entrypoint" => "env",
                _ => "zq",
            };
            if entry.name == "--" || (program.is_none() && entry.effect != Effect::Shell) {
                continue;
            }
            for option in spellings(entry.name, entry.takes, value) {
                lines.push(format!("{name} {option} {before} {}", program.unwrap_or_default()));
            }
        }
    }
    lines
}

#[test]
fn each_wrapper_with_each_of_its_options_is_seen_through() {
    let lines = lines();
    assert!(lines.len() > 900, "the table gives {} lines", lines.len());
    let missed: Vec<String> = lines
        .iter()
        .map(|line| (line, command(line)))
        .filter(|(_, judged)| judged.verdict != Verdict::Block)
        .map(|(line, judged)| format!("{line}: {judged:?}"))
        .collect();
    assert!(missed.is_empty(), "{} of {}\n{}", missed.len(), lines.len(), missed.join("\n"));
}

#[test]
fn a_wrapper_with_an_option_that_is_not_in_its_table_is_asked_about() {
    let mut missed = Vec::new();
    for wrapper in tables::all_wrappers() {
        let has = |name: &str| wrapper.entries.iter().any(|entry| entry.name == name);
        let letter =
            "yjJkKoOQYGzZ".chars().map(|c| format!("-{c}")).find(|name| !has(name)).expect("a letter that is free");
        let long = String::from("--zz-not-there");
        for option in [Some(letter), (!has("--*")).then_some(long)].into_iter().flatten() {
            let line = format!("{} {option} {} true", typed(wrapper), before(wrapper));
            if command(&line).verdict < Verdict::Ask {
                missed.push(line);
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Wrappers in wrappers hide nothing either.
    #[test]
    fn wrappers_around_wrappers_hide_nothing(picked in proptest::collection::vec(any::<proptest::sample::Index>(), 1..4)) {
        let plain: Vec<(&Wrapper, String)> = tables::all_wrappers()
            .filter(|wrapper| wrapper.runs == Runs::Words && !wrapper.permuted && !wrapper.name.contains(' ') && !matches!(wrapper.name, "coproc" | "npx" | "uvx" | "pnpx" | "bunx"))
            .flat_map(|wrapper| {
                let harmless = wrapper.entries.iter().filter(|entry| entry.effect == Effect::None && entry.name != "--*");
                harmless.map(move |entry| (wrapper, spellings(entry.name, entry.takes, "zq").remove(0)))
            })
            .collect();
        let mut line = String::from("rm -rf ~");
        for index in picked {
            let (wrapper, option) = index.get(&plain);
            line = format!("{} {option} {} {line}", typed(wrapper), before(wrapper));
        }
        let judged = command(&line);
        prop_assert!(judged.verdict == Verdict::Block, "{line}: {judged:?}");
    }
}

#[test]
fn what_env_splits_is_split_as_env_does_it() {
    use Verdict::{Ask, Block};
    caught(&[
        (r#"env -S 'sh -c "rm -rf ~"'"#, Block),
        (r#"env -S "bash -c 'rm -rf ~'""#, Block),
        (r#"env '-Ssh -c "rm -rf ~"'"#, Block),
        (r#"env --split-string='sh -c "rm -rf ~"'"#, Block),
        (r#"env -iS 'sh -c "rm -rf ~"'"#, Block),
        (r#"env -vS 'A=1 sh -c "rm -rf ~"'"#, Block),
        (r#"env -S '-i sh -c "rm -rf ~"'"#, Block),
        (r#"env -S 'rm\_-rf\_/etc'"#, Block),
        (r#"env -S "r''m -rf ~""#, Block),
        (r#"X=rm; env -S '${X} -rf /etc'"#, Block),
        (r#"env -S '-S "rm -rf /etc"'"#, Block),
        (r#"env -S 'LD_PRELOAD=./x.so ls'"#, Ask),
        ("env --unset=A rm -rf /etc", Block),
        ("env --chdir=/ rm -rf etc", Block),
        ("env -u A -- rm -rf /etc", Block),
        ("env --what rm -rf src", Ask),
    ]);
    free(&[
        "env -S 'ls -l'",
        "env -S 'A=1 ls'",
        "env -i A=1 ls",
        "env -u A ls",
        "env - ls",
        "env",
        "env -S \"echo 'rm -rf ~'\"",
    ]);
}

#[test]
fn a_flag_does_not_eat_the_name_of_the_program() {
    use Verdict::{Ask, Block};
    caught(&[
        ("exec -c rm -rf /", Block),
        ("exec -l rm -rf /", Block),
        ("exec -a ls rm -rf /", Block),
        ("exec -cl rm -rf /", Block),
        ("setsid -f rm -rf ~", Block),
        ("setsid -w rm -rf ~", Block),
        ("setsid --fork rm -rf ~", Block),
        ("/usr/bin/time -p rm -rf ~", Block),
        ("time -p rm -rf ~", Block),
        ("/usr/bin/time -v rm -rf ~", Block),
        ("/usr/bin/time -f %e rm -rf ~", Block),
        ("xvfb-run -a rm -rf ~", Block),
        ("xvfb-run -a -s '-screen 0 1x1x8' rm -rf ~", Block),
        ("xvfb-run --auto-servernum rm -rf ~", Block),
        ("stdbuf -oL rm -rf ~", Block),
        ("nice -19 rm -rf ~", Block),
        ("ionice -c 3 rm -rf ~", Block),
        ("ionice -t rm -rf ~", Block),
        ("chrt -f 1 rm -rf ~", Block),
        ("chrt --idle 0 rm -rf ~", Block),
        ("taskset -c 0 rm -rf ~", Block),
        ("timeout -s KILL 5 rm -rf ~", Block),
        ("timeout --foreground 5 rm -rf ~", Block),
        ("flock -n lock rm -rf ~", Block),
        ("flock lock -c 'rm -rf ~'", Block),
        ("busybox rm -rf ~", Block),
        ("busybox sh -c 'rm -rf ~'", Block),
        ("xargs -P4 rm -rf ~ < list", Block),
        ("xargs -t -a list rm -rf ~", Block),
        ("watch -n1 rm -rf ~", Block),
        ("parallel 'rm -rf {}' ::: ~", Block),
        ("parallel -j2 rm -rf ::: ~", Block),
        ("strace -f -o '|rm -rf ~' ls", Block),
        ("gdb --args rm -rf ~", Block),
        ("gdb -ex 'shell rm -rf ~' x", Block),
        ("script -qc 'rm -rf ~' /dev/null", Block),
        ("script -q out -- rm -rf ~", Block),
        ("su -c 'rm -rf ~'", Block),
        ("su - root -c 'rm -rf ~'", Block),
        ("runuser -u anna -- rm -rf ~", Block),
        ("unshare -r rm -rf ~", Block),
        ("nsenter -t 1 -m rm -rf ~", Block),
        ("bwrap --bind / / rm -rf ~", Block),
        ("firejail --noprofile rm -rf ~", Block),
        ("systemd-run --user --wait rm -rf ~", Block),
        ("echo 'rm -rf ~' | at now", Block),
        ("echo 'rm -rf ~' | batch", Block),
        ("docker run --rm -it alpine rm -rf ~", Block),
        ("docker exec -it web sh -c 'rm -rf ~'", Block),
        ("kubectl exec web -c app -- rm -rf ~", Block),
        ("lxc exec box -- rm -rf ~", Block),
        ("ssh -p 22 host rm -rf ~", Block),
        ("ssh host -o ProxyCommand='rm -rf ~' true", Block),
        ("ssh -o 'ProxyCommand rm -rf ~' host", Block),
        ("hyperfine -p 'rm -rf ~' ls", Block),
        ("uv run --with x rm -rf ~", Block),
        ("npx -c 'rm -rf ~'", Block),
        ("poetry run rm -rf ~", Block),
        ("bundle exec rm -rf ~", Block),
        ("direnv exec . rm -rf ~", Block),
        ("nix-shell -p hello --run 'rm -rf ~'", Block),
        ("ip netns exec x rm -rf ~", Block),
        ("prlimit --nofile=8 rm -rf ~", Block),
        ("numactl -N 0 rm -rf ~", Block),
        ("fd -e txt -x rm -rf ~", Block),
        ("find . -okdir rm -rf ~ \\;", Block),
        ("exec --what rm -rf src", Ask),
        ("setsid --what true", Ask),
        ("nohup --what true", Ask),
    ]);
    free(&[
        "time ls",
        "/usr/bin/time -p ls",
        "/usr/bin/time -f %e -o time.txt ls",
        "nice -n 10 ls",
        "nice -10 ls",
        "timeout -k 1 5 ls",
        "stdbuf -oL -eL grep x log.txt",
        "setsid -f true",
        "exec > log.txt",
        "exec 3< data.txt",
        "command -v git",
        "command -V git",
        "xargs -0 -n1 -I{} wc -l {} < list",
        "xargs -i wc {} < list",
        "taskset -p 123",
        "flock -n lock ls",
        "watch -n 2 -d ls",
        "env -u HOME ls",
        "busybox ls",
        "nohup ls",
        "ionice -c3 ls",
        "command ls -la",
        "builtin echo x",
    ]);
}

#[test]
fn what_the_tables_say_is_read_the_same_each_time() {
    let names: Vec<&str> = tables::all_wrappers().map(|wrapper| wrapper.name).collect();
    for name in "env sudo doas nohup nice ionice chrt taskset time timeout stdbuf setsid exec command builtin xargs parallel xvfb-run watch strace ltrace gdb unshare \
        nsenter chroot fakeroot flock script su runuser ssh busybox toybox systemd-run dbus-run-session proot firejail bwrap prlimit numactl catchsegv valgrind perf \
        hyperfine npx nix-shell entr"
        .split_ascii_whitespace()
    {
        assert!(names.contains(&name), "{name} has no row");
    }
    for wrapper in tables::all_wrappers() {
        for (at, entry) in wrapper.entries.iter().enumerate() {
            let again = wrapper.entries[..at].iter().any(|other| other.name == entry.name);
            assert!(!again, "{} has {} twice", wrapper.name, entry.name);
        }
    }
}

//! Arguments that are followed, program texts that nobody knows, and what tells programs where their settings lie.

use super::*;

fn caught(rows: &[(&str, Verdict)]) {
    check(rows, command);
}

fn free(lines: &[&str]) {
    check(&lines.iter().map(|line| (*line, Verdict::Allow)).collect::<Vec<_>>(), command);
}

#[test]
fn the_arguments_of_functions_and_scripts_are_followed() {
    use Verdict::{Ask, Block};
    caught(&[
        ("f() { rm \"$@\"; }; f -rf ~", Block),
        ("set -- -rf ~; rm \"$@\"", Block),
        ("set -rf -- -rf ~; rm \"$@\"", Block),
        ("set rm -rf ~; \"$@\"", Block),
        ("set -- rm -rf ~; \"$@\"", Block),
        ("f() { \"$@\"; }; f rm -rf ~", Block),
        ("f() { rm \"${@}\"; }; f -rf ~", Block),
        ("f() { rm \"${@:2}\"; }; f x -rf ~", Block),
        ("f() { shift 2; rm \"$@\"; }; f a b -rf ~", Block),
        ("f() { local a=(\"$@\"); rm \"${a[@]}\"; }; f -rf ~", Block),
        ("f() { for x in \"$@\"; do rm -rf \"$x\"; done; }; f a ~", Block),
        ("f() { for x; do rm -rf \"$x\"; done; }; f a ~", Block),
        ("f() { while [ $# -gt 0 ]; do rm -rf \"$1\"; shift; done; }; f a b ~", Block),
        ("f() { g \"$@\"; }; g() { rm \"$@\"; }; f -rf ~", Block),
        ("a=(-rf ~); rm \"${a[@]}\"", Block),
        ("a=(rm); a+=(-rf ~); \"${a[@]}\"", Block),
        ("a=(sh -c 'rm -rf ~'); \"${a[@]}\"", Block),
        ("sh -c 'rm \"$@\"' x -rf ~", Block),
        ("f() { rm \"${@/x/~}\"; }; f -rf x", Block),
        ("f() { rm \"$@\"; }", Ask),
        ("set -- $(cat args.txt); rm -rf \"$2\"", Ask),
        ("rm \"$@\"", Ask),
    ]);
    free(&[
        "f() { grep -n \"$@\"; }; f x src/a.rs",
        "a=(src docs); ls \"${a[@]}\"",
        "set -euo pipefail; ls",
        "set -- a b; echo \"$2\"",
        "log() { echo \"$@\"; }; log done",
        "files=(a.txt b.txt); for f in \"${files[@]}\"; do wc -l \"$f\"; done",
        "f() { cat \"$1\"; shift; echo \"$*\"; }; f a.txt b c",
    ]);
}

#[test]
fn a_program_text_that_nobody_knows_is_asked_about() {
    use Verdict::{Ask, Block};
    caught(&[
        ("awk \"$(cat pre.awk)\"", Ask),
        ("sed \"$(cat s.sed)\"", Ask),
        ("x=$(cat s.sed); sed \"$x\" f", Ask),
        ("read x < s.sed; sed \"$x\" f", Ask),
        ("sed \"p;$x\" f", Ask),
        ("sed -e p -e \"$x\" f", Ask),
        ("sed \"s/a/b/$x\" f", Ask),
        ("awk \"{ $x }\" f", Ask),
        ("gawk -e \"$x\" f", Ask),
        ("perl -e \"$(cat t.pl)\"", Ask),
        ("perl -pe \"$x\" f", Ask),
        ("node -e \"$(cat t.js)\"", Ask),
        ("ruby -e \"$x\"", Ask),
        ("php -r \"$x\"", Ask),
        ("lua -e \"$x\"", Ask),
        ("python3 -c \"$x\"", Ask),
        ("sqlite3 x.db \"$(cat q.sql)\"", Ask),
        ("psql -c \"$x\"", Ask),
        ("mysql -e \"$x\"", Ask),
        ("dc -e \"$x\"", Ask),
        ("mlr -n put \"$x\"", Ask),
        ("vim -es -c \"$x\" f", Ask),
        ("git -c \"$x\" log", Ask),
        ("perl -e 'do \"./t.pl\"'", Ask),
        ("perl -e 'require \"./t.pl\"'", Ask),
        ("perl -ne 'do \"./t.pl\"' f", Ask),
        ("perl -ne print 'touch PWNED |'", Ask),
        ("perl -ne print 'rm -rf ~ |'", Block),
        ("perl -ne print '>/etc/x'", Block),
        ("perl -e 'print while <>' 'rm -rf ~|'", Block),
    ]);
    free(&[
        "sed \"s/old/$new/g\" f",
        "sed -n \"${n}p\" f",
        "sed -n \"${a},${b}p\" f",
        "sed -i \"s|@VERSION@|$(cat VERSION)|\" f",
        "awk \"NR==$n\" f",
        "awk -v x=\"$x\" '{ print x }' f",
        "sqlite3 x.db \"select * from t where id = $id\"",
        "perl -pe \"s/a/$x/\" f",
        "perl -ne 'do { print } while 0' f",
        "jq \"$filter\" a.json",
        "grep \"$pattern\" f",
    ]);
}

#[test]
fn what_tells_a_program_where_its_settings_or_code_lie_is_asked_about() {
    use Verdict::{Ask, Block};
    caught(&[
        ("MAKEFILES=./evil.mk make -n", Ask),
        ("HOME=$PWD git diff", Ask),
        ("HOME=$PWD; git diff", Ask),
        ("export HOME=.; git diff", Ask),
        ("env HOME=. git diff", Ask),
        ("HOME=/etc; cat ~/x", Ask),
        ("XDG_CONFIG_HOME=. git diff", Ask),
        ("RIPGREP_CONFIG_PATH=./rc rg x", Ask),
        ("INPUTRC=./x ls", Ask),
        ("KUBECONFIG=./k kubectl get pods", Ask),
        ("make -n CC='$(shell rm -rf ~)'", Block),
        ("CC='$(shell rm -rf ~)' make -en", Block),
        ("make -n -E '$(shell rm -rf ~)'", Block),
        ("make -n --eval='$(shell rm -rf ~)'", Block),
        ("make -n Q=+", Ask),
        ("make -n X='$(call shell,id)'", Ask),
        ("make -n X='$(file >/etc/x,y)'", Block),
    ]);
    free(&[
        "HOME=~ git diff",
        "HOME=/home/anna git diff",
        "XDG_CONFIG_HOME=/etc/xdg git diff",
        "NODE_ENV=test ls",
        "make -n CC=gcc CFLAGS='-O2 -Wall'",
        "make -n all",
    ]);
}

#[test]
fn options_that_run_are_found_in_each_of_their_forms() {
    use Verdict::{Ask, Block};
    caught(&[
        ("git grep --open-files-in-pager='rm -rf ~' x", Block),
        ("git grep --open='rm -rf ~' x", Block),
        ("git grep -O'rm -rf ~' x", Block),
        ("git grep -nO x", Ask),
        ("git difftool -y --extcmd='rm -rf ~'", Block),
        ("git difftool -y --ext 'rm -rf ~'", Block),
        ("git difftool -yx 'rm -rf ~'", Block),
        ("git ls-remote --up='rm -rf ~' .", Block),
        ("git ls-remote --upload-p='./x' .", Ask),
        ("git fetch --u='rm -rf ~' .", Block),
        ("git config set core.pager 'rm -rf ~'", Block),
        ("git config set core.fsmonitor ./x", Ask),
        ("git config set --local alias.ls '!./x'", Ask),
        ("zip --test --unzip-com 'rm -rf ~' x.zip f", Block),
        ("zip --test --unzip-com './x' x.zip f", Ask),
        ("parallel --shuf rm -rf ::: ~", Block),
        ("parallel --plain rm -rf ::: ~", Block),
        ("parallel --q rm -rf ::: ~", Block),
        ("rlwrap -m rm -rf ~", Block),
        ("rlwrap -M rm -rf ~", Block),
        ("rlwrap -e rm -rf ~", Block),
        ("rlwrap -M rm ls -rf ~", Block),
        ("parallel --shuf rm ls -rf ::: ~", Block),
    ]);
    free(&[
        "git grep -n open src",
        "git grep -e x --or -e y",
        "git config get core.pager",
        "git config set user.name anna",
        "git log --oneline -n 5",
        "git difftool --tool-help",
    ]);
}

/// The files that a call waits for before it is judged.
fn wanted(source: &str) -> Vec<String> {
    let params = json!({ "command": source });
    let judged = judge_seen(&ToolCall { tool: "bash", params: &params }, &setting(Mode::Active), None);
    let texts = judged.used.iter().filter_map(|wanted| match wanted {
        maxim_bus::signals::program_files::Wanted::Text { path } => Some(path.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn what_is_read_to_put_a_command_together_is_read_and_fixed_with_it() {
    for (source, file) in [
        ("sh -c \"$(cat in.txt)\"", "in.txt"),
        ("eval \"$(cat in.txt)\"", "in.txt"),
        ("x=$(cat in.txt); sh -c \"$x\"", "in.txt"),
        ("x=$(<in.txt); eval \"$x\"", "in.txt"),
        ("read x < in.txt; eval \"$x\"", "in.txt"),
        ("eval \"$(head -1 in.txt)\"", "in.txt"),
        ("eval \"$(tr a b < in.txt)\"", "in.txt"),
        ("sed \"s/a/$(cat in.txt)/\" f", "in.txt"),
        ("python3 -c \"$(cat in.txt)\"", "in.txt"),
        ("$(cat in.txt)", "in.txt"),
        ("awk -v x=1 -f in.txt f", "in.txt"),
        ("awk -F : -f in.txt f", "in.txt"),
        ("awk -W exec in.txt f", "in.txt"),
        ("sed --fi in.txt f", "in.txt"),
        ("sed --fi=in.txt f", "in.txt"),
        ("make --makef in.txt -n", "in.txt"),
        ("perl -e 'do \"./in.txt\"'", "in.txt"),
    ] {
        let path = format!("/home/anna/project/{file}");
        assert!(wanted(source).contains(&path), "{source}: {:?}", wanted(source));
    }
    assert!(!wanted("cat in.txt").iter().any(|path| path.ends_with("in.txt")));
    assert!(!wanted("v=$(cat in.txt); echo \"$v\"").iter().any(|path| path.ends_with("in.txt")));
}

/// Each text that is wanted is this one.
fn with_text(source: &str, text: &str) -> Judgement {
    use maxim_bus::signals::program_files::{Found, ProgramFile, Wanted};
    let params = json!({ "command": source });
    let call = ToolCall { tool: "bash", params: &params };
    let mut seen = reading::Seen::default();
    loop {
        let judged = judge_seen(&call, &setting(Mode::Active), Some(&seen));
        if judged.wanted.is_empty() {
            return judged.judgement;
        }
        for wanted in judged.wanted {
            let files = match &wanted {
                Wanted::Text { path } => {
                    vec![ProgramFile { path: path.clone(), digest: "0".into(), text: Some(text.into()), fault: None }]
                }
                _ => Vec::new(),
            };
            seen.found.push(Found { wanted, files, fault: None });
        }
    }
}

#[test]
fn the_text_of_a_file_is_judged_wherever_its_option_stands() {
    let awk = "BEGIN { system(\"rm -rf ~\") }";
    for source in ["awk -v x=1 -f p f", "awk -F : -f p f", "awk -W exec p f", "gawk -v x=1 --fi p", "mawk -Wexec p"] {
        assert_eq!(with_text(source, awk).verdict, Verdict::Block, "{source}");
    }
    for source in ["sed --fi p f", "sed --fi=p f", "sed -n -l 5 -f p f", "sed \"s/a/$(cat p)/\" f"] {
        assert_eq!(with_text(source, "b/;e rm -rf ~").verdict, Verdict::Block, "{source}");
    }
    assert_eq!(with_text("perl -e 'do \"./p\"'", "system('rm -rf ~')").verdict, Verdict::Block);
    assert_eq!(with_text("make --makef p -n", "x := $(shell rm -rf ~)").verdict, Verdict::Block);
    assert_eq!(with_text("awk -v x=1 -f p f", "{ print x }").verdict, Verdict::Allow);
    assert_eq!(with_text("sed \"s/a/$(cat p)/\" f", "1.2.3").verdict, Verdict::Allow);
}

#[test]
fn what_only_a_run_can_tell_within_a_program_text_is_asked_about() {
    use Verdict::Ask;
    caught(&[
        ("sed \"s/a/$(base64 -d f)/\" g", Ask),
        ("sed \"s/a/$(tr x y < f)/\" g", Ask),
        ("sed \"s/a/`head -1 f`/\" g", Ask),
        ("v=$(head -1 f); sed \"s/a/$v/\" g", Ask),
        ("v=$(head -1 f); w=$v; sed \"s/a/${w}/\" g", Ask),
        ("v=x$(head -1 f); sed -i \"s/a/$v/\" g", Ask),
        ("export V=$(head -1 f); sed \"s/a/$V/\" g", Ask),
        ("local_v() { local v=$(head -1 f); sed \"s/a/$v/\" g; }; local_v", Ask),
        ("x=$(head -1 f); (x=1); sed \"s/a/$x/\" g", Ask),
        ("x=$(base64 -d f); v=$(cat <<< \"$x\"); sed \"s/a/$v/\" g", Ask),
        ("x=$(base64 -d f); v=$(echo \"$x\" | cat); sed \"s/a/$v/\" g", Ask),
        ("x=$(base64 -d f); v=$(cat <(echo \"$x\")); sed \"s/a/$v/\" g", Ask),
        ("v=$(cat f); sed \"s/a/${v#*:}/\" g", Ask),
        ("read v < f; sed \"s/a/$v/\" g", Ask),
        ("read v < <(base64 -d f); sed \"s/a/$v/\" g", Ask),
        ("base64 -d f | while read v; do sed \"s/a/$v/\" g; done", Ask),
        ("for v in $(base64 -d f); do sed \"s/a/$v/\" g; done", Ask),
        ("f() { sed \"s/a/$1/\" g; }", Ask),
        ("f() { sed \"s/a/$1/\" g; }; f \"$(base64 -d f)\"", Ask),
        ("sh -c 'sed \"s/a/$1/\" g' x \"$(base64 -d f)\"", Ask),
        ("sed -n \"$(base64 -d f)p\" g", Ask),
        ("sed -e p -e \"s/a/$(base64 -d f)/\" g", Ask),
        ("env sed \"s/a/$(base64 -d f)/\" g", Ask),
        ("timeout 5 sed \"s/a/$(base64 -d f)/\" g", Ask),
        ("awk \"/$(base64 -d f)/ { print }\" g", Ask),
        ("awk \"{ print \\\"$(base64 -d f)\\\" }\" g", Ask),
        ("gawk -e \"{ x = $(base64 -d f) }\" g", Ask),
        ("perl -pe \"s/a/$(base64 -d f)/\" g", Ask),
        ("perl -e \"print '$(base64 -d f)'\"", Ask),
        ("ruby -e \"puts '$(base64 -d f)'\"", Ask),
        ("node -p \"'$(base64 -d f)'\"", Ask),
        ("php -r \"echo '$(base64 -d f)';\"", Ask),
        ("python3 -c \"print('$(base64 -d f)')\"", Ask),
        ("sqlite3 x.db \"select '$(base64 -d f)'\"", Ask),
        ("vim -es -c \"%s/a/$(base64 -d f)/\" -c wq g", Ask),
        ("find . -name '*.c' -exec sed 's/a/{}/' g \\;", Ask),
        ("ls | xargs -I{} sed 's/a/{}/' g", Ask),
        ("fd -e sed -x sed -n '{}' g", Ask),
        ("rename \"s/a/$(base64 -d f)/\" x", Ask),
        ("make -n X=\"$(base64 -d f)\"", Ask),
    ]);
    free(&[
        "NAME=b; sed \"s/a/$NAME/\" g",
        "f() { sed \"s/a/$1/\" g; }; f b",
        "sed \"s/a/$(date +%F)/\" g",
        "sed \"s/a/$(git rev-parse --short HEAD)/\" g",
        "n=$(wc -l < g); sed -n \"${n}p\" g",
        "sed -n \"$(( n + 1 ))p\" g",
        "for i in $(seq 1 5); do sed -n \"${i}p\" g; done",
        "v=v$(date +%s); sed \"s/a/$v/\" g",
        "awk \"NR == $(wc -l < g)\" g",
        "python3 -c \"print('$(date +%F)')\"",
        "x=$(base64 -d f); x=1; sed \"s/a/$x/\" g",
        "x=$(base64 -d f); echo \"$x\"; sed 's/a/b/' g",
        "awk -v x=\"$(base64 -d f)\" '{ print x }' g",
        "grep \"$(head -1 f)\" g",
        "for f in $(git ls-files); do sed -n 1p \"$f\"; done",
        "find . -name '*.rs' -exec sed -n p {} +",
        "fd -e rs -x awk '{ print $1 }' {}",
        "find . -name '*.c' -exec perl -ne 'print if /a/' {} +",
        "make -n V=$(date +%s)",
    ]);
}

#[test]
fn a_value_out_of_a_file_that_can_not_be_read_is_not_known() {
    assert_eq!(with_text("sed \"s/a/$(cat p)/\" g", "1.2.3").verdict, Verdict::Allow);
    assert_eq!(with_text("v=$(<p); sed \"s/a/$v/\" g", "1.2.3").verdict, Verdict::Allow);
    assert_eq!(with_text("v=$(<p); sed \"s/a/$v/\" g", "b/;e rm -rf ~").verdict, Verdict::Block);
    assert_eq!(command("echo 'b/;e id' > p; sed \"s/a/$(cat p)/\" g").verdict, Verdict::Ask);
}

#[test]
fn a_dry_run_of_make_is_judged_by_the_commands_that_it_runs() {
    for text in ["V := $(shell git describe --always)\nall:\n\techo $(V)", "V != date +%F\nall:\n\techo $(V)"] {
        assert_eq!(with_text("make -n -f mk", text).verdict, Verdict::Allow, "{text}");
    }
    for text in [
        "V := $(shell ./version.sh)",
        "V := $(shell touch made)",
        "V != date > made",
        "V := $(shell $(TOOL) x)",
        "V := $(shell echo $(X))",
        "export PATH := .:$(PATH)\nV := $(shell git describe)",
        "GIT_EXTERNAL_DIFF = ./x\nV := $(shell git describe)",
        "V != ./version.sh",
        "V := $(shell git describe; ./x)",
    ] {
        assert_eq!(with_text("make -n -f mk", text).verdict, Verdict::Ask, "{text}");
    }
    assert_eq!(with_text("make -n -f mk", "V := $(shell rm -rf ~)").verdict, Verdict::Block);
}

#[test]
fn a_check_reads_what_a_call_would_run_and_names_what_is_not_there() {
    use maxim_bus::signals::program_files::{Found, ProgramFile, Wanted};
    let checked = |source: &str, text: Option<&str>| {
        let params = json!({ "command": source });
        crate::fear_agent::check(&ToolCall { tool: "bash", params: &params }, &setting(Mode::Active), |wanted| {
            let file = |path: &str| ProgramFile {
                path: path.into(),
                digest: "0".into(),
                text: text.map(str::to_owned),
                fault: None,
            };
            let answer = |wanted: &Wanted| match wanted {
                Wanted::Text { path } if text.is_some() => vec![file(path)],
                _ => Vec::new(),
            };
            wanted.iter().map(|asked| Found { wanted: asked.clone(), files: answer(asked), fault: None }).collect()
        })
    };
    let read = checked("awk -f pre.awk f", Some("BEGIN { system(\"rm -rf ~\") }"));
    assert_eq!((read.judgement.verdict, read.unread.len()), (Verdict::Block, 0));
    let absent = checked("awk -f pre.awk f", None);
    assert_eq!(absent.judgement.verdict, Verdict::Allow);
    assert_eq!(absent.unread, ["/home/anna/project/pre.awk"]);
    assert!(checked("ls", None).unread.is_empty());
}

#[test]
fn what_only_looks_at_a_program_runs_nothing() {
    use Verdict::Ask;
    free(&[
        "node --check f.js",
        "node -c f.js",
        "ruby -c r.rb",
        "ruby -wc r.rb",
        "php -l p.php",
        "bash -n s.sh",
        "python3 -m py_compile d.py",
        "python3 -m json.tool a.json",
        "python3 -m tokenize d.py",
        "python3 -m zipfile -l a.zip",
        "tsc --noEmit",
        "cargo metadata",
        "python3 -V",
        "ruby -v",
        "php -v",
        "make -q all",
    ]);
    caught(&[
        ("perl -c x.pl", Ask),
        ("node --check -r ./x.js f.js", Ask),
        ("node --require ./x.js --check f.js", Ask),
        ("node f.js --check", Ask),
        ("ruby -c -r./x r.rb", Ask),
        ("ruby -r./x -c r.rb", Ask),
        ("php -d auto_prepend_file=x.php -l p.php", Ask),
        ("php p.php", Ask),
        ("python3 -v", Ask),
        ("python3 -m zipfile -e a.zip d", Ask),
        ("make -t all", Ask),
    ]);
}

/// `xargs` takes its items apart by its own rules, and each may be the first of a command.
#[test]
fn a_program_text_out_of_a_list_is_judged_and_asked_about_where_the_list_is_not_known() {
    use Verdict::{Ask, Block};
    caught(&[
        ("xargs -n1 sed -n", Ask),
        ("xargs sed", Ask),
        ("xargs -I{} sed -n {}", Ask),
        ("xargs awk", Ask),
        ("xargs perl -e", Ask),
        ("xargs sh -c", Ask),
        ("xargs -0 python3 -c", Ask),
        ("parallel sed -n", Ask),
        ("ls | xargs -n1 sed -n", Ask),
        ("ls | xargs sed -n -e", Ask),
        ("ls | xargs awk", Ask),
        ("echo 'p e' | xargs -n1 sed -n", Ask),
        ("echo 'p e' | xargs -L1 sed -n", Ask),
        ("echo '\"e rm -rf ~\"' | xargs sed", Block),
        ("echo 'e\\ id' | xargs sed", Ask),
        ("echo 'p,e id' | xargs -d, -n1 sed -n", Ask),
        ("echo 'e rm -rf ~' | xargs -I{} sed {}", Block),
        ("seq 100 | xargs -n1 sh -c", Ask),
    ]);
    free(&[
        "ls | xargs sed -n 1p",
        "ls | xargs -n1 wc -l",
        "ls | xargs -n1 sed -n p",
        "echo 'a b c' | xargs -n1 sed -n p",
        "git ls-files | xargs awk '{ print $1 }'",
        "xargs wc -l < list",
        "echo '\"a file\" b' | xargs wc -l",
    ]);
}

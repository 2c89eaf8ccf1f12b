//! What runs, is read or is written though it isn't said where one looks for it, each beside the ordinary work that is like it.

use super::*;

/// Every line is stopped or asked; `Block` where the plain command is blocked too.
fn caught(rows: &[(&str, Verdict)]) {
    check(rows, command);
}

fn free(lines: &[&str]) {
    check(&lines.iter().map(|line| (*line, Verdict::Allow)).collect::<Vec<_>>(), command);
}

#[test]
fn what_the_shells_own_commands_run_is_judged() {
    use Verdict::{Ask, Block};
    caught(&[
        ("mapfile -C 'rm -rf src #' -c 1 a < i.txt", Ask),
        ("readarray -c 1 -C 'rm -rf /' a < i.txt", Block),
        ("mapfile -C 'rm -f' -c 1 < i.txt", Ask),
        ("compgen -C 'rm -rf src #'", Ask),
        ("complete -C 'rm -rf /' foo", Block),
        ("compgen -W '$(rm -rf src)'", Ask),
        ("bind -x '\"a\":rm -rf /'", Block),
        ("enable -f ./x.so x", Ask),
        ("hash -p /bin/rm ls && ls -rf src", Ask),
        ("BASH_CMDS[ls]=/bin/rm; ls -rf src", Ask),
        ("jobs -x rm -rf src", Ask),
        ("trap -- 'rm -rf src' EXIT", Ask),
        ("history -w /etc/x", Block),
        ("dc -e '!rm -rf /'", Block),
        ("echo '!rm -rf src' | dc", Ask),
        ("m4 <<< 'syscmd(rm -rf src)'", Ask),
        ("m4 -D 'x=esyscmd(id)' < /dev/null", Ask),
    ]);
    free(&[
        "mapfile -t a < f",
        "mapfile -t -n 3 a < f",
        "readarray -d '' files < <(find . -name '*.rs' -print0)",
        "compgen -c | sort | head",
        "compgen -W 'start stop' -- st",
        "complete -W 'start stop' tool",
        "bind -p",
        "enable -n kill",
        "hash -r",
        "jobs -l",
        "wait -n",
        "trap 'echo done' EXIT",
        "dc -e '2 3 + p'",
        "echo '2 3 !<a p' | dc",
        "m4 <<< 'define(x, 1)x'",
    ]);
}

#[test]
fn a_number_or_a_name_that_runs_something_is_judged() {
    use Verdict::{Ask, Block};
    caught(&[
        ("x='a[$(rm -rf src)]' && echo $((x))", Ask),
        ("x='a[$(rm -rf /)]'; y=x; echo $((y + 1))", Block),
        ("x='a[`rm -rf src`]'; ((x))", Ask),
        ("x='a[$(rm -rf src)]'; echo $[x]", Ask),
        ("echo $[$(rm -rf src)]", Ask),
        ("x='a[$(rm -rf src)]'; for ((i = x; i < 0; i++)); do :; done", Ask),
        ("for ((i = $(rm -rf src); i < 0; i++)); do :; done", Ask),
        ("[[ 'a[$(rm -rf src)]' -eq 0 ]]", Ask),
        ("[[ -v 'a[$(rm -rf src)]' ]]", Ask),
        ("test -v 'a[$(rm -rf src)]'", Ask),
        ("printf -v 'a[$(rm -rf src)]' x", Ask),
        ("let 'a[$(rm -rf src)]=1'", Ask),
        ("declare -i n='a[$(rm -rf src)]'", Ask),
        ("declare -i n; n='a[$(rm -rf src)]'", Ask),
        ("RANDOM='a[$(rm -rf src)]'", Ask),
        ("declare -n r='a[$(rm -rf src)]'; echo $r", Ask),
        ("declare -a 'q=($(rm -rf src))'", Ask),
        ("read 'a[$(rm -rf src)]' < i.txt", Ask),
        ("read x <<< 'a[$(rm -rf src)]'; echo $((x))", Ask),
        ("unset 'a[$(rm -rf src)]'", Ask),
        ("a[$(rm -rf src)]=1", Ask),
        ("x='b[$(rm -rf src)]'; a[x]=1", Ask),
        ("a=([$(rm -rf src)]=1)", Ask),
        ("echo ${a[$(rm -rf src)]}", Ask),
        ("echo ${a[$(echo ]; rm -rf src)]}", Ask),
        ("x='a[$(rm -rf src)]'; echo ${!x}", Ask),
        ("x='a[$(rm -rf src)]'; s=abc; echo ${s:x}", Ask),
        ("y='$(rm -rf src)' && echo ${y@P}", Ask),
        ("y='$(rm -rf /)'; echo \"${y@P}\"", Block),
        ("x=a; x+='[$(rm -rf src)]'; echo $((x))", Ask),
        ("echo 'a[$(rm -rf src)]' | { read v; echo $((v)); }", Ask),
        ("x='a[$(rm -rf src)]' bash -c 'echo $((x))'", Ask),
        ("env x='a[$(rm -rf src)]' bash -c 'echo $((x))'", Ask),
        ("f() { echo $(($1)); }; f 'a[$(rm -rf src)]'", Ask),
        // What goes round in circles is too deep, not endless.
        ("x='$((x))'; echo $((x))", Ask),
        ("x='$((y))$((y))$((y))$((y))'; y='$((x))$((x))$((x))'; echo $((x))", Ask),
    ]);
    free(&[
        "read x",
        "read -r -p 'name? ' name",
        "printf -v x %s y",
        "printf -v 'a[3]' %s y",
        "[[ -v x ]]",
        "[[ $n -eq 3 && ${a[0]} == x ]]",
        "declare -i n=3",
        "declare -A seen; seen[$key]=1; echo ${#seen[@]}",
        "declare -a names=(a b c); echo \"${names[1]}\"",
        "unset x 'a[1]'",
        "let n=n+1; ((n++)); echo $((n * 2)) ${s:0:3}",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "n=$(wc -l < f); echo $((n + 1))",
        "x='costs $(5)'; echo \"$x\"",
        "local y=${1:-x}; echo ${y@Q}",
        "while read -r n; do total=$((total + n)); done < f; echo $total",
    ]);
}

#[test]
fn variables_that_make_programs_run_something_are_judged() {
    use Verdict::{Ask, Block};
    caught(&[
        ("PATH=. ls", Ask),
        ("PATH=$PWD ls", Ask),
        ("PATH=.:$PATH ls", Ask),
        ("PATH=:/usr/bin ls", Ask),
        ("PATH=; ls", Ask),
        ("export PATH=.; ls", Ask),
        ("PATH=tools; ls", Ask),
        ("read PATH < f; ls", Ask),
        ("env PATH=/home/anna/project/bin ls", Ask),
        ("PATH=$DIR:$PATH ls", Ask),
        ("PS4='$(rm -rf /)'; set -x; ls", Block),
        ("PS4='$(rm -rf src)' bash -xc ls", Ask),
        ("TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=rm\\ -rf\\ src' tar cf a.tar .", Ask),
        ("RSYNC_RSH='rm -rf src' rsync a b", Ask),
        ("GIT_PROXY_COMMAND=./x git fetch", Ask),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='rm -rf /' git status", Block),
        ("export GIT_CONFIG_KEY_0=core.pager; export GIT_CONFIG_VALUE_0='rm -rf src'; git log", Ask),
        ("LD_PRELOAD=./x.so; export LD_PRELOAD; ls", Ask),
        ("set -a; LD_PRELOAD=./x.so; ls", Ask),
        ("LESSOPEN='|rm -rf /' less x", Block),
        ("git clone --config core.fsmonitor='rm -rf /' . x", Block),
        ("git clone -c core.fsmonitor='rm -rf src' . x", Ask),
        ("X='rm -rf src' git --config-env=core.fsmonitor=X status", Ask),
        ("git clone -u 'rm -rf src' . x", Ask),
        ("git rebase --exec='rm -rf src' main", Ask),
    ]);
    check(&[("LESSOPEN='|/usr/bin/lesspipe %s' less x", Verdict::Ask)], |line| {
        let judged = command(line);
        assert_ne!(judged.rule, "obfuscate.unparsable", "{judged:?}");
        judged
    });
    free(&[
        "PATH=$PATH:/usr/local/go/bin go version",
        "export PATH=\"$HOME/.cargo/bin:$PATH\"",
        "PATH=/usr/bin:/bin ls",
        "echo $PATH",
        "PS1='$ '; ls",
        "TAR_OPTIONS='--exclude=target' tar cf a.tar .",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Anna git log",
        "GIT_PAGER=cat git log",
        "ENV=production; echo $ENV",
        "set -a; set +a; EDITOR=tool; echo $EDITOR",
        "git clone -c core.autocrlf=false https://example.com/x.git",
        "git clone --depth 1 https://example.com/x.git x",
    ]);
    // What `make` itself is asked for, and nothing else.
    assert_eq!(command("PATH=/usr/bin:$PATH make").rules, command("make").rules);
}

#[test]
fn a_secret_is_one_by_wildcards_too() {
    use Verdict::{Ask, Block};
    caught(&[
        ("cat .en*", Ask),
        ("cat .e*", Ask),
        ("cat .[e]nv", Ask),
        ("cat .[]e]nv", Ask),
        ("cat .[[:alpha:]]nv", Ask),
        ("cat .ss?/id_rs*", Ask),
        ("cat < .en?", Ask),
        ("shopt -s extglob\ncat @(.env|x)", Ask),
        ("shopt -s extglob\ncat .@(e)n*", Ask),
        ("xargs cat <<< '.en*'", Ask),
        ("cp .en* copy.txt", Ask),
        ("cd .ss? && cat id_r*", Ask),
        ("cat ~/.ss?/id_rs*", Block),
        ("cat ~/.s*/*", Block),
        ("head ~/.a?s/credentials", Block),
        ("cat ~/.bash_hist*", Block),
        ("cat /e*c/sh?dow", Block),
        ("cat /proc/self/envir*", Block),
        ("cat /etc/pass?d", Ask),
        ("cat ${HOME}/.netr?", Block),
        ("tee .git/hook?/pre-commit < x", Block),
    ]);
    free(&[
        "cat *",
        "cat *.md",
        "cat src/*.rs docs/*",
        "ls *.txt",
        "ls .g*",
        "ls -d .*",
        "jq . *.json",
        "grep -n version */Cargo.toml",
        "wc -l src/**/*.rs",
        "rm -rf build/*",
        "cp -r assets/* out/",
        "cat .github/*.md .eslintr*",
        "cat 'notes (old).txt' app/[id]/page.tsx",
        "head -1 data/part-?.csv",
        "cat /etc/*release",
        "cat /proc/sys/kernel/os*",
        "sed -i 's/a/b/' src/[a-m]*.c",
    ]);
}

#[test]
fn wildcards_are_followed_to_what_is_on_the_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("conf")).expect("a working folder");
    for file in ["conf/server.key", "conf/app.toml", "credentials.json", "package.json"] {
        std::fs::write(work.join(file), "x").expect("a file");
    }
    std::os::unix::fs::symlink(work.join("conf/server.key"), work.join("plain.txt")).expect("a link");
    let here = Setting { mode: Mode::Active, workdir: work, home: PathBuf::from("/home/anna"), own: Arc::default() };
    let judged = |line: &str| judge(&ToolCall { tool: "bash", params: &json!({ "command": line }) }, &here);
    check(
        &[
            ("cat *.json", Verdict::Ask),
            ("cat p*.json", Verdict::Allow),
            ("cat */s*", Verdict::Ask),
            ("cat conf/*.toml", Verdict::Allow),
            ("cat pl*", Verdict::Ask),
            // Whatever is there.
            ("cat *", Verdict::Allow),
            ("cat conf/*", Verdict::Allow),
        ],
        judged,
    );
}

#[test]
fn what_git_and_wget_read_and_write_by_an_option_is_judged() {
    use Verdict::{Ask, Block};
    caught(&[
        ("git config -f .env -l", Ask),
        ("git config -f ~/.ssh/id_rsa -l", Block),
        ("git config --file=/etc/x a.b c", Block),
        ("git diff --no-index .ssh/id_rsa /dev/null", Ask),
        ("git diff ~/.ssh/id_rsa /dev/null", Block),
        ("git grep --no-index KEY ~/.ssh", Block),
        ("git -C ~/.ssh grep --no-index KEY", Block),
        ("git -C . -C ~/.ssh grep --no-index KEY", Block),
        ("git blame --contents ~/.ssh/id_rsa x", Block),
        ("git hash-object -w ~/.ssh/id_rsa", Block),
        ("git commit -F ~/.ssh/id_rsa", Block),
        ("git log --output=/etc/passwd", Block),
        ("git diff --output /etc/passwd", Block),
        ("git stash show -p --output=../x", Block),
        ("git log --output=../x", Block),
        ("git format-patch -o /etc/x HEAD~1", Block),
        ("git bundle create /etc/x HEAD", Block),
        ("git init /etc/x", Block),
        ("git init --separate-git-dir /etc/x", Block),
        ("git worktree add -b x /etc/x", Block),
        ("git clone https://example.com/x.git /etc/x", Block),
        ("git merge-file /etc/x a b", Block),
        ("wget -e 'output_document=/etc/x' https://example.com", Block),
        ("wget -e use_askpass='rm -rf src' https://example.com", Ask),
    ]);
    free(&[
        "git diff",
        "git diff HEAD~1 -- src",
        "git diff --no-index a.txt b.txt",
        "git log -p",
        "git log --output=log.txt",
        "git config -l",
        "git config user.name Anna",
        "git config -f .gitmodules -l",
        "git config -f .gitmodules submodule.x.branch main",
        "git init",
        "git init -b main new",
        "git grep -n TODO -- src",
        "git grep -F 'a.b'",
        "git ls-files -o --exclude-standard",
        "git blame -L 1,3 src/main.rs",
        "git bundle create work.bundle HEAD",
        "git worktree add ../project/w main",
        "git commit -o src/main.rs -m x",
        "git stash show -p",
        "wget -e robots=off https://example.com/x",
    ]);
}

#[test]
fn output_without_an_end_is_not_let_into_a_file() {
    caught(&[
        ("head -c 1T /dev/zero > big", Verdict::Ask),
        ("cat /dev/urandom | tee big", Verdict::Ask),
        ("cat /dev/zero | gzip > big", Verdict::Ask),
        ("cat < /dev/zero > big", Verdict::Ask),
        ("{ yes; } > big", Verdict::Ask),
        ("yes | tee big", Verdict::Ask),
        ("timeout 900 yes > big", Verdict::Ask),
        ("dd if=/dev/zero | tee big", Verdict::Ask),
        ("cp /dev/zero big", Verdict::Ask),
        ("fallocate -l 1T big", Verdict::Ask),
    ]);
    free(&[
        "head -c 1M /dev/zero > pad",
        "head -c 32 /dev/urandom | base64 > key.txt",
        "tr -dc a-z < /dev/urandom | head -c 12 > name",
        "cat /dev/urandom | tr -dc a-z | fold -w 8 | head -1 > name",
        "yes | head -3 > few",
        "yes | sed 10q > few",
        "yes | cp -i a b > log.txt",
        "od -An -N4 -tu4 /dev/urandom > seed",
        "od -N4 < /dev/urandom > seed",
        "dd if=/dev/zero of=pad bs=1M count=4",
        "cat /dev/null > log.txt",
    ]);
}

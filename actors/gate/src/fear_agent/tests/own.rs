//! The agent's own configuration and data: no tool changes them, whatever the mode.

use std::path::Path;

use super::*;

/// A home that is the working folder too, with all that is the agent's own in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        let make = |path: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        };
        for file in
            ["maxim.toml", ".config/maxim/maxim.toml", ".local/state/maxim/latch.json", "x.toml", "sub/maxim.toml"]
        {
            make(file);
        }
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn own(&self) -> OwnFiles {
        let configuration = ["maxim.toml", ".config/maxim/maxim.toml", "other.toml"];
        OwnFiles::new(configuration.map(|file| self.path().join(file)), [self.path().join(".local/state/maxim")])
    }

    fn judged_in(&self, mode: Mode, name: &str, params: &Value) -> Judgement {
        let (workdir, home) = (self.path().to_owned(), self.path().to_owned());
        judge(&ToolCall { tool: name, params }, &Setting { mode, workdir, home, own: Arc::new(self.own()) })
    }

    fn judged(&self, name: &str, params: &Value) -> Judgement {
        self.judged_in(Mode::Active, name, params)
    }

    fn shell(&self, source: &str) -> Judgement {
        self.judged("bash", &json!({ "command": source }))
    }
}

#[test]
fn file_tools_neither_write_nor_delete_nor_move_its_configuration_and_do_not_reach_its_data() {
    let home = Home::new();
    let absolute = home.path().join("maxim.toml").display().to_string();
    for (name, params) in [
        ("write_file", json!({"path": "maxim.toml", "content": "[agent]\nmode = \"singularity\""})),
        ("write_file", json!({"path": absolute, "content": ""})),
        ("write_file", json!({"path": "sub/../maxim.toml", "content": ""})),
        ("write_file", json!({"path": "other.toml", "content": "not there yet, and read by the next start"})),
        ("edit_file", json!({"path": "./maxim.toml", "old_string": "a", "new_string": "b", "content": "b"})),
        ("edit_file", json!({"path": "~/.config/maxim/maxim.toml", "old_string": "a", "new_string": "b"})),
        ("delete_file", json!({"path": "maxim.toml"})),
        ("move_file", json!({"path": "maxim.toml", "destination": "y"})),
        ("move_file", json!({"path": "x.toml", "destination": "maxim.toml"})),
        ("write_file", json!({"path": ".local/state/maxim/latch.json", "content": ""})),
        ("read_file", json!({"path": ".local/state/maxim/daemon.json"})),
        ("read_file", json!({"path": ".local/state/maxim"})),
        ("read_file", json!({"path": ".local/state/maxim/token"})),
        ("read_file", json!({"path": "~/.local/state/maxim/token"})),
        ("delete_file", json!({"path": ".local", "recursive": true})),
        ("execute_python", json!({"code": "open('maxim.toml', 'w').write('x')"})),
        ("execute_python", json!({"code": "p = 'maxim.toml'\nopen(p, 'w').write('x')"})),
    ] {
        for mode in [Mode::Active, Mode::Singularity] {
            let judgement = home.judged_in(mode, name, &params);
            let found = (judgement.verdict, judgement.rule);
            assert_eq!(found, (Verdict::Block, "privilege.own-files"), "{mode:?} {name} {params}: {judgement:?}");
        }
    }
    let judgement = home.judged("write_file", &json!({"path": "maxim.toml", "content": ""}));
    assert!(judgement.reason.contains("maxim.toml is the agent's own configuration"), "{}", judgement.reason);
    assert!(judgement.reason.contains("a person edits it"), "{}", judgement.reason);
}

#[test]
fn no_shell_command_changes_them() {
    let home = Home::new();
    let commands = [
        "echo x > maxim.toml",
        "echo x >> ./maxim.toml",
        "cd sub && echo x > ../maxim.toml",
        "echo x | tee maxim.toml",
        "cp x maxim.toml",
        "cp sub/maxim.toml .",
        "cp sub/maxim.toml other ./",
        "mv x.toml maxim.toml",
        "mv maxim.toml y",
        "mv .config y",
        "rm maxim.toml",
        "rm *.toml",
        "rm -rf ~/.local/state/maxim",
        "rm -rf ~/.local",
        "rm -rf .local/state/*",
        "rm -f ~/.local/state/maxim/latch.json",
        "sed -i s/a/b/ maxim.toml",
        "sed -i s/a/b/ *.toml",
        "ln -sf x.toml maxim.toml",
        "ln maxim.toml y",
        "ln -s maxim.toml y",
        "ln -s ~/.local/state y",
        "truncate -s 0 maxim.toml",
        "dd if=x of=maxim.toml",
        "chmod 777 maxim.toml",
        "touch other.toml",
        "find . -name maxim.toml -delete",
        "git mv x.toml maxim.toml",
        "git mv sub/maxim.toml .",
        "cat ~/.local/state/maxim/daemon.json",
        "cat ~/.local/state/maxim/token",
        "cp .local/state/maxim/token y",
        "sh -c 'echo x > maxim.toml'",
        "x=maxim.toml; echo y > $x",
    ];
    let rows: Vec<_> = commands.iter().map(|source| (*source, Verdict::Block)).collect();
    check(&rows, |source| home.shell(source));
    assert_eq!(home.shell("rm -rf ~/.local").rule, "privilege.own-files");
}

#[test]
fn what_only_the_running_shell_knows_is_asked() {
    let home = Home::new();
    for source in [
        "echo x > ./$(date)",
        "tar xf a.tar",
        "unzip a.zip",
        "patch < a.diff",
        "git apply a.diff",
        "cp -r sub/. .",
        "cp sub/* .",
    ] {
        let judgement = home.shell(source);
        assert_eq!(judgement.verdict, Verdict::Ask, "{source}: {judgement:?}");
        assert!(judgement.rules.contains(&"privilege.own-files"), "{source}: {judgement:?}");
    }
}

#[test]
fn what_is_another_project_s_or_is_only_looked_at_stays_free() {
    let home = Home::new();
    for (name, params) in [
        ("write_file", json!({"path": "sub/maxim.toml", "content": "x"})),
        ("write_file", json!({"path": "x.toml", "content": "[agent]"})),
        ("edit_file", json!({"path": "sub/maxim.toml", "old_string": "a", "new_string": "b"})),
        ("read_file", json!({"path": "maxim.toml"})),
        ("write_file", json!({"path": "maxim.toml.md", "content": "how maxim.toml is written"})),
        ("execute_python", json!({"code": "print(open('maxim.toml').read())"})),
        ("bash", json!({"command": "cat maxim.toml; grep mode maxim.toml > modes.txt"})),
        ("bash", json!({"command": "echo x > sub/maxim.toml && cp sub/maxim.toml sub/y && mv sub/y sub/z"})),
        ("bash", json!({"command": "sed -i s/a/b/ x.toml && cp x.toml sub/maxim.toml && rm sub/maxim.toml"})),
        (
            "bash",
            json!({"command": "tar xf a.tar -C sub && unzip -l a.zip && tar tf a.tar && 7z l a.7z && git apply --check a.diff && git mv x.toml y"}),
        ),
        ("bash", json!({"command": "ls -la ~ && touch .local/share/x && mv x.toml y.toml && ln -s x.toml z"})),
    ] {
        let judgement = home.judged(name, &params);
        assert_eq!(judgement.verdict, Verdict::Allow, "{name} {params}: {judgement:?}");
    }
}

#[test]
fn a_link_in_its_place_is_followed() {
    let home = Home::new();
    let dotfile = home.path().join("dotfile");
    std::fs::rename(home.path().join("maxim.toml"), &dotfile).expect("moved");
    std::os::unix::fs::symlink(&dotfile, home.path().join("maxim.toml")).expect("linked");
    std::os::unix::fs::symlink(home.path().join(".local/state"), home.path().join("state")).expect("linked");
    let rows = ["echo x > dotfile", "rm maxim.toml", "rm -r state/maxim", "echo x > maxim.toml"];
    check(&rows.map(|source| (source, Verdict::Block)), |source| home.shell(source));
}

//! Program and build files on disk, read within bounds and fingerprinted.
//!
//! The reader uses it to answer the gate, and the executor to compare right before the start. Both use the same code,
//! so equal files give equal digests.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind as IoKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use maxim_bus::signals::program_files::{BESIDE, Fixed, Found, ProgramFile, Scope, Wanted};
use sha2::{Digest, Sha256};

use super::Hands;

/// Longest program read as text, in bytes. A longer one isn't judged, so it is asked about.
const TEXT: u64 = 64 * 1024;
/// Bytes of all texts in one answer, at most.
const TEXTS: u64 = 512 * 1024;
/// Files in one answer, at most.
const ANSWERED: usize = 400;
/// Entries checked in one folder beside a program, at most.
const ENTRIES: usize = 5_000;
/// Parent folders checked, at most.
const ABOVE: usize = 40;
/// Files in one fingerprint, at most.
const FIXED: usize = 2_000;
/// Bytes in one fingerprint, at most.
const FIXED_BYTES: u64 = 50 * 1024 * 1024;
/// Entries visited for one fingerprint, at most. A larger folder can't be fingerprinted.
const PASSED: usize = 100_000;
/// Hexadecimal digits kept of a file's digest, to name a changed file.
const DIGITS: usize = 16;
/// Stands for a missing file.
const ABSENT: &str = "absent";

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("program_names.tsv")));

/// Files that don't belong to the fingerprint, and folders by name.
#[derive(Default)]
struct Names {
    data: Vec<&'static str>,
    scripts: Vec<&'static str>,
    filled: Vec<&'static str>,
    git: Vec<&'static str>,
    hooks: Vec<&'static str>,
}

impl Names {
    fn of(table: &'static str) -> Self {
        let mut names = Self::default();
        for (kind, listed) in
            table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'))
        {
            let list = match kind {
                "data" => &mut names.data,
                "script" => &mut names.scripts,
                "git" => &mut names.git,
                "hooks" => &mut names.hooks,
                _ => &mut names.filled,
            };
            list.extend(listed.split_ascii_whitespace());
        }
        names
    }

    fn lists(list: &[&str], name: &str) -> bool {
        list.iter().any(|pattern| fits(pattern, name))
    }
}

/// `*` matches anything; one in a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.trim_end_matches('*').len()
                && name.starts_with(start)
                && match end.strip_suffix('*') {
                    // `*.so.*`
                    Some(middle) => name.contains(middle),
                    None => name.ends_with(end),
                }
        }
        None => pattern == name,
    }
}

/// Reads and fingerprints program files.
#[derive(Clone, Debug, Default)]
pub struct ProgramFiles {
    /// Folders with the agent's own data. They change with each call, and no tool reaches them.
    except: Vec<PathBuf>,
}

impl ProgramFiles {
    pub fn new(hands: &Hands) -> Self {
        let mut except = hands.sandbox.own.data.clone();
        except.push(hands.saved.clone());
        except.extend(fs::canonicalize(&hands.saved));
        Self { except }
    }

    /// Answers each request in order. An answer beyond the bounds says so.
    pub fn read(&self, wanted: &[Wanted]) -> Vec<Found> {
        let mut left = Left { texts: TEXTS, files: ANSWERED };
        wanted.iter().map(|wanted| self.find(wanted, left.again())).collect()
    }

    fn find(&self, wanted: &Wanted, left: &mut Left) -> Found {
        let mut found = Found { wanted: wanted.clone(), files: Vec::new(), fault: None };
        match wanted {
            Wanted::Text { path } => found.files.extend(self.file(Path::new(path), true, left)),
            Wanted::Beside { folder, names, upwards } => {
                let above = if *upwards { ABOVE } else { 1 };
                for folder in Path::new(folder).ancestors().take(above) {
                    for name in names {
                        self.beside(folder, name, left, &mut found);
                    }
                }
            }
        }
        found
    }

    fn beside(&self, folder: &Path, name: &str, left: &mut Left, found: &mut Found) {
        if !name.contains('*') {
            return found.files.extend(self.file(&folder.join(name), true, left));
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = Vec::new();
        for (count, entry) in entries.flatten().enumerate() {
            if count >= ENTRIES {
                found.fault = Some(format!("{} holds more than {ENTRIES} entries", folder.display()));
                break;
            }
            let named = entry.file_name();
            match name.strip_prefix("*/") {
                Some(inner) => paths.extend(Some(entry.path().join(inner)).filter(|path| path.is_file())),
                None if fits(name, &named.to_string_lossy()) => paths.push(entry.path()),
                None => {}
            }
        }
        paths.sort();
        for path in paths {
            if left.files == 0 {
                found.fault = Some(format!("{} holds more than {ANSWERED} such files", folder.display()));
                break;
            }
            found.files.extend(self.file(&path, false, left));
        }
    }

    /// `None` if it doesn't exist.
    fn file(&self, path: &Path, with_text: bool, left: &mut Left) -> Option<ProgramFile> {
        let shown = path.to_string_lossy().into_owned();
        let told = |fault: String| {
            Some(ProgramFile { path: shown.clone(), digest: String::new(), text: None, fault: Some(fault) })
        };
        if left.files == 0 {
            return told(format!("more than {ANSWERED} files would have to be read"));
        }
        let Ok(meta) = fs::metadata(path) else {
            return match fs::symlink_metadata(path) {
                Err(error) if matches!(error.kind(), IoKind::NotFound | IoKind::NotADirectory) => None,
                _ => told("it can't be reached".into()),
            };
        };
        left.files -= 1;
        if self.except.iter().any(|own| path.starts_with(own)) {
            return told("it is the agent's own".into());
        }
        if !meta.is_file() {
            return if meta.is_dir() { None } else { told("it is no regular file".into()) };
        }
        if !with_text {
            return Some(ProgramFile { path: shown, digest: String::new(), text: None, fault: None });
        }
        if meta.len() > TEXT || meta.len() > left.texts {
            let fault = Some(format!("it has {} bytes; {TEXT} are read", meta.len()));
            return match digest_of(path, FIXED_BYTES) {
                Ok((digest, _)) => Some(ProgramFile { path: shown, digest, text: None, fault }),
                Err(why) => told(why),
            };
        }
        let bytes = match bytes_of(path, TEXT) {
            Ok(bytes) => bytes,
            Err(why) => return told(why),
        };
        left.texts = left.texts.saturating_sub(bytes.len() as u64);
        let digest = hex(&Sha256::digest(&bytes));
        Some(match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => ProgramFile { path: shown, digest, text: Some(text), fault: None },
            _ => ProgramFile { path: shown, digest, text: None, fault: Some("it is no text".into()) },
        })
    }

    /// The present fingerprint.
    pub fn fix(&self, scope: &Scope) -> Fixed {
        let mut walk = Walk { files: BTreeMap::new(), bytes: 0, passed: 0, beyond: None };
        // What the call names comes first, so it is always included.
        for found in self.read(&scope.wanted) {
            walk.files.extend(listing(&found));
        }
        if let Some(folder) = &scope.folder {
            self.fix_folder(Path::new(folder), &mut walk);
        }
        fixed_of(scope.clone(), walk.files, walk.beyond)
    }

    /// Upper folders first, entries sorted by name, so the same folder gives the same list.
    fn fix_folder(&self, root: &Path, walk: &mut Walk) {
        let mut folders = VecDeque::from([(root.to_owned(), false)]);
        while let Some((folder, is_filled)) = folders.pop_front() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == IoKind::NotFound => continue,
                // Programs in it can run though it can't be listed, so nothing can be allowed for good.
                Err(error) => {
                    walk.beyond.get_or_insert_with(|| format!("{} can't be listed: {error}", folder.display()));
                    continue;
                }
            };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            let inside = folder.strip_prefix(root).unwrap_or(&folder);
            let is_below = |name: &str| inside.components().any(|part| part.as_os_str() == name);
            let (is_in_git, is_hooks) = (is_below(".git"), NAMES.hooks.iter().any(|name| is_below(name)));
            for path in paths {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let Ok(meta) = fs::symlink_metadata(&path) else { continue };
                // A repository holds thousands of objects, and none is a program.
                if is_in_git && meta.is_file() && is_git_object(&name) {
                    continue;
                }
                walk.passed += 1;
                if walk.passed > PASSED {
                    walk.beyond.get_or_insert_with(|| format!("the folder holds more than {PASSED} files"));
                    return;
                }
                if self.except.iter().any(|own| path.starts_with(own)) {
                    continue;
                }
                if meta.is_dir() {
                    let fills = is_filled || NAMES.filled.contains(&name.as_str());
                    folders.push_back((path, fills));
                    continue;
                }
                let key = path.to_string_lossy().into_owned();
                if meta.is_symlink() && path.is_dir() {
                    let target = fs::read_link(&path).map(|to| to.to_string_lossy().into_owned()).unwrap_or_default();
                    walk.files.insert(key, hex(&Sha256::digest(target.as_bytes())));
                    continue;
                }
                let is_left_out = match () {
                    () if is_filled => true,
                    () if is_in_git => is_git_state(inside, &name, &path),
                    // Many runs write a file without an ending beside their sources.
                    () => Names::lists(&NAMES.data, &name) || !name.contains('.'),
                };
                let is_script = || Names::lists(&NAMES.scripts, &name) || runs_by_itself(&path, &meta, is_filled);
                if is_hooks || !is_left_out || is_script() {
                    walk.take(&path, key);
                }
            }
        }
    }
}

/// The digest of an object in a repository, without the two digits that name its folder.
fn is_git_object(name: &str) -> bool {
    matches!(name.len(), 38 | 62) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A file of a repository that git itself rewrites with each commit: `.git/index`, `.git/refs/heads/main`. `inside` is
/// its folder.
fn is_git_state(inside: &Path, name: &str, path: &Path) -> bool {
    let mut parts = inside.components().map(|part| part.as_os_str().to_string_lossy());
    if !parts.any(|part| part == ".git") {
        return false;
    }
    let rest: Vec<String> = parts.map(|part| part.into_owned()).chain([name.to_owned()]).collect();
    match rest.first().map(String::as_str) {
        // A branch has any name, so the content decides.
        Some("refs") => bytes_of(path, 256).is_ok_and(|bytes| {
            bytes.starts_with(b"ref: refs/") || bytes.trim_ascii_end().iter().all(u8::is_ascii_hexdigit)
        }),
        _ => Names::lists(&NAMES.git, &rest.join("/")),
    }
}

/// What one answer may still hold.
struct Left {
    texts: u64,
    files: usize,
}

impl Left {
    /// The bound on texts is for all requests, the bound on files for each.
    fn again(&mut self) -> &mut Self {
        self.files = ANSWERED;
        self
    }
}

struct Walk {
    files: BTreeMap<String, String>,
    bytes: u64,
    passed: usize,
    beyond: Option<String>,
}

impl Walk {
    /// A missing file is left out.
    fn take(&mut self, path: &Path, key: String) {
        if self.files.contains_key(&key) {
            return;
        }
        let Ok(meta) = fs::metadata(path) else {
            // A dangling link may lead somewhere later.
            if fs::symlink_metadata(path).is_ok() {
                self.files.insert(key, ABSENT.into());
            }
            return;
        };
        if !meta.is_file() {
            return;
        }
        if self.files.len() >= FIXED {
            self.beyond.get_or_insert_with(|| format!("the folder holds more than {FIXED} files that are no data"));
            return;
        }
        if self.bytes.saturating_add(meta.len()) > FIXED_BYTES {
            let most = FIXED_BYTES >> 20;
            self.beyond.get_or_insert_with(|| format!("its files that are no data have more than {most} MB"));
            return;
        }
        let digest = match digest_of(path, FIXED_BYTES - self.bytes) {
            Ok((digest, bytes)) => {
                self.bytes += bytes;
                digest
            }
            Err(why) => {
                self.beyond.get_or_insert_with(|| format!("{} can't be read: {why}", path.display()));
                why
            }
        };
        let mode = meta.permissions().mode() & 0o111 != 0;
        self.files.insert(key, if mode { format!("x{digest}") } else { digest });
    }
}

/// An answer as lines of a fingerprint: existing files with their digests, and missing files.
pub fn listing(found: &Found) -> Vec<(String, String)> {
    let digest = |file: &ProgramFile| match (&file.digest, &file.fault) {
        (digest, _) if !digest.is_empty() => digest.clone(),
        (_, Some(fault)) => fault.clone(),
        (_, None) => "there".into(),
    };
    match &found.wanted {
        Wanted::Text { path } => vec![(path.clone(), found.files.first().map_or_else(|| ABSENT.into(), digest))],
        // Where only the name counts, the list may also hold the file by its content.
        Wanted::Beside { .. } => found
            .files
            .iter()
            .map(|file| match file.digest.is_empty() {
                true => (format!("{BESIDE}{}", file.path), digest(file)),
                false => (file.path.clone(), digest(file)),
            })
            .collect(),
    }
}

/// The total digest over names and digests decides. Only the beginning of each file's digest is kept.
pub fn fixed_of(scope: Scope, files: BTreeMap<String, String>, beyond: Option<String>) -> Fixed {
    let mut total = Sha256::new();
    for (path, digest) in &files {
        total.update(path.as_bytes());
        total.update([0]);
        total.update(digest.as_bytes());
        total.update([b'\n']);
    }
    let files = files.into_iter().map(|(path, digest)| (path, digest.chars().take(DIGITS).collect())).collect();
    Fixed { scope, digest: hex(&total.finalize()), files, beyond }
}

/// Executable, or a script by its first bytes.
fn runs_by_itself(path: &Path, meta: &fs::Metadata, is_filled: bool) -> bool {
    let is_executable = meta.permissions().mode() & 0o111 != 0 || meta.is_symlink();
    if is_executable && !is_filled {
        return true;
    }
    if meta.len() > FIXED_BYTES {
        return is_executable;
    }
    let mut start = [0; 2];
    open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && &start == b"#!"
}

/// Never waits. Only a regular file is read, even if the path was another kind a moment ago.
fn open(path: &Path) -> Result<File, String> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path);
    let file = file.map_err(|error| error.to_string())?;
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        Ok(_) => Err("it is no regular file".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn bytes_of(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes"));
    }
    Ok(bytes)
}

fn digest_of(path: &Path, most: u64) -> Result<(String, u64), String> {
    let mut file = open(path)?.take(most + 1);
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0u64, vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hex(&hash.finalize()), bytes)),
            Ok(count) if bytes + count as u64 > most => return Err(format!("it has more than {most} bytes")),
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("real").to_string_lossy().into_owned();
        (folder, path)
    }

    fn scope(folder: &str) -> Scope {
        Scope { folder: Some(folder.into()), wanted: Vec::new() }
    }

    #[test]
    fn a_fingerprint_sees_programs_and_leaves_data_alone() {
        let (_kept, at) = folder();
        let write = |name: &str, text: &str| {
            let path = Path::new(&at).join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        for (name, text) in [
            ("run.sh", "echo 1"),
            ("sub/helper.py", "x = 1"),
            ("Makefile", "all:"),
            ("tool", "#!/bin/sh"),
            ("notes.md", "a"),
            ("data.csv", "1"),
            ("tasks", "print(1)"),
            ("conf.json5.code", "x"),
            ("words.txt", "a"),
            ("package.json", "{}"),
            (".git/hooks/pre-commit", "#!/bin/sh"),
            (".git/index", "i"),
            (".git/refs/heads/main", "0"),
            (".git/refs/heads/late", "rm x"),
            (".git/objects/late", "rm x"),
            (".git/config", "[core]"),
            ("target/debug/app.d", "x"),
            ("build/gen.sh", "echo"),
            ("Makefile.common", "all:"),
            ("t/a.t", "ok 1"),
            (".husky/pre-commit", "echo"),
            (".git/y/late.py", "x = 1"),
            (".git/objects/ab/0123456789abcdef0123456789abcdef012345", "#!"),
            (".git/0123456789abcdef0123456789abcdef012345/late.py", "x = 1"),
        ] {
            write(name, text);
        }
        let programs = ProgramFiles::default();
        let before = programs.fix(&scope(&at));
        let names: Vec<&str> = before.files.keys().map(|path| &path[at.len() + 1..]).collect();
        let expected = [
            ".git/0123456789abcdef0123456789abcdef012345/late.py",
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/objects/late",
            ".git/refs/heads/late",
            ".git/y/late.py",
            ".husky/pre-commit",
            "Makefile",
            "Makefile.common",
            "build/gen.sh",
            "conf.json5.code",
            "package.json",
            "run.sh",
            "sub/helper.py",
            "t/a.t",
            "tool",
        ];
        assert_eq!(names, expected);
        assert!(before.is_whole());
        for quiet in
            ["notes.md", "data.csv", "words.txt", "tasks", ".git/refs/heads/main", ".git/index", "target/debug/app.d"]
        {
            write(quiet, "cafe");
            assert_eq!(before.changes(&programs.fix(&scope(&at))), None, "{quiet}");
        }
        for loud in expected {
            let old = fs::read(Path::new(&at).join(loud)).expect("read");
            write(loud, "#!changed");
            assert_eq!(before.changes(&programs.fix(&scope(&at))).as_deref(), Some(loud));
            fs::write(Path::new(&at).join(loud), old).expect("put back");
        }
        assert_eq!(before.changes(&programs.fix(&scope(&at))), None, "put back is the same");
        write("sub/new.py", "");
        assert_eq!(before.changes(&programs.fix(&scope(&at))).as_deref(), Some("sub/new.py (new)"));
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_a_change() {
        let (_kept, at) = folder();
        fs::create_dir_all(format!("{at}/one")).expect("made");
        fs::create_dir_all(format!("{at}/two")).expect("made");
        fs::write(format!("{at}/one/a.sh"), "echo 1").expect("written");
        fs::write(format!("{at}/two/a.sh"), "echo 2").expect("written");
        symlink("one/a.sh", format!("{at}/run")).expect("linked");
        symlink("one", format!("{at}/lib")).expect("linked");
        let programs = ProgramFiles::default();
        let before = programs.fix(&scope(&at));
        for link in ["run", "lib"] {
            let path = format!("{at}/{link}");
            let old = fs::read_link(&path).expect("a link");
            fs::remove_file(&path).expect("removed");
            symlink(old.to_string_lossy().replace("one", "two"), &path).expect("linked");
            assert_eq!(before.changes(&programs.fix(&scope(&at))).as_deref(), Some(link));
            fs::remove_file(&path).expect("removed");
            symlink(old, &path).expect("linked");
        }
    }

    #[test]
    fn beyond_the_bounds_it_is_not_whole_and_the_named_file_is_in_it_still() {
        let (_kept, at) = folder();
        for n in 0..=FIXED {
            fs::write(format!("{at}/a{n:05}.sh"), "").expect("written");
        }
        fs::write(format!("{at}/z.sh"), "echo 1").expect("written");
        let named = Scope { wanted: vec![Wanted::Text { path: format!("{at}/z.sh") }], ..scope(&at) };
        let programs = ProgramFiles::default();
        let before = programs.fix(&named);
        assert!(!before.is_whole() && before.beyond.as_ref().is_some_and(|why| why.contains("2000")));
        fs::write(format!("{at}/z.sh"), "echo 2").expect("written");
        assert_eq!(before.changes(&programs.fix(&named)).as_deref(), Some("z.sh"));
    }

    #[test]
    fn a_folder_that_cannot_be_listed_allows_nothing_for_good() {
        let (_kept, at) = folder();
        // Root lists every folder, but nobody lists a file.
        let file = format!("{at}/file");
        fs::write(&file, "").expect("written");
        let fixed = ProgramFiles::default().fix(&scope(&file));
        assert!(fixed.beyond.is_some_and(|why| why.contains("can't be listed")));
    }

    #[test]
    fn reading_is_bounded_and_never_waits() {
        let (_kept, at) = folder();
        let path = |name: &str| Wanted::Text { path: format!("{at}/{name}") };
        fs::write(format!("{at}/a.awk"), "{ print }").expect("written");
        fs::write(format!("{at}/long.awk"), vec![b'x'; TEXT as usize + 1]).expect("written");
        fs::write(format!("{at}/binary"), [0x7f, b'E', b'L', b'F', 0, 1]).expect("written");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            format!("{at}/fifo").as_str(),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("made");
        let wanted = [path("a.awk"), path("long.awk"), path("binary"), path("fifo"), path("none")];
        let found = ProgramFiles::default().read(&wanted);
        assert_eq!(found[0].files[0].text.as_deref(), Some("{ print }"));
        for (at, why) in [(1, "bytes"), (2, "no text"), (3, "no regular file")] {
            let file = &found[at].files[0];
            assert!(file.text.is_none() && file.fault.as_ref().is_some_and(|fault| fault.contains(why)), "{file:?}");
        }
        assert!(found[4].files.is_empty() && found[4].fault.is_none());
    }

    #[test]
    fn what_lies_beside_is_found_by_name_also_above() {
        let (_kept, at) = folder();
        fs::create_dir_all(format!("{at}/sub/json")).expect("made");
        fs::write(format!("{at}/.npmrc"), "script-shell=/x").expect("written");
        fs::write(format!("{at}/sub/re.py"), "").expect("written");
        fs::write(format!("{at}/sub/json/__init__.py"), "").expect("written");
        let beside = |names: &[&str], upwards| Wanted::Beside {
            folder: format!("{at}/sub"),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            upwards,
        };
        let paths = |wanted: Wanted| -> Vec<String> {
            let found = ProgramFiles::default().read(&[wanted]).remove(0);
            found.files.into_iter().map(|file| file.path[at.len() + 1..].to_owned()).collect()
        };
        assert_eq!(paths(beside(&["*.py", "*/__init__.py"], false)), ["sub/re.py", "sub/json/__init__.py"]);
        assert_eq!(paths(beside(&[".npmrc"], true)), [".npmrc"]);
        assert!(paths(beside(&[".npmrc"], false)).is_empty());
    }
}

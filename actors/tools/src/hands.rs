//! What a tool may reach: the mode, the working folder, and each path, which is judged before it is touched.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::MessageId;

use super::contained::SandboxPolicy;
use super::messaging::OutboxRules;
use super::robot::Limbs;
use super::{ErrorKind, ToolFailure};

/// The folder inside the working folder to which passive mode is limited.
pub const SANDBOX_FOLDER: &str = ".maxim_sandbox";

/// Links followed in one path before it counts as a loop; the kernel's own bound (`MAXSYMLINKS`, path_resolution(7)).
const MAX_LINKS: usize = 40;

pub use maxim_bus::mode::{AutonomyLevel, Mode, Powers};

/// How a path is used. Only for the words of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// What the executor gives a tool for one call.
#[derive(Clone, Debug)]
pub struct Hands {
    /// The working folder. Must exist.
    pub workdir: PathBuf,
    pub mode: Mode,
    /// What a child process may do.
    pub sandbox: SandboxPolicy,
    /// The longest time of a call.
    pub deadline: Duration,
    /// The longest text that a call returns, in bytes.
    pub output_cap: usize,
    /// Where copies of overwritten files are kept, outside the agent's reach.
    pub saved: PathBuf,
    /// How much the agent does by itself. It can lower this, never raise it.
    pub autonomy: AutonomyLevel,
    /// Whether the web may be read.
    pub web: bool,
    /// The person's home. Programs may use toolchains in it.
    pub home: PathBuf,
    /// The body, if there is one.
    pub limbs: Option<Arc<dyn Limbs>>,
    /// A voice file for piper. Without it piper isn't used.
    pub voice: Option<PathBuf>,
    /// The execution to which the call belongs.
    pub action: Option<MessageId>,
    /// To whom messages may go.
    pub outbox: Arc<OutboxRules>,
}

impl Hands {
    /// Hands with the usual bounds: 120 s, 64 KiB of output, the network off.
    pub fn new(workdir: impl Into<PathBuf>, mode: Mode, saved: impl Into<PathBuf>) -> Self {
        Self {
            workdir: workdir.into(),
            mode,
            sandbox: SandboxPolicy::default(),
            deadline: Duration::from_secs(120),
            output_cap: 64 * 1024,
            saved: saved.into(),
            autonomy: AutonomyLevel::Autonomous,
            web: true,
            home: std::env::home_dir().unwrap_or_else(|| PathBuf::from("/nonexistent")),
            limbs: None,
            voice: None,
            action: None,
            outbox: Arc::default(),
        }
    }

    /// These hands, limited to the agent's present powers.
    pub fn bounded_by(&self, powers: &Powers) -> Self {
        let mut hands = self.clone();
        hands.mode = hands.mode.min(powers.mode);
        hands.autonomy = hands.autonomy.min(powers.autonomy);
        hands.web = hands.web && powers.web;
        if let Some(workdir) = &powers.workdir {
            hands.workdir.clone_from(workdir);
        }
        hands
    }

    /// The folder in which files must be; `None` if they may be anywhere.
    pub fn root(&self) -> Result<Option<PathBuf>, ToolFailure> {
        let workdir = self.real_workdir()?;
        Ok(match self.mode {
            // Not resolved further. A link in its place leads outside, so it is refused.
            Mode::Passive => Some(workdir.join(SANDBOX_FOLDER)),
            Mode::Active => Some(workdir),
            Mode::Singularity => None,
        })
    }

    fn real_workdir(&self) -> Result<PathBuf, ToolFailure> {
        fs::canonicalize(&self.workdir)
            .map_err(|error| ToolFailure::io("the working folder can't be used:", &self.workdir, &error))
    }

    /// Where `path` really leads. It may be relative to the working folder; `..` and links are resolved, and its end
    /// need not exist. Refused if that is outside of what the mode allows.
    pub fn resolve(&self, path: &str, access: Access) -> Result<PathBuf, ToolFailure> {
        let refuse = |kind, why: String| Err(ToolFailure::new(kind, why));
        if path.is_empty() || path.contains('\0') {
            return refuse(ErrorKind::InvalidParameters, "a path can't be empty or hold a NUL character".into());
        }
        if path == "~" || path.starts_with("~/") {
            let why = format!("path {path}: \"~\" is not expanded; give a path in the working folder");
            return refuse(ErrorKind::InvalidParameters, why);
        }
        let workdir = self.real_workdir()?;
        let real = real_path(&workdir.join(path))
            .map_err(|error| ToolFailure::io("can't resolve", Path::new(path), &error))?;
        self.spare_own(path, &real, access)?;
        match self.root()? {
            // A tool may read what every program in the sandbox may read: one rule for a path.
            Some(root) if !(real.starts_with(&root) || access == Access::Read && self.shows(&real)) => {
                refuse(ErrorKind::Refused, self.outside(path, &real, &root, access))
            }
            _ => Ok(real),
        }
    }

    fn shows(&self, real: &Path) -> bool {
        self.mode == Mode::Active && is_shown(&self.sandbox.readable, real, false)
    }

    /// In every mode: no tool changes the agent's configuration, and none reads or changes its data.
    fn spare_own(&self, path: &str, real: &Path, access: Access) -> Result<(), ToolFailure> {
        let own = &self.sandbox.own;
        if own.is_data(real) {
            let why = format!("path {path} is in the agent's own data folder; no tool may read or change it");
            return Err(ToolFailure::new(ErrorKind::Refused, why));
        }
        if access == Access::Write && own.is_configuration(real) {
            let why =
                format!("path {path} is the agent's own configuration; no tool may change it, only a person edits it");
            return Err(ToolFailure::new(ErrorKind::Refused, why));
        }
        Ok(())
    }

    fn outside(&self, path: &str, real: &Path, root: &Path, access: Access) -> String {
        let doing = match access {
            Access::Read => "read",
            Access::Write => "written",
        };
        let leads = if Path::new(path) == real { String::new() } else { format!(" (it leads to {})", real.display()) };
        format!(
            "path {path}{leads} is outside of {}; in {} mode files are {doing} only inside it",
            root.display(),
            self.mode.as_str()
        )
    }
}

/// Folders in which the kernel tells each process about itself. A tool would read about the daemon.
const OF_THE_READER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Whether this path (links resolved) may be read outside the working folder because the sandbox shows it.
/// `by_a_program`: the reader is a program in the sandbox, not a tool in this process.
pub fn is_shown(readable: &[PathBuf], path: &Path, by_a_program: bool) -> bool {
    let is_of_the_reader = || OF_THE_READER.iter().any(|folder| path.starts_with(folder));
    let holds = |shown: &PathBuf| {
        path.starts_with(shown) || fs::canonicalize(shown).is_ok_and(|real| real != *shown && path.starts_with(real))
    };
    (by_a_program || !is_of_the_reader()) && readable.iter().any(holds)
}

/// Follows every link of an absolute path, also a link whose target doesn't exist yet: a write through it would create
/// the target.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut ahead: VecDeque<OsString> = steps(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = ahead.pop_front() {
        if step == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&step);
        match fs::symlink_metadata(&next) {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many links, perhaps a loop"));
                }
                let target = fs::read_link(&next)?;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for step in steps(&target).into_iter().rev() {
                    ahead.push_front(step);
                }
            }
            Ok(meta) if !meta.is_dir() && !ahead.is_empty() => {
                return Err(io::Error::other(format!("{} is not a folder", next.display())));
            }
            Ok(_) => real = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => real = next,
            Err(error) => return Err(error),
        }
    }
    Ok(real)
}

fn steps(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        work: PathBuf,
        outside: PathBuf,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let base = fs::canonicalize(folder.path()).expect("real");
        let (work, outside) = (base.join("work"), base.join("outside"));
        fs::create_dir_all(work.join("sub")).expect("made");
        fs::create_dir_all(&outside).expect("made");
        fs::write(outside.join("secret"), "s").expect("written");
        Place { _folder: folder, work, outside }
    }

    fn hands(place: &Place, mode: Mode) -> Hands {
        Hands::new(&place.work, mode, place.work.join("../saved"))
    }

    fn kind(hands: &Hands, path: &str) -> Option<ErrorKind> {
        hands.resolve(path, Access::Read).err().map(|failure| failure.kind)
    }

    #[test]
    fn paths_inside_the_working_folder_resolve() {
        let place = place();
        let hands = hands(&place, Mode::Active);
        assert_eq!(hands.resolve("sub/../a.txt", Access::Write), Ok(place.work.join("a.txt")));
        assert_eq!(hands.resolve("new/deep/a.txt", Access::Write), Ok(place.work.join("new/deep/a.txt")));
        let whole = place.work.join("sub");
        assert_eq!(hands.resolve(&whole.display().to_string(), Access::Read), Ok(whole));
    }

    #[test]
    fn every_way_out_is_refused_in_active_mode() {
        let place = place();
        let hands = hands(&place, Mode::Active);
        symlink(&place.outside, place.work.join("link")).expect("linked");
        symlink("../outside/secret", place.work.join("sub/file")).expect("linked");
        symlink(place.outside.join("not_yet"), place.work.join("dangling")).expect("linked");
        symlink("link", place.work.join("link_to_link")).expect("linked");
        let sibling = format!("{}-sibling/x", place.work.display());
        let ways = [
            "..",
            "../outside/secret",
            "sub/../../outside/secret",
            "/etc/shadow",
            "/proc/self/environ",
            "link/secret",
            "link/new",
            "dangling",
            "link_to_link/secret",
            "missing/../../outside/secret",
            "link/../outside/secret",
            &sibling,
        ];
        for way in ways {
            assert_eq!(kind(&hands, way), Some(ErrorKind::Refused), "{way}");
        }
        // What every program in the sandbox is shown can be read, and not written.
        assert!(hands.resolve("/usr/bin/env", Access::Read).is_ok());
        assert!(hands.resolve("/usr/bin/env", Access::Write).is_err());
        symlink("../../outside/secret", place.work.join("sub/up")).expect("linked");
        let message = hands.resolve("sub/up", Access::Read).expect_err("refused").message;
        assert!(
            message.contains("sub/up") && message.contains("outside/secret") && message.contains("active"),
            "{message}"
        );
    }

    #[test]
    fn passive_mode_is_kept_in_its_sandbox_and_a_link_in_its_place_is_no_way_out() {
        let place = place();
        let hands = hands(&place, Mode::Passive);
        assert_eq!(kind(&hands, "a.txt"), Some(ErrorKind::Refused));
        assert_eq!(kind(&hands, ".maxim_sandbox/../a.txt"), Some(ErrorKind::Refused));
        assert!(hands.resolve(".maxim_sandbox/a.txt", Access::Write).is_ok());
        symlink(&place.outside, place.work.join(SANDBOX_FOLDER)).expect("linked");
        assert_eq!(kind(&hands, ".maxim_sandbox/secret"), Some(ErrorKind::Refused));
    }

    #[test]
    fn singularity_reaches_everything() {
        let place = place();
        assert!(hands(&place, Mode::Singularity).resolve("../outside/secret", Access::Read).is_ok());
    }

    #[test]
    fn its_own_configuration_is_read_and_never_written_and_its_data_neither_in_any_mode() {
        use crate::OwnFiles;
        let place = place();
        for mode in [Mode::Active, Mode::Singularity] {
            let mut hands = hands(&place, mode);
            hands.sandbox.own = OwnFiles::new([place.work.join("maxim.toml")], [place.work.join(".data")]);
            symlink("maxim.toml", place.work.join(mode.as_str())).expect("linked");
            let refused = |path: &str, access| hands.resolve(path, access).err().map(|failure| failure.kind);
            for path in ["maxim.toml", "sub/../maxim.toml", mode.as_str()] {
                assert_eq!(refused(path, Access::Write), Some(ErrorKind::Refused), "{path}");
                assert_eq!(refused(path, Access::Read), None, "{path}");
            }
            for access in [Access::Read, Access::Write] {
                assert_eq!(refused(".data/latch.json", access), Some(ErrorKind::Refused));
            }
            assert_eq!(refused("sub/maxim.toml", Access::Write), None, "another project's");
        }
    }

    #[test]
    fn loops_odd_paths_and_files_used_as_folders_are_errors() {
        let place = place();
        let hands = hands(&place, Mode::Active);
        symlink("b", place.work.join("a")).expect("linked");
        symlink("a", place.work.join("b")).expect("linked");
        fs::write(place.work.join("file"), "x").expect("written");
        assert_eq!(kind(&hands, "a"), Some(ErrorKind::Io));
        assert_eq!(kind(&hands, "file/x"), Some(ErrorKind::Io));
        assert_eq!(kind(&hands, ""), Some(ErrorKind::InvalidParameters));
        assert_eq!(kind(&hands, "a\0b"), Some(ErrorKind::InvalidParameters));
        assert_eq!(kind(&hands, "~/notes"), Some(ErrorKind::InvalidParameters));
    }
}

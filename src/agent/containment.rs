//! By what child processes are kept in bounds on this machine: looked for once at the start, by trying it.

use std::path::{Path, PathBuf};

use maxim_actors::action::tools::OwnFiles;
use maxim_actors::action::tools::contained::{Bubblewrap, KernelSupport};
use serde_json::{Value, json};

use crate::config::{self, Fault, UseBubblewrap};

/// What was found.
#[derive(Clone, Debug)]
pub struct Containment {
    pub kernel: KernelSupport,
    bubblewrap: Found,
}

#[derive(Clone, Debug)]
enum Found {
    Used(Bubblewrap),
    Off,
    Unusable(String),
}

impl Containment {
    /// Tries out what the configuration wants to be used; this program becomes the children's first step.
    ///
    /// # Errors
    /// The configuration requires bubblewrap, and it can't be used.
    pub fn find(tools: &config::Tools) -> Result<Self, Fault> {
        let entry = || std::env::current_exe().map_err(|error| format!("this program can't find itself: {error}"));
        let look = || entry().and_then(|entry| Bubblewrap::find(Path::new(&entry)));
        let bubblewrap = match tools.bubblewrap {
            UseBubblewrap::Off => Found::Off,
            UseBubblewrap::Auto => look().map_or_else(Found::Unusable, Found::Used),
            UseBubblewrap::Require => look().map(Found::Used).map_err(|why| {
                let fix =
                    "install bubblewrap and allow namespaces (the runbook in deploy/ says how), or set it to auto";
                Fault::new("tools.bubblewrap", format!("tools.bubblewrap is require, but {why}"), fix)
            })?,
        };
        Ok(Self { kernel: KernelSupport::probe(), bubblewrap })
    }

    /// What gives children their namespaces, if anything does.
    pub fn namespaces(&self) -> Option<Bubblewrap> {
        match &self.bubblewrap {
            Found::Used(bubblewrap) => Some(bubblewrap.clone()),
            Found::Off | Found::Unusable(_) => None,
        }
    }

    /// For the start and `maxim doctor`: each with whether it is well.
    pub fn lines(&self) -> Vec<(bool, String)> {
        let mut lines = self.kernel.lines();
        lines.push(match &self.bubblewrap {
            Found::Used(_) => (true, "bubblewrap: child processes see no files, processes or networks but their own".into()),
            Found::Off => (true, "bubblewrap: not used, because tools.bubblewrap is off".into()),
            Found::Unusable(why) => (
                false,
                format!("bubblewrap: {why}. Child processes can see the names of files and other processes; the runbook in deploy/ says how to allow it"),
            ),
        });
        lines
    }

    /// What keeps child processes from the agent's own files where these lie in the working folder, in which they write.
    pub fn own_files(&self, own: &OwnFiles, workdir: &Path) -> Vec<(bool, String)> {
        let workdir = workdir.canonicalize().unwrap_or_else(|_| workdir.to_owned());
        let within = |paths: &[PathBuf]| -> Vec<String> {
            let inside = paths.iter().filter(|path| path.starts_with(&workdir));
            inside.filter(|path| path.exists()).map(|path| path.display().to_string()).collect()
        };
        let there = [within(&own.configuration), within(&own.data)].concat().join(", ");
        match (&self.bubblewrap, there.is_empty()) {
            (_, true) => Vec::new(),
            (Found::Used(_), false) => {
                vec![(true, format!("own files: bubblewrap keeps child processes from {there}"))]
            }
            (Found::Off | Found::Unusable(_), false) => vec![(
                false,
                format!(
                    "own files: {there} lies in the working folder, of which Landlock takes nothing back; the gate alone keeps child processes from it, until bubblewrap is used or the working folder is another"
                ),
            )],
        }
    }

    /// For the status.
    pub fn document(&self) -> Value {
        let (state, why) = match &self.bubblewrap {
            Found::Used(_) => ("used", None),
            Found::Off => ("off", None),
            Found::Unusable(why) => ("unusable", Some(why)),
        };
        json!({
            "landlock": self.kernel.landlock,
            "seccomp": {"state": if self.kernel.seccomp_missing.is_none() { "available" } else { "missing" }, "why": self.kernel.seccomp_missing},
            "cgroup": {"state": if self.kernel.cgroup_missing.is_none() { "available" } else { "missing" }, "why": self.kernel.cgroup_missing, "controllers": self.kernel.cgroup_controllers},
            "bubblewrap": {"state": state, "why": why},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_and_cannot_be_used_is_a_fault_that_names_the_fix() {
        // This program is a test, which doesn't know how to become a child: to it bubblewrap is as good as absent.
        let tools = |bubblewrap| config::Tools { bubblewrap, ..crate::config::Settings::default().tools };
        let fault = Containment::find(&tools(UseBubblewrap::Require)).expect_err("refused");
        assert_eq!(fault.key, "tools.bubblewrap");
        assert!(fault.fix.contains("install bubblewrap"), "{fault}");
        let found = Containment::find(&tools(UseBubblewrap::Auto)).expect("goes without");
        assert!(found.namespaces().is_none());
        assert_eq!(found.document()["bubblewrap"]["state"], "unusable");
        assert!(found.lines().iter().any(|(is_well, line)| !is_well && line.starts_with("bubblewrap: ")));
        let off = Containment::find(&tools(UseBubblewrap::Off)).expect("nothing is looked for");
        assert_eq!(off.document()["bubblewrap"]["state"], "off");
    }

    #[test]
    fn its_own_files_in_the_working_folder_are_told_where_nothing_keeps_children_from_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let work = dir.path().canonicalize().expect("real");
        let own = OwnFiles::new([work.join("maxim.toml")], [work.join("data")]);
        let tools = config::Tools { bubblewrap: UseBubblewrap::Off, ..crate::config::Settings::default().tools };
        let found = Containment::find(&tools).expect("nothing is looked for");
        assert!(found.own_files(&own, &work).is_empty(), "none of them is there");
        std::fs::write(work.join("maxim.toml"), "").expect("written");
        let told = found.own_files(&own, &work);
        assert!(
            matches!(&told[..], [(false, line)] if line.contains("maxim.toml lies in the working folder")),
            "{told:?}"
        );
        assert!(found.own_files(&own, &work.join("other")).is_empty());
    }
}

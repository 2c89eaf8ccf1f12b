//! What confines child processes on this machine. It is tried out once, at the start.

use std::path::{Path, PathBuf};

use maxim_actors::action::tools::OwnFiles;
use maxim_actors::action::tools::contained::{
    Barriers, Bubblewrap, KernelSupport, LandlockSupport, OwnPorts, way_to_own,
};
use serde_json::{Value, json};

use crate::config::{self, Fault, UseBubblewrap};

/// Folders that a line names, at most.
const NAMED: usize = 6;

/// What is available here.
#[derive(Clone, Debug)]
pub struct Containment {
    pub kernel: KernelSupport,
    bubblewrap: Found,
    barriers: Barriers,
}

#[derive(Clone, Debug)]
enum Found {
    Used(Bubblewrap),
    Off,
    Unusable(String),
}

impl Containment {
    /// Tries out what the configuration wants. This program becomes the first step of the children.
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
                    "install bubblewrap and allow namespaces (deploy/guide/src/sandbox.md says how), or set it to auto";
                Fault::new("tools.bubblewrap", format!("tools.bubblewrap is require, but {why}"), fix)
            })?,
        };
        let kernel = KernelSupport::probe();
        let barriers = Barriers::of(&kernel, matches!(bubblewrap, Found::Used(_)));
        Ok(Self { kernel, bubblewrap, barriers })
    }

    /// What gives children their namespaces, if anything does.
    pub fn namespaces(&self) -> Option<Bubblewrap> {
        match &self.bubblewrap {
            Found::Used(bubblewrap) => Some(bubblewrap.clone()),
            Found::Off | Found::Unusable(_) => None,
        }
    }

    /// What the sandbox refuses in any case. So the gate doesn't ask a person about it.
    pub fn barriers(&self) -> Barriers {
        self.barriers
    }

    /// The ports to keep from the children of a daemon that listens on them.
    pub fn own_ports(&self, ports: Vec<u16>, tools: &config::Tools) -> OwnPorts {
        OwnPorts { ports, exposed: tools.expose_own_port, unusable: self.kernel.notifications_missing.clone() }
    }

    /// Lines for the start and for `maxim doctor`, each with whether all is well.
    pub fn lines(&self) -> Vec<(bool, String)> {
        let mut lines = self.kernel.lines();
        lines.push(match &self.bubblewrap {
            Found::Used(_) => (true, "bubblewrap: child processes see no files, processes or networks but their own".into()),
            Found::Off => (true, "bubblewrap: not used, because tools.bubblewrap is off".into()),
            Found::Unusable(why) => (
                false,
                format!("bubblewrap: {why}. Child processes can see the names of files and other processes; deploy/guide/src/sandbox.md says how to allow it"),
            ),
        });
        lines
    }

    /// Whether child processes are kept from the agent's own files, if these lie below a folder in which children
    /// write: the working folder, or everything.
    pub fn own_files(&self, own: &OwnFiles, root: &Path, is_exposed: bool) -> Vec<(bool, String)> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let within = |paths: &[PathBuf]| -> Vec<String> {
            let inside = paths.iter().filter(|path| path.starts_with(&root));
            inside.filter(|path| path.exists()).map(|path| path.display().to_string()).collect()
        };
        let there = [within(&own.configuration), within(&own.data)].concat().join(", ");
        let folder = root.display();
        let refused = |why: String| {
            let fix = "install bubblewrap, work in another folder, or set tools.expose_own_data = true";
            vec![(false, format!("own files: {why}. PROGRAMS OF TOOLS ARE REFUSED; {fix}"))]
        };
        let way = way_to_own(own, &root);
        match (&self.bubblewrap, &self.kernel.landlock, way) {
            (Found::Used(_), ..) if there.is_empty() => Vec::new(),
            (Found::Used(_), ..) => vec![(true, format!("own files: bubblewrap keeps child processes from {there}"))],
            (_, LandlockSupport::Missing { .. }, _) if is_exposed => {
                vec![(false, "own files: CHILD PROCESSES CAN READ AND CHANGE THEM, because there is no Landlock and tools.expose_own_data is true".into())]
            }
            (_, LandlockSupport::Missing { why }, _) if !own.data.is_empty() => {
                refused(format!("nothing keeps child processes from them (Landlock: {why})"))
            }
            _ if there.is_empty() => Vec::new(),
            _ if is_exposed => vec![(
                false,
                format!(
                    "own files: CHILD PROCESSES CAN READ AND CHANGE {there}, below {folder}, because tools.expose_own_data is true"
                ),
            )],
            (.., Err(why)) => refused(why),
            (.., Ok(way)) => {
                let way: Vec<String> = way.iter().take(NAMED).map(|path| path.display().to_string()).collect();
                vec![(
                    true,
                    format!(
                        "own files: child processes don't reach {there}, which lies below {folder}; therefore they make nothing new directly in {} (bubblewrap lifts this)",
                        way.join(", ")
                    ),
                )]
            }
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
            "notifications": {"state": if self.kernel.notifications_missing.is_none() { "available" } else { "missing" }, "why": self.kernel.notifications_missing},
            "bubblewrap": {"state": state, "why": why},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_and_cannot_be_used_is_a_fault_that_names_the_fix() {
        // This program is a test and can't become a child, so bubblewrap counts as absent.
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
        assert!(found.own_files(&own, &work, false).is_empty(), "none of them is there");
        std::fs::write(work.join("maxim.toml"), "").expect("written");
        let told = |found: &Containment, is_exposed| found.own_files(&own, &work, is_exposed).remove(0);
        if matches!(found.kernel.landlock, LandlockSupport::Available { .. }) {
            let (is_well, line) = told(&found, false);
            let way = format!("nothing new directly in {}", work.display());
            assert!(
                is_well && line.contains("don't reach") && line.contains("maxim.toml") && line.contains(&way),
                "{line}"
            );
            let (is_well, line) = told(&found, true);
            assert!(!is_well && line.contains("CAN READ AND CHANGE") && line.contains("maxim.toml"), "{line}");
            assert!(found.own_files(&own, &work.join("other"), false).is_empty());
            (0..5000).for_each(|n| std::fs::write(work.join(n.to_string()), "").expect("written"));
            let (is_well, line) = told(&found, false);
            assert!(!is_well && line.contains("REFUSED") && line.contains("tools.expose_own_data = true"), "{line}");
        }
        let mut bare = found;
        bare.kernel.landlock = LandlockSupport::Missing { why: "not in the kernel".into() };
        let (is_well, line) = told(&bare, false);
        assert!(!is_well && line.contains("REFUSED") && line.contains("not in the kernel"), "{line}");
        let (is_well, line) = told(&bare, true);
        assert!(!is_well && line.contains("no Landlock"), "{line}");
    }
}

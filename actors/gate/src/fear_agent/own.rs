//! The gate's answer to a change of the agent's own configuration or data. No tool may change these.

use super::paths::UNKNOWN;
use super::shell::Walker;
use super::verdict::rules;
use maxim_tools::places::own::Own;

impl Walker<'_> {
    /// Data that only the agent itself reads, or that may be such data.
    pub(super) fn is_own_data(&self, own: Own) -> bool {
        matches!(own, Own::Data | Own::Perhaps)
    }

    /// True if the place is the agent's own, so that the change is already decided.
    pub(super) fn guards_change(&mut self, path: &str, own: Own) -> bool {
        match own {
            Own::Apart | Own::Above => {}
            Own::Perhaps => self
                .findings
                .ask(rules::OWN_FILES, format!("{path} may be the agent's own configuration or data when it runs")),
            Own::Configuration => self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own configuration; no tool may change it, only a person edits it"),
            ),
            Own::Data => self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own data (memory, stop latch); no tool may change it, a person does it with the maxim command line"),
            ),
        }
        own.is_itself()
    }

    /// True if this would remove own files or the folder that holds them.
    pub(super) fn guards_removal(&mut self, path: &str, own: Own) -> bool {
        if own == Own::Above {
            self.findings.block(
                rules::OWN_FILES,
                format!("{path} holds the agent's own configuration or data; no tool may remove it; name the other entries one by one"),
            );
            return true;
        }
        self.guards_change(path, own)
    }

    /// True if it may not be read.
    pub(super) fn guards_reading(&mut self, path: &str, own: Own) -> bool {
        if own == Own::Data {
            self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own data; no tool may read it; ask the agent, or see `maxim status`"),
            );
        }
        own == Own::Data
    }

    /// The file is moved away or gets a second name, through which it could be changed.
    pub(super) fn renames(&mut self, raw: &str) {
        let place = self.place(raw);
        self.guards_removal(&place.path, place.own);
    }

    /// The old file at this place is lost. For callers that don't check the place otherwise.
    pub(super) fn replaces(&mut self, raw: &str) {
        let place = self.place(raw);
        self.guards_change(&place.path, place.own);
    }

    /// Copies, moves or links `source` to `target`, which may be a folder.
    pub(super) fn lands(&mut self, source: &str, target: &str) {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name.is_empty() || name == "." || name == ".." || name.contains(['*', '?', '[', UNKNOWN]) {
            return self.fills(target);
        }
        let place = self.place(&format!("{target}/{name}"));
        if place.own.is_itself() {
            self.guards_change(&place.path, place.own);
        }
    }

    /// Creates files in this folder under names that only the program knows.
    pub(super) fn fills(&mut self, folder: &str) {
        let place = self.place(&format!("{folder}/{UNKNOWN}"));
        if place.own == Own::Perhaps {
            let reason = format!("what is put into {} may be the agent's own configuration", self.place(folder).path);
            self.findings.ask(rules::OWN_FILES, reason);
        } else {
            self.guards_change(&place.path, place.own);
        }
    }
}

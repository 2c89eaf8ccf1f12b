//! What the gate says of a change to the agent's own configuration and data, which none of its tools may change.

use super::paths::UNKNOWN;
use super::shell::Walker;
use super::verdict::rules;
use maxim_tools::places::own::Own;

impl Walker<'_> {
    /// What only the agent itself reads.
    pub(super) fn is_own_data(&self, own: Own) -> bool {
        matches!(own, Own::Data | Own::Perhaps)
    }

    /// True when a change of this place is settled by whose it is.
    pub(super) fn guards_change(&mut self, path: &str, own: Own) -> bool {
        match own {
            Own::Apart | Own::Above => {}
            Own::Perhaps => self
                .findings
                .ask(rules::OWN_FILES, format!("{path} may be the agent's own configuration or data when it runs")),
            Own::Configuration => self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own configuration, which no tool changes; a person edits it"),
            ),
            Own::Data => self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own data, its memory and its stop, which no tool changes; a person does that by the command line of maxim"),
            ),
        }
        own.is_itself()
    }

    /// True when that would take one of them away, or the folder that it is in.
    pub(super) fn guards_removal(&mut self, path: &str, own: Own) -> bool {
        if own == Own::Above {
            self.findings.block(
                rules::OWN_FILES,
                format!("{path} holds the agent's own configuration or data, which no tool takes away; name what lies beside it"),
            );
            return true;
        }
        self.guards_change(path, own)
    }

    /// True when it may not be read.
    pub(super) fn guards_reading(&mut self, path: &str, own: Own) -> bool {
        if own == Own::Data {
            self.findings.block(
                rules::OWN_FILES,
                format!("{path} is the agent's own data, which no tool reads; ask it, or see `maxim status`"),
            );
        }
        own == Own::Data
    }

    /// What is moved away, or what a second name is made for, by which it could be changed.
    pub(super) fn renames(&mut self, raw: &str) {
        let place = self.place(raw);
        self.guards_removal(&place.path, place.own);
    }

    /// What stood there before is gone, where the place isn't looked at otherwise.
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

    /// Makes files in this folder whose names only the program knows.
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

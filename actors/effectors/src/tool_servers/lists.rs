//! The remembered lists: one file per server.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use super::offered::ToolList;
use maxim_tools::ToolFailure;

/// The folder of the lists. Without a folder nothing is remembered.
#[derive(Clone, Debug, Default)]
pub struct ListFolder(Option<PathBuf>);

impl ListFolder {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(Some(folder.into()))
    }

    /// The lists of these servers, if they exist. An unreadable list counts as missing: the server is asked again.
    pub fn load<'a>(&self, servers: impl IntoIterator<Item = &'a str>) -> Vec<ToolList> {
        let read = |server: &str| {
            let path = self.path(server)?;
            let text = fs::read(&path).ok()?;
            serde_json::from_slice::<ToolList>(&text)
                .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "a list of tools can't be read"))
                .ok()
                .filter(|list| list.server == server)
        };
        servers.into_iter().filter_map(read).collect()
    }

    /// Replaces a list completely; durable when it returns.
    pub(super) fn save(&self, list: &ToolList) -> Result<(), ToolFailure> {
        let (Some(folder), Some(path)) = (&self.0, self.path(&list.server)) else { return Ok(()) };
        let write = || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let beside = path.with_extension("new");
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(serde_json::to_string_pretty(list)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(beside, &path)?;
            fs::File::open(folder)?.sync_all()
        };
        write()
            .map_err(|error: std::io::Error| ToolFailure::io("can't remember the tools of a server in", &path, &error))
    }

    fn path(&self, server: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(format!("{server}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_and_damage_is_as_if_there_were_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let lists = ListFolder::new(folder.path().join("tool_servers"));
        assert_eq!(lists.load(["files"]), []);
        let list = ToolList { server: "files".into(), tools: Vec::new(), left_out: [("a".into(), "b".into())].into() };
        lists.save(&list).expect("saved");
        assert_eq!(lists.load(["files", "other"]), [list]);
        fs::write(folder.path().join("tool_servers/files.json"), "{").expect("written");
        assert_eq!(lists.load(["files"]), []);
        assert_eq!(ListFolder::default().load(["files"]), []);
    }
}

//! Files that belong to the agent itself. No tool changes its configuration or its data. No tool reads its data,
//! because it holds the stop latch and the access to the daemon.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Absolute paths, each as named and with links resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFiles {
    /// Files from which the configuration is read, or would be read at another start. They need not exist.
    pub configuration: Vec<PathBuf>,
    /// Data folders, and single files that are secret.
    pub data: Vec<PathBuf>,
}

impl OwnFiles {
    pub fn new(configuration: impl IntoIterator<Item = PathBuf>, data: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { configuration: spelled(configuration), data: spelled(data) }
    }

    /// `path` is resolved already.
    pub fn is_configuration(&self, path: &Path) -> bool {
        self.configuration.iter().any(|own| path == own)
    }

    /// A data folder or a path in it. `path` is resolved already.
    pub fn is_data(&self, path: &Path) -> bool {
        self.data.iter().any(|own| path.starts_with(own))
    }

    /// Whether a text ends with the name of one of them, so that it is worth resolving.
    pub fn is_named_like(&self, text: &str) -> bool {
        let mut names = self.configuration.iter().chain(&self.data).filter_map(|path| path.file_name()?.to_str());
        text.len() < 256 && !text.contains('\0') && names.any(|name| text.ends_with(name))
    }

    /// Those that exist in one of these folders.
    pub fn within<'a>(paths: &'a [PathBuf], folders: &'a [PathBuf]) -> impl Iterator<Item = &'a PathBuf> {
        paths.iter().filter(|path| path.exists() && folders.iter().any(|folder| path.starts_with(folder)))
    }
}

fn spelled(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        let path = without_ups(std::path::absolute(&path).unwrap_or(path));
        for spelling in [real(&path), path] {
            if !all.contains(&spelling) {
                all.push(spelling);
            }
        }
    }
    all
}

/// Paths are compared by their letters, so a `..` must go. The last name stays as it is, because it may be a link.
fn without_ups(path: PathBuf) -> PathBuf {
    if !path.components().any(|part| part == Component::ParentDir) {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => real(&path),
    }
}

/// Resolves links as far as the path exists.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(folder), Some(name)) => real(folder).join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_with_two_dots_is_known_by_the_place_to_which_it_leads() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("real");
        std::fs::create_dir_all(base.join("work/deep")).expect("made");
        symlink(base.join("work/deep"), base.join("link")).expect("linked");
        for config in ["work/../m.toml", "work/deep/../../m.toml", "link/../../m.toml"] {
            let own = OwnFiles::new([base.join(config)], [base.join("work/../data")]);
            assert_eq!(own.configuration, [base.join("m.toml")], "{config}");
            std::fs::write(base.join("m.toml"), "").expect("written");
            assert_eq!(OwnFiles::within(&own.configuration, &[base.join("work")]).count(), 0, "{config}");
            assert_eq!(OwnFiles::within(&own.configuration, std::slice::from_ref(&base)).count(), 1, "{config}");
            assert!(own.is_data(&base.join("data/token")) && !own.is_data(&base.join("work/token")));
        }
    }

    #[test]
    fn a_path_is_known_as_it_is_named_and_as_links_lead() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("real");
        std::fs::create_dir(base.join("real")).expect("made");
        symlink(base.join("real"), base.join("link")).expect("linked");
        std::fs::write(base.join("dotfile"), "").expect("written");
        symlink(base.join("dotfile"), base.join("maxim.toml")).expect("linked");
        let own = OwnFiles::new([base.join("maxim.toml"), base.join("link/new/maxim.toml")], [base.join("link")]);
        for path in ["maxim.toml", "dotfile", "link/new/maxim.toml", "real/new/maxim.toml"] {
            assert!(own.is_configuration(&base.join(path)), "{path}");
        }
        assert!(own.is_data(&base.join("real/latch.json")) && own.is_data(&base.join("link")));
        assert!(!own.is_data(&base.join("really")) && !own.is_configuration(&base.join("other/maxim.toml")));
    }
}

//! What the .gitignore files above the searched folder exclude.

use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;

use crate::Hands;

/// Makes a walk from `start` also heed the .gitignore files of the folders above it, up to the root in which files must
/// be (else the working folder). Folders further up aren't the agent's. A start that is itself ignored was named on
/// purpose.
pub(crate) fn heed_above(walk: &mut WalkBuilder, start: &Path, hands: &Hands) {
    let Some(top) = hands.root().ok().flatten().or_else(|| hands.workdir.canonicalize().ok()) else { return };
    let folders = start.ancestors().skip(1).take_while(|folder| folder.starts_with(&top));
    // The nearest file first, because it decides. An unreadable file ignores nothing.
    let above: Vec<Gitignore> = folders
        .map(|folder| folder.join(".gitignore"))
        .filter(|file| file.is_file())
        .map(|file| Gitignore::new(file).0)
        .collect();
    let named = above.iter().any(|rules| rules.matched_path_or_any_parents(start, start.is_dir()).is_ignore());
    if above.is_empty() || named {
        return;
    }
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let said = above.iter().map(|rules| rules.matched(entry.path(), is_folder)).find(|said| !said.is_none());
        said.is_none_or(|said| !said.is_ignore())
    });
}

//! The commit of a folder that is a git checkout, read from its files; no git is needed.

use std::{fs, path::Path};
use types::Revision;

/// The commit that is checked out in `folder`, where it is the root of a checkout.
pub(crate) fn commit_of(folder: &Path) -> Option<String> {
    revision_of(folder).map(|revision| revision.commit)
}

/// What is checked out where `folder` is, at its root or below.
#[must_use]
pub fn checkout_of(folder: &Path) -> Option<Revision> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    revision_of(root)
}

fn revision_of(folder: &Path) -> Option<Revision> {
    let git = folder.join(".git");
    let git = match fs::read_to_string(&git) {
        // A worktree or a submodule keeps a file that points elsewhere.
        Ok(pointer) => folder.join(pointer.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return commit(&head).map(|commit| Revision { commit, branch: None });
    };
    let shared = match fs::read_to_string(git.join("commondir")) {
        Ok(path) => git.join(path.trim()),
        Err(_) => git.clone(),
    };
    let hash = [&git, &shared]
        .into_iter()
        .find_map(|folder| commit(&fs::read_to_string(folder.join(reference)).ok()?))
        .or_else(|| packed(&fs::read_to_string(shared.join("packed-refs")).ok()?, reference))?;
    let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
    Some(Revision { commit: hash, branch })
}

fn packed(references: &str, wanted: &str) -> Option<String> {
    let line = |line: &str| {
        let (hash, name) = line.split_once(' ')?;
        (name.trim() == wanted).then(|| commit(hash))?
    };
    references.lines().find_map(line)
}

fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn a_branch_leads_to_its_commit() {
        let loose =
            checkout(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/heads/main", HASH)]);
        assert_eq!(commit_of(loose.path()).as_deref(), Some(HASH));
        let packed = checkout(&[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/packed-refs", &format!("# pack-refs\n{HASH} refs/heads/main\n")),
        ]);
        assert_eq!(commit_of(packed.path()).as_deref(), Some(HASH));
    }

    #[test]
    fn a_detached_head_and_a_worktree_have_commits_too() {
        let detached = checkout(&[(".git/HEAD", &format!("{HASH}\n"))]);
        assert_eq!(commit_of(detached.path()).as_deref(), Some(HASH));
        let worktree = checkout(&[
            (".git", "gitdir: real/worktrees/w\n"),
            ("real/worktrees/w/HEAD", "ref: refs/heads/topic\n"),
            ("real/worktrees/w/commondir", "../..\n"),
            ("real/refs/heads/topic", HASH),
        ]);
        assert_eq!(commit_of(worktree.path()).as_deref(), Some(HASH));
    }

    #[test]
    fn a_folder_inside_a_checkout_has_its_branch_too() {
        let checkout = checkout(&[
            (".git/HEAD", "ref: refs/heads/speed/attention\n"),
            (".git/refs/heads/speed/attention", HASH),
            ("models/tiny/config.json", "{}"),
        ]);
        let found = checkout_of(&checkout.path().join("models/tiny")).unwrap();
        assert_eq!(found.branch.as_deref(), Some("speed/attention"));
        assert_eq!((found.commit.as_str(), found.short()), (HASH, "012345678"));
    }

    #[test]
    fn a_plain_folder_has_no_commit() {
        assert_eq!(commit_of(checkout(&[("config.json", "{}")]).path()), None);
        assert_eq!(commit_of(checkout(&[(".git/HEAD", "nonsense")]).path()), None);
    }
}

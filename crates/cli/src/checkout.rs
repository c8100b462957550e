//! Which state of somebody's source a command was called in.

use models::checkout_of;
use std::env;
use types::Revision;

/// Variables in which continuous integration says the commit; the first that is set counts.
const COMMITS: [&str; 3] = ["GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT"];
/// Variables in which it says the branch.
const BRANCHES: [&str; 5] = [
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_REF_NAME",
    "BUILDKITE_BRANCH",
];

/// The checkout around the working directory, else what continuous integration says.
pub(crate) fn revision() -> Option<Revision> {
    let variable = |name: &&str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let checkout = env::current_dir().ok().and_then(|folder| checkout_of(&folder));
    let found = checkout.or_else(|| {
        let commit = COMMITS.iter().find_map(variable)?;
        Some(Revision { commit, branch: None })
    })?;
    // Continuous integration checks out a commit, not a branch.
    let branch = found.branch.or_else(|| BRANCHES.iter().find_map(variable));
    Some(Revision { branch, ..found })
}

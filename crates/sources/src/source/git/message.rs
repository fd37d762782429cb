//! Finds merged branches and reverted commits in a commit message, by the phrases of git and repository hosts.

/// Minimum length of an abbreviated hash. Shorter ones do not identify a commit.
const MIN_HASH: usize = 7;
/// Maximum number of reverted commits in one message.
const MAX_REVERTED: usize = 20;

/// Returns the branch that was merged: `Merge branch 'x' into y`, `Merge pull request #1 from a/x`,
/// `Merged in x (pull request #1)`.
pub fn merged_branch(subject: &str) -> Option<&str> {
    if let Some(rest) = subject.strip_prefix("Merge pull request ") {
        return first_word(rest.split_once(" from ")?.1);
    }
    if let Some(rest) = subject.strip_prefix("Merged in ") {
        return first_word(rest);
    }
    for start in ["Merge branch ", "Merge remote-tracking branch ", "Merge tag ", "Merge commit "] {
        if let Some(rest) = subject.strip_prefix(start) {
            let name = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(name, _)| name);
            return name.or_else(|| first_word(rest)).filter(|name| !name.is_empty());
        }
    }
    None
}

/// Returns the branch that another was merged into.
pub(super) fn target_branch(subject: &str) -> Option<&str> {
    let (_, target) = subject.strip_prefix("Merge ")?.rsplit_once(" into ")?;
    let target = target.trim().trim_matches('\'');
    (!target.is_empty() && !target.contains(char::is_whitespace)).then_some(target)
}

/// Returns the hashes of the commits that a message reverts, as git words it: `This reverts commit <hash>`.
pub(super) fn reverted(message: &str) -> impl Iterator<Item = &str> {
    message
        .match_indices("reverts commit ")
        .filter_map(|(at, words)| {
            let rest = &message[at + words.len()..];
            let end = rest.bytes().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(rest.len());
            (MIN_HASH..=64).contains(&end).then(|| &rest[..end])
        })
        .take(MAX_REVERTED)
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next().map(|word| word.trim_matches(['\'', '"']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn merged_branches_are_named_in_many_ways() {
        assert_eq!(merged_branch("Merge branch 'tide/gauge' into main"), Some("tide/gauge"));
        assert_eq!(merged_branch("Merge branch tide"), Some("tide"));
        assert_eq!(merged_branch("Merge remote-tracking branch 'origin/main'"), Some("origin/main"));
        assert_eq!(merged_branch("Merge pull request #12 from mira/float"), Some("mira/float"));
        assert_eq!(merged_branch("Merged in float (pull request #3)"), Some("float"));
        assert_eq!(merged_branch("Merge two lists in the reader"), None);
        assert_eq!(target_branch("Merge branch 'tide' into release/2"), Some("release/2"));
        assert_eq!(target_branch("Merge branch 'a' of example.org:b into 'c'"), Some("c"));
        assert_eq!(target_branch("Put water into the pipe"), None);
    }

    #[test]
    fn reverted_commits_are_found_in_the_message() {
        let message =
            "Revert \"Add float\"\n\nThis reverts commit 0123456789abcdef0123456789abcdef01234567.\n\nIt reverts commit abc.";
        assert_eq!(reverted(message).collect::<Vec<_>>(), ["0123456789abcdef0123456789abcdef01234567"]);
    }

    proptest! {
        #[test]
        fn any_words_are_a_message(words in "(Merge |branch |reverts commit |into |'|from |[a-f0-9]{0,9}|.){0,12}") {
            merged_branch(&words);
            target_branch(&words);
            reverted(&words).count();
        }
    }
}

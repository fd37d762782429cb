//! The tree of a session's lines in Claude Code and Qwen Code, and the branches that the person left.
//!
//! Every line names the one before it (`parentUuid`). Going back to an earlier message and continuing from there gives that
//! message a second branch, and the first one stays in the file. Other forks mean nothing: the results of parallel tools hang
//! on the lines of their calls, hooks and attachments on any line. Only a prompt replaces a branch: when one arrives, the lines
//! behind the message that it continues from were left, if a prompt or an answer is among them.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

/// Digits of a packed UUID.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
/// Number of digits of a packed UUID.
const PACKED: usize = 22;

/// The kind of a line, as far as the tree depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Typed by a person.
    Prompt,
    /// Written by the model.
    Answer,
    /// A tool's result, or text that arrived while the model worked.
    Result,
    /// A summary, or the mark before it.
    Compaction,
    /// Anything else: hooks, reminders, progress.
    Other,
}

impl Kind {
    const LETTERS: [(Self, char); 5] =
        [(Self::Prompt, 'P'), (Self::Answer, 'A'), (Self::Result, 'R'), (Self::Compaction, 'C'), (Self::Other, 'O')];

    fn letter(self) -> char {
        Self::LETTERS.iter().find(|(kind, _)| *kind == self).map_or('O', |(_, letter)| *letter)
    }

    fn of_letter(letter: char) -> Self {
        Self::LETTERS.iter().find(|(_, known)| *known == letter).map_or(Self::Other, |(kind, _)| *kind)
    }
}

/// The line that a line names as the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent<'v> {
    /// It says that there is none.
    None,
    /// It does not say.
    Unknown,
    /// The line with this id.
    Named(&'v str),
}

/// Ids of the lines whose branch a line left, and of those whose branch it took up again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub left: Vec<String>,
    pub resumed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Root,
    Unknown,
    /// A line before this one.
    To(usize),
}

#[derive(Clone, Debug)]
struct Node {
    id: String,
    link: Link,
    kind: Kind,
    is_left: bool,
}

/// Relation of a line to the branch that a prompt continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Unrelated,
    /// On the branch, or hanging on one of its messages.
    Kept,
    /// On the branch, but no message: what else hangs on it was left.
    Fork,
    Left,
}

/// The lines of a session so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    nodes: Vec<Node>,
    places: HashMap<String, usize>,
}

impl Chain {
    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a line, unless it is known, and returns what it changes for others.
    pub(super) fn add(&mut self, id: &str, parent: Parent<'_>, kind: Kind) -> Change {
        if self.places.contains_key(id) || id.contains(char::is_whitespace) {
            return Change::default();
        }
        let link = match parent {
            Parent::None => Link::Root,
            Parent::Unknown => Link::Unknown,
            Parent::Named(parent) => self.places.get(parent).map_or(Link::Unknown, |at| Link::To(*at)),
        };
        self.push(id.to_owned(), link, kind)
    }

    fn push(&mut self, id: String, link: Link, kind: Kind) -> Change {
        let at = self.nodes.len();
        self.places.insert(id.clone(), at);
        // What hangs on a branch that was left was left with it, until a prompt continues it.
        let is_left = matches!(link, Link::To(parent) if self.nodes[parent].is_left);
        self.nodes.push(Node { id, link, kind, is_left });
        if kind == Kind::Prompt {
            self.prompt(at)
        } else if is_left {
            Change { left: vec![self.nodes[at].id.clone()], resumed: Vec::new() }
        } else {
            Change::default()
        }
    }

    /// Marks what a prompt left, and what it took up again.
    fn prompt(&mut self, at: usize) -> Change {
        // The branch from the prompt back to the last message that still counts; `None`: to the beginning.
        let mut branch = HashSet::from([at]);
        let mut link = self.nodes[at].link;
        let anchor = loop {
            match link {
                Link::To(parent) if self.nodes[parent].is_left || self.nodes[parent].kind == Kind::Other => {
                    branch.insert(parent);
                    link = self.nodes[parent].link;
                }
                Link::To(parent) => break Some(parent),
                Link::Root => break None,
                Link::Unknown => {
                    self.nodes[at].is_left = false;
                    return Change::default();
                }
            }
        };
        let first = anchor.map_or(0, |anchor| anchor + 1);
        let mut sides: Vec<Side> = Vec::with_capacity(at - first);
        for (number, node) in self.nodes.iter().enumerate().take(at).skip(first) {
            let side = match node.link {
                _ if branch.contains(&number) && node.kind == Kind::Other => Side::Fork,
                _ if branch.contains(&number) => Side::Kept,
                Link::To(parent) if Some(parent) == anchor => Side::Left,
                Link::To(parent) => match parent.checked_sub(first).and_then(|parent| sides.get(parent)) {
                    Some(Side::Fork) => Side::Left,
                    Some(side) => *side,
                    None => Side::Unrelated,
                },
                Link::Root | Link::Unknown if anchor.is_none() => Side::Left,
                Link::Root | Link::Unknown => Side::Unrelated,
            };
            sides.push(side);
        }
        let on = |side: Side| {
            let numbers = (first..at).zip(&sides).filter(move |(_, found)| **found == side).map(|(number, _)| number);
            numbers.collect::<Vec<usize>>()
        };
        let mut left = on(Side::Left);
        left.retain(|number| !self.nodes[*number].is_left);
        let kinds = [Kind::Prompt, Kind::Answer];
        let holds_words = left.iter().any(|number| kinds.contains(&self.nodes[*number].kind));
        // Programs that link no lines at all never begin anew.
        let is_linked = anchor.is_some()
            || left
                .iter()
                .any(|number| self.nodes[*number].kind == Kind::Answer && matches!(self.nodes[*number].link, Link::To(_)));
        let is_resumed = branch.iter().any(|number| *number != at && self.nodes[*number].is_left);
        let mut resumed = vec![at];
        if is_resumed || holds_words && is_linked {
            resumed.extend([on(Side::Kept), on(Side::Fork)].concat());
        } else {
            left.clear();
        }
        resumed.retain(|number| std::mem::take(&mut self.nodes[*number].is_left) && *number != at);
        for number in &left {
            self.nodes[*number].is_left = true;
        }
        let ids = |numbers: Vec<usize>| numbers.into_iter().map(|number| self.nodes[number].id.clone()).collect();
        Change { left: ids(left), resumed: ids(resumed) }
    }

    /// Returns the first `count` lines as text without line breaks.
    pub(super) fn text(&self, count: usize) -> String {
        let mut text = String::new();
        for (at, node) in self.nodes.iter().enumerate().take(count) {
            text.push(node.kind.letter());
            match node.link {
                Link::Root => text.push('^'),
                Link::Unknown => text.push('?'),
                Link::To(parent) if parent + 1 == at => {}
                Link::To(parent) => text.push_str(&(at - parent).to_string()),
            }
            text.push(':');
            text.push_str(&packed(&node.id));
            text.push(' ');
        }
        text
    }

    /// Returns the lines that [`Self::text`] wrote.
    pub(super) fn of_text(text: &str) -> Self {
        let mut chain = Self::default();
        for entry in text.split_whitespace() {
            let Some((facts, id)) = entry.split_once(':') else { continue };
            let mut letters = facts.chars();
            let kind = Kind::of_letter(letters.next().unwrap_or('O'));
            let at = chain.nodes.len();
            let distance = match letters.as_str() {
                "^" => None,
                "" => Some(1),
                distance => distance.parse().ok().or(Some(usize::MAX)),
            };
            let link = match distance {
                None => Link::Root,
                Some(distance) => at.checked_sub(distance).filter(|parent| *parent < at).map_or(Link::Unknown, Link::To),
            };
            chain.push(unpacked(id), link, kind);
        }
        chain
    }
}

/// Returns an id in fewer letters, if it is a UUID.
fn packed(id: &str) -> String {
    match Uuid::try_parse(id) {
        Ok(uuid) if uuid.hyphenated().to_string() == id => {
            let number = uuid.as_u128();
            (0..PACKED).map(|digit| char::from(DIGITS[(number >> (6 * digit)) as usize & 63])).collect()
        }
        _ => format!("={id}"),
    }
}

fn unpacked(text: &str) -> String {
    if let Some(id) = text.strip_prefix('=') {
        return id.to_owned();
    }
    let digits = text.bytes().take(PACKED).enumerate();
    let number = digits.fold(0u128, |number, (at, byte)| {
        let digit = DIGITS.iter().position(|digit| *digit == byte).unwrap_or(0) as u128;
        number | digit.checked_shl(6 * at as u32).unwrap_or(0)
    });
    Uuid::from_u128(number).hyphenated().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Adds lines given as `kind id parent`; returns what was left (`-`) and resumed (`+`) by each line that changes something.
    fn changes(lines: &str) -> Vec<String> {
        let mut chain = Chain::default();
        let mut told = Vec::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let parent = match words.get(2) {
                Some(&"none") => Parent::None,
                Some(parent) => Parent::Named(parent),
                None => Parent::Unknown,
            };
            let kind = Kind::of_letter(words[0].chars().next().unwrap());
            let change = chain.add(words[1], parent, kind);
            if change != Change::default() {
                told.push(format!("{}: -{} +{}", words[1], change.left.join(","), change.resumed.join(",")));
            }
        }
        told
    }

    #[test]
    fn prompt_that_continues_from_an_earlier_message_leaves_what_followed_it() {
        let rewound = "P u1 none\nA a1 u1\nP u2 a1\nA a2 u2\nO o a2\nP u3 a1\nA a3 u3";
        assert_eq!(changes(rewound), ["u3: -u2,a2,o +"]);
        let twice = format!("{rewound}\nP u4 none\nA a4 u4\n");
        assert_eq!(changes(&twice), ["u3: -u2,a2,o +", "u4: -u1,a1,u3,a3 +"]);
        let back = format!("{rewound}\nO hook a2\nP u4 hook\nR late a3");
        assert_eq!(changes(&back), ["u3: -u2,a2,o +", "hook: -hook +", "u4: -u3,a3 +u2,a2,o,hook", "late: -late +"]);
    }

    #[test]
    fn parallel_tools_hooks_compactions_and_unlinked_lines_are_no_branches() {
        for lines in [
            "P u1 none\nA a1 u1\nA a2 a1\nR r1 a1\nR r2 a2\nA a3 r2\nP u2 a3",
            "P u1 none\nA a1 u1\nA a2 a1\nR r2 a2\nR r1 a1\nP u2 r1",
            "P u1 none\nA a1 u1\nO stop a1\nO took a1\nP u2 a1\nA a2 u2",
            "P u1 none\nA a1 u1\nC boundary a1\nC summary boundary\nP u2 summary\nA a2 u2",
            "P u1 none\nA a1 u1\nC boundary none\nC summary boundary\nP u2 summary\nA a2 u2",
            "P u1 none\nA a1 none\nP u2 none\nA a2 none",
            "P u1\nA a1\nP u2\nA a2",
            "P u1 none\nA a1 u1\nP u2 lost\nA a2 u2",
        ] {
            assert_eq!(changes(lines), Vec::<String>::new(), "{lines}");
        }
    }

    #[test]
    fn prompt_behind_a_hook_of_the_left_one_leaves_it_too() {
        assert_eq!(changes("P u1 none\nA a1 u1\nO h a1\nP u2 h\nA a2 u2\nP u3 h"), ["u3: -u2,a2 +"]);
        assert_eq!(changes("P u1 none\nA a1 u1\nP u2 a1\nA a2 u2\nO h a1\nO g h\nP u3 g"), ["u3: -u2,a2 +"]);
    }

    proptest! {
        #[test]
        fn lines_that_are_written_and_read_again_go_on_in_the_same_way(
            lines in proptest::collection::vec((0usize..5, 0usize..14), 1..14), cut in 0usize..14
        ) {
            let id = |at: usize| if at.is_multiple_of(2) { format!("line{at}") } else { Uuid::from_u128(at as u128 * 77).to_string() };
            let mut whole = Chain::default();
            let mut divided = Chain::default();
            for (at, (kind, parent)) in lines.iter().enumerate() {
                if at == cut {
                    divided = Chain::of_text(&divided.text(at));
                }
                let parent = id(*parent);
                let parent = if *kind == 4 { Parent::None } else { Parent::Named(&parent) };
                let kind = Kind::LETTERS[*kind].0;
                let change = whole.add(&id(at), parent, kind);
                prop_assert_eq!(change, divided.add(&id(at), parent, kind));
            }
        }
    }
}

//! Cursors of paged lists: encode the place where the next page begins. A cursor is opaque to its receiver and encodes a place in
//! the list's order. Nothing is stored between two pages. New items come first in a list, so no page repeats or leaves out items
//! that existed all the time.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use yore_core::id::EpisodeId;
use yore_core::time::UtcMillis;

/// Characters of an id that a shell or an address would read otherwise.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// The place after the last item of a page. Lists are sorted from late to early; items without a time come
/// last.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cursor {
    /// The list, as one letter.
    pub list: char,
    /// Time of the page's last item.
    pub at: Option<UtcMillis>,
    /// Id of that item.
    pub id: String,
}

impl Cursor {
    /// Returns the place after an item.
    pub fn of(list: char, at: Option<UtcMillis>, id: impl ToString) -> Self {
        Self { list, at, id: id.to_string() }
    }

    /// Returns the place as the time and id of a session or note.
    pub fn episode(&self) -> Option<(Option<UtcMillis>, EpisodeId)> {
        Some((self.at, self.id.parse().ok()?))
    }

    /// Encodes the cursor as text.
    pub fn encode(&self) -> String {
        let at = self.at.map(|at| at.to_string()).unwrap_or_default();
        format!("{}{at}.{}", self.list, utf8_percent_encode(&self.id, ESCAPED))
    }

    /// Decodes a cursor from its text; `None` for any other text.
    pub fn decode(words: &str) -> Option<Self> {
        let list = words.chars().next().filter(char::is_ascii_lowercase)?;
        let (at, id) = words[1..].split_once('.')?;
        let at = if at.is_empty() { None } else { Some(at.parse().ok()?) };
        let id = percent_decode_str(id).decode_utf8().ok()?.into_owned();
        let cursor = Self { list, at, id };
        (!cursor.id.is_empty() && words.len() <= 1_000 && cursor.encode() == words).then_some(cursor)
    }
}

/// The value of `--after`: the beginning of a list, or a place in it.
#[derive(Clone, Debug)]
pub struct After(pub Option<Cursor>);

impl After {
    /// The word for the beginning of a list.
    const START: &str = "start";

    /// Parses the value.
    pub fn parse(words: &str) -> Result<Self, &'static str> {
        if words == Self::START {
            return Ok(Self(None));
        }
        let cursor = Cursor::decode(words).ok_or("expected `start`, or the cursor that the page before ended with")?;
        Ok(Self(Some(cursor)))
    }
}

/// Cuts a page of `limit` items out of a list that has one more if it goes on; returns the cursor of the next page, too.
pub fn page<T>(items: &mut Vec<T>, limit: usize, place: impl Fn(&T) -> Cursor) -> Option<Cursor> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    items.last().filter(|_| has_more).map(place)
}

/// Returns the items after the cursor, in a list from late to early.
pub fn after<T>(items: Vec<T>, cursor: Option<&Cursor>, key: impl Fn(&T) -> (Option<UtcMillis>, String)) -> Vec<T> {
    let Some(cursor) = cursor else { return items };
    let is_before = |at: Option<UtcMillis>| match (at, cursor.at) {
        (Some(at), Some(place)) => at > place,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let first = items.iter().position(|item| !is_before(key(item).0)).unwrap_or(items.len());
    // Among items with the same time, return those after the cursor's item; all of them if it is gone.
    let same = items[first..].iter().take_while(|item| key(item).0 == cursor.at);
    let behind = same.enumerate().find(|(_, item)| key(item).1 == cursor.id).map_or(0, |(at, _)| at + 1);
    items.into_iter().skip(first + behind).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_come_back_as_they_went(at in proptest::option::of(any::<i64>()), id in "\\PC{1,40}") {
            let cursor = Cursor { list: 's', at, id };
            prop_assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        }

        #[test]
        fn anything_else_is_none(words in "\\PC{0,40}|[a-z][0-9-]{0,3}[.][a-z%0-9A-F]{0,6}") {
            if let Some(cursor) = Cursor::decode(&words) {
                prop_assert_eq!(cursor.encode(), words);
            }
        }

        #[test]
        fn pages_hold_every_item_once(times in proptest::collection::vec(proptest::option::of(0i64..5), 0..30), size in 1usize..7) {
            let mut items: Vec<(Option<i64>, String)> = times.into_iter().enumerate().map(|(at, time)| (time, format!("i{at}"))).collect();
            items.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let page: Vec<_> = after(items.clone(), cursor.as_ref(), Clone::clone).into_iter().take(size).collect();
                let Some((at, id)) = page.last().cloned() else { break };
                cursor = Some(Cursor { list: 's', at, id });
                seen.extend(page);
            }
            prop_assert_eq!(seen, items);
        }
    }

    #[test]
    fn an_item_that_moved_to_the_front_repeats_nothing_else() {
        let key = |item: &(i64, &str)| (Some(item.0), item.1.to_owned());
        let cursor = Cursor { list: 's', at: Some(5), id: "b".to_owned() };
        assert_eq!(after(vec![(9, "b"), (7, "a"), (4, "c"), (3, "d")], Some(&cursor), key), [(4, "c"), (3, "d")]);
    }
}

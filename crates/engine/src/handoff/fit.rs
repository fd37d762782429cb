//! Chooses what of a handoff fits into its budget: each section has a share, and what one leaves goes to the others.

use yore_core::handoff::HandoffPart;
use yore_core::pack::cost;

use super::package::{HandoffItem, HandoffSection};
use crate::rules::cut;

/// Share of each section in the budget, in percent. What is left over is offered to the sections in this order.
const SHARES: [(HandoffPart, usize); 8] = [
    (HandoffPart::Aim, 20),
    (HandoffPart::Files, 24),
    (HandoffPart::Reported, 18),
    (HandoffPart::Decided, 14),
    (HandoffPart::Commands, 7),
    (HandoffPart::Next, 6),
    (HandoffPart::Open, 6),
    (HandoffPart::Tried, 5),
];
/// A section takes at most so many times its share.
const MOST_SHARES: usize = 2;
/// Cost of a heading and of the marks of an item, in quarters of a token.
const HEADING: usize = 40;
const MARKS: usize = 3;
/// Cost of the mark of a cut.
const LAST_MARK: usize = 4;

/// A proposed item of a section.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its text, on one line.
    pub text: String,
    /// Its place among the items of its section, as they are shown.
    pub place: usize,
    /// Id of the turn or memory that it is of.
    pub opens: Option<String>,
}

impl Draft {
    /// Makes a draft.
    pub fn new(text: String, place: usize, opens: Option<String>) -> Self {
        Self { text, place, opens }
    }

    /// Cuts the text so that the draft costs at most so much, if that leaves enough of it.
    fn shorten(&mut self, most: usize) {
        const LEAST: usize = 80;
        let over = self.cost().saturating_sub(most);
        let chars = self.text.chars().count();
        if over > 0 && chars > over + LEAST {
            self.text = cut(&self.text, chars - over - LAST_MARK);
        }
    }

    fn cost(&self) -> usize {
        MARKS + cost(&self.text) + self.opens.as_ref().map_or(0, |id| id.len() + MARKS)
    }
}

/// Returns the sections in the order in which they are read, with the items that fit into `tokens`; the drafts of a section are sorted by
/// their worth.
pub fn fitted(mut drafts: Vec<(HandoffPart, Vec<Draft>)>, tokens: usize) -> Vec<HandoffSection> {
    let budget = 4 * tokens;
    let mut left = budget;
    let mut taken: Vec<(HandoffPart, Vec<Draft>, usize)> = Vec::new();
    // The drafts that count most, whole: where room is left in the end, they are told at greater length.
    let whole: Vec<(HandoffPart, Draft)> = drafts.iter().filter_map(|(part, own)| Some((*part, own.first()?.clone()))).collect();
    for (part, share) in SHARES {
        let room = budget * share / 100;
        let Some((_, own)) = drafts.iter_mut().find(|(known, own)| *known == part && !own.is_empty()) else { continue };
        let (mut spent, mut items) = (HEADING, Vec::new());
        // The draft that counts most is told as far as there is room.
        own[0].shorten(room.min(left).saturating_sub(HEADING));
        own.retain(|draft| {
            let fits = spent + draft.cost() <= room.min(left);
            if fits {
                spent += draft.cost();
                items.push(draft.clone());
            }
            !fits
        });
        if !items.is_empty() {
            left -= spent;
        }
        taken.push((part, items, spent));
    }
    for (part, items, spent) in &mut taken {
        let share = SHARES.iter().find(|(known, _)| known == part).map_or(0, |(_, share)| *share);
        let Some((_, own)) = drafts.iter_mut().find(|(known, _)| known == part) else { continue };
        own.retain(|draft| {
            let heading = if items.is_empty() { HEADING } else { 0 };
            let needed = draft.cost() + heading;
            let fits = needed <= left && *spent + needed <= MOST_SHARES * budget * share / 100;
            if fits {
                left -= needed;
                *spent += needed;
                items.push(draft.clone());
            }
            !fits
        });
    }
    for (part, items, _) in &mut taken {
        let Some((_, whole)) = whole.iter().find(|(known, _)| known == part) else { continue };
        let is_short = |item: &&mut Draft| item.place == whole.place && item.text.len() < whole.text.len();
        let Some(item) = items.iter_mut().find(is_short) else { continue };
        let before = item.cost();
        let mut longer = whole.clone();
        longer.shorten(before + left);
        let more = longer.cost().saturating_sub(before);
        if more > 0 && more <= left {
            left -= more;
            *item = longer;
        }
    }
    let order = |part: &HandoffPart| HandoffPart::ALL.iter().position(|known| known == part);
    taken.sort_by_key(|(part, _, _)| order(part));
    let sections = taken.into_iter().map(|(part, mut items, _)| {
        items.sort_by_key(|item| item.place);
        let left_out = drafts.iter().find(|(known, _)| *known == part).map_or(0, |(_, own)| own.len());
        let items = items.into_iter().map(|Draft { text, opens, .. }| HandoffItem { text, opens }).collect();
        HandoffSection { part, items, left_out }
    });
    sections.filter(|section| !section.items.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafts(count: usize, chars: usize) -> Vec<Draft> {
        (0..count).map(|at| Draft::new(format!("{at} {}", "x".repeat(chars)), count - at, Some("0a1b2c3d".into()))).collect()
    }

    fn spent(sections: &[HandoffSection]) -> usize {
        let item = |item: &HandoffItem| item.text.len() + item.opens.as_ref().map_or(0, String::len);
        sections.iter().flat_map(|section| &section.items).map(item).sum::<usize>() / 4
    }

    #[test]
    fn package_stays_within_its_budget_and_every_section_has_its_first_item() {
        let all: Vec<_> = HandoffPart::ALL.iter().map(|part| (*part, drafts(50, 60))).collect();
        for tokens in [1_500, 4_000] {
            let fitted = fitted(all.clone(), tokens);
            assert_eq!(fitted.len(), HandoffPart::ALL.len(), "{tokens}");
            assert!(spent(&fitted) <= tokens, "{tokens}");
            assert!(fitted.iter().all(|section| section.items.len() + section.left_out == 50));
            assert!(fitted.iter().all(|section| section.items.iter().any(|item| item.text.starts_with("0 "))));
        }
    }

    #[test]
    fn small_budget_is_kept_too() {
        let all: Vec<_> = HandoffPart::ALL.iter().map(|part| (*part, drafts(50, 60))).collect();
        for tokens in [60, 110, 400] {
            let fitted = fitted(all.clone(), tokens);
            assert!(spent(&fitted) <= tokens, "{tokens}");
            assert!(tokens < 110 || fitted.iter().any(|section| section.part == HandoffPart::Aim), "{tokens}");
        }
    }

    #[test]
    fn item_that_counts_most_is_cut_where_it_is_too_long() {
        let mut long = drafts(3, 20);
        long[0].text = format!("0 {}", "word ".repeat(2_000));
        let fitted = fitted(vec![(HandoffPart::Reported, long)], 1_000);
        let texts: Vec<&str> = fitted[0].items.iter().map(|item| item.text.as_str()).collect();
        assert!(texts.iter().any(|text| text.starts_with("0 word") && text.ends_with('…')), "{texts:?}");
        assert!(spent(&fitted) <= 1_000);
    }

    #[test]
    fn room_that_is_left_goes_to_what_was_cut() {
        let mut long = drafts(1, 20);
        long[0].text = format!("0 {}", "word ".repeat(300));
        let fitted = fitted(vec![(HandoffPart::Reported, long)], 1_000);
        assert_eq!(fitted[0].items[0].text.matches("word").count(), 300);
    }

    #[test]
    fn what_a_section_leaves_goes_to_others_up_to_twice_their_share() {
        let alone = fitted(vec![(HandoffPart::Files, drafts(100, 60))], 1_000);
        let chars = spent(&alone);
        assert!((400..=480).contains(&chars), "{chars}");
        assert!(fitted(Vec::new(), 1_000).is_empty());
    }

    #[test]
    fn items_are_shown_in_their_places() {
        let shown = fitted(vec![(HandoffPart::Aim, drafts(3, 10))], 1_000);
        let first: Vec<&str> = shown[0].items.iter().map(|item| &item.text[..1]).collect();
        assert_eq!(first, ["2", "1", "0"]);
    }
}

//! Computes the categories of memories, a tree of at most two levels, and a summary of each.
//!
//! - [`Item`]: a memory with what is known of it; [`tree`]: the categories of some; `record`: the types
//! - `seeds`: ten categories that exist wherever memories fall into them; `grow`: further ones, from entities, tags and words
//! - `relevance`: how much a memory belongs to a category
//! - [`Category::summary`] (`summary`): what a category says, as lines with their sources, and as Markdown
//! - [`Written`] (`written`): what a language model wrote of a category, and which of it still stands
//! - [`chosen`] (`choose`): the category that a subject means
//!
//! A memory belongs to every category in which its relevance is above one half, and to `general` if there is none. The order of the
//! memories changes nothing: ties are decided by id.

mod choose;
mod grow;
mod lines;
mod record;
mod relevance;
mod seeds;
mod summary;
#[cfg(test)]
mod tests;
mod written;

pub use self::choose::{Choice, SUFFICIENT, chosen};
pub use self::record::{Category, GENERAL, Item, LEAST_RELEVANCE, Member, Section};
use self::record::{shown, with_members};
pub use self::summary::{Line, Summary};
pub use self::written::{Written, WrittenLine};

/// Returns the categories of memories: those of the design first, in its order, then those that grew, largest first, then `general`.
/// Empty ones are left out. `embed` returns the vector of a text, of length 1, comparable with those of the items.
pub fn tree(items: &[Item<'_>], embed: &dyn Fn(&str) -> Option<Vec<f32>>) -> Vec<Category> {
    let texts: Vec<relevance::Words> = items.iter().map(|item| relevance::Words::of(item)).collect();
    let mut categories = relevance::seeded(items, &texts, embed);
    grow::grow(items, &texts, &mut categories);
    let mut is_placed = vec![false; items.len()];
    categories.iter().flat_map(|category| &category.members).for_each(|member| is_placed[member.item] = true);
    let rest = (0..items.len()).filter(|item| !is_placed[*item]).map(|item| (item, 0.0));
    let general = Category { name: GENERAL.to_owned(), title: shown(GENERAL), ..Category::default() };
    categories.push(Category { about: "What belongs to no other category.".to_owned(), ..with_members(general, items, rest) });
    categories.retain(|category| !category.members.is_empty());
    categories
}

//! The levels at which everything with an id can be read.

named_enum! {
    /// How much of a thing is read: first a line, then what bears on a question, then all of it, what it is related to, and an answer.
    Level {
        /// Its statement or title, its time, its status and its id: about 30 tokens.
        Line = "line",
        /// The whole sentences that bear on a question; without one, its opening.
        Passage = "passage",
        /// All of its words, in pages.
        Whole = "whole",
        /// Related things: a line for each, with the name of the relation.
        Related = "related",
        /// An answer in sentences that rests on it alone; without a question, its summary.
        Synthesis = "synthesis",
    }
}

//! Aspects of a subject that a statement gives: value, version, place, owner, choice, status, rule.

named_enum! {
    /// The side of a subject that a statement tells.
    #[derive(Default)]
    Aspect {
        /// A number, an amount, a date, a name.
        #[default]
        Value = "value",
        /// The version of something.
        Version = "version",
        /// The place where it is.
        Place = "place",
        /// The person responsible for it.
        Owner = "owner",
        /// The choice that was made for it.
        Choice = "choice",
        /// The state that it is in, such as released.
        Status = "status",
        /// A rule that it has to follow. There may be many.
        Rule = "rule",
    }
}

impl Aspect {
    /// Returns whether a subject has one value of this aspect at a time.
    pub const fn is_functional(self) -> bool {
        !matches!(self, Self::Rule)
    }
}

//! The presets of weights by which the state of a memory acts on its rank.

named_enum! {
    /// Weights of a memory's state in its rank.
    #[derive(Default)]
    Preset {
        /// A few per cent: importance 6, use 3, pinned 3, a person's word 3, strength 3.
        #[default]
        Small = "small",
        /// Similarity .5, decay score .3, importance .2.
        Decay = "decay",
        /// Similarity .35, decay score .20, importance .15, recency .10, relations .10, kind .10.
        Hybrid = "hybrid",
        /// Similarity .6, persistence score .2, strength .2.
        Lazy = "lazy",
        /// None: all memories weigh the same.
        Off = "off",
    }
}

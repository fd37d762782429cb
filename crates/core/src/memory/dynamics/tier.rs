//! Tiers of memories, and the limits of strength and idle days below which a memory is in each.

named_enum! {
    /// How near a memory is kept. It decides what is told unasked, in how much detail, and in which order; content stays whole in all.
    #[derive(Default)]
    Tier {
        /// In use.
        #[default]
        Active = "active",
        /// Used some days ago.
        Warm = "warm",
        /// Told in one line.
        Cool = "cool",
        /// Told only to whoever asks.
        Cold = "cold",
        /// As cold, and not used for months: the designs' archived and tombstoned memories. Nothing of it is deleted.
        Frozen = "frozen",
    }
}

impl Tier {
    /// Returns whether memories of this tier are told unasked.
    pub fn is_told_unasked(self) -> bool {
        self < Self::Cold
    }

    /// Returns whether memories of this tier are told in one line.
    pub fn is_brief(self) -> bool {
        self >= Self::Cool
    }
}

/// The limit of a tier: a memory is in it, or lower, if both hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierLimit {
    /// Its strength and retention are below this, 0 to 1.
    pub below: f64,
    /// It was idle for more days than this.
    pub after_days: f64,
}

/// Limits of warm, cool, cold and frozen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierLimits(pub [TierLimit; 4]);

impl Default for TierLimits {
    fn default() -> Self {
        let limit = |below, after_days| TierLimit { below, after_days };
        Self([limit(0.7, 3.0), limit(0.5, 14.0), limit(0.3, 30.0), limit(0.15, 90.0)])
    }
}

impl TierLimits {
    /// Returns the tier of a memory by the smaller one of strength and retention, and the days since its last reinforcing use.
    pub fn tier(&self, strength: f64, idle_days: f64) -> Tier {
        let lower = [Tier::Warm, Tier::Cool, Tier::Cold, Tier::Frozen];
        let met = self.0.iter().zip(lower).filter(|(limit, _)| strength < limit.below && idle_days > limit.after_days);
        met.map(|(_, tier)| tier).max().unwrap_or_default()
    }
}

//! Curves of forgetting: the share that is left of a memory's strength after a number of half-lives.

named_enum! {
    /// The shape in which strength fades. On each but `none`, half is left after one half-life.
    #[derive(Default)]
    Curve {
        /// Halves with each half-life.
        #[default]
        Exponential = "exponential",
        /// `1 / (1 + x)`: a third is left after two half-lives.
        Hyperbolic = "hyperbolic",
        /// Nothing is left after two half-lives.
        Linear = "linear",
        /// `(1 + 3x)^-0.5`: quick at first, then slow.
        Power = "power",
        /// All is left for the first 0.718 half-lives, then it falls like a bell whose width is a third of that.
        Plateau = "plateau",
        /// Nothing fades.
        None = "none",
    }
}

/// End of the plateau, in half-lives: half is left after one if the bell's width is a third of the plateau.
const PLATEAU: f64 = 0.718_153;

impl Curve {
    /// Returns the share that is left after `passed` half-lives, 0 to 1; before the beginning all is left.
    pub fn left(self, passed: f64) -> f64 {
        let passed = if passed > 0.0 { passed } else { 0.0 };
        match self {
            Self::Exponential => (-passed).exp2(),
            Self::Hyperbolic => 1.0 / (1.0 + passed),
            Self::Linear => (1.0 - passed / 2.0).max(0.0),
            Self::Power => (1.0 + 3.0 * passed).powf(-0.5),
            Self::Plateau if passed <= PLATEAU => 1.0,
            Self::Plateau => (-0.5 * ((passed - PLATEAU) / (PLATEAU / 3.0)).powi(2)).exp(),
            Self::None => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_curve_begins_at_all_halves_in_a_half_life_and_never_rises() {
        for curve in Curve::ALL.iter().copied() {
            assert!((curve.left(0.0) - 1.0).abs() < 1e-9 && (curve.left(-3.0) - 1.0).abs() < 1e-9, "{curve:?}");
            let half = if curve == Curve::None { 1.0 } else { 0.5 };
            assert!((curve.left(1.0) - half).abs() < 1e-3, "{curve:?} {}", curve.left(1.0));
            for step in 0..1_000 {
                let (earlier, later) = (curve.left(f64::from(step) / 100.0), curve.left(f64::from(step + 1) / 100.0));
                assert!(later <= earlier && (0.0..=1.0).contains(&later), "{curve:?} at {step}");
            }
        }
        assert_eq!(Curve::Linear.left(2.5).to_bits(), 0f64.to_bits(), "zero is zero");
        assert_eq!(Curve::Hyperbolic.left(2.0).to_bits(), (1.0f64 / 3.0).to_bits());
    }
}

//! Compares two texts by their wording, to find near duplicates.

/// Words in a shingle.
const SHINGLE: usize = 3;
/// Number of words of a long text that are compared.
const MAX_WORDS: usize = 600;
/// Number of shingles below which texts are duplicates only if they are equal.
const FEW: usize = 6;
/// Similarity from which two texts count as one.
pub const NEAR_DUPLICATE: f32 = 0.7;

/// The shingles of a text (Broder 1997): runs of three words, lower-cased, without punctuation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shingles {
    /// Hashes, sorted, distinct.
    hashes: Vec<u64>,
    /// Hash over all words.
    whole: u64,
}

impl Shingles {
    /// Returns the shingles of the first 600 words.
    pub fn of(text: &str) -> Self {
        let mut words = Vec::new();
        let mut whole = FNV_OFFSET;
        for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).take(MAX_WORDS) {
            let hash = word.chars().flat_map(char::to_lowercase).fold(FNV_OFFSET, |hash, letter| mix(hash, u64::from(letter)));
            whole = mix(whole, hash);
            words.push(hash);
        }
        let mut hashes: Vec<u64> =
            words.windows(SHINGLE).map(|run| run.iter().fold(FNV_OFFSET, |hash, word| mix(hash, *word))).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes, whole }
    }

    /// Returns the share of their shingles that two texts have in common, 0 to 1; for very short texts 1 if
    /// all words are equal, else 0.
    pub fn similarity(&self, other: &Self) -> f32 {
        if self.hashes.len().min(other.hashes.len()) < FEW {
            return if self.whole == other.whole { 1.0 } else { 0.0 };
        }
        let (mut left, mut right, mut common) = (0, 0, 0usize);
        while let (Some(a), Some(b)) = (self.hashes.get(left), other.hashes.get(right)) {
            left += usize::from(a <= b);
            right += usize::from(b <= a);
            common += usize::from(a == b);
        }
        common as f32 / (self.hashes.len() + other.hashes.len() - common) as f32
    }

    /// Returns whether the texts are near duplicates: whether their similarity is at least `least`, such as
    /// [`NEAR_DUPLICATE`].
    pub fn is_near(&self, other: &Self, least: f32) -> bool {
        self.similarity(other) >= least
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAN: &str = "Use an advisory lock in Postgres so that two workers never run the same migration twice, and release it in a finally block.";

    #[test]
    fn punctuation_and_case_do_not_part_duplicates() {
        let other = PLAN.to_uppercase().replace(',', " --");
        assert!(Shingles::of(PLAN).is_near(&Shingles::of(&other), NEAR_DUPLICATE));
    }

    #[test]
    fn one_changed_word_in_a_long_text_is_a_near_duplicate_and_another_text_is_none() {
        let long =
            [PLAN, "The lock key is derived from the name of the queue, which never changes between releases of the service."]
                .join(" ");
        assert!(Shingles::of(&long).is_near(&Shingles::of(&long.replace("finally", "deferred")), NEAR_DUPLICATE));
        assert!(!Shingles::of(PLAN).is_near(
            &Shingles::of("Redis was chosen for the rate limiter because it expires keys by itself and is there already."),
            NEAR_DUPLICATE
        ));
    }

    #[test]
    fn short_answers_are_duplicates_only_when_equal() {
        assert!(Shingles::of("Yes, go on.").is_near(&Shingles::of("yes go on"), NEAR_DUPLICATE));
        assert!(!Shingles::of("use port 8080").is_near(&Shingles::of("use port 9090"), NEAR_DUPLICATE));
    }

    #[test]
    fn one_changed_number_in_a_short_sentence_is_another_statement() {
        let sentence = |port| format!("The gateway now listens on port {port} in every environment.");
        assert!(!Shingles::of(&sentence(8080)).is_near(&Shingles::of(&sentence(9090)), NEAR_DUPLICATE));
    }

    proptest! {
        #[test]
        fn similarity_is_symmetric_bounded_and_one_with_itself(a in "[a-d ]{0,80}", b in "[a-d ]{0,80}") {
            let (a, b) = (Shingles::of(&a), Shingles::of(&b));
            prop_assert_eq!(a.similarity(&a), 1.0);
            prop_assert_eq!(a.similarity(&b), b.similarity(&a));
            prop_assert!((0.0..=1.0).contains(&a.similarity(&b)));
        }
    }
}

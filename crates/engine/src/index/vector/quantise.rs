//! Quantises vectors to int8, and computes cosines of quantised vectors. Only the direction is kept: the codes are the vector
//! divided by its largest component and rounded to -127..=127, and the scale is one over the length of the codes, so that
//! products of codes and scales are cosines, and that of a vector with itself is 1.

/// Codes of a row are padded with zeros to a multiple of this.
const LANES: usize = 16;

/// Returns the number of codes of one row in a file.
pub(super) fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// Writes a vector's codes, padding included, and returns its scale. A vector without direction (zeros,
/// infinities, NaN) becomes zeros with scale 0, which no search finds.
pub(super) fn quantise(vector: &[f32], codes: &mut [i8]) -> f32 {
    codes.fill(0);
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let factor = 127.0 / largest;
    if !factor.is_normal() || !vector.iter().all(|value| value.is_finite()) {
        return 0.0;
    }
    // Added to a small number, this leaves its nearest integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let mut square = 0i32;
    for (code, value) in codes.iter_mut().zip(vector) {
        let rounded = (value * factor + ROUND).to_bits() as i8;
        *code = rounded;
        square += i32::from(rounded) * i32::from(rounded);
    }
    1.0 / (square as f32).sqrt()
}

/// Returns the inner product of two slices of the same length, in a fixed order of additions.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// A query vector in the forms that the steps of a search need. All of them have the length of the stride.
#[derive(Debug)]
pub(super) struct Query {
    /// The vector with length 1, padded with zeros.
    pub unit: Vec<f32>,
    /// The codes, widened.
    pub codes: Vec<i16>,
    pub scale: f32,
}

impl Query {
    /// Makes a query; `None` for a vector without a direction.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        let mut codes = vec![0i8; stride(vector.len())];
        let scale = quantise(vector, &mut codes);
        if scale == 0.0 {
            return None;
        }
        // Large components would overflow when squared.
        let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let mut unit: Vec<f32> = vector.iter().map(|value| value / largest).collect();
        unit.resize(codes.len(), 0.0);
        let length = dot(&unit, &unit).sqrt();
        unit.iter_mut().for_each(|value| *value /= length);
        Some(Self { unit, codes: codes.into_iter().map(i16::from).collect(), scale })
    }

    /// Returns the exact cosine with a vector; `None` if that has another length or no direction.
    pub(super) fn cosine(&self, vector: &[f32], dimensions: usize) -> Option<f32> {
        if vector.len() != dimensions {
            return None;
        }
        let length = dot(vector, vector).sqrt();
        (length.is_normal()).then(|| dot(self.unit.get(..dimensions).unwrap_or_default(), vector) / length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vector_without_direction_has_no_scale() {
        let mut codes = [9i8; 16];
        for vector in
            [vec![0.0; 5], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0], vec![f32::NEG_INFINITY], vec![1e-45, 0.0], vec![]]
        {
            assert_eq!(quantise(&vector, &mut codes), 0.0, "{vector:?}");
            assert_eq!(codes, [0; 16]);
            assert!(Query::new(&vector).is_none());
        }
    }

    #[test]
    fn length_of_a_vector_does_not_matter() {
        let (mut small, mut large) = ([0i8; 16], [0i8; 16]);
        let vector = [0.3f32, -0.1, 0.7, 0.0, 0.2];
        assert_eq!(quantise(&vector, &mut small), quantise(&vector.map(|value| value * 1e30), &mut large));
        assert_eq!(small, large);
        assert_eq!(small[..5], [54, -18, 127, 0, 36]);
        let query = Query::new(&vector.map(|value| value * 1e30)).unwrap();
        assert!((query.cosine(&vector, 5).unwrap() - 1.0).abs() < 1e-6);
        assert_eq!(query.cosine(&vector[..4], 5), None);
        assert_eq!(query.cosine(&[0.0; 5], 5), None);
    }

    proptest! {
        #[test]
        fn cosine_of_codes_is_near_the_real_one(
            a in prop::collection::vec(-1.0f32..1.0, 64),
            b in prop::collection::vec(-1.0f32..1.0, 64),
        ) {
            let (mut codes, query) = ([0i8; 64], Query::new(&a).unwrap());
            let scale = quantise(&b, &mut codes);
            let product: i32 = codes.iter().zip(&query.codes).map(|(code, query)| i32::from(*code) * i32::from(*query)).sum();
            let cosine = query.cosine(&b, 64).unwrap();
            prop_assert!((product as f32 * scale * query.scale - cosine).abs() < 0.01);
            let itself: i32 = query.codes.iter().map(|code| i32::from(*code) * i32::from(*code)).sum();
            prop_assert!((itself as f32 * query.scale * query.scale - 1.0).abs() < 1e-6);
        }
    }
}

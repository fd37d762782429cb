//! Inner product and normalisation of embedding vectors.

/// Returns the inner product of two vectors of the same length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns a vector at length 1; `None` if it has no direction.
pub fn unit_length(vector: &[f32]) -> Option<Vec<f32>> {
    let length = dot(vector, vector).sqrt();
    (length > f32::EPSILON && length.is_finite()).then(|| vector.iter().map(|value| value / length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_vector_with_a_direction_has_length_one() {
        assert_eq!(unit_length(&[3.0, 4.0]), Some(vec![0.6, 0.8]));
        for none in [&[] as &[f32], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(unit_length(none), None);
        }
    }
}

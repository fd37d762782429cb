//! Renders the account: a quantity in words.

use yore_core::account::Verdict;

use super::text::count;
use crate::results::Quantity;

/// Returns a quantity with memory, without it, the difference with its interval, and what that shows.
pub fn quantity_in_words(quantity: &Quantity) -> [String; 4] {
    let mean = |sessions: u64, mean: f64| if sessions == 0 { "-".to_owned() } else { number(mean) };
    let (difference, shown) = match (quantity.difference, quantity.low, quantity.high) {
        (Some(difference), Some(low), Some(high)) => (
            format!("{} ({} to {})", signed(difference), signed(low), signed(high)),
            match Verdict::parse(&quantity.verdict) {
                Some(Verdict::Less) => "less with memory",
                Some(Verdict::More) => "more with memory",
                _ => "no difference seen",
            },
        ),
        _ => (String::new(), "not known yet"),
    };
    [mean(quantity.with, quantity.mean_with), mean(quantity.without, quantity.mean_without), difference, shown.to_owned()]
}

/// Returns a number with as many digits as tell something: minutes may be fractions of one.
fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => count(value.abs().round() as u64),
        1.0.. | 0.0 => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", number(value.abs()))
}

#[cfg(test)]
mod tests {
    use yore_core::account::compare;

    use super::*;

    #[test]
    fn a_claim_is_made_only_with_an_interval_and_few_sessions_say_so() {
        let of =
            |with: &[f64], without: &[f64]| quantity_in_words(&Quantity::of("errors", "failed calls", &compare(with, without)));
        let (low, high): (Vec<f64>, Vec<f64>) = ((0..10).map(f64::from).collect(), (1_000..1_010).map(f64::from).collect());
        assert_eq!(of(&low[..3], &high), ["1.0", "1,005", "", "not known yet"]);
        assert_eq!(of(&[], &high)[0], "-");
        assert_eq!([0.0, 0.0387, 0.125, 2.0, 99.94, 1_000.4].map(number), ["0.0", "0.039", "0.12", "2.0", "99.9", "1,000"]);
        let told = of(&low, &high);
        assert!(told[2].starts_with("-1,000 (-1,00") && told[3] == "less with memory", "{told:?}");
        assert_eq!(of(&low, &low)[3], "no difference seen");
    }
}

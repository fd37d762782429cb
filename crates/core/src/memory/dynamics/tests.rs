//! Properties of the dynamics, and the designs' acceptance tests.

use proptest::prelude::*;

use super::*;
use crate::id::MemoryId;
use crate::memory::{MemoryKind, Status, Use};

const DAY: i64 = 86_400_000;
const NOW: i64 = 1_782_864_000_000;

fn memory(days: i64) -> Memory {
    let memory = Memory::new(MemoryId::from_bytes([1; 16]), MemoryKind::Fact, "The gauge polls every minute.", NOW - days * DAY);
    Memory { lane: Lane::Extracted, confidence: Confidence::Inferred, ..memory }
}

fn used(days: impl IntoIterator<Item = i64>) -> Reinforcement {
    Reinforcement { times: days.into_iter().map(|days| NOW - days * DAY).collect(), earlier: 0 }
}

fn state<'a>(memory: &'a Memory, uses: &'a Reinforcement) -> State<'a> {
    State { memory, uses, code: None }
}

/// The constants of the second design: strength `e^(-.05 * days)`, which importance, use and person do not stretch.
fn second_design() -> Dynamics {
    let half_life_days = std::f64::consts::LN_2 / 0.05;
    Dynamics { half_life_days, importance_stretch: 1.0, use_stretch: 0.0, person_stretch: 1.0, ..Dynamics::default() }
}

#[test]
fn decay_scores_of_the_first_designs_examples_hold() {
    let dynamics = Dynamics::default();
    let none = Reinforcement::default();
    let of = |days, importance, uses: &Reinforcement| {
        let memory = Memory { importance, ..memory(days) };
        dynamics.decay_score(&state(&memory, uses), NOW)
    };
    assert!(of(0, 0.9, &none) > 0.8, "S1-069: new and important: {}", of(0, 0.9, &none));
    assert!(of(120, 0.5, &none) < 0.4, "S1-070: {}", of(120, 0.5, &none));
    let twenty = used((0..20).map(|use_| 1 + 3 * use_));
    assert!(of(60, 0.5, &twenty) > 0.6, "S1-071: {}", of(60, 0.5, &twenty));
    assert!(of(3 * 365, 0.5, &none) < 0.05, "S1-072: {}", of(3 * 365, 0.5, &none));
    let old = used((0..5).map(|use_| 3 * 365 + use_));
    assert!(of(4 * 365, 0.5, &old) < 0.1, "C-053: five uses of years ago do not keep it: {}", of(4 * 365, 0.5, &old));
    for importance in [0.5, 1.0] {
        assert!(of(365, importance, &none) < 0.2, "C-050: any unused memory gets below the limit of S1-073");
    }
}

#[test]
fn strengths_and_persistence_of_the_second_design_hold() {
    let dynamics = second_design();
    let (memory, none) = (memory(10), Reinforcement::default());
    let strength = dynamics.strength(&state(&memory, &none), NOW);
    assert!((strength - (-0.5f64).exp()).abs() < 1e-9, "S2-023: {strength}");
    for (count, share) in [(0, 0.0), (1, 0.26), (5, 0.78), (10, 0.95)] {
        let uses = Reinforcement { times: Vec::new(), earlier: count };
        let frequency = dynamics.frequency(&state(&memory, &uses));
        assert!((frequency - share).abs() < 0.005, "S2-026: {count} uses: {frequency}");
    }
    let verified = Memory { confidence: Confidence::Verified, ..memory.clone() };
    let pinned = Memory { is_pinned: true, ..verified.clone() };
    let persistence = |memory: &Memory, degree| dynamics.persistence(&state(memory, &none), degree, NOW);
    let recency = (-10.0f64 / 30.0).exp();
    assert!((persistence(&verified, 0) - (0.20 * 0.9 + 0.15 * recency)).abs() < 1e-6, "S2-025");
    assert!((persistence(&pinned, 100) - persistence(&verified, 0) - 0.25 - 0.15).abs() < 1e-6, "S2-028, S2-029");
}

#[test]
fn tiers_demote_below_a_strength_and_after_idle_days_only() {
    let tiers = TierLimits::default();
    for (strength, idle, tier) in [
        (0.0, 2.0, Tier::Active),
        (0.69, 3.1, Tier::Warm),
        (0.71, 1_000.0, Tier::Active),
        (0.49, 14.1, Tier::Cool),
        (0.29, 30.1, Tier::Cold),
        (0.29, 1_000.0, Tier::Cold),
        (0.14, 89.0, Tier::Cold),
        (0.0, 90.1, Tier::Frozen),
    ] {
        assert_eq!(tiers.tier(strength, idle), tier, "S2-030: strength {strength}, {idle} days");
    }
    assert!(Tier::Cool.is_told_unasked() && !Tier::Cold.is_told_unasked() && Tier::Cool.is_brief() && !Tier::Warm.is_brief());
}

#[test]
fn rates_are_the_smallest_of_the_tags_and_what_was_superseded_has_its_own() {
    let dynamics = Dynamics { rates: vec![("gauge".to_owned(), 0.0), ("fact".to_owned(), 0.7)], ..Dynamics::default() };
    let rate =
        |tags: &[&str]| dynamics.rate(&Memory { tags: tags.iter().map(ToString::to_string).collect(), ..memory(0) }).to_bits();
    assert_eq!(rate(&[]), 0.7f64.to_bits());
    assert_eq!(rate(&["external_fact", "user_preference", "conversation_detail"]), 0.1f64.to_bits());
    assert_eq!(rate(&["user_preference", "gauge"]), 0f64.to_bits(), "zero is zero (C-057)");
    assert_eq!(rate(&["superseded_info", "user_identity"]), 3f64.to_bits(), "C-026");
    assert_eq!(dynamics.rate(&Memory { status: Status::Superseded, ..memory(0) }).to_bits(), 3f64.to_bits());
}

#[test]
fn presets_are_the_sums_of_the_designs() {
    let memory = Memory { importance: 0.8, ..memory(20) };
    let uses = used([3]);
    let state = state(&memory, &uses);
    let signals = Signals { similarity: 0.7, graph: 0.4, kind: 1.0, degree: 5 };
    let of = |preset| {
        let dynamics = Dynamics { preset, ..Dynamics::default() };
        (dynamics.score(&state, signals, NOW), dynamics)
    };
    let (score, dynamics) = of(Preset::Decay);
    let (decay, importance) = (dynamics.decay_score(&state, NOW), dynamics.importance(&state, NOW));
    assert!((score - (0.5 * 0.7 + 0.3 * decay + 0.2 * importance)).abs() < 1e-9, "S1-081");
    let (score, dynamics) = of(Preset::Hybrid);
    let recency = dynamics.recency(&state, NOW);
    assert!((recency - 0.7).abs() < 1e-9, "S1-086: {recency}");
    let wanted = 0.35 * 0.7 + 0.20 * decay + 0.15 * importance + 0.10 * recency + 0.10 * 0.4 + 0.10;
    assert!((score - wanted).abs() < 1e-9, "S1-084");
    let (score, dynamics) = of(Preset::Lazy);
    let (persistence, strength) = (dynamics.persistence(&state, 5, NOW), dynamics.strength(&state, NOW));
    assert!((score - (0.6 * 0.7 + 0.2 * persistence + 0.2 * strength)).abs() < 1e-9, "S2-049");
    assert!((of(Preset::Off).1.factor(&state, NOW) - 1.5).abs() < 1e-6, "only the certainty");
}

#[test]
fn each_sign_raises_the_factor_and_all_of_them_stay_small() {
    let dynamics = Dynamics::default();
    let factor = |memory: &Memory, uses: &Reinforcement| dynamics.factor(&state(memory, uses), NOW) / 1.5;
    let none = Reinforcement::default();
    let usual = Memory { lane: Lane::Curated, confidence: Confidence::Verified, ..memory(0) };
    assert!((factor(&usual, &none) - 1.0).abs() < 1e-6);
    let important = Memory { importance: 1.0, ..usual.clone() };
    let pinned = Memory { is_pinned: true, ..usual.clone() };
    for (more, less) in [
        (factor(&important, &none), factor(&usual, &none)),
        (factor(&pinned, &none), factor(&usual, &none)),
        (factor(&usual, &used([0])), factor(&usual, &none)),
        (factor(&usual, &used([0, 1, 2])), factor(&usual, &used([0]))),
        (factor(&usual, &none), factor(&memory(0), &none)),
        (factor(&usual, &none), factor(&Memory { recorded: NOW - 900 * DAY, ..usual.clone() }, &none)),
        (factor(&usual, &none), factor(&Memory { certainty: 0.6, ..usual.clone() }, &none)),
    ] {
        assert!(more > less, "{more} {less}");
    }
    let least = factor(&Memory { importance: 0.0, ..memory(5_000) }, &none);
    let most = factor(&Memory { is_pinned: true, importance: 1.0, ..usual }, &used(0..50));
    assert!(least > 0.9 && most < 1.1, "{least} {most}");
}

fn curve() -> impl Strategy<Value = Curve> {
    (0..Curve::ALL.len()).prop_map(|at| Curve::ALL[at])
}

prop_compose! {
    fn any_memory()(days in 0i64..4_000, importance in 0f32..=1.0, certainty in 0f32..=1.0, kind in 0..MemoryKind::ALL.len(), lane in 0..2usize)
        -> Memory {
        Memory { importance, certainty, kind: MemoryKind::ALL[kind], lane: Lane::ALL[lane], ..memory(days) }
    }
}

proptest! {
    #[test]
    fn any_number_of_shows_and_gifts_changes_nothing(
        memory in any_memory(),
        shown in prop::collection::vec((any::<bool>(), 0i64..4_000), 0..200),
        opened in prop::collection::vec(0i64..4_000, 0..5),
    ) {
        let dynamics = Dynamics::default();
        let opened = opened.iter().map(|days| (Use::Opened, NOW - days * DAY));
        let shows = shown.iter().map(|(given, days)| (if *given { Use::Given } else { Use::Shown }, NOW - days * DAY));
        let without = Reinforcement::of(opened.clone(), []);
        let with = Reinforcement::of(opened.chain(shows), []);
        prop_assert_eq!(dynamics.standing(&state(&memory, &without), NOW), dynamics.standing(&state(&memory, &with), NOW));
        let factor = |uses| dynamics.factor(&state(&memory, uses), NOW).to_bits();
        prop_assert_eq!(factor(&without), factor(&with));
    }

    #[test]
    fn everything_is_between_0_and_1_and_falls_with_time_alone(
        memory in any_memory(), curve in curve(), later in 0i64..4_000, opened in prop::collection::vec(0i64..4_000, 0..5),
    ) {
        let dynamics = Dynamics { curve, ..Dynamics::default() };
        let uses = used(opened);
        let state = state(&memory, &uses);
        let (now, then) = (dynamics.standing(&state, NOW), dynamics.standing(&state, NOW + later * DAY));
        for value in [now.strength, now.retention, now.decay, then.strength, then.retention, then.decay] {
            prop_assert!((0.0..=1.0).contains(&value), "{now:?} {then:?}");
        }
        prop_assert!(then.strength <= now.strength && then.retention <= now.retention && then.tier >= now.tier, "{now:?} {then:?}");
        let factor = dynamics.factor(&state, NOW);
        prop_assert!(factor.is_finite() && factor >= 0.0);
    }

    #[test]
    fn a_use_never_weakens_and_importance_and_a_persons_word_fade_slower(
        memory in any_memory(), opened in prop::collection::vec(0i64..4_000, 0..5), again in 0i64..4_000,
    ) {
        let dynamics = Dynamics::default();
        let strength = |memory: &Memory, uses: &Reinforcement| dynamics.strength(&state(memory, uses), NOW);
        let (before, after) = (used(opened.clone()), used(opened.into_iter().chain([again])));
        prop_assert!(strength(&memory, &after) >= strength(&memory, &before));
        let more = Memory { importance: (memory.importance + 0.2).min(1.0), ..memory.clone() };
        prop_assert!(strength(&more, &before) >= strength(&memory, &before));
        let (person, found) = (Memory { lane: Lane::Curated, ..memory.clone() }, Memory { lane: Lane::Extracted, ..memory });
        prop_assert!(strength(&person, &before) >= strength(&found, &before));
    }

    #[test]
    fn what_is_pinned_never_fades_and_what_speaks_of_code_ages_by_its_drift(memory in any_memory(), later in 0i64..40_000) {
        let dynamics = Dynamics::default();
        let none = Reinforcement::default();
        let now = NOW + later * DAY;
        let pinned = Memory { is_pinned: true, ..memory.clone() };
        let standing = dynamics.standing(&state(&pinned, &none), now);
        prop_assert!(standing.tier == Tier::Active && standing.strength >= 1.0);
        let at = |code, now| dynamics.standing(&State { memory: &memory, uses: &none, code }, now);
        let fresh = at(Some(Verdict::Fresh), now);
        prop_assert!(fresh.tier == Tier::Active && fresh.strength >= 1.0);
        for verdict in [Verdict::Drifted, Verdict::Orphaned] {
            prop_assert_eq!(at(Some(verdict), NOW).strength, at(Some(verdict), now).strength, "not by time");
        }
        prop_assert!(at(Some(Verdict::Drifted), now).strength > at(Some(Verdict::Orphaned), now).strength);
    }

    #[test]
    fn importance_by_use_rises_a_little_each_day_and_drifts_back(memory in any_memory(), days in 1i64..400) {
        let dynamics = Dynamics::default();
        let stated = f64::from(memory.importance);
        let often = used((0..days).flat_map(|day| [day; 9]));
        let importance = |now| dynamics.importance(&state(&memory, &often), now);
        prop_assert!(importance(NOW) <= 1.0 && importance(NOW) <= stated + 0.05 * days as f64 + 1e-9, "at most .05 a day (C-054)");
        prop_assert!((importance(NOW + 3_000 * DAY) - stated).abs() < 1e-6);
    }
}

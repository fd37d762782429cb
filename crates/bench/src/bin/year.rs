//! Measures a year of memories in seconds: tiers, exposure and the speed of strengths, by the functions of `core`.
//!
//!     cargo run --release -p yore-bench --bin year -- [--plot docs/dynamics.svg]
//!
//! A thousand memories, of which a part is used and true, live through 365 days. Each day asks questions, whose answers are ranked by
//! nearness and the state's factor. Whoever asks opens a used memory among the first ten; the rest is only shown. The second run
//! counts each show as a use, as many designs do: it is the contrast, which shows what that loop does.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use yore_core::id::MemoryId;
use yore_core::memory::dynamics::{Dynamics, Preset, Reinforcement, State, Tier};
use yore_core::memory::{Confidence, Lane, Memory, MemoryKind, Use};

const DAY: i64 = 86_400_000;
/// 2026-01-01, the first day.
const BEGAN: i64 = 1_767_225_600_000;
const DAYS: i64 = 365;
const MEMORIES: usize = 1_000;
/// One memory in so many is used and true.
const USED_EACH: usize = 4;
/// Questions of a day, and hits that are shown for each.
const QUESTIONS: usize = 60;
const SHOWN: usize = 10;
/// Candidates of a question.
const CANDIDATES: usize = 40;
/// Days on which memories are recorded: the rest of the year is left for them to fade.
const RECORDED_WITHIN: i64 = 180;
/// Last days on which shows are counted.
const COUNTED: i64 = 90;
/// Uses of a memory that the store's log keeps.
const KEPT: usize = 64;
/// Tiers are read each so many days.
const SAMPLE: i64 = 5;
/// Kinds of the memories with the documented days after which an unused one that was found in a conversation, of the usual
/// importance, has left the two top tiers (they follow from the limits of the tiers).
const KINDS: [(MemoryKind, i64); 4] =
    [(MemoryKind::Fact, 14), (MemoryKind::Decision, 14), (MemoryKind::Todo, 14), (MemoryKind::Preference, 14)];

/// A generator of random numbers (SplitMix64): the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// A memory of the run.
struct Lived {
    memory: Memory,
    is_used: bool,
    /// Days after which it should have left the top tiers if nobody uses it.
    leaves_after: i64,
    log: Vec<(Use, i64)>,
    uses: Reinforcement,
    /// Times that it was shown on the last days.
    shown: u64,
    /// True if it was ever shown.
    is_known: bool,
}

fn memories() -> Vec<Lived> {
    let mut random = Random(1);
    let one = |number: usize| {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&(number as u64).to_le_bytes());
        let (kind, leaves_after) = KINDS[number % KINDS.len()];
        let recorded = BEGAN + (random.below(RECORDED_WITHIN as usize) as i64) * DAY;
        let memory = Memory {
            lane: Lane::Extracted,
            confidence: Confidence::Inferred,
            certainty: 0.9,
            ..Memory::new(MemoryId::from_bytes(id), kind, format!("Statement {number}."), recorded)
        };
        let is_used = (number / KINDS.len()).is_multiple_of(USED_EACH);
        Lived { memory, is_used, leaves_after, log: Vec::new(), uses: Reinforcement::default(), shown: 0, is_known: false }
    };
    (0..MEMORIES).map(one).collect()
}

/// Result of a year.
struct Year {
    lived: Vec<Lived>,
    /// For each sampled day: the day, and the numbers of memories in each tier, of used and of unused ones.
    tiers: Vec<(i64, [[usize; 5]; 2])>,
    /// Share of samples in which used-and-true memories were in the two top tiers, and unused ones had left them after their time.
    near: f64,
    left: f64,
    gini: f64,
    never: usize,
    /// Shows of the tenth that was recorded first, relative to those of the tenth that was recorded last.
    first_to_last: f64,
    /// Share of used-and-true memories among what was shown.
    precision: f64,
}

fn live(dynamics: &Dynamics, shows_count: bool) -> Year {
    let mut random = Random(2);
    let mut lived = memories();
    let (mut tiers, mut near, mut left) = (Vec::new(), (0, 0), (0, 0));
    let (mut shown_used, mut shown_all) = (0u64, 0u64);
    for day in 0..DAYS {
        let now = BEGAN + day * DAY;
        let alive: Vec<usize> = (0..lived.len()).filter(|at| lived[*at].memory.recorded <= now).collect();
        for _ in 0..QUESTIONS {
            if alive.is_empty() {
                break;
            }
            let mut candidates: Vec<(f64, usize)> = (0..CANDIDATES.min(alive.len()))
                .map(|_| {
                    let at = alive[random.below(alive.len())];
                    let nearness = 0.5 + 0.5 * random.share();
                    let one = &lived[at];
                    let state = State { memory: &one.memory, uses: &one.uses, code: None };
                    (nearness * f64::from(dynamics.factor(&state, now)), at)
                })
                .collect();
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            candidates.dedup_by_key(|(_, at)| *at);
            // A person who finds what they need opens it now and then.
            let opens = random.share() < 0.25;
            let mut wanted = opens;
            for (_, at) in candidates.iter().take(SHOWN) {
                let one = &mut lived[*at];
                one.is_known = true;
                // All memories are there then: what was recorded early was shown more only because there was less beside it.
                if day >= DAYS - COUNTED {
                    one.shown += 1;
                    shown_all += 1;
                    shown_used += u64::from(one.is_used);
                }
                one.log.push((if shows_count { Use::Opened } else { Use::Shown }, now));
                if wanted && one.is_used {
                    one.log.push((Use::Opened, now));
                    wanted = false;
                }
            }
        }
        // A memory that is used and true is needed about once a week, however often it is shown.
        for one in lived.iter_mut().filter(|one| one.is_used && one.memory.recorded <= now) {
            if random.share() < 1.0 / 7.0 {
                one.log.push((Use::Cited, now));
            }
        }
        for one in &mut lived {
            one.uses = Reinforcement::of(one.log.iter().copied(), []);
            one.log.retain(|(way, _)| way.reinforces());
            let old = one.log.len().saturating_sub(KEPT);
            one.log.drain(..old);
        }
        if day % SAMPLE == 0 {
            let mut counts = [[0; 5]; 2];
            for one in lived.iter().filter(|one| one.memory.recorded <= now) {
                let tier = dynamics.standing(&State { memory: &one.memory, uses: &one.uses, code: None }, now).tier;
                counts[usize::from(!one.is_used)][tier as usize] += 1;
                let is_near = tier <= Tier::Warm;
                if one.is_used {
                    near = (near.0 + usize::from(is_near), near.1 + 1);
                } else if now - one.memory.recorded > one.leaves_after * DAY {
                    left = (left.0 + usize::from(!is_near), left.1 + 1);
                }
            }
            tiers.push((day, counts));
        }
    }
    let rate = |one: &Lived| one.shown as f64;
    let mut by_age: Vec<&Lived> = lived.iter().collect();
    by_age.sort_by_key(|one| one.memory.recorded);
    let mean = |part: &[&Lived]| part.iter().map(|one| rate(one)).sum::<f64>() / part.len() as f64;
    let first_to_last = mean(&by_age[..MEMORIES / 10]) / mean(&by_age[MEMORIES - MEMORIES / 10..]);
    let gini = gini(lived.iter().map(rate).collect());
    let never = lived.iter().filter(|one| !one.is_known).count();
    let share = |(part, all): (usize, usize)| part as f64 / all.max(1) as f64;
    let precision = shown_used as f64 / shown_all.max(1) as f64;
    Year { lived, tiers, near: share(near), left: share(left), gini, never, first_to_last, precision }
}

/// Returns the Gini coefficient: 0 if all have the same, towards 1 if one has all.
fn gini(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
    let ranked: f64 = values.iter().enumerate().map(|(rank, value)| (rank as f64 + 1.0) * value).sum();
    2.0 * ranked / (count * sum) - (count + 1.0) / count
}

/// Draws the tiers of used and of unused memories over the year, as stacked areas.
fn plot(year: &Year) -> String {
    const COLOURS: [&str; 5] = ["#1b7837", "#7fbf7b", "#fdb863", "#9ecae1", "#6b6ecf"];
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 180.0;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 500\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"720\" height=\"500\" fill=\"white\"/>\n",
    );
    for (which, title) in ["used and true: 250 memories", "never used: 750 memories"].iter().enumerate() {
        let (top, left) = (30.0 + 220.0 * which as f64, 50.0);
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\">{title}, share of each tier</text>", top - 8.0);
        let x = |day: i64| left + WIDTH * day as f64 / DAYS as f64;
        for (tier, colour) in COLOURS.iter().enumerate() {
            let edge = |counts: &[[usize; 5]; 2], to: usize| {
                let all: usize = counts[which].iter().sum();
                let below: usize = counts[which][..to].iter().sum();
                top + HEIGHT * (1.0 - below as f64 / all.max(1) as f64)
            };
            let upper = year.tiers.iter().map(|(day, counts)| (x(*day), edge(counts, tier + 1)));
            let lower = year.tiers.iter().rev().map(|(day, counts)| (x(*day), edge(counts, tier)));
            let points: Vec<String> = upper.chain(lower).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(svg, "<polygon points=\"{}\" fill=\"{colour}\"/>", points.join(" "));
        }
        for month in 0..=12 {
            let at = x(month * DAYS / 12);
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{month}</text>", top + HEIGHT + 14.0);
        }
    }
    for (at, tier) in Tier::ALL.iter().enumerate() {
        let x = 50 + 110 * at;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"468\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"479\">{}</text>",
            COLOURS[at],
            x + 18,
            tier.as_str()
        );
    }
    svg.push_str("<text x=\"620\" y=\"479\">months</text>\n</svg>\n");
    svg
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let dynamics = Dynamics::default();
    let year = live(&dynamics, false);
    let contrast = live(&dynamics, true);
    let lazy = Dynamics { preset: Preset::Lazy, ..Dynamics::default() };
    let (wide, wide_contrast) = (live(&lazy, false), live(&lazy, true));
    println!(
        "| | used: top two tiers | unused: left them in time | Gini of exposure | never shown | first to last tenth | used among shown |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, year) in [
        ("small, shows do not count", &year),
        ("small, shows count as uses", &contrast),
        ("lazy, shows do not count", &wide),
        ("lazy, shows count as uses", &wide_contrast),
    ] {
        let Year { near, left, gini, never, first_to_last, precision, .. } = year;
        println!("| {name} | {near:.3} | {left:.3} | {gini:.3} | {never} | {first_to_last:.2} | {precision:.3} |");
    }
    let now = BEGAN + DAYS * DAY;
    let (began, mut sum) = (Instant::now(), 0.0);
    for _ in 0..100_000 / MEMORIES {
        for one in &year.lived {
            sum += dynamics.standing(&State { memory: &one.memory, uses: &one.uses, code: None }, now).strength;
        }
    }
    println!("100,000 standings: {:.0} ms (mean strength {:.3})", began.elapsed().as_secs_f64() * 1e3, sum / 100_000.0);
    if let [option, path] = arguments.as_slice()
        && option == "--plot"
    {
        std::fs::write(path, plot(&year))?;
    }
    if year.near < 0.95 || year.left < 0.90 {
        return Err(format!("asked: .95 and .90; got {:.3} and {:.3}", year.near, year.left).into());
    }
    Ok(())
}

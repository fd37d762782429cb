//! Counters in the text format of Prometheus, without names, ids or teams.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::http::StatusCode;

/// Upper bounds of the histogram's buckets, in seconds and as they are written.
const BOUNDS: [(f64, &str); 8] = [
    (0.005, "0.005"),
    (0.025, "0.025"),
    (0.1, "0.1"),
    (0.5, "0.5"),
    (1.0, "1"),
    (5.0, "5"),
    (30.0, "30"),
    (f64::INFINITY, "+Inf"),
];
/// Classes of statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// Name of all requests without a route.
const OTHER: &str = "other";

/// Requests of a route.
struct Route {
    pattern: &'static str,
    classes: [AtomicU64; CLASSES.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
}

/// All counters of a router.
pub(super) struct Metrics {
    routes: Vec<Route>,
    /// Operations that were made.
    pub done: AtomicU64,
    /// Operations that were refused.
    pub refused: AtomicU64,
    /// Records that were pulled.
    pub pulled: AtomicU64,
    /// Turns of sessions that were shared.
    pub turns: AtomicU64,
    /// Requests without a valid token or invitation.
    pub failures: AtomicU64,
}

impl Metrics {
    /// Creates counters for the patterns of routes.
    pub fn new(mut patterns: Vec<&'static str>) -> Self {
        patterns.push(OTHER);
        let route =
            |pattern| Route { pattern, classes: Default::default(), buckets: Default::default(), micros: AtomicU64::default() };
        Self {
            routes: patterns.into_iter().map(route).collect(),
            done: AtomicU64::default(),
            refused: AtomicU64::default(),
            pulled: AtomicU64::default(),
            turns: AtomicU64::default(),
            failures: AtomicU64::default(),
        }
    }

    /// Counts an answer.
    pub fn count(&self, pattern: Option<&str>, status: StatusCode, time: Duration) {
        let pattern = pattern.unwrap_or(OTHER);
        let Some(route) = self.routes.iter().find(|route| route.pattern == pattern) else { return };
        if let Some(class) = route.classes.get(usize::from(status.as_u16() / 100).saturating_sub(1)) {
            class.fetch_add(1, Relaxed);
        }
        let at = BOUNDS.iter().position(|(bound, _)| time.as_secs_f64() <= *bound);
        if let Some(bucket) = at.and_then(|at| route.buckets.get(at)) {
            bucket.fetch_add(1, Relaxed);
        }
        route.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Writes all counters; routes that nobody asked for are left out.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let is_asked = |route: &&Route| route.buckets.iter().any(|bucket| bucket.load(Relaxed) > 0);
        head(&mut text, "yore_team_requests_total", "counter", "Requests by route and class of status.");
        for Route { pattern, classes, .. } in self.routes.iter().filter(is_asked) {
            for (class, count) in CLASSES.iter().zip(classes).map(|(class, count)| (class, count.load(Relaxed))) {
                if count > 0 {
                    let _ = writeln!(text, "yore_team_requests_total{{route=\"{pattern}\",status=\"{class}\"}} {count}");
                }
            }
        }
        head(&mut text, "yore_team_request_seconds", "histogram", "Time until the answer began, by route.");
        for Route { pattern, buckets, micros, .. } in self.routes.iter().filter(is_asked) {
            let mut sum = 0;
            for ((_, bound), bucket) in BOUNDS.iter().zip(buckets) {
                sum += bucket.load(Relaxed);
                let _ = writeln!(text, "yore_team_request_seconds_bucket{{route=\"{pattern}\",le=\"{bound}\"}} {sum}");
            }
            let seconds = Duration::from_micros(micros.load(Relaxed)).as_secs_f64();
            let _ = writeln!(text, "yore_team_request_seconds_sum{{route=\"{pattern}\"}} {seconds}");
            let _ = writeln!(text, "yore_team_request_seconds_count{{route=\"{pattern}\"}} {sum}");
        }
        head(&mut text, "yore_team_operations_total", "counter", "Operations that were pushed, by outcome.");
        for (outcome, count) in [("done", &self.done), ("refused", &self.refused)] {
            let _ = writeln!(text, "yore_team_operations_total{{outcome=\"{outcome}\"}} {}", count.load(Relaxed));
        }
        for (name, help, count) in [
            ("yore_team_records_pulled_total", "Records that were pulled.", &self.pulled),
            ("yore_team_turns_shared_total", "Turns of sessions that were shared.", &self.turns),
            ("yore_team_authentication_failures_total", "Requests without a valid token or invitation.", &self.failures),
        ] {
            head(&mut text, name, "counter", help);
            let _ = writeln!(text, "{name} {}", count.load(Relaxed));
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

//! Does the jobs of upkeep, for the daemon and for `yore upkeep run`: the engine calls that make a job, what it counts, the set times.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use yore_core::schedule::Timetable;
use yore_core::time::UtcMillis;
use yore_engine::{
    CategoriesRequest, ConsolidateReport, ConsolidateRequest, Counts, Engine, EngineError, ExtractRequest, FailReason, Failure,
    ModelAccess, StopReason, SummarisedCategories, Upkeep,
};

use crate::config::{self, Config};
use crate::llm;
use crate::settings::Settings;

/// Maximum wait for the index to take new memories, in milliseconds. Those that it does not take now are searched in memory.
const INDEX_PATIENCE_MS: u64 = 5_000;

/// Most groups of memories and summaries about which a language model is asked in a night.
const MOST_ASKED: u32 = 40;

/// The result of a job that was done.
#[derive(Debug, Default)]
pub struct Report {
    /// Its counts.
    pub counts: Counts,
    /// Lines for a log.
    pub news: Vec<String>,
    /// Parts that failed; the others were done.
    pub problems: Vec<String>,
}

impl Report {
    fn counted(counts: &[(&str, u64)]) -> Self {
        let counts = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Self { counts, ..Self::default() }
    }
}

/// Returns the set times by the clock of this computer, with its present offset from UTC.
pub fn timetable(config: &config::Upkeep, now: UtcMillis) -> Timetable {
    let offset = Timestamp::from_millisecond(now).map_or(0, |now| TimeZone::system().to_offset(now).seconds() / 60);
    Timetable {
        minute: u16::from(config.hour) * 60,
        weekday: config.weekday as u8,
        month_day: config.month_day,
        offset_minutes: offset,
    }
}

/// Does a job. A panic is a failure like any other: it ends neither the process nor the other jobs. `is_stopped` is looked at between
/// steps; what was done until it is set stays done.
pub fn run(
    upkeep: Upkeep,
    engine: &Engine,
    settings: &Settings,
    config: &Config,
    is_stopped: &AtomicBool,
) -> Result<Report, Failure> {
    let go_on = &|| !is_stopped.load(Ordering::Relaxed);
    guarded(|| match upkeep {
        Upkeep::Backup => back_up(engine, config),
        Upkeep::CheckIndex => check_index(engine),
        Upkeep::Extract => extract(engine, config, go_on),
        Upkeep::CheckCode => check_code(engine, go_on),
        Upkeep::MergeDuplicates => merge_duplicates(engine, go_on),
        Upkeep::Insights => Ok(Report::counted(&[("found", engine.renew_insights().map_err(failed)?)])),
        Upkeep::CheckStore => check_store(engine, go_on),
        Upkeep::Optimise => engine.optimise_store().map(|()| Report::default()).map_err(failed),
        Upkeep::Compact => compact(engine, go_on),
        Upkeep::Understand => understand(engine, settings, is_stopped),
    })
}

fn guarded(work: impl FnOnce() -> Result<Report, Failure>) -> Result<Report, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = "internal error, please report it".to_owned();
        Err(Failure { code: "internal".to_owned(), text, is_transient: false })
    })
}

fn failed(error: EngineError) -> Failure {
    Failure::of(&error)
}

/// Makes the day's backup, if it is due. If it finds damage, it fails and keeps the older backups.
fn back_up(engine: &Engine, config: &Config) -> Result<Report, Failure> {
    let Some(made) = engine.back_up_if_due(config.store.backups as usize).map_err(failed)? else { return Ok(Report::default()) };
    let news = vec![format!("backup made: {}", made.path.display())];
    Ok(Report { news, ..Report::counted(&[("backups", 1), ("bytes", made.bytes)]) })
}

/// Rebuilds the full-text index if its files are damaged: a damaged index may rank differently without any error.
fn check_index(engine: &Engine) -> Result<Report, Failure> {
    let damaged = engine.mend_index().map_err(failed)?.len();
    let problem = || format!("the full-text index was rebuilt: {damaged} of its files were damaged");
    let problems = (damaged > 0).then(problem).into_iter().collect();
    Ok(Report { problems, ..Report::counted(&[("damaged files", damaged as u64)]) })
}

/// Finds memories in conversations that are new or have grown.
fn extract(engine: &Engine, config: &Config, go_on: &dyn Fn() -> bool) -> Result<Report, Failure> {
    if !config.extract.enabled {
        return Ok(Report::default());
    }
    let request = ExtractRequest { kinds: config.extract.kinds(), continue_on_error: true, ..ExtractRequest::default() };
    let report = engine.extract(&request, &mut |_, _| go_on()).map_err(failed)?;
    let counts = report.counts;
    let mut done = Report::counted(&[
        ("sessions", report.sessions),
        ("recorded", counts.recorded),
        ("joined", counts.joined),
        ("put away", counts.put_away),
    ]);
    let problem = |session, reason| format!("nothing was extracted from session {session}: {reason}");
    done.problems.extend(report.failed.iter().map(|failed| problem(&failed.session, &failed.reason)));
    if counts.recorded + counts.joined > 0 {
        done.news.push(format!("{} memories extracted from {} sessions", counts.recorded, report.sessions));
        done.problems.extend(engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {}).err().map(|error| format!("index: {error}")));
    }
    Ok(done)
}

/// Compares what memories say of code with the working trees of their projects.
fn check_code(engine: &Engine, go_on: &dyn Fn() -> bool) -> Result<Report, Failure> {
    let report = engine.check_code(&[], &mut || go_on()).map_err(failed)?;
    let mut done = Report::counted(&[
        ("projects", report.projects),
        ("fresh", report.fresh),
        ("changed", report.changed.len() as u64),
        ("merged", report.merged),
    ]);
    let problem =
        |(project, reason): &(String, String)| format!("memories of {project} were not compared with its code: {reason}");
    done.problems.extend(report.failed.iter().map(problem));
    Ok(done)
}

/// Merges memories that say the same.
fn merge_duplicates(engine: &Engine, go_on: &dyn Fn() -> bool) -> Result<Report, Failure> {
    let done = engine.merge_duplicates(&mut || go_on()).map_err(failed)?;
    let news = || format!("{} memories merged with others that say the same: `yore log`", done.merged);
    let news = (done.merged > 0).then(news).into_iter().collect();
    Ok(Report { news, ..Report::counted(&[("compared", done.compared), ("merged", done.merged)]) })
}

/// Fails if SQLite finds damage.
fn check_store(engine: &Engine, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Report, Failure> {
    let problems = engine.store_problems(go_on).map_err(failed)?;
    match problems.first() {
        None => Ok(Report::default()),
        Some(first) => {
            let text = format!("the database is damaged ({first}): `yore doctor --deep` says more, `yore data repair` mends it");
            Err(Failure { code: "store/damaged".to_owned(), text, is_transient: false })
        }
    }
}

/// Gives free space of the database back.
fn compact(engine: &Engine, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Report, Failure> {
    Ok(Report::counted(&[("bytes given back", engine.compact_store(go_on).map_err(failed)?)]))
}

/// Has a language model compare memories and write the summaries of categories, if the person consented to learning. Limits of a day that
/// are reached are no failure.
fn understand(engine: &Engine, settings: &Settings, is_stopped: &AtomicBool) -> Result<Report, Failure> {
    let may_go_on = || {
        let config = settings.own_config();
        let may = |config: Config| config.learn.auto && config.llm.daily_tokens > 0 && !engine.are_models_off();
        !is_stopped.load(Ordering::Relaxed) && config.is_ok_and(may)
    };
    if !may_go_on() {
        return Ok(Report::default());
    }
    let mut left = MOST_ASKED;
    let mut proceed = || {
        let may_ask = left > 0 && may_go_on();
        left = left.saturating_sub(1);
        may_ask
    };
    let compared = match chooser_for("judge", settings)? {
        Some(mut chooser) => {
            let compare =
                |by: ModelAccess<'_>| engine.consolidate_by_model(by, &ConsolidateRequest::default(), &mut |_, _| proceed());
            chooser.choosing(is_stopped, compare).map_err(failed)?
        }
        None => ConsolidateReport::default(),
    };
    let written = match chooser_for("summarise", settings)? {
        Some(mut chooser) => {
            let write = |by: ModelAccess<'_>| engine.summarise_categories(by, &CategoriesRequest::default(), None, &mut proceed);
            chooser.choosing(is_stopped, write).map_err(failed)?
        }
        None => SummarisedCategories::default(),
    };
    let mut done = Report::counted(&[
        ("compared", compared.compared),
        ("settled", compared.done.len() as u64),
        ("summaries", written.written),
        ("calls", compared.statistics.calls + written.calls),
    ]);
    if !compared.done.is_empty() {
        done.news.push(format!("{} memories settled by a model: `yore log`", compared.done.len()));
        done.problems.extend(engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {}).err().map(|error| format!("index: {error}")));
    }
    let stopped: Vec<&StopReason> = [&compared.stopped, &written.stopped].into_iter().flatten().collect();
    let is_failure = |reason: &&&StopReason| {
        let is_of_limits = matches!(reason, StopReason::Failed(FailReason::Denied(_)));
        !is_of_limits && !matches!(reason, StopReason::Asked | StopReason::OtherProcess)
    };
    match stopped.iter().find(is_failure) {
        Some(reason) if compared.compared + written.calls == 0 => {
            Err(Failure { code: "llm/stopped".to_owned(), text: reason.to_string(), is_transient: true })
        }
        reason => {
            let failed = compared.failed.iter().chain(&written.failed).map(|reason| format!("a request failed: {reason}"));
            done.problems.extend(reason.map(ToString::to_string).into_iter().chain(failed));
            Ok(done)
        }
    }
}

/// Returns who answers for a purpose; `None`: only another purpose has a model.
fn chooser_for<'s>(purpose: &'static str, settings: &'s Settings) -> Result<Option<llm::ModelChooser<'s>>, Failure> {
    match llm::ModelChooser::new(settings, purpose) {
        Ok(chooser) => Ok(Some(chooser)),
        Err(error) if error.message == llm::NOBODY => Ok(None),
        Err(error) => Err(Failure { code: error.code, text: error.message, is_transient: true }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_upkeep_is_a_failure_with_a_reason() {
        assert!(guarded(|| Ok(Report::default())).is_ok());
        let failure = guarded(|| panic!("a rule of mine")).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.is_transient), ("internal", false));
    }

    #[test]
    fn set_times_are_those_of_the_settings() {
        let table = timetable(&config::Upkeep::default(), 0);
        assert_eq!((table.minute, table.weekday, table.month_day), (180, 6, 1));
    }
}

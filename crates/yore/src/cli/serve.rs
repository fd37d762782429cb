//! `yore serve`: the server of a team, for whoever operates it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use uuid::Uuid;
use yore_core::time::format_utc;
use yore_team::postgres::Postgres;
use yore_team::serve::{Listening, ServeError, Serving, SocketAddr, TlsFiles};
use yore_team::server::{CreateError, ServerSettings, create_team, invite_owner, router, system_clock};
use yore_team::store::{Quota, StoreError};
use yore_team::wire::Invite;

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::harmless;
use crate::results::TeamInvite;

/// Variable of the database's address, which has a password.
const DATABASE: &str = "YORE_DATABASE";

/// Serve teams over PostgreSQL
///
/// Any number of these can run on one database, and keep nothing of their own. Migrations of the database are done at the start, by one of
/// them. Answers `/health`, `/ready` and, with --metrics, `/metrics`. Ends in an orderly way on SIGTERM. docs/team-server.md is for whoever
/// operates it.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    database: Database,
    /// Addresses to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    listen: Vec<SocketAddr>,
    /// File with the certificate and those above it (PEM); read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File with its key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A reverse proxy does TLS, and only it can connect: serve plain HTTP on any address
    #[arg(long)]
    behind_proxy: bool,
    /// Answer /metrics, in Prometheus' text format
    #[arg(long)]
    metrics: bool,
}

/// The database.
#[derive(Args, Debug)]
struct Database {
    /// Address: postgres://USER:PASSWORD@HOST/DATABASE [default: the variable YORE_DATABASE]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a team, and print the invitation of its first owner
    CreateTeam {
        /// Its name
        name: String,
        /// Hours that the invitation is valid
        #[arg(long, default_value_t = 48)]
        hours: u32,
    },
    /// Print an invitation for another owner of a team, whose owners lost their access
    InviteOwner {
        /// Its name
        name: String,
        /// Only somebody with this address
        #[arg(long)]
        email: Option<String>,
        /// Hours that the invitation is valid
        #[arg(long, default_value_t = 48)]
        hours: u32,
    },
    /// Say that the database was restored from a backup: every computer compares and sends again what was lost
    Restored,
    /// Remove the bytes of forgotten texts from the database's files; others wait meanwhile
    Purge,
    /// Check the database: isolation of teams, and counts
    Check,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let variable = || context.settings.environment.get(DATABASE)?.to_str().map(str::to_owned);
    let missing = || CliError::usage("no database is named", Some("--database postgres://..., or the variable YORE_DATABASE"));
    let url = arguments.database.database.clone().or_else(variable).ok_or_else(missing)?;
    let failed =
        |error: std::io::Error| CliError { code: "serve/runtime".to_owned(), ..CliError::usage(error.to_string(), None) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let store = Postgres::connect(&url, Quota::default()).await.map_err(|error| of_store(&error))?;
        match &arguments.action {
            None => serve_teams(arguments, store, context).await,
            Some(Action::CreateTeam { name, hours }) => {
                let created = create_team(&store, name, *hours, system_clock()).await;
                print_invite(name, created, context)
            }
            Some(Action::InviteOwner { name, email, hours }) => {
                let invited = invite_owner(&store, name, email.clone(), *hours, system_clock()).await;
                print_invite(name, invited, context)
            }
            Some(Action::Restored) => {
                store.new_epoch().await.map_err(|error| of_store(&error))?;
                context.printer.note("every computer compares what it has at its next synchronization")?;
                Ok(Exit::Success)
            }
            Some(Action::Purge) => {
                let purged = store.purge().await.map_err(|error| of_store(&error))?;
                context.printer.note(
                    "the tables hold nothing of forgotten texts; docs/team-server.md says what standbys and backups hold",
                )?;
                if let Some(why) = purged.log {
                    context.printer.note(format!("the write-ahead log may hold older rows: {}", harmless(&why)))?;
                    return Ok(Exit::Nothing);
                }
                Ok(Exit::Success)
            }
            Some(Action::Check) => {
                let problems = store.problems().await.map_err(|error| of_store(&error))?;
                for problem in &problems {
                    context.printer.line(harmless(problem))?;
                }
                if problems.is_empty() {
                    context
                        .printer
                        .line("teams are kept apart, the role that serves has no more rights than it needs, and counts agree")?;
                }
                Ok(if problems.is_empty() { Exit::Success } else { Exit::Nothing })
            }
        }
    })
}

/// Prints the invitation of an owner.
fn print_invite(team: &str, made: Result<(Uuid, Invite), CreateError>, context: &mut Context) -> CliResult {
    let (_, invite) = made.map_err(|error| serve_error(error.to_string(), None))?;
    let expires = format_utc(invite.expires);
    if context.printer.is_json() {
        context.printer.json(&TeamInvite { invite: invite.invite, expires })?;
    } else {
        context.printer.line(&invite.invite)?;
        let team = harmless(team);
        context.printer.note(format!("it makes whoever joins with it an owner of {team}, once, until {expires}"))?;
    }
    Ok(Exit::Success)
}

async fn serve_teams(arguments: &Arguments, store: Postgres, context: &mut Context) -> CliResult {
    let log: fn(&str) = |line| crate::render::log_line(line);
    let settings = ServerSettings { metrics: arguments.metrics, log, ..ServerSettings::default() };
    let tls = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    let serving = Serving {
        addresses: arguments.listen.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        behind_proxy: arguments.behind_proxy,
        log,
        ..Serving::default()
    };
    if !store.compares_vectors() {
        context
            .printer
            .note("shared sessions are found by their words alone: the database has no pgvector, or its role may not use it")?;
    }
    let scheme = if serving.tls.is_some() { "https" } else { "http" };
    let listening = Listening::open(serving).await.map_err(|error| serve_error(error.to_string(), remedy(&error)))?;
    let listed: Vec<String> = listening.addresses().iter().map(|address| format!("{scheme}://{address}")).collect();
    context.printer.note(format!("serving teams on {}", listed.join(", ")))?;
    listening.serve(router(Arc::new(store), settings), stopped()).await;
    context.printer.note("ended")?;
    Ok(Exit::Success)
}

/// Ends when the process is asked to stop.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn remedy(error: &ServeError) -> Option<&'static str> {
    match error {
        ServeError::Plain(_) => Some("--tls-cert FILE --tls-key FILE, or --behind-proxy"),
        ServeError::Bind { .. } => Some("another address: --listen"),
        ServeError::NoAddress | ServeError::Tls(_) => None,
    }
}

fn serve_error(message: String, hint: Option<&str>) -> CliError {
    CliError { code: "serve/failed".to_owned(), ..CliError::usage(message, hint) }
}

fn of_store(error: &StoreError) -> CliError {
    let exit = if matches!(error, StoreError::Unavailable(_)) { Exit::Busy } else { Exit::Usage };
    CliError { exit, code: "serve/database".to_owned(), message: harmless(&error.to_string()), hint: None }
}

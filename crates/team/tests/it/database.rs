//! A PostgreSQL server for the tests, and databases on it. Without `YORE_TEST_POSTGRES` the tests that need one are skipped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};
use yore_team::postgres::Postgres;
use yore_team::store::Quota;

/// A server in a directory of its own, which is stopped and deleted when this process ends, however it does.
pub struct Server {
    programs: PathBuf,
    work: PathBuf,
    /// URL of the database `postgres`, as superuser.
    pub url: String,
    /// Waits for the end of this process, which closes its input.
    _watchdog: Child,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres")
}

impl Server {
    /// Starts a server; `None` if the tests have none.
    #[allow(clippy::print_stdout, reason = "a skipped test says so")]
    pub fn start() -> Option<Self> {
        let Some(programs) = std::env::var_os("YORE_TEST_POSTGRES") else {
            assert!(std::env::var_os("YORE_REQUIRE_POSTGRES").is_none_or(|value| value != "1"), "YORE_TEST_POSTGRES is not set");
            println!("skipped: YORE_TEST_POSTGRES names no PostgreSQL (scripts/postgres fetch DIRECTORY)");
            return None;
        };
        let work = tempfile::Builder::new().prefix("yore-team-").tempdir().unwrap().keep();
        let watchdog = Command::new("setsid")
            .args(["bash", "-c", r#"cat; "$0" kill "$1"; rm -rf "$1""#])
            .args([&script(), &work])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { programs: programs.into(), work, url: String::new(), _watchdog: watchdog };
        server.url = server.resume();
        Some(server)
    }

    /// Starts it again after a kill, and returns the URL, which stays the same.
    pub fn resume(&self) -> String {
        let mut command = Command::new(script());
        let output = command.arg("start").args([&self.programs, &self.work]).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "the server does not start");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Kills it as a crash would.
    pub fn kill(&self) {
        assert!(Command::new(script()).arg("kill").arg(&self.work).status().unwrap().success());
    }

    /// Creates an empty database.
    pub async fn database(&self) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let url = self.url.replace("/postgres", &format!("/{name}"));
        assert!(url.ends_with(&name));
        connect(&self.url).await.batch_execute(&format!("create database {name}")).await.unwrap();
        Database { name, url }
    }
}

/// A database of a test.
pub struct Database {
    pub name: String,
    /// Its URL, as superuser.
    pub url: String,
}

impl Database {
    /// Creates a database on the server that all tests of this process share.
    pub async fn new() -> Option<Self> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        match SERVER.get_or_init(Server::start) {
            Some(server) => Some(server.database().await),
            None => None,
        }
    }

    /// Opens a store on it.
    pub async fn store(&self, quota: Quota) -> Postgres {
        Postgres::connect(&self.url, quota).await.unwrap()
    }

    /// Connects as superuser, whom row-level security does not bind.
    pub async fn admin(&self) -> Client {
        connect(&self.url).await
    }

    /// Creates a login with options, makes it the database's owner, and returns its URL.
    pub async fn owner_with(&self, options: &str) -> String {
        let Self { name, url } = self;
        let sql =
            format!("create role login_{name} login password 'secret' {options}; alter database {name} owner to login_{name}");
        self.admin().await.batch_execute(&sql).await.unwrap();
        let (_, address) = url.split_once('@').unwrap();
        format!("postgres://login_{name}:secret@{address}")
    }
}

/// Opens a connection.
pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Runs a test's future, on threads of its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

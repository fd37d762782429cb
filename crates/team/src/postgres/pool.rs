//! Connections: TLS, their settings, and the role that they serve as.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, Pool, Runtime, Timeouts};
use rustls::crypto::ring;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::Fault;
use crate::store::{StoreError, StoreResult};

/// Most connections of a node.
const MOST_CONNECTIONS: usize = 16;
/// Longest wait for a free connection.
const POOL_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for the server to accept a connection, and for it to acknowledge bytes.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
const ANSWER_WAIT: Duration = Duration::from_secs(40);

/// Settings of each connection that serves.
const SETTINGS: &str = "
    set search_path = yore;
    set statement_timeout = '30s';
    set lock_timeout = '10s';
    set idle_in_transaction_session_timeout = '60s'";
const SET_ROLE: &str = "set role yore_node";
const ROLE_OF_CONNECTION: &str = "select current_user::text, rolsuper or rolbypassrls from pg_roles where rolname = current_user";

/// The way to the database.
pub(super) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Connector {
    /// Parses a URL or a list of `key=value`. With `sslmode=require` or `verify-full`, and without any `sslmode` if a host is not
    /// this computer, the server's certificate is checked in full against the roots that browsers use; else there is no TLS.
    pub(super) fn parse(url: &str) -> StoreResult<Self> {
        let url = Url::split(url);
        let mut config = url.config(None)?;
        if !is_local(&config) {
            // The last one counts: what the URL says, if it says something.
            config = url.config(Some(TLS))?;
        }
        if config.get_ssl_mode() != SslMode::Require {
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WAIT);
        }
        config.application_name("yore-team").tcp_user_timeout(ANSWER_WAIT);
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|fault| StoreError::Failed(fault.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config, tls: MakeRustlsConnect::new(tls) })
    }

    /// Opens a connection as the login itself, for migrations and the operator's checks.
    pub(super) async fn login(&self) -> Result<Client, Fault> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // It ends with the client; statements report its faults.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Makes the pool of connections that serve, as the role `yore_node` if the login may take it.
    pub(super) fn pool(&self, takes_role: bool) -> StoreResult<Pool> {
        let prepare = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                if takes_role {
                    client.batch_execute(SET_ROLE).await.map_err(HookError::Backend)?;
                }
                client.batch_execute(SETTINGS).await.map_err(HookError::Backend)?;
                let row = client.query_one(ROLE_OF_CONNECTION, &[]).await.map_err(HookError::Backend)?;
                let (role, is_unbound): (String, bool) = (row.get(0), row.get(1));
                if is_unbound {
                    return Err(HookError::message(format!(
                        "the role {role} bypasses row-level security, which keeps teams apart: \
                         connect as a role that is neither superuser nor BYPASSRLS, or that may create the role yore_node"
                    )));
                }
                Ok(())
            })
        });
        Pool::builder(Manager::new(self.config.clone(), self.tls.clone()))
            .max_size(MOST_CONNECTIONS)
            .timeouts(Timeouts { wait: Some(POOL_WAIT), create: Some(POOL_WAIT), recycle: Some(POOL_WAIT) })
            .runtime(Runtime::Tokio1)
            .post_create(prepare)
            .build()
            .map_err(|fault| StoreError::Failed(fault.to_string()))
    }
}

const TLS: &str = "sslmode=require";

/// The URL of a database, split into what comes before its parameters, and these. All of a list of `key=value` is parameters.
struct Url<'a> {
    address: &'a str,
    parameters: Vec<&'a str>,
    separator: &'static str,
}

impl<'a> Url<'a> {
    fn split(url: &'a str) -> Self {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            // Spaces within quotes are no ends of parameters: such a list stays as it is.
            let is_plain = !url.contains(['\'', '\\']);
            let parameters = if is_plain { url.split_whitespace().collect() } else { vec![url] };
            return Self { address: "", parameters, separator: " " };
        }
        // A password may contain a question mark.
        let host = url.find('@').unwrap_or_default();
        let end = url[host..].find('?').map_or(url.len(), |at| host + at);
        let (address, query) = url.split_at(end);
        let parameters = query.trim_start_matches('?').split('&').filter(|parameter| !parameter.is_empty()).collect();
        Self { address, parameters, separator: "&" }
    }

    /// Parses it, with a parameter before its own.
    fn config(&self, first: Option<&'a str>) -> StoreResult<Config> {
        let own = self.parameters.iter().map(|parameter| if *parameter == "sslmode=verify-full" { TLS } else { parameter });
        let all: Vec<&str> = first.into_iter().chain(own).collect();
        let mark = if self.separator == "&" { "?" } else { "" };
        let url = format!("{}{mark}{}", self.address, all.join(self.separator));
        // The error does not show the URL, which contains a password.
        url.parse().map_err(|fault| StoreError::Failed(format!("the URL of the database is wrong: {fault}")))
    }
}

/// Returns whether connections stay on this computer.
fn is_local(config: &Config) -> bool {
    let is_here = |host: &Host| match host {
        Host::Tcp(host) => {
            host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Lets the login serve as `yore_node`: creates the role, and makes the login its member, as far as the login may. Returns
/// whether it can take the role.
pub(super) async fn prepare_role(client: &Client) -> bool {
    // Roles belong to all databases of a server: a node of another database may do the same at this moment.
    for _ in 0..3 {
        if client.batch_execute(SET_ROLE).await.is_ok() {
            return client.batch_execute("reset role").await.is_ok();
        }
        // What fails here shows in the next try: the role is there by now, or the login may not.
        let _ = client.batch_execute("create role yore_node nologin nosuperuser nobypassrls").await;
        let _ = client.batch_execute("grant yore_node to current_user").await;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_elsewhere_is_reached_by_tls_unless_the_url_says_otherwise() {
        for (url, expected) in [
            ("postgres://u:p@db.example.org/d", SslMode::Require),
            ("postgresql://u:p@db.example.org", SslMode::Require),
            ("postgres://u:p@db.example.org/d?", SslMode::Require),
            ("postgres://u:p@db.example.org/d?application_name=a@b", SslMode::Require),
            ("postgres://u:p@localhost,10.0.0.1/d", SslMode::Require),
            ("postgres://u:p@localhost/d?host=db.example.org", SslMode::Require),
            ("postgres://u:p@localhost/d?hostaddr=10.0.0.1", SslMode::Require),
            ("host=db.example.org user=u", SslMode::Require),
            (r"host=db.example.org user=u password='a sslmode=disable \'b'", SslMode::Require),
            ("postgres://u:p@localhost/d", SslMode::Disable),
            ("postgres://u:p@127.0.0.1:5432,[::1]/d", SslMode::Disable),
            ("postgres://u:p@%2Frun%2Fpostgresql/d", SslMode::Disable),
            ("host=/run/postgresql user=u", SslMode::Disable),
            ("postgres://u:p@db.example.org/d?sslmode=disable", SslMode::Disable),
            ("postgres://u:p@db.example.org/d?application_name=x&sslmode=prefer", SslMode::Disable),
            ("host=db.example.org user=u sslmode = disable", SslMode::Disable),
            ("postgres://u:p@localhost/d?sslmode=require", SslMode::Require),
            ("postgres://u:p@localhost/d?sslmode=verify-full&application_name=x", SslMode::Require),
            ("host=localhost user=u sslmode=verify-full", SslMode::Require),
        ] {
            assert_eq!(Connector::parse(url).unwrap().config.get_ssl_mode(), expected, "{url}");
        }
    }

    #[test]
    fn password_is_taken_as_it_is() {
        for password in ["?sslmode=verify-full&", "sslmode=verify-full", "a?sslmode=disable"] {
            let config = Connector::parse(&format!("postgres://u:{password}@db.example.org/d?connect_timeout=7")).unwrap().config;
            assert_eq!((config.get_password(), config.get_ssl_mode()), (Some(password.as_bytes()), SslMode::Require));
            assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(7)));
        }
        let config = Connector::parse("host=localhost user=u password='a sslmode=verify-full b'").unwrap().config;
        assert_eq!(config.get_password(), Some(&b"a sslmode=verify-full b"[..]));
        let error = Connector::parse("postgres://u:secret@db.example.org/d?sslmode=verify-ca").err().unwrap();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

//! Connections: TLS, their settings, and the role that they serve as.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, Pool, Runtime, Timeouts};
use rustls::crypto::ring;
use tokio_postgres::config::SslMode;
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
    /// Parses a URL or a list of `key=value`. With `sslmode=require` or `verify-full`, the server's certificate is checked in
    /// full against the roots that browsers use; else there is no TLS.
    pub(super) fn parse(url: &str) -> StoreResult<Self> {
        let url = url.replace("sslmode=verify-full", "sslmode=require");
        // The error does not show the URL, which contains a password.
        let mut config: Config =
            url.parse().map_err(|fault| StoreError::Failed(format!("the URL of the database is wrong: {fault}")))?;
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

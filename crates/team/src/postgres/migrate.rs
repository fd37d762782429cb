//! Migrations: numbered steps, each applied once, by one node while the others wait.
//!
//! During an upgrade, old and new programs use one database. A migration that only adds keeps the number of the oldest program;
//! one that old programs cannot run with raises it, and these refuse to start.

use tokio_postgres::Client;

use super::fault::Fault;
use crate::store::StoreError;

struct Migration {
    number: i32,
    /// Number of the oldest program that can run with it: a program's number is the one of its last migration.
    oldest_program: i32,
    sql: &'static str,
}

/// Migrations, in their order. A released one never changes.
const MIGRATIONS: [Migration; 2] = [
    Migration { number: 1, oldest_program: 1, sql: include_str!("schema.sql") },
    Migration { number: 2, oldest_program: 1, sql: include_str!("sessions.sql") },
];

/// The table of vectors, which needs the extension.
const VECTORS: &str = include_str!("vectors.sql");
const GRANT_VECTORS: &str = "grant select, insert on yore.turn_vector to yore_node";
const HAS_EXTENSION: &str = "select exists (select from pg_available_extensions where name = 'vector')";
const HAS_VECTORS: &str = "
    select exists (select from pg_attribute where attrelid = to_regclass('yore.turn_vector') and attname = 'vector' and not attisdropped)";
/// The schema of the extension's types.
const EXTENSION: &str = "
    select quote_ident(nspname) from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'vector'";

const GRANTS: &str = include_str!("grants.sql");

/// Lock of the database that a node holds while it applies migrations; any constant number.
const LOCK: i64 = 0x796f_7265_7465_616d;

/// Brings the database up to this program, and gives the serving role its rights. The lock ends with the connection.
pub(super) async fn migrate(client: &mut Client, has_role: bool) -> Result<(), Fault> {
    let encoding: String = client.query_one("select current_setting('server_encoding')", &[]).await?.get(0);
    if encoding != "UTF8" {
        return Err(refusal(format!("the database has the encoding {encoding}: create it with UTF8")));
    }
    client.execute("select pg_advisory_lock($1)", &[&LOCK]).await?;
    let (current, oldest_program) = version(client).await?;
    let program = MIGRATIONS.iter().map(|migration| migration.number).max().unwrap_or_default();
    if oldest_program > program {
        return Err(refusal(format!(
            "a newer program upgraded the database to version {current}, with which programs below {oldest_program} cannot run; \
             this one is {program}: upgrade it"
        )));
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.number > current) {
        apply(client, migration).await?;
    }
    if has_role && is_owner(client).await? {
        client.batch_execute(GRANTS).await?;
    }
    if is_owner(client).await? {
        // A database without the extension, or without the right to create it, serves without vectors.
        let _ = prepare_vectors(client, has_role).await;
    }
    client.execute("select pg_advisory_unlock($1)", &[&LOCK]).await?;
    Ok(())
}

/// Creates the table of vectors, if the server has the extension and the table is not there, or has lost its vectors with the extension.
async fn prepare_vectors(client: &mut Client, has_role: bool) -> Result<(), Fault> {
    let is_available: bool = client.query_one(HAS_EXTENSION, &[]).await?.get(0);
    let has_vectors: bool = client.query_one(HAS_VECTORS, &[]).await?.get(0);
    if !is_available || has_vectors {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute("set local lock_timeout = '10s'; create extension if not exists vector").await?;
    let schema: String = transaction.query_one(EXTENSION, &[]).await?.get(0);
    transaction.execute("select set_config('search_path', 'yore, ' || $1::text, true)", &[&schema]).await?;
    transaction.batch_execute(VECTORS).await?;
    if has_role {
        transaction.batch_execute(&format!("{GRANT_VECTORS}; grant usage on schema {schema} to yore_node")).await?;
    }
    Ok(transaction.commit().await?)
}

/// Returns the search path with the types of vectors; `None`: the database has none.
pub(super) async fn vectors_path(client: &Client) -> Result<Option<String>, Fault> {
    let schema = client.query_opt(EXTENSION, &[]).await?;
    Ok(schema.map(|row| format!("yore, {}", row.get::<_, String>(0))))
}

fn refusal(words: String) -> Fault {
    Fault::Store(StoreError::Failed(words))
}

/// Returns the number of the last migration, and the oldest program that can run with the database.
async fn version(client: &Client) -> Result<(i32, i32), Fault> {
    let is_new: bool = client.query_one("select to_regclass('yore.schema_version') is null", &[]).await?.get(0);
    if is_new {
        return Ok((0, 0));
    }
    let row = client
        .query_one("select coalesce(max(version), 0), coalesce(max(oldest_program), 0) from yore.schema_version", &[])
        .await?;
    Ok((row.get(0), row.get(1)))
}

async fn apply(client: &mut Client, migration: &Migration) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    // Whoever may not create schemas can have the operator create it.
    let has_schema: bool = transaction.query_one("select to_regnamespace('yore') is not null", &[]).await?.get(0);
    if !has_schema {
        transaction.batch_execute("create schema yore").await?;
    }
    transaction
        .batch_execute(
            "create table if not exists yore.schema_version (
                version int primary key, oldest_program int not null, applied timestamptz not null default now());
             set local search_path = yore",
        )
        .await?;
    transaction.batch_execute(migration.sql).await?;
    let insert = "insert into yore.schema_version (version, oldest_program) values ($1, $2)";
    transaction.execute(insert, &[&migration.number, &migration.oldest_program]).await?;
    transaction.commit().await?;
    Ok(())
}

/// Returns whether the login owns the schema, and can give rights.
async fn is_owner(client: &Client) -> Result<bool, Fault> {
    let sql = "select pg_has_role(current_user, nspowner, 'usage') from pg_namespace where nspname = 'yore'";
    Ok(client.query_opt(sql, &[]).await?.is_some_and(|row| row.get(0)))
}

//! Row-level security keeps teams apart, in the database itself.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;
use yore_team::postgres::Postgres;
use yore_team::secret::Secret;
use yore_team::server::{CreateError, create_team, invite_owner};
use yore_team::store::{Newcomer, Quota, Store, StoreError};
use yore_team::wire::Role;

use crate::database::{Database, Server, block_on, connect};
use crate::team::{NOW, add, admit, forget, found, invitation, newcomer};

const TABLES: &str = "
    select table_name::text from information_schema.tables
    where table_schema = 'yore' and table_name <> 'schema_version' order by table_name";

/// Puts something into every table of a team.
async fn fill(store: &impl Store, team: u128) {
    let owner = found(store, team).await;
    admit(store, &owner, "bob", Role::Member).await;
    store.invite(&owner, &invitation("open", Role::Member, None), NOW).await.unwrap();
    store.push(&owner, "p", &[add(1, "a"), add(2, "b"), forget(3, "b")], NOW).await.unwrap();
}

/// Returns all tables of the schema, the partitions included.
async fn tables(admin: &Client) -> Vec<String> {
    admin.query(TABLES, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn set_tenant(transaction: &Transaction<'_>, tenant: &str) {
    transaction.execute("select set_config('yore.tenant', $1, true)", &[&tenant]).await.unwrap();
}

/// Runs a statement in a transaction of a tenant, which is rolled back. Returns the rows that it concerned, or none if it was
/// refused.
async fn rows(client: &mut Client, tenant: &str, sql: &str) -> u64 {
    let transaction = client.transaction().await.unwrap();
    set_tenant(&transaction, tenant).await;
    match transaction.execute(sql, &[]).await {
        Ok(rows) => rows,
        Err(fault) => {
            // A partition, which only its owner reaches, refuses rows of teams that are not its own.
            let expected = [&SqlState::INSUFFICIENT_PRIVILEGE, &SqlState::CHECK_VIOLATION];
            assert!(fault.code().is_some_and(|code| expected.contains(&code)), "{sql}: {fault:?}");
            0
        }
    }
}

/// Tries all that could reach the team `theirs` from a transaction of `tenant`.
async fn assert_apart(client: &mut Client, admin: &Client, tenant: &str, theirs: Uuid) {
    for table in tables(admin).await {
        let read = format!("select from yore.{table} where tenant = '{theirs}'");
        assert_eq!(rows(client, tenant, &read).await, 0, "{table} is read as {tenant:?}");
        // With no condition too, which a policy must add; and without a change, which a check could refuse.
        for sql in [
            format!("update yore.{table} set tenant = tenant where tenant = '{theirs}'"),
            format!("update yore.{table} set tenant = '{theirs}'"),
            format!("delete from yore.{table} where tenant = '{theirs}'"),
        ] {
            assert_eq!(rows(client, tenant, &sql).await, 0, "{sql} as {tenant:?}");
        }
        let copies = admin
            .query(&format!("select to_jsonb(t)::text from yore.{table} as t where tenant = '{theirs}'"), &[])
            .await
            .unwrap();
        for copy in copies {
            let copy: String = copy.get(0);
            let sql =
                format!("insert into yore.{table} select * from jsonb_populate_record(null::yore.{table}, $copy${copy}$copy$)");
            assert_eq!(rows(client, tenant, &sql).await, 0, "{sql} as {tenant:?}");
        }
    }
}

/// Returns what a team has in all tables.
async fn content(admin: &Client, tenant: Uuid) -> Vec<String> {
    let mut content = Vec::new();
    for table in tables(admin).await {
        let sql = format!("select '{table} ' || to_jsonb(t)::text from yore.{table} as t where tenant = $1");
        content.extend(admin.query(&sql, &[&tenant]).await.unwrap().iter().map(|row| row.get::<_, String>(0)));
    }
    content.sort();
    content
}

/// Checks a serving connection, which `client` is, with teams 1 and 2.
async fn check(client: &mut Client, admin: &Client, store: &Postgres) {
    let (ours, theirs) = (Uuid::from_u128(1), Uuid::from_u128(2));
    fill(store, 1).await;
    fill(store, 2).await;
    let (our_content, their_content) = (content(admin, ours).await, content(admin, theirs).await);
    // Each row is also in a partition: nothing below passes because a table is empty.
    let filled: std::collections::BTreeSet<&str> = their_content.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(filled.len(), 9 + 4, "{filled:?}");
    let mut seen = 0;
    for table in tables(admin).await {
        let sql = format!("select from yore.{table}");
        seen += u64::from(rows(client, &ours.to_string(), &sql).await > 0);
        assert_eq!(rows(client, "", &sql).await, 0, "{table} without a tenant");
    }
    assert!(seen >= 9, "{seen}");
    for tenant in [ours.to_string(), String::new()] {
        assert_apart(client, admin, &tenant, theirs).await;
    }
    // The audit and what forgetting means stay as they are for their own team too.
    for table in ["audit", "done", "forgotten"] {
        for sql in [format!("update yore.{table} set at = 0"), format!("delete from yore.{table}")] {
            assert_eq!(rows(client, &ours.to_string(), &sql).await, 0, "{sql}");
        }
    }
    assert_eq!(content(admin, ours).await, our_content);
    assert_eq!(content(admin, theirs).await, their_content);
    assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
}

#[test]
fn serving_role_reaches_one_team_and_no_definition() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        let mut client = connect(&database.url).await;
        client.batch_execute("set role yore_node").await.unwrap();
        check(&mut client, &database.admin().await, &store).await;
        for sql in ["create table yore.x ()", "alter table yore.team no force row level security", "drop table yore.audit"] {
            let fault = client.batch_execute(sql).await.unwrap_err();
            assert_eq!(fault.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
        }
        assert_eq!(rows(&mut client, "", "insert into yore.schema_version values (9, 9)").await, 0);
        // A connection that never set the tenant.
        let fresh = connect(&database.url).await;
        fresh.batch_execute("set role yore_node").await.unwrap();
        assert_eq!(fresh.execute("select from yore.team", &[]).await.unwrap(), 0);
        let sql = "insert into yore.team (tenant, name, epoch, created) values ($1, 'x', $1, 0)";
        let fault = fresh.execute(sql, &[&Uuid::from_u128(7)]).await.unwrap_err();
        assert_eq!(fault.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
    });
}

#[test]
fn login_that_can_create_no_role_is_bound_as_owner_of_the_tables() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let url = database.owner_with("").await;
        let store = Postgres::connect(&url, Quota::default()).await.unwrap();
        let mut client = connect(&url).await;
        check(&mut client, &database.admin().await, &store).await;
        assert_eq!(store.new_epoch().await.unwrap(), 2);
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn login_that_can_create_roles_serves_as_another() {
    // On a server of its own, where the role is not there yet.
    let Some(server) = Server::start() else { return };
    block_on(async {
        let database = server.database().await;
        let url = database.owner_with("createrole").await;
        let store = Postgres::connect(&url, Quota::default()).await.unwrap();
        fill(&store, 1).await;
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
        let taken = "select pg_has_role($1, 'yore_node', 'set') and has_table_privilege('yore_node', 'yore.audit', 'insert')";
        let login = format!("login_{}", database.name);
        assert!(database.admin().await.query_one(taken, &[&login]).await.unwrap().get::<_, bool>(0));

        // A login that is only a member of the role starts too: there is nothing to migrate.
        let admin = database.admin().await;
        admin.batch_execute("create role restricted login password 'secret' in role yore_node").await.unwrap();
        let url = url.replace(&login, "restricted");
        let restricted = Postgres::connect(&url, Quota::default()).await.unwrap();
        let owner = found(&store, 2).await;
        admit(&restricted, &owner, "bob", Role::Member).await;
        // It is no operator's: it does not see which names are taken.
        let refusal = restricted.create_team(Uuid::from_u128(3), "Team 3", &invitation("x", Role::Owner, None), NOW).await;
        assert!(matches!(&refusal, Err(StoreError::Failed(why)) if why.contains("must be owner")), "{refusal:?}");
    });
}

#[test]
fn login_that_bypasses_security_is_refused() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let url = database.owner_with("bypassrls").await;
        let refusal = Postgres::connect(&url, Quota::default()).await.err().unwrap();
        assert!(refusal.to_string().contains("bypasses row-level security"), "{refusal}");
    });
}

#[test]
fn problems_are_found() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        fill(&store, 1).await;
        let admin = database.admin().await;
        for (damage, expected) in [
            ("alter table yore.token disable row level security", "table token: row-level security is not forced"),
            ("alter table yore.record_3 no force row level security", "table record_3: row-level security is not forced"),
            ("create policy more on yore.member using (true)", "table member: policy more does not compare the tenant alone"),
            (
                "create policy more on yore.audit for delete using (true)",
                "table audit: its policies do not cover what they should",
            ),
            ("drop policy tenant on yore.invite", "table invite: its policies do not cover what they should"),
            ("create index wrong on yore.member (email)", "index yore.wrong: its first column is not the tenant"),
            ("grant delete on yore.audit to yore_node", "role yore_node can change or delete rows of audit"),
            ("grant create on schema yore to yore_node", "role yore_node can change the schema"),
            ("update yore.project set texts = 9", "project p of team 00000000-0000-0000-0000-000000000001: its counts"),
            ("update yore.team set bytes = 0", "team 00000000-0000-0000-0000-000000000001: its totals"),
            ("update yore.team set audited = 0", "team 00000000-0000-0000-0000-000000000001: numbers of its audit"),
            ("delete from yore.forgotten", "is forgotten in part"),
        ] {
            admin.batch_execute(damage).await.unwrap();
            let problems = store.problems().await.unwrap();
            assert!(problems.iter().any(|line| line.contains(expected)), "{damage}: {problems:?}");
        }
    });
}

#[test]
fn operator_lets_an_owner_in_again() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        // As a login that row-level security binds.
        let store = Postgres::connect(&database.owner_with("").await, Quota::default()).await.unwrap();
        let (owner, other) = (found(&store, 1).await, found(&store, 2).await);
        let taken = create_team(&store, "Team 2", 1, NOW).await;
        assert!(matches!(taken, Err(CreateError::Store(StoreError::TeamExists))), "{taken:?}");
        assert_eq!(store.team_named("Team 2").await.unwrap(), [other.me.team]);

        let wrong = invite_owner(&store, "Team 3", None, 1, NOW).await;
        assert!(matches!(wrong, Err(CreateError::NoTeam)), "{wrong:?}");
        let wrong = invite_owner(&store, "Team 1", Some("nobody".to_owned()), 1, NOW).await;
        assert!(matches!(wrong, Err(CreateError::Address)), "{wrong:?}");
        let wrong = invite_owner(&store, "Team 1", None, 0, NOW).await;
        assert!(matches!(wrong, Err(CreateError::Hours)), "{wrong:?}");
        for (email, joins, role) in
            [(None, "new@example.org", Role::Owner), (Some("Olga@example.org"), "olga@example.org", Role::Owner)]
        {
            let (team, invite) = invite_owner(&store, "Team 1", email.map(str::to_owned), 1, NOW).await.unwrap();
            assert_eq!(team, owner.me.team);
            let secret: Secret = invite.invite.parse().unwrap();
            assert_eq!(secret.team, team);
            let who = Newcomer { invite: secret.hash(), ..newcomer("", joins, &format!("{joins} again")) };
            let me = store.join(team, &who, NOW).await.unwrap().unwrap();
            assert_eq!((me.role, me.email.as_str()), (role, joins));
        }
        assert_eq!(store.members(&owner).await.unwrap().len(), 2);
        let audit = store.audit(&owner, None, 4).await.unwrap();
        assert_eq!((audit[1].member, audit[1].subject.as_str()), (None, "olga@example.org as owner"));
        assert_eq!((audit[3].member, audit[3].subject.as_str()), (None, "anybody as owner"));

        // Nothing but the creation compares names.
        let admin = database.admin().await;
        admin.batch_execute("update yore.team set name = 'Team 1'").await.unwrap();
        let wrong = invite_owner(&store, "Team 1", None, 1, NOW).await;
        assert!(matches!(wrong, Err(CreateError::SeveralTeams(2))), "{wrong:?}");
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn of_two_who_create_a_team_of_one_name_one_succeeds() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = std::sync::Arc::new(database.store(Quota::default()).await);
        let creates: Vec<_> = (0..6)
            .map(|_| {
                let store = std::sync::Arc::clone(&store);
                tokio::spawn(async move { create_team(&*store, "Team", 1, NOW).await.is_ok() })
            })
            .collect();
        let mut created = 0;
        for create in creates {
            created += u32::from(create.await.unwrap());
        }
        assert_eq!((created, store.team_named("Team").await.unwrap().len()), (1, 1));
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn new_epoch_reaches_all_teams() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        let old = [found(&store, 1).await, found(&store, 2).await];
        assert_eq!(store.new_epoch().await.unwrap(), 2);
        let mut epochs = std::collections::BTreeSet::new();
        for caller in &old {
            let new = store.authenticate(caller.me.team, caller.token).await.unwrap().unwrap().me.epoch;
            assert_eq!(store.pull(caller, "p", 0, 1).await.unwrap().epoch, new);
            epochs.extend([caller.me.epoch, new]);
        }
        assert_eq!(epochs.len(), 4);
        assert_eq!(store.problems().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn database_of_a_newer_program_or_another_encoding_is_refused() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let store = database.store(Quota::default()).await;
        fill(&store, 1).await;
        let admin = database.admin().await;
        // A newer program added something: this one still runs.
        admin.batch_execute("insert into yore.schema_version values (1000, 1)").await.unwrap();
        database.store(Quota::default()).await.ping().await.unwrap();
        admin.batch_execute("insert into yore.schema_version values (1001, 1001)").await.unwrap();
        let refusal = Postgres::connect(&database.url, Quota::default()).await.err().unwrap();
        assert!(refusal.to_string().contains("a newer program upgraded the database to version 1001"), "{refusal}");
        // A node that runs already goes on.
        store.ping().await.unwrap();

        admin
            .batch_execute("create database latin encoding 'LATIN1' locale_provider libc locale 'C' template template0")
            .await
            .unwrap();
        let (server, _) = database.url.rsplit_once('/').unwrap();
        let refusal = Postgres::connect(&format!("{server}/latin"), Quota::default()).await.err().unwrap();
        assert!(refusal.to_string().contains("LATIN1"), "{refusal}");
        let refusal = Postgres::connect("postgres://nobody:secret@127.0.0.1:1/none", Quota::default()).await.err().unwrap();
        assert!(matches!(refusal, StoreError::Unavailable(_)) && !refusal.to_string().contains("secret"), "{refusal}");
        // The server of the tests has no TLS.
        for mode in ["require", "verify-full"] {
            let refusal = Postgres::connect(&format!("{}?sslmode={mode}", database.url), Quota::default()).await.err().unwrap();
            assert!(refusal.to_string().contains("TLS"), "{refusal}");
        }
    });
}

#[test]
fn nodes_that_start_at_once_migrate_once() {
    block_on(async {
        let Some(database) = Database::new().await else { return };
        let starts: Vec<_> = (0..6)
            .map(|_| {
                let url = database.url.clone();
                tokio::spawn(async move { Postgres::connect(&url, Quota::default()).await.unwrap() })
            })
            .collect();
        for start in starts {
            start.await.unwrap().ping().await.unwrap();
        }
        let count = database.admin().await.query_one("select count(*) from yore.schema_version", &[]).await.unwrap();
        assert_eq!(count.get::<_, i64>(0), 2);
    });
}

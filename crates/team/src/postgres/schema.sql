-- Objects of the schema "yore". Text sorts by bytes, times are milliseconds UTC.
--
-- The tenant is a team. It is the first column of every key and index, and every foreign key includes it.

create table team (
    tenant uuid primary key,
    name text not null,
    -- Identity of the database's content: another one after a restored backup.
    epoch uuid not null,
    created bigint not null,
    -- Totals of all projects, which quotas bound, and the number of the audit's last entry. All change with what they count.
    projects bigint not null default 0,
    texts bigint not null default 0,
    bytes bigint not null default 0,
    audited bigint not null default 0
) with (fillfactor = 50);

create table member (
    tenant uuid not null references team,
    id uuid not null,
    name text collate "C" not null,
    email text collate "C" not null,
    role text not null check (role in ('reader', 'member', 'owner')),
    joined bigint not null,
    is_removed boolean not null default false,
    is_withdrawn boolean not null default false,
    primary key (tenant, id),
    unique (tenant, email)
);

create table token (
    tenant uuid not null,
    hash bytea not null check (length(hash) = 32),
    member uuid not null,
    computer text collate "C" not null,
    created bigint not null,
    primary key (tenant, hash),
    foreign key (tenant, member) references member
);
create index token_member on token (tenant, member);

create table invite (
    tenant uuid not null references team,
    hash bytea not null check (length(hash) = 32),
    role text not null check (role in ('reader', 'member', 'owner')),
    email text collate "C",
    expires bigint not null,
    -- Null: the operator of the server.
    made_by uuid,
    primary key (tenant, hash),
    foreign key (tenant, made_by) references member
);

create table project (
    tenant uuid not null references team,
    name text collate "C" not null,
    -- Number of the last change.
    last bigint not null,
    texts bigint not null,
    bytes bigint not null,
    primary key (tenant, name)
) with (fillfactor = 50);

create table record (
    tenant uuid not null,
    project text collate "C" not null,
    name text collate "C" not null check (length(name) = 32),
    member uuid not null,
    seq bigint not null check (seq > 0),
    at bigint not null,
    text text collate "C",
    is_forgotten boolean not null check (not is_forgotten or text is null),
    is_withheld boolean not null default false check (not is_withheld or text is null and not is_forgotten),
    primary key (tenant, project, name, member),
    unique (tenant, project, seq),
    foreign key (tenant, project) references project,
    foreign key (tenant, member) references member
) partition by hash (tenant);

-- Names that nobody can share again.
create table forgotten (
    tenant uuid not null,
    project text collate "C" not null,
    name text collate "C" not null check (length(name) = 32),
    member uuid not null,
    at bigint not null,
    primary key (tenant, project, name),
    foreign key (tenant, project) references project
) partition by hash (tenant);

-- Operations that were made or refused.
create table done (
    tenant uuid not null references team,
    id uuid not null,
    -- Why it was refused; null: it was made.
    why text,
    at bigint not null,
    primary key (tenant, id)
) partition by hash (tenant);

create table audit (
    tenant uuid not null references team,
    seq bigint not null,
    at bigint not null,
    -- Null: the operator of the server.
    member uuid,
    action text not null,
    subject text not null,
    primary key (tenant, seq)
) partition by hash (tenant);

do $$
declare
    parent text;
    part int;
begin
    foreach parent in array array['record', 'forgotten', 'done', 'audit'] loop
        for part in 0..15 loop
            execute format('create table %I partition of %I for values with (modulus 16, remainder %s)',
                parent || '_' || part, parent, part);
        end loop;
    end loop;
end $$;

-- A transaction sees and writes the rows of the tenant that it named, and none if it named none. (After a transaction that set
-- it, the setting is empty, not absent.) Rows of audit, done and forgotten are written once: even their owner cannot update or
-- delete them.
do $$
declare
    name text;
    is_own text := $condition$ (tenant = nullif(current_setting('yore.tenant', true), '')::uuid) $condition$;
begin
    for name in
        select relname from pg_class
        where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and relname <> 'schema_version'
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        if name ~ '^(audit|done|forgotten)(_|$)' then
            execute format('create policy tenant_read on %I for select using', name) || is_own;
            execute format('create policy tenant_insert on %I for insert with check', name) || is_own;
        else
            execute format('create policy tenant on %I using', name) || is_own;
        end if;
    end loop;
end $$;

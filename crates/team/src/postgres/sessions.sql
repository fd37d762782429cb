-- Sessions that members share, and the words of their turns. Version 2: adds only, so that programs of version 1 go on.

alter table team add column turns bigint not null default 0, add column turn_bytes bigint not null default 0;
-- The number, bytes and words of all turns of a project.
alter table project add column turns bigint not null default 0, add column turn_bytes bigint not null default 0,
    add column words bigint not null default 0;

create table session (
    tenant uuid not null,
    project text collate "C" not null,
    member uuid not null,
    id text collate "C" not null check (length(id) = 32),
    title text collate "C" not null,
    agent text collate "C" not null,
    began bigint,
    -- Number of its turns when all have arrived, and what the member's computer knows that state by.
    turns int not null check (turns >= 0),
    digest text collate "C" not null,
    primary key (tenant, project, member, id),
    foreign key (tenant, project) references project,
    foreign key (tenant, member) references member
) partition by hash (tenant);

create table turn (
    tenant uuid not null,
    project text collate "C" not null,
    member uuid not null,
    session text collate "C" not null,
    index int not null check (index >= 0),
    said text not null check (said in ('user', 'assistant')),
    speaker text collate "C",
    at bigint,
    text text collate "C" not null,
    primary key (tenant, project, member, session, index),
    foreign key (tenant, project, member, session) references session on delete cascade
) partition by hash (tenant);

-- The last request of each of a member's computers: one with a smaller number comes too late.
create table request_order (
    tenant uuid not null,
    project text collate "C" not null,
    member uuid not null,
    sender uuid not null,
    number bigint not null,
    primary key (tenant, project, member, sender),
    foreign key (tenant, project) references project,
    foreign key (tenant, member) references member
) partition by hash (tenant);

-- The words of each turn. Numbers of words are keyed by team and project, so that each key of the index is of one project.
create table turn_words (
    tenant uuid not null,
    project text collate "C" not null,
    member uuid not null,
    session text collate "C" not null,
    index int not null,
    at bigint,
    -- Numbers of its distinct words, how often it has each, and how many words it has.
    words bigint[] not null,
    counts smallint[] not null,
    length int not null check (length >= 0),
    primary key (tenant, project, member, session, index),
    foreign key (tenant, project, member, session, index) references turn on delete cascade
) partition by hash (tenant);
create index turn_words_words on turn_words using gin (words);

-- How many turns of a project have a word.
create table word (
    tenant uuid not null,
    project text collate "C" not null,
    word bigint not null,
    turns bigint not null check (turns >= 0),
    primary key (tenant, project, word),
    foreign key (tenant, project) references project
) partition by hash (tenant);

do $$
declare
    parent text;
    part int;
begin
    foreach parent in array array['session', 'turn', 'request_order', 'turn_words', 'word'] loop
        for part in 0..15 loop
            execute format('create table %I partition of %I for values with (modulus 16, remainder %s)',
                parent || '_' || part, parent, part);
        end loop;
    end loop;
end $$;

do $$
declare
    name text;
    is_own text := $condition$ (tenant = nullif(current_setting('yore.tenant', true), '')::uuid) $condition$;
    is_wanted text := $condition$
        (tenant = nullif(current_setting('yore.tenant', true), '')::uuid
         and words && nullif(current_setting('yore.words', true), '')::bigint[]) $condition$;
begin
    for name in
        select relname from pg_class
        where relnamespace = 'yore'::regnamespace and relkind in ('r', 'p') and relname ~ '^(session|turn|request_order|turn_words|word)(_\d+)?$'
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        if name ~ '^turn_words' then
            -- A transaction names the words that it looks for, and sees the rows that have one. (Under row-level security, the index serves
            -- only conditions of the policy itself.) Rows go with their turns.
            execute format('create policy tenant_read on %I for select using', name) || is_wanted;
            execute format('create policy tenant_insert on %I for insert with check', name) || is_own;
        else
            execute format('create policy tenant on %I using', name) || is_own;
        end if;
    end loop;
end $$;

-- Vectors of the parts of turns, where the server has pgvector: whether it has may change, so that this is no migration.
drop table if exists turn_vector;
create table turn_vector (
    tenant uuid not null,
    project text collate "C" not null,
    member uuid not null,
    session text collate "C" not null,
    index int not null,
    part smallint not null,
    vector halfvec(256) not null,
    primary key (tenant, project, member, session, index, part),
    foreign key (tenant, project, member, session, index) references turn on delete cascade
);
alter table turn_vector enable row level security;
alter table turn_vector force row level security;
create policy tenant on turn_vector using (tenant = nullif(current_setting('yore.tenant', true), '')::uuid);

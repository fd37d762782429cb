-- Rights of the role that serves: on the tables by their purpose, on their partitions and the schema's definition none.
grant usage on schema yore to yore_node;
grant select, insert, update on yore.team, yore.member, yore.project, yore.record to yore_node;
grant select, insert, delete on yore.token, yore.invite to yore_node;
grant select, insert, update, delete on yore.session, yore.turn, yore.word to yore_node;
grant select, insert, update on yore.request_order to yore_node;
grant select, insert on yore.turn_words to yore_node;
grant select, insert on yore.done, yore.forgotten, yore.audit to yore_node;
-- So that a login that is only a member of the role can start: it compares the version with its own.
grant select on yore.schema_version to yore_node;

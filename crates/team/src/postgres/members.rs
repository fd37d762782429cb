//! Teams, invitations, tokens and members.

use deadpool_postgres::Transaction;
use uuid::Uuid;
use yore_core::time::UtcMillis;

use super::fault::Fault;
use super::{Postgres, begin, begin_read, number, require_token, role_of};
use crate::rules::{self, action};
use crate::store::{Caller, Newcomer, StoreError, StoredInvite};
use crate::wire::{Me, Member, Role};

/// The lock under which members, tokens and invitations change.
pub(super) const LOCK_TEAM: &str = "select name, epoch from team where tenant = $1 for no key update";
const NOTE: &str = "
    with numbered as (update team set audited = audited + 1 where tenant = $1 returning audited)
    insert into audit (tenant, seq, at, member, action, subject) select $1, audited, $2, $3, $4, $5 from numbered";

const ADD_INVITE: &str = "insert into invite (tenant, hash, role, email, expires, made_by) values ($1, $2, $3, $4, $5, $6)";
const GET_INVITE: &str = "select role, email from invite where tenant = $1 and hash = $2 and expires > $3";
const USE_INVITE: &str = "delete from invite where tenant = $1 and hash = $2";
const DROP_INVITES: &str = "delete from invite where tenant = $1 and (made_by = $2 or email = $3)";

const CALLER: &str = "
    select team.name, team.epoch, member.id, member.email, member.role, token.computer
    from token
    join member on member.tenant = token.tenant and member.id = token.member
    join team on team.tenant = token.tenant
    where token.tenant = $1 and token.hash = $2 and not member.is_removed";
const ADD_TOKEN: &str = "insert into token (tenant, hash, member, computer, created) values ($1, $2, $3, $4, $5)";
const DROP_TOKEN: &str = "delete from token where tenant = $1 and hash = $2";
const HAVE_OWNERS_TOKENS: &str = "
    select exists (
        select from token join member on member.tenant = token.tenant and member.id = token.member
        where token.tenant = $1 and member.role = 'owner')";
const DROP_TOKENS: &str = "delete from token where tenant = $1 and member = $2";

const BY_EMAIL: &str = "select id, role, is_removed from member where tenant = $1 and email = $2";
const COUNT_ACTIVE: &str = "select count(*) from member where tenant = $1 and not is_removed";
const COUNT_OWNERS: &str = "select count(*) from member where tenant = $1 and not is_removed and role = 'owner'";
const ADD_MEMBER: &str = "insert into member (tenant, id, name, email, role, joined) values ($1, $2, $3, $4, $5, $6)";
const RETURN_MEMBER: &str = "update member set is_removed = false, role = $3 where tenant = $1 and id = $2";
const REMOVE_MEMBER: &str = "update member set is_removed = true where tenant = $1 and id = $2";
const WITHDRAW_MEMBER: &str = "update member set is_withdrawn = $3 where tenant = $1 and id = $2";
/// All members, or the one with an id.
const MEMBERS: &str = "
    select id, name, email, role, joined, is_removed, is_withdrawn,
        array(select computer from token where token.tenant = $1 and token.member = member.id order by computer)
    from member where tenant = $1 and ($2::uuid is null or id = $2) order by name, id";

impl Postgres {
    /// Does the same work for a team that is not there as for a token that is not there: its duration tells nothing.
    pub(super) async fn try_authenticate(&self, team: Uuid, token: [u8; 32]) -> Result<Option<Caller>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, team).await?;
        let statement = transaction.prepare_cached(CALLER).await?;
        let Some(row) = transaction.query_opt(&statement, &[&team, &&token[..]]).await? else { return Ok(None) };
        let me = Me {
            team,
            team_name: row.get(0),
            epoch: row.get(1),
            member: row.get(2),
            email: row.get(3),
            role: role_of(row.get(4))?,
            computer: row.get(5),
        };
        Ok(Some(Caller { me, token }))
    }

    pub(super) async fn try_join(&self, team: Uuid, who: &Newcomer, now: UtcMillis) -> Result<Option<Me>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin(&mut client, team).await?;
        // Whoever has no invitation must not keep the team's members waiting.
        if transaction.query_opt(GET_INVITE, &[&team, &&who.invite[..], &now]).await?.is_none() {
            return Ok(None);
        }
        let locked = transaction.query_opt(LOCK_TEAM, &[&team]).await?;
        // Another one may have used it up meanwhile.
        let invite = transaction.query_opt(GET_INVITE, &[&team, &&who.invite[..], &now]).await?;
        let (Some(locked), Some(invite)) = (locked, invite) else { return Ok(None) };
        let invited: Option<String> = invite.get(1);
        let known = transaction.query_opt(BY_EMAIL, &[&team, &who.email]).await?;
        // An invitation that names no address makes new members only: with it, anybody could become anybody.
        if !invited.map_or(known.is_none(), |email| email == who.email) {
            return Ok(None);
        }
        transaction.execute(USE_INVITE, &[&team, &&who.invite[..]]).await?;
        let role = role_of(invite.get(0))?;
        let (member, role) = match known {
            Some(known) if !known.get::<_, bool>(2) => (known.get(0), role_of(known.get(1))?),
            known => {
                let active: i64 = transaction.query_one(COUNT_ACTIVE, &[&team]).await?.get(0);
                if number(active) >= self.quota.members {
                    return Err(Fault::Store(StoreError::Quota("members")));
                }
                let id = match known {
                    Some(removed) => {
                        let id: Uuid = removed.get(0);
                        transaction.execute(RETURN_MEMBER, &[&team, &id, &role.as_str()]).await?;
                        id
                    }
                    None => {
                        let id = rules::member_id(&who.token);
                        transaction.execute(ADD_MEMBER, &[&team, &id, &who.name, &who.email, &role.as_str(), &now]).await?;
                        id
                    }
                };
                (id, role)
            }
        };
        transaction.execute(ADD_TOKEN, &[&team, &&who.token[..], &member, &who.computer, &now]).await?;
        note(&transaction, team, now, Some(member), action::JOIN, &rules::join_subject(&who.email, &who.computer)).await?;
        transaction.commit().await?;
        let (email, computer) = (who.email.clone(), who.computer.clone());
        Ok(Some(Me { team, team_name: locked.get(0), epoch: locked.get(1), member, email, role, computer }))
    }

    pub(super) async fn try_invite(
        &self,
        caller: &Caller,
        invite: &StoredInvite,
        role: Role,
        now: UtcMillis,
    ) -> Result<(), Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_change(&mut client, caller).await?;
        let (team, me) = (caller.me.team, Some(caller.me.member));
        add_invite(&transaction, team, invite, role, me).await?;
        note(&transaction, team, now, me, action::INVITE, &rules::invite_subject(invite.email.as_deref(), role)).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn try_members(&self, caller: &Caller) -> Result<Vec<Member>, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_read(&mut client, caller.me.team).await?;
        require_token(&transaction, caller).await?;
        all_members(&transaction, caller.me.team).await
    }

    pub(super) async fn try_remove(&self, caller: &Caller, id: Uuid, now: UtcMillis) -> Result<Member, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_change(&mut client, caller).await?;
        let team = caller.me.team;
        let member = one_member(&transaction, team, id).await?;
        if member.is_removed {
            return Ok(member);
        }
        let owners: i64 = transaction.query_one(COUNT_OWNERS, &[&team]).await?.get(0);
        if member.role == Role::Owner && owners == 1 {
            return Err(Fault::Store(StoreError::LastOwner));
        }
        transaction.execute(REMOVE_MEMBER, &[&team, &id]).await?;
        transaction.execute(DROP_TOKENS, &[&team, &id]).await?;
        // Nor may an invitation for their address let them in again.
        transaction.execute(DROP_INVITES, &[&team, &id, &member.email]).await?;
        note(&transaction, team, now, Some(caller.me.member), action::REMOVE, &member.email).await?;
        transaction.commit().await?;
        Ok(Member { is_removed: true, computers: Vec::new(), ..member })
    }

    pub(super) async fn try_withdraw(
        &self,
        caller: &Caller,
        id: Uuid,
        is_withdrawn: bool,
        now: UtcMillis,
    ) -> Result<Member, Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_change(&mut client, caller).await?;
        let team = caller.me.team;
        let member = one_member(&transaction, team, id).await?;
        if member.is_withdrawn == is_withdrawn {
            return Ok(member);
        }
        transaction.execute(WITHDRAW_MEMBER, &[&team, &id, &is_withdrawn]).await?;
        let action = if is_withdrawn { action::WITHDRAW } else { action::RESTORE };
        note(&transaction, team, now, Some(caller.me.member), action, &member.email).await?;
        transaction.commit().await?;
        Ok(Member { is_withdrawn, ..member })
    }

    pub(super) async fn try_leave(&self, caller: &Caller, now: UtcMillis) -> Result<(), Fault> {
        let mut client = self.pool.get().await?;
        let transaction = begin_change(&mut client, caller).await?;
        let Me { team, member, email, role, computer, .. } = &caller.me;
        transaction.execute(DROP_TOKEN, &[team, &&caller.token[..]]).await?;
        if *role == Role::Owner && !transaction.query_one(HAVE_OWNERS_TOKENS, &[team]).await?.get::<_, bool>(0) {
            return Err(Fault::Store(StoreError::LastOwner));
        }
        note(&transaction, *team, now, Some(*member), action::LEAVE, &rules::join_subject(email, computer)).await?;
        Ok(transaction.commit().await?)
    }
}

/// Begins a transaction that changes members, tokens or invitations: it waits for others of the team that do.
async fn begin_change<'a>(client: &'a mut deadpool_postgres::ClientWrapper, caller: &Caller) -> Result<Transaction<'a>, Fault> {
    let transaction = begin(client, caller.me.team).await?;
    transaction.query(LOCK_TEAM, &[&caller.me.team]).await?;
    require_token(&transaction, caller).await?;
    Ok(transaction)
}

pub(super) async fn add_invite(
    transaction: &tokio_postgres::Transaction<'_>,
    team: Uuid,
    invite: &StoredInvite,
    role: Role,
    made_by: Option<Uuid>,
) -> Result<(), Fault> {
    let StoredInvite { hash, role: _, email, expires } = invite;
    transaction.execute(ADD_INVITE, &[&team, &&hash[..], &role.as_str(), email, expires, &made_by]).await?;
    Ok(())
}

/// Adds an entry to the audit. Its number comes from the team's row, which is locked until the transaction ends.
pub(super) async fn note(
    transaction: &tokio_postgres::Transaction<'_>,
    team: Uuid,
    now: UtcMillis,
    member: Option<Uuid>,
    action: &str,
    subject: &str,
) -> Result<(), Fault> {
    transaction.execute(NOTE, &[&team, &now, &member, &action, &subject]).await?;
    Ok(())
}

/// Returns all members of a team, by name and id.
pub(super) async fn all_members(transaction: &Transaction<'_>, team: Uuid) -> Result<Vec<Member>, Fault> {
    let members = transaction.prepare_cached(MEMBERS).await?;
    let rows = transaction.query(&members, &[&team, &None::<Uuid>]).await?;
    rows.iter().map(member_of).collect()
}

async fn one_member(transaction: &Transaction<'_>, team: Uuid, id: Uuid) -> Result<Member, Fault> {
    let row = transaction.query_opt(MEMBERS, &[&team, &Some(id)]).await?;
    member_of(&row.ok_or(Fault::Store(StoreError::UnknownMember))?)
}

fn member_of(row: &tokio_postgres::Row) -> Result<Member, Fault> {
    Ok(Member {
        id: row.get(0),
        name: row.get(1),
        email: row.get(2),
        role: role_of(row.get(3))?,
        joined: row.get(4),
        is_removed: row.get(5),
        is_withdrawn: row.get(6),
        computers: row.get(7),
    })
}

//! Behaviour of every store: the stories run on the model and on PostgreSQL.

use uuid::Uuid;
use yore_team::model::Model;
use yore_team::store::{Caller, Quota, Store, StoreError};
use yore_team::wire::{Audited, Change, MOST_PAGE, MOST_TEXT, Member, Outcome, Role, name_of};

use crate::database::{Database, block_on};
use crate::team::{NOW, add, admit, forget, found, hash, invitation, newcomer, operation, shown, take_back, withhold};

pub const QUOTA: Quota =
    Quota { texts: 1_000, bytes: 100 << 20, projects: 100, members: 100, turns: 10_000, turn_bytes: 100 << 20 };

/// Makes two tests of each story.
macro_rules! stories {
    ($($(#[$doc:meta])* $story:ident($quota:expr);)*) => {
        mod model {
            use super::*;
            $(#[test] fn $story() { block_on(super::$story(Model::new($quota))); })*
        }

        mod postgres {
            use super::*;
            $(#[test] fn $story() {
                block_on(async {
                    let Some(database) = Database::new().await else { return };
                    super::$story(database.store($quota).await).await;
                    assert_eq!(database.store($quota).await.problems().await.unwrap(), Vec::<String>::new());
                });
            })*
        }
    };
}

pub(crate) use stories;

stories! {
    invitations_let_one_computer_in_once(QUOTA);
    invitations_are_for_their_time_address_and_team(QUOTA);
    open_invitation_makes_nobody_a_known_member(QUOTA);
    member_adds_a_computer_and_keeps_the_role(QUOTA);
    removed_member_has_no_access_and_can_be_invited_again(QUOTA);
    last_owner_stays(QUOTA);
    last_owner_with_access_does_not_leave(QUOTA);
    withdrawal_marks_a_member_and_deletes_nothing(QUOTA);
    roles_bound_what_a_caller_may_do(QUOTA);
    revoked_token_does_nothing(QUOTA);
    teams_are_apart(QUOTA);
    operations_are_made_once(QUOTA);
    wrong_texts_are_refused(QUOTA);
    changes_of_one_name_in_one_batch_follow_each_other(QUOTA);
    records_that_are_gone_keep_whether_they_are_withheld(QUOTA);
    readers_take_back_and_forget_their_own(QUOTA);
    forgetting_reaches_all_who_share(QUOTA);
    projects_begin_with_what_is_stored(QUOTA);
    pages_are_bounded_and_miss_nothing(QUOTA);
    page_ends_early_after_many_bytes(QUOTA);
    quotas_refuse_growth_and_leave_nothing(Quota { texts: 3, bytes: 30, projects: 2, members: 2, ..QUOTA });
    audit_lists_the_newest_first(QUOTA);
}

fn refused(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused { .. })
}

async fn pulled(store: &impl Store, caller: &Caller) -> Vec<String> {
    shown(&store.pull(caller, "p", 0, 1_000).await.unwrap())
}

async fn member(store: &impl Store, caller: &Caller, id: Uuid) -> Member {
    store.members(caller).await.unwrap().into_iter().find(|member| member.id == id).unwrap()
}

async fn invitations_let_one_computer_in_once<S: Store>(store: S) {
    store.ping().await.unwrap();
    let owner = found(&store, 1).await;
    assert_eq!((owner.me.email.as_str(), owner.me.role, owner.me.computer.as_str()), ("olga@example.org", Role::Owner, "olga-1"));
    assert_eq!(owner.me.team_name, "Team 1");
    let again = newcomer("first", "mallory@example.org", "m");
    assert_eq!(store.join(owner.me.team, &again, NOW).await.unwrap(), None);
    assert_eq!(store.authenticate(owner.me.team, hash("m")).await.unwrap(), None);

    let bob = admit(&store, &owner, "bob", Role::Reader).await;
    assert_eq!(bob.me.role, Role::Reader);
    let members = store.members(&bob).await.unwrap();
    let seen: Vec<_> =
        members.iter().map(|member| (member.name.as_str(), member.role, member.joined, &member.computers[..])).collect();
    assert_eq!(seen, [("bob", Role::Reader, NOW, &["bob-1".to_owned()][..]), ("olga", Role::Owner, NOW, &["olga-1".to_owned()])]);
    assert!(members.iter().all(|member| !member.is_removed && !member.is_withdrawn));
    let taken = store.create_team(owner.me.team, "Other", &invitation("x", Role::Owner, None), NOW).await;
    assert!(matches!(taken, Err(StoreError::Failed(_))), "{taken:?}");
    let (id, invite) = (Uuid::from_u128(2), invitation("x", Role::Owner, None));
    let taken = store.create_team(id, "Team 1", &invite, NOW).await;
    assert!(matches!(taken, Err(StoreError::TeamExists)), "{taken:?}");
    // Nothing of it is left.
    store.create_team(id, "Team 2", &invite, NOW).await.unwrap();
}

async fn invitations_are_for_their_time_address_and_team<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let other = found(&store, 2).await;
    let invite = invitation("for-bob", Role::Member, Some("bob@example.org"));
    store.invite(&owner, &invite, NOW).await.unwrap();
    let bob = newcomer("for-bob", "bob@example.org", "bob-1");
    let eve = newcomer("for-bob", "eve@example.org", "eve-1");
    assert_eq!(store.join(owner.me.team, &eve, NOW).await.unwrap(), None);
    assert_eq!(store.join(other.me.team, &bob, NOW).await.unwrap(), None);
    assert_eq!(store.join(Uuid::from_u128(9), &bob, NOW).await.unwrap(), None);
    assert_eq!(store.join(owner.me.team, &bob, invite.expires).await.unwrap(), None);
    let unknown = newcomer("nothing", "bob@example.org", "bob-1");
    assert_eq!(store.join(owner.me.team, &unknown, NOW).await.unwrap(), None);
    let me = store.join(owner.me.team, &bob, invite.expires - 1).await.unwrap().unwrap();
    assert_eq!((me.email.as_str(), me.role), ("bob@example.org", Role::Member));
    assert_eq!(store.authenticate(owner.me.team, hash("bob-1")).await.unwrap().unwrap().me, me);
}

async fn open_invitation_makes_nobody_a_known_member<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.remove(&owner, bob.me.member, NOW).await.unwrap();
    store.invite(&owner, &invitation("open", Role::Reader, None), NOW).await.unwrap();
    for email in ["olga@example.org", "bob@example.org"] {
        assert_eq!(store.join(owner.me.team, &newcomer("open", email, "x-1"), NOW).await.unwrap(), None, "{email}");
    }
    assert!(store.join(owner.me.team, &newcomer("open", "new@example.org", "x-1"), NOW).await.unwrap().is_some());
}

async fn member_adds_a_computer_and_keeps_the_role<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Reader).await;
    // Members invite their own address only, and get the role that they have.
    store.invite(&bob, &invitation("second", Role::Owner, Some("bob@example.org")), NOW).await.unwrap();
    for email in [None, Some("eve@example.org")] {
        let result = store.invite(&bob, &invitation("third", Role::Reader, email), NOW).await;
        assert!(matches!(result, Err(StoreError::Role { has: Role::Reader, needs: Role::Owner })), "{result:?}");
    }
    let me = store.join(owner.me.team, &newcomer("second", "bob@example.org", "bob-0"), NOW + 5).await.unwrap().unwrap();
    assert_eq!((me.member, me.role, me.computer.as_str()), (bob.me.member, Role::Reader, "bob-0"));
    let seen = member(&store, &bob, bob.me.member).await;
    assert_eq!((seen.computers, seen.joined), (vec!["bob-0".to_owned(), "bob-1".to_owned()], NOW));
    // An owner's invitation does not change the role of a known member either.
    store.invite(&owner, &invitation("fourth", Role::Owner, Some("bob@example.org")), NOW).await.unwrap();
    let me = store.join(owner.me.team, &newcomer("fourth", "bob@example.org", "bob-3"), NOW).await.unwrap().unwrap();
    assert_eq!(me.role, Role::Reader);

    store.leave(&bob, NOW).await.unwrap();
    assert_eq!(store.authenticate(owner.me.team, hash("bob-1")).await.unwrap(), None);
    assert!(store.authenticate(owner.me.team, hash("bob-0")).await.unwrap().is_some());
    assert_eq!(member(&store, &owner, bob.me.member).await.computers, ["bob-0", "bob-3"]);
}

async fn removed_member_has_no_access_and_can_be_invited_again<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Owner).await;
    store.push(&bob, "p", &[add(1, "kept")], NOW).await.unwrap();
    store.invite(&bob, &invitation("by-bob", Role::Owner, None), NOW).await.unwrap();
    store.invite(&owner, &invitation("for-bob", Role::Owner, Some("bob@example.org")), NOW).await.unwrap();
    let removed = store.remove(&owner, bob.me.member, NOW).await.unwrap();
    assert!(removed.is_removed && removed.computers.is_empty());
    assert_eq!(store.remove(&owner, bob.me.member, NOW).await.unwrap(), removed);
    assert_eq!(store.authenticate(owner.me.team, hash("bob-1")).await.unwrap(), None);
    for (secret, email) in [("by-bob", "new@example.org"), ("for-bob", "bob@example.org")] {
        assert_eq!(store.join(owner.me.team, &newcomer(secret, email, "x-1"), NOW).await.unwrap(), None, "{secret}");
    }
    assert_eq!(pulled(&store, &owner).await, ["1 kept bob"]);

    store.invite(&owner, &invitation("again", Role::Reader, Some("bob@example.org")), NOW).await.unwrap();
    let back = store.join(owner.me.team, &newcomer("again", "bob@example.org", "bob-2"), NOW + 9).await.unwrap().unwrap();
    assert_eq!((back.member, back.role), (bob.me.member, Role::Reader));
    let seen = member(&store, &owner, bob.me.member).await;
    assert!(!seen.is_removed);
    assert_eq!(seen.computers, ["bob-2"]);
    // The old token stays revoked.
    assert_eq!(store.authenticate(owner.me.team, hash("bob-1")).await.unwrap(), None);
    let unknown = store.remove(&owner, Uuid::from_u128(77), NOW).await;
    assert!(matches!(unknown, Err(StoreError::UnknownMember)), "{unknown:?}");
}

async fn last_owner_stays<S: Store>(store: S) {
    let olga = found(&store, 1).await;
    let bob = admit(&store, &olga, "bob", Role::Member).await;
    let result = store.remove(&olga, olga.me.member, NOW).await;
    assert!(matches!(result, Err(StoreError::LastOwner)), "{result:?}");
    let second = admit(&store, &olga, "otto", Role::Owner).await;
    store.remove(&olga, olga.me.member, NOW).await.unwrap();
    let result = store.remove(&second, second.me.member, NOW).await;
    assert!(matches!(result, Err(StoreError::LastOwner)), "{result:?}");
    // Anybody may remove themselves.
    assert!(store.remove(&bob, bob.me.member, NOW).await.unwrap().is_removed);
}

async fn last_owner_with_access_does_not_leave<S: Store>(store: S) {
    let olga = found(&store, 1).await;
    admit(&store, &olga, "bob", Role::Member).await;
    let is_last = async |caller: &Caller| match store.leave(caller, NOW).await {
        Ok(()) => false,
        Err(error) => matches!(error, StoreError::LastOwner) || panic!("{error}"),
    };
    assert!(is_last(&olga).await && store.authenticate(olga.me.team, olga.token).await.unwrap().is_some());
    // A further computer, or another owner, keeps the access.
    store.invite(&olga, &invitation("second", Role::Owner, Some("olga@example.org")), NOW).await.unwrap();
    store.join(olga.me.team, &newcomer("second", "olga@example.org", "olga-2"), NOW).await.unwrap().unwrap();
    let second = store.authenticate(olga.me.team, hash("olga-2")).await.unwrap().unwrap();
    assert!(!is_last(&olga).await && is_last(&second).await);
    let otto = admit(&store, &second, "otto", Role::Owner).await;
    assert!(!is_last(&second).await);
    // An owner without a computer is none who could let anybody in.
    assert!(is_last(&otto).await);
}

async fn withdrawal_marks_a_member_and_deletes_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.push(&bob, "p", &[add(1, "text")], NOW).await.unwrap();
    for is_withdrawn in [true, true, false] {
        assert_eq!(store.withdraw(&owner, bob.me.member, is_withdrawn, NOW).await.unwrap().is_withdrawn, is_withdrawn);
        assert_eq!(member(&store, &bob, bob.me.member).await.is_withdrawn, is_withdrawn);
        assert_eq!(pulled(&store, &bob).await, ["1 text bob"]);
    }
    let unknown = store.withdraw(&owner, Uuid::from_u128(77), true, NOW).await;
    assert!(matches!(unknown, Err(StoreError::UnknownMember)), "{unknown:?}");
}

async fn roles_bound_what_a_caller_may_do<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let rita = admit(&store, &owner, "rita", Role::Reader).await;
    let pushed = store.push(&rita, "p", &[add(1, "text")], NOW).await;
    assert!(matches!(pushed, Err(StoreError::Role { has: Role::Reader, needs: Role::Member })), "{pushed:?}");
    for caller in [&bob, &rita] {
        let results = [
            store.remove(caller, owner.me.member, NOW).await.err(),
            store.remove(caller, Uuid::from_u128(77), NOW).await.err(),
            store.withdraw(caller, caller.me.member, true, NOW).await.err(),
            store.audit(caller, None, 9).await.err(),
        ];
        for result in results {
            assert!(matches!(result, Some(StoreError::Role { needs: Role::Owner, .. })), "{result:?}");
        }
        assert!(store.members(caller).await.is_ok() && store.projects(caller).await.is_ok());
    }
    assert_eq!(pulled(&store, &rita).await, Vec::<String>::new());
}

async fn revoked_token_does_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Owner).await;
    store.remove(&owner, bob.me.member, NOW).await.unwrap();
    // The removal came between the check of the token and these.
    let results = [
        store.invite(&bob, &invitation("x", Role::Owner, None), NOW).await.err(),
        store.push(&bob, "p", &[add(1, "text")], NOW).await.err(),
        store.pull(&bob, "p", 0, 9).await.err(),
        store.members(&bob).await.err(),
        store.projects(&bob).await.err(),
        store.remove(&bob, owner.me.member, NOW).await.err(),
        store.withdraw(&bob, owner.me.member, true, NOW).await.err(),
        store.leave(&bob, NOW).await.err(),
        store.audit(&bob, None, 9).await.err(),
    ];
    for result in results {
        assert!(matches!(result, Some(StoreError::Revoked)), "{result:?}");
    }
    assert_eq!(pulled(&store, &owner).await, Vec::<String>::new());
}

async fn teams_are_apart<S: Store>(store: S) {
    let (one, two) = (found(&store, 1).await, found(&store, 2).await);
    assert_ne!(one.me.epoch, two.me.epoch);
    // The same operation, text and project in both.
    for owner in [&one, &two] {
        assert_eq!(store.push(owner, "p", &[add(1, "text")], NOW).await.unwrap(), [Outcome::Done]);
        assert_eq!(pulled(&store, owner).await, ["1 text olga"]);
    }
    let bob = admit(&store, &one, "bob", Role::Member).await;
    assert_eq!(store.authenticate(two.me.team, bob.token).await.unwrap(), None);
    let result = store.remove(&two, bob.me.member, NOW).await;
    assert!(matches!(result, Err(StoreError::UnknownMember)), "{result:?}");
    store.push(&two, "p", &[forget(2, "text")], NOW).await.unwrap();
    assert_eq!(pulled(&store, &one).await, ["1 text olga"]);
    assert_eq!(store.members(&two).await.unwrap().len(), 1);
}

async fn operations_are_made_once<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let batch = [add(1, "a"), add(1, "b"), operation(2, Change::Add { name: name_of("x"), text: "y".to_owned() }), add(3, "a")];
    let first = store.push(&bob, "p", &batch, NOW).await.unwrap();
    assert_eq!(first[..2], [Outcome::Done, Outcome::Done]);
    assert!(refused(&first[2]) && !refused(&first[3]));
    let all = store.pull(&bob, "p", 0, 9).await.unwrap();
    assert_eq!(shown(&all), ["1 a bob"]);
    // Again, later, by others, in another project, with other content: the earlier outcome, and nothing happens.
    assert_eq!(store.push(&bob, "p", &batch, NOW + 1).await.unwrap(), first);
    let others = [take_back(1, "a"), add(2, "good"), take_back(3, "a")];
    assert_eq!(store.push(&owner, "q", &others, NOW + 2).await.unwrap(), [first[0].clone(), first[2].clone(), first[3].clone()]);
    assert_eq!(store.pull(&bob, "p", 0, 9).await.unwrap(), all);
    assert_eq!(store.projects(&bob).await.unwrap().len(), 1);
    assert_eq!(store.push(&bob, "p", &[], NOW).await.unwrap(), []);
    let actions: Vec<String> = store.audit(&owner, None, 1).await.unwrap().into_iter().map(|entry| entry.subject).collect();
    assert_eq!(actions, ["p: 2 added, 0 taken back, 0 forgotten, 1 refused"]);
}

async fn wrong_texts_are_refused<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let name = |name: &str, text: &str| Change::Add { name: name.to_owned(), text: text.to_owned() };
    let long = "x".repeat(MOST_TEXT);
    let batch = [
        operation(1, name("", "text")),
        operation(2, name(&name_of("other"), "text")),
        operation(3, name(&name_of("text").to_uppercase(), "text")),
        add(4, "a\0b"),
        add(5, &format!("{long}x")),
        operation(6, name("a\0b", "text")),
        operation(7, Change::Forget { name: "a\0b".to_owned() }),
    ];
    let outcomes = store.push(&owner, "p", &batch, NOW).await.unwrap();
    assert!(outcomes.iter().all(refused), "{outcomes:?}");
    assert_eq!(store.projects(&owner).await.unwrap(), []);
    let good = [
        add(11, &long),
        add(12, ""),
        operation(13, name(&name_of("a\nb"), "a\r\nb")),
        operation(14, Change::TakeBack { name: "a\0b".to_owned(), is_withheld: true }),
    ];
    assert_eq!(store.push(&owner, "p", &good, NOW).await.unwrap(), vec![Outcome::Done; 4]);
    let texts: Vec<_> =
        store.pull(&owner, "p", 0, 9).await.unwrap().records.into_iter().map(|record| record.text.unwrap()).collect();
    assert_eq!(texts, [long.as_str(), "", "a\r\nb"]);
}

async fn changes_of_one_name_in_one_batch_follow_each_other<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.push(&bob, "p", &[add(1, "a"), take_back(2, "a"), add(3, "a"), add(4, "b"), take_back(5, "never")], NOW).await.unwrap();
    assert_eq!(pulled(&store, &bob).await, ["3 a bob", "4 b bob"]);
    store.push(&bob, "p", &[take_back(6, "a"), take_back(7, "b"), add(8, "b"), take_back(9, "a")], NOW + 7).await.unwrap();
    let all = store.pull(&bob, "p", 0, 9).await.unwrap();
    assert_eq!(shown(&all), ["5 - bob", "7 b bob"]);
    // The time is the one of the first sharing.
    assert!(all.records.iter().all(|record| record.at == NOW));
    assert_eq!(store.projects(&bob).await.unwrap().iter().map(|p| (p.texts, p.last)).collect::<Vec<_>>(), [(1, 7)]);
    store.push(&owner, "p", &[add(10, "b")], NOW).await.unwrap();
    store.push(&bob, "p", &[take_back(11, "b")], NOW).await.unwrap();
    assert_eq!(pulled(&store, &bob).await, ["5 - bob", "8 b olga", "9 - bob"]);
}

async fn records_that_are_gone_keep_whether_they_are_withheld<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    let step = async |by: &Caller, operation, expected: &[&str]| {
        assert_eq!(store.push(by, "p", &[operation], NOW).await.unwrap(), [Outcome::Done]);
        assert_eq!(pulled(&store, &bob).await, expected);
    };
    step(&bob, withhold(1, "a"), &[]).await;
    step(&bob, add(2, "a"), &["1 a bob"]).await;
    step(&bob, take_back(3, "a"), &["2 - bob"]).await;
    step(&bob, withhold(4, "a"), &["3 - bob withheld"]).await;
    // What is set stays, until the text is shared again.
    step(&bob, withhold(5, "a"), &["3 - bob withheld"]).await;
    step(&bob, take_back(6, "a"), &["3 - bob withheld"]).await;
    step(&owner, withhold(7, "a"), &["3 - bob withheld"]).await;
    step(&bob, add(8, "a"), &["4 a bob"]).await;
    step(&bob, withhold(9, "a"), &["5 - bob withheld"]).await;
    step(&bob, forget(10, "a"), &["6 - bob forgotten"]).await;
    step(&bob, withhold(11, "a"), &["6 - bob forgotten"]).await;
    // In one push too.
    let batch = [
        add(12, "b"),
        withhold(13, "b"),
        add(14, "c"),
        withhold(15, "c"),
        add(16, "c"),
        add(17, "d"),
        take_back(18, "d"),
        withhold(19, "d"),
    ];
    store.push(&bob, "p", &batch, NOW).await.unwrap();
    assert_eq!(pulled(&store, &bob).await[1..], ["8 - bob withheld", "11 c bob", "14 - bob withheld"]);
}

async fn readers_take_back_and_forget_their_own<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let rita = admit(&store, &owner, "rita", Role::Member).await;
    store.push(&rita, "p", &[add(1, "a"), add(2, "b"), add(3, "c"), take_back(4, "c")], NOW).await.unwrap();
    store.push(&owner, "p", &[add(5, "b"), add(6, "d")], NOW).await.unwrap();
    store.remove(&owner, rita.me.member, NOW).await.unwrap();
    store.invite(&owner, &invitation("again", Role::Reader, Some("rita@example.org")), NOW).await.unwrap();
    store.join(owner.me.team, &newcomer("again", "rita@example.org", "rita-2"), NOW).await.unwrap().unwrap();
    let rita = store.authenticate(owner.me.team, hash("rita-2")).await.unwrap().unwrap();

    let pushed = store.push(&rita, "p", &[take_back(11, "a"), add(12, "e")], NOW).await;
    assert!(matches!(pushed, Err(StoreError::Role { has: Role::Reader, needs: Role::Member })), "{pushed:?}");
    assert_eq!(store.push(&rita, "p", &[], NOW).await.unwrap(), []);
    let batch = [take_back(13, "a"), forget(14, "a"), forget(15, "b"), forget(16, "c"), forget(17, "d"), forget(18, "nobody's")];
    let outcomes = store.push(&rita, "p", &batch, NOW).await.unwrap();
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [false, false, true, false, true, true]);
    let reason = |at: usize| if let Outcome::Refused { why } = &outcomes[at] { why.as_str() } else { "" };
    assert!(reason(2).starts_with("others share this text too") && reason(4).starts_with("only who shared it"), "{outcomes:?}");
    let texts: Vec<String> = pulled(&store, &owner).await.iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    assert_eq!(texts, ["b rita", "b olga", "d olga", "- rita forgotten", "- rita forgotten"]);
    assert_eq!(store.push(&rita, "new", &[forget(19, "a")], NOW).await.unwrap(), [outcomes[4].clone()]);
    assert_eq!(store.projects(&owner).await.unwrap().len(), 1);
}

async fn forgetting_reaches_all_who_share<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let ann = admit(&store, &owner, "ann", Role::Member).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.push(&ann, "p", &[add(1, "a"), add(2, "b")], NOW).await.unwrap();
    store.push(&bob, "p", &[add(3, "a"), add(4, "b"), take_back(5, "b")], NOW).await.unwrap();
    let outcomes = store.push(&bob, "p", &[forget(6, "a"), forget(7, "nobody's"), add(8, "a")], NOW).await.unwrap();
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [true, false, false]);
    // A text that nobody is known to have shared is told as well: a restored backup may lack it.
    assert_eq!(pulled(&store, &ann).await.last().unwrap(), "6 - bob forgotten");
    let outcomes = store.push(&owner, "p", &[forget(17, "nobody's"), add(18, "nobody's")], NOW).await.unwrap();
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [false, true]);
    // Ann alone shares b; Bob, who took it back, may have a copy.
    assert_eq!(store.push(&ann, "p", &[forget(9, "b")], NOW).await.unwrap(), [Outcome::Done]);
    let all = pulled(&store, &ann).await;
    assert_eq!(all[..2], ["1 a ann", "3 a bob"]);
    assert_eq!(all.iter().filter(|line| line.ends_with("forgotten")).count(), 3, "{all:?}");
    assert_eq!(store.push(&owner, "p", &[forget(10, "a")], NOW).await.unwrap(), [Outcome::Done]);
    let all = store.pull(&ann, "p", 0, 9).await.unwrap();
    assert_eq!((all.records.len(), all.last), (5, 10));
    assert!(all.records.iter().all(|record| record.is_forgotten && record.text.is_none()));
    // Nobody shares it again here, and a second time changes nothing; in another project it is another matter.
    let outcomes = store.push(&owner, "p", &[add(11, "a"), forget(12, "a"), take_back(13, "a")], NOW).await.unwrap();
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(store.pull(&ann, "p", 0, 9).await.unwrap(), all);
    assert_eq!(
        store.push(&bob, "q", &[add(14, "a"), forget(15, "a"), add(16, "a")], NOW).await.unwrap()[..2],
        [Outcome::Done, Outcome::Done]
    );
    let projects = store.projects(&bob).await.unwrap();
    assert_eq!(projects.iter().map(|p| (p.name.as_str(), p.texts, p.last)).collect::<Vec<_>>(), [("p", 0, 10), ("q", 0, 2)]);
}

async fn projects_begin_with_what_is_stored<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    store.push(&owner, "none", &[take_back(1, "a"), operation(2, Change::Forget { name: "x".to_owned() })], NOW).await.unwrap();
    assert_eq!(store.projects(&owner).await.unwrap(), []);
    let none = store.pull(&owner, "none", 5, 9).await.unwrap();
    assert_eq!((none.records.len(), none.last, none.is_complete, none.members.len()), (0, 5, true, 1));
    store.push(&owner, "remembers", &[forget(3, "a")], NOW).await.unwrap();
    for (id, name) in [(4, "Z"), (5, "a"), (6, "\u{e9}"), (7, "_")] {
        store.push(&owner, name, &[add(id, "a")], NOW).await.unwrap();
    }
    let projects = store.projects(&owner).await.unwrap();
    let projects: Vec<_> = projects.iter().map(|project| (project.name.as_str(), project.texts, project.last)).collect();
    assert_eq!(projects, [("Z", 1, 1), ("_", 1, 1), ("a", 1, 1), ("remembers", 0, 1), ("\u{e9}", 1, 1)]);
}

async fn pages_are_bounded_and_miss_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let batch: Vec<_> = (0..25).map(|n| add(n, &format!("text {n}"))).collect();
    store.push(&owner, "p", &batch, NOW).await.unwrap();
    store.push(&owner, "p", &[take_back(100, "text 0"), take_back(101, "text 9")], NOW).await.unwrap();
    let whole = store.pull(&owner, "p", 0, 1_000).await.unwrap();
    assert!(whole.is_complete && whole.epoch == owner.me.epoch);
    assert_eq!((whole.records.len(), whole.last), (25, 27));
    for limit in [0, 1, 7, 25] {
        let mut records = Vec::new();
        let mut after = 0;
        loop {
            let page = store.pull(&owner, "p", after, limit).await.unwrap();
            assert!(page.records.len() <= limit.max(1) && page.last == page.records.last().unwrap().seq);
            records.extend(page.records);
            after = page.last;
            if page.is_complete {
                break;
            }
        }
        assert_eq!(records, whole.records, "{limit}");
    }
    for after in [27, 99, u64::MAX] {
        let page = store.pull(&owner, "p", after, 9).await.unwrap();
        assert_eq!((page.records.len(), page.last, page.is_complete), (0, after, true));
    }
}

async fn page_ends_early_after_many_bytes<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let most = MOST_PAGE / MOST_TEXT;
    for n in 0..most + 3 {
        let text = format!("{n:09}").repeat(MOST_TEXT / 9);
        store.push(&owner, "p", &[add(n as u128, &text)], NOW).await.unwrap();
    }
    let page = store.pull(&owner, "p", 0, 1_000).await.unwrap();
    assert_eq!((page.records.len(), page.is_complete), (most, false));
    let rest = store.pull(&owner, "p", page.last, 1_000).await.unwrap();
    assert_eq!((rest.records.len(), rest.is_complete), (3, true));
}

async fn quotas_refuse_growth_and_leave_nothing<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.invite(&owner, &invitation("third", Role::Member, None), NOW).await.unwrap();
    let eve = newcomer("third", "eve@example.org", "eve-1");
    let result = store.join(owner.me.team, &eve, NOW).await;
    assert!(matches!(result, Err(StoreError::Quota("members"))), "{result:?}");

    store.push(&owner, "p", &[add(1, "a"), add(2, "b")], NOW).await.unwrap();
    let too_many = [add(3, "c"), add(4, "d")];
    let result = store.push(&bob, "q", &too_many, NOW).await;
    assert!(matches!(result, Err(StoreError::Quota("texts"))), "{result:?}");
    let result = store.push(&bob, "p", &[add(5, &"x".repeat(29))], NOW).await;
    assert!(matches!(result, Err(StoreError::Quota("bytes"))), "{result:?}");
    assert_eq!(store.projects(&bob).await.unwrap().len(), 1);
    assert_eq!(store.audit(&owner, None, 1).await.unwrap()[0].member, Some(owner.me.member));
    // The same operations succeed when there is room. What balances needs none.
    store.push(&owner, "p", &[take_back(6, "a")], NOW).await.unwrap();
    assert_eq!(store.push(&bob, "q", &too_many, NOW).await.unwrap(), [Outcome::Done, Outcome::Done]);
    assert_eq!(store.push(&bob, "q", &[add(7, "e"), take_back(8, "c")], NOW).await.unwrap(), [Outcome::Done, Outcome::Done]);
    let result = store.push(&owner, "r", &[forget(9, "z")], NOW).await;
    assert!(matches!(result, Err(StoreError::Quota("projects"))), "{result:?}");
    // A removed member makes room for another, and the invitation is still there.
    store.remove(&owner, bob.me.member, NOW).await.unwrap();
    assert!(store.join(owner.me.team, &eve, NOW).await.unwrap().is_some());
}

async fn audit_lists_the_newest_first<S: Store>(store: S) {
    let owner = found(&store, 1).await;
    let bob = admit(&store, &owner, "bob", Role::Member).await;
    store.push(&bob, "p", &[add(1, "secret text")], NOW + 1).await.unwrap();
    store.withdraw(&owner, bob.me.member, true, NOW + 2).await.unwrap();
    store.withdraw(&owner, bob.me.member, true, NOW + 2).await.unwrap();
    store.withdraw(&owner, bob.me.member, false, NOW + 3).await.unwrap();
    store.leave(&bob, NOW + 4).await.unwrap();
    store.remove(&owner, bob.me.member, NOW + 5).await.unwrap();
    let all = store.audit(&owner, None, 100).await.unwrap();
    let shown: Vec<String> = all.iter().map(|Audited { seq, action, subject, .. }| format!("{seq} {action} {subject}")).collect();
    let expected = [
        "9 remove bob@example.org",
        "8 leave bob@example.org on bob-1",
        "7 restore bob@example.org",
        "6 withdraw bob@example.org",
        "5 push p: 1 added, 0 taken back, 0 forgotten, 0 refused",
        "4 join bob@example.org on bob-1",
        "3 invite bob@example.org as member",
        "2 join olga@example.org on olga-1",
        "1 create Team 1",
    ];
    assert_eq!(shown, expected);
    assert_eq!((all[0].at, all[0].member, all[8].member), (NOW + 5, Some(owner.me.member), None));
    assert_eq!(store.audit(&owner, Some(3), 1).await.unwrap(), all[7..8]);
    assert_eq!(store.audit(&owner, Some(1), 9).await.unwrap(), []);
}

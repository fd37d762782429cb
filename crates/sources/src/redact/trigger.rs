//! The prefilter of redaction: finds where in a text a secret might begin.
//!
//! * [`Action`]: what to do at a position.
//! * [`Prefilter`]: one pass over the bytes. Every trigger is a literal; its first three bytes, folded to
//!   lower case, are hashed into a table of 16 KiB. At each position three bytes are looked up; only where
//!   the table has an entry is the literal itself compared. Lookups do not depend on each other, which makes
//!   this several times as fast as an automaton.

use super::rules::{TOKENS, TokenRule};

/// The check to run at the position of a trigger.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    /// A token with a known prefix.
    Token(&'static TokenRule),
    /// Part of a secret-like name; an assignment may follow.
    Name,
    /// `://`.
    Url,
    /// `BEGIN `, perhaps of a private key.
    Pem,
    /// `Private-Lines:` of a PuTTY key.
    Putty,
    /// `;base64,`.
    DataUrl,
    /// `<private`.
    Private,
    /// `authorization`.
    Authorization,
    /// `bearer `.
    Bearer,
    /// `basic `.
    Basic,
    /// `cookie`.
    Cookie,
    /// `eyJ`.
    Jwt,
    /// `:AA`, the middle of a Telegram bot token.
    Telegram,
    /// `8Q~`, the middle of an Azure client secret.
    AzureSecret,
    /// `.atlasv1.`, the middle of a Terraform token.
    Terraform,
    /// `pat` and 14 characters of an Airtable token.
    Airtable,
    /// `SG.`.
    Sendgrid,
    /// `sig=` of a shared access signature.
    Signature,
    /// `AZDO`, near the end of an Azure DevOps token.
    AzureDevops,
    /// `:APA91b`, the middle of a key of Firebase Cloud Messaging.
    Firebase,
    /// `tid=`, the beginning of a token of GitHub Copilot.
    Copilot,
    /// `kty` of a JSON web key.
    Jwk,
    /// `$2b$`, `$6$`, `$argon2`: the beginning of a hash of a password.
    PasswordHash,
    /// `--password-stdin`: the password may be piped into it.
    PipedPassword,
    /// A command whose options may hold a password.
    Command(Command),
    /// The name of a service whose tokens have no prefix: search the whole text.
    Mention(Mention),
}

/// Commands that take a password among their options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// `mysql -pSECRET` and its siblings.
    Mysql,
    /// `sshpass -p SECRET`.
    Sshpass,
    /// `redis-cli -a SECRET`.
    Redis,
    /// `mongosh -p SECRET`.
    Mongo,
    /// `docker login -p SECRET`.
    DockerLogin,
    /// `curl -u user:SECRET`.
    Curl,
    /// `openssl ... -passin pass:SECRET`.
    Openssl,
    /// `machine HOST login USER password SECRET`.
    Netrc,
    /// `wandb login SECRET` and other commands that log in with a token as the argument.
    Login,
}

/// Services whose tokens can be recognised only if their name occurs too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mention {
    /// Bot tokens of three parts.
    Discord,
    /// `SK` and 32 hexadecimal digits.
    Twilio,
    /// `s.`, `b.` or `r.` and 24 letters and digits, as HashiCorp Vault made them before version 1.10.
    Vault,
}

#[derive(Debug)]
struct Trigger {
    literal: &'static str,
    folds: bool,
    action: Action,
}

const fn exact(literal: &'static str, action: Action) -> Trigger {
    Trigger { literal, folds: false, action }
}
const fn fold(literal: &'static str, action: Action) -> Trigger {
    Trigger { literal, folds: true, action }
}

static SPECIALS: &[Trigger] = &[
    fold("pass", Action::Name),
    fold("pwd", Action::Name),
    fold("secret", Action::Name),
    fold("token", Action::Name),
    fold("key", Action::Name),
    fold("cred", Action::Name),
    fold("auth", Action::Name),
    exact("_SALT", Action::Name),
    exact("://", Action::Url),
    exact("BEGIN ", Action::Pem),
    exact("Private-Lines:", Action::Putty),
    fold(";base64,", Action::DataUrl),
    fold("<private", Action::Private),
    fold("003cprivate", Action::Private),
    fold("authorization", Action::Authorization),
    fold("bearer", Action::Bearer),
    fold("basic ", Action::Basic),
    fold("cookie", Action::Cookie),
    exact("eyJ", Action::Jwt),
    exact(":AA", Action::Telegram),
    exact("8Q~", Action::AzureSecret),
    exact(".atlasv1.", Action::Terraform),
    exact("pat", Action::Airtable),
    exact("SG.", Action::Sendgrid),
    exact("sig=", Action::Signature),
    exact("AZDO", Action::AzureDevops),
    exact(":APA91b", Action::Firebase),
    exact("tid=", Action::Copilot),
    exact("kty", Action::Jwk),
    exact("$2a$", Action::PasswordHash),
    exact("$2b$", Action::PasswordHash),
    exact("$2y$", Action::PasswordHash),
    exact("$1$", Action::PasswordHash),
    exact("$5$", Action::PasswordHash),
    exact("$6$", Action::PasswordHash),
    exact("$y$", Action::PasswordHash),
    exact("$argon2", Action::PasswordHash),
    exact("--password-stdin", Action::PipedPassword),
    fold("kennwort", Action::Name),
    fold("wachtwoord", Action::Name),
    fold("contrase", Action::Name),
    fold("senha", Action::Name),
    exact("mysql", Action::Command(Command::Mysql)),
    exact("mariadb", Action::Command(Command::Mysql)),
    exact("sshpass", Action::Command(Command::Sshpass)),
    exact("redis-cli", Action::Command(Command::Redis)),
    exact("mongo", Action::Command(Command::Mongo)),
    exact("docker login", Action::Command(Command::DockerLogin)),
    exact("podman login", Action::Command(Command::DockerLogin)),
    exact("az login", Action::Command(Command::DockerLogin)),
    exact("curl ", Action::Command(Command::Curl)),
    exact("-pass", Action::Command(Command::Openssl)),
    exact("machine ", Action::Command(Command::Netrc)),
    exact("wandb login", Action::Command(Command::Login)),
    exact("cargo login", Action::Command(Command::Login)),
    exact("vastai set api-key", Action::Command(Command::Login)),
    exact("snyk auth", Action::Command(Command::Login)),
    exact("add-authtoken", Action::Command(Command::Login)),
    exact("ngrok authtoken", Action::Command(Command::Login)),
    exact("--with-token", Action::Command(Command::Login)),
    fold("discord", Action::Mention(Mention::Discord)),
    fold("twilio", Action::Mention(Mention::Twilio)),
    fold("vault", Action::Mention(Mention::Vault)),
];

const SLOTS: usize = 1 << 14;

/// Finds triggers in a text; see the module documentation.
pub(super) struct Prefilter {
    slots: Box<[u8; SLOTS]>,
    /// Triggers by slot number, the longest literal first.
    buckets: Vec<Vec<Trigger>>,
}

#[inline(always)]
fn slot(four: u32) -> usize {
    (((four & 0x00FF_FFFF) | 0x0020_2020).wrapping_mul(0x9E37_79B1) >> 18) as usize
}

impl Prefilter {
    /// Builds the table from all rules.
    pub(super) fn new() -> Self {
        let mut slots = Box::new([0u8; SLOTS]);
        let mut buckets: Vec<Vec<Trigger>> = vec![Vec::new()];
        let tokens = TOKENS.iter().map(|rule| exact(rule.prefix, Action::Token(rule)));
        let specials = SPECIALS.iter().map(|t| Trigger { ..*t });
        for trigger in specials.chain(tokens) {
            let b = trigger.literal.as_bytes();
            let at = slot(u32::from_le_bytes([b[0], b[1], b[2], 0]));
            if slots[at] == 0 {
                // Beyond 255 slots the last one is shared, which only costs time.
                if buckets.len() <= usize::from(u8::MAX) {
                    buckets.push(Vec::new());
                }
                slots[at] = (buckets.len() - 1) as u8;
            }
            buckets[usize::from(slots[at])].push(trigger);
        }
        for bucket in &mut buckets {
            bucket.sort_by_key(|trigger| std::cmp::Reverse(trigger.literal.len()));
        }
        Prefilter { slots, buckets }
    }

    /// Calls `visit(position, action)` at every trigger. If several tokens match at one position, all are
    /// passed, the longest prefix first.
    #[inline]
    pub(super) fn scan(&self, text: &[u8], mut visit: impl FnMut(usize, Action)) {
        for (at, four) in text.windows(4).enumerate() {
            let word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            let number = self.slots[slot(word)];
            if number != 0 {
                self.at(text, at, number, &mut visit);
            }
        }
    }

    #[inline(never)]
    fn at(&self, text: &[u8], at: usize, number: u8, visit: &mut impl FnMut(usize, Action)) {
        for trigger in &self.buckets[usize::from(number)] {
            let literal = trigger.literal.as_bytes();
            let Some(here) = text.get(at..at + literal.len()) else {
                continue;
            };
            let is_match = if trigger.folds { here.eq_ignore_ascii_case(literal) } else { here == literal };
            if is_match {
                visit(at, trigger.action);
            }
        }
    }

    /// Returns whether a short name contains part of a secret-like one.
    pub(super) fn has_name(&self, name: &[u8]) -> bool {
        let mut found = false;
        let mut check = |at: usize, number: u8| {
            self.at(name, at, number, &mut |_, action| {
                found |= matches!(action, Action::Name | Action::Authorization | Action::Cookie);
            });
        };
        for (at, three) in name.windows(3).enumerate() {
            let number = self.slots[slot(u32::from_le_bytes([three[0], three[1], three[2], 0]))];
            if number != 0 {
                check(at, number);
            }
        }
        found
    }
}

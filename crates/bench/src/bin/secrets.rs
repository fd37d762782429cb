//! Counts the secrets that redaction leaves readable and the harmless text that it removes.
//!
//! ```text
//! cargo run --release -p yore-bench --bin secrets -- [--lines FILE]... [--records FILE]... [--show]
//! ```
//!
//! - passwords of several sorts in several forms, in each container (a line of its own, among others with
//!   line numbers, in a diff, in JSON nested in JSON): the share that can still be read, by cell. A password
//!   counts as readable if half of it is left in one piece.
//! - secrets of the kinds that an attack found readable, in the same containers: the share that can still be
//!   read.
//! - `--lines FILE`: lines of real configuration and code, none of which contains a secret: those that are
//!   changed.
//! - `--records FILE`: lines of JSON, as in transcripts: each secret that is redacted, with its surroundings,
//!   to be read by eye. It prints the secrets.
//!
//! All random choices come from a fixed seed. The look-alikes and the tokens by provider are tests of
//! `yore-engine` itself.
#![allow(clippy::print_stdout, reason = "a program that measures prints")]

use std::error::Error;
use std::fs;

use yore_sources::redact::{RedactionCounts, Redactor};

const TRIALS: usize = 40;

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn of(&mut self, letters: &str, length: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length).map(|_| letters[self.next() as usize % letters.len()]).collect()
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.next() as usize % words.len()]
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWNUM: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const FEW_SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*-_+=";
const SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const WORDS: &[&str] = &[
    "correct", "horse", "battery", "staple", "able", "tiger", "moon", "seven", "copper", "window", "lantern", "violet", "marble",
    "river", "anchor", "pepper", "garden", "silver", "rocket", "winter", "orange", "planet", "candle", "forest", "puzzle",
];
const NAMES: &[&str] = &["Dragon", "Summer", "Winter", "Berlin", "Monkey", "Shadow", "Falcon", "Sunshine", "Welcome", "Phoenix"];

/// Makes a password.
type Make = fn(&mut Random) -> String;
/// Writes a password, or a line, into a text.
type Write = fn(&str) -> String;

/// The sorts of passwords: name and maker.
const SORTS: &[(&str, Make)] = &[
    ("16 symbols", |r| r.of(SYMBOLS, 16)),
    ("24 symbols", |r| r.of(SYMBOLS, 24)),
    ("20 few symb.", |r| r.of(FEW_SYMBOLS, 20)),
    ("12 symbols", |r| r.of(SYMBOLS, 12)),
    ("12 alnum", |r| r.of(ALNUM, 12)),
    ("16 letters", |r| r.of(LETTERS, 16)),
    ("20 lower", |r| r.of(LOWER, 20)),
    ("14 lower+dig", |r| r.of(LOWNUM, 14)),
    ("words-dashes", |r| (0..4).map(|_| r.pick(WORDS)).collect::<Vec<_>>().join("-")),
    ("3 words", |r| (0..3).map(|_| r.pick(WORDS)).collect::<Vec<_>>().join("-")),
    ("Dragon2025!", |r| format!("{}{}{}", r.pick(NAMES), 1990 + r.next() % 40, r.pick(&["!", "!!", "#", "$", "?", "@"]))),
];

/// The forms in which passwords are written.
const FORMS: &[(&str, Write)] = &[
    ("password: X", |x| format!("password: {x}")),
    ("export DB_PASSWORD=X", |x| format!("export DB_PASSWORD={x}")),
    ("x.password=X", |x| format!("spring.datasource.password={x}")),
    ("Password=X;", |x| format!("Server=db;User Id=app;Password={x};Database=shop")),
    ("--password X", |x| format!("backup --user app --password {x} --quiet")),
    ("\"password\": \"X\"", |x| format!("{{\"user\": \"app\", \"password\": {}}}", serde_json::Value::from(x))),
    ("password = \"X\"", |x| format!("password = {}", serde_json::Value::from(x))),
    ("scheme://u:X@host", |x| format!("postgres://app:{}@db.internal:5432/main", percent(x))),
    (".env body", |x| format!("APP_ENV=dev\nDB_HOST=localhost\nDB_PASSWORD={x}\nPORT=80")),
    ("db_pass: X", |x| format!("  db_pass: {x}")),
    ("- PASSWORD=X", |x| format!("      - POSTGRES_PASSWORD={x}")),
];

const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const UPNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A line that contains a secret, and the secret.
type Held = (String, String);

/// Makes a line and its secret.
type MakeHeld = fn(&mut Random) -> Held;

/// Returns the line that `write` makes of a secret, with the secret.
fn held(secret: String, write: impl FnOnce(&str) -> String) -> Held {
    (write(&secret), secret)
}

fn uuid(r: &mut Random) -> String {
    [8, 4, 4, 4, 12].map(|length| r.of(HEX, length)).join("-")
}

/// Kinds that are recognized by their form, their name or the command that takes them.
const KINDS: &[(&str, MakeHeld)] = &[
    ("Teams webhook", |r| {
        let secret = format!("{}@{}/IncomingWebhook/{}/{}", uuid(r), uuid(r), r.of(HEX, 32), uuid(r));
        held(secret, |x| format!("post to https://tide.webhook.office.com/webhookb2/{x}"))
    }),
    ("client-key-data", |r| held(format!("LS0tLS1CRUdJTi{}=", r.of(BASE64, 600)), |x| format!("    client-key-data: {x}"))),
    ("SECRET_KEY_BASE", |r| held(r.of(HEX, 128), |x| format!("SECRET_KEY_BASE={x}"))),
    ("aws configure", |r| held(r.of(BASE64, 40), |x| format!("AWS Secret Access Key [None]: {x}"))),
    ("cookie li_at", |r| held(format!("AQED{}", r.of(ALNUM, 140)), |x| format!("Cookie: li_at={x}; lang=en"))),
    ("cookie SAPISID", |r| held(r.of(ALNUM, 34), |x| format!("cookie: SAPISID={x}"))),
    ("cookie cf_clearance", |r| held(r.of(ALNUM, 43), |x| format!("Cookie: cf_clearance={x}"))),
    ("cookie by any name", |r| held(r.of(ALNUM, 48), |x| format!("Cookie: theme=dark; tide={x}"))),
    ("Cloudflare origin CA", |r| held(format!("v1.0-{}-{}", r.of(HEX, 24), r.of(HEX, 146)), |x| format!("use {x} there"))),
    ("Cloudflare tunnel", |r| {
        let secret = format!("eyJhIjoi{}", r.of(ALNUM, 160));
        held(secret, |x| format!("cloudflared tunnel run --token {x}"))
    }),
    ("Azure DevOps", |r| held(format!("{}AZDO{}", r.of(ALNUM, 76), r.of(ALNUM, 4)), |x| format!("use {x} there"))),
    ("Mapbox", |r| held(format!("sk.eyJ{}.{}", r.of(ALNUM, 60), r.of(ALNUM, 22)), |x| format!("use {x} there"))),
    ("1Password", |r| {
        let groups = [6, 6, 5, 5, 5, 5].map(|length| r.of(UPNUM, length)).join("-");
        held(format!("A3-{groups}"), |x| format!("use {x} there"))
    }),
    ("Neon", |r| held(format!("npg_{}", r.of(ALNUM, 12)), |x| format!("postgresql://tide:{x}@ep-cool.neon.tech/db"))),
    ("Fireworks", |r| held(format!("fw_{}", r.of(ALNUM, 24)), |x| format!("use {x} there"))),
    ("ngrok", |r| held(format!("2{}_{}", r.of(ALNUM, 26), r.of(ALNUM, 21)), |x| format!("ngrok config add-authtoken {x}"))),
    ("Kaggle", |r| held(r.of(HEX, 32), |x| format!("{{\"username\":\"tide\",\"key\":\"{x}\"}}"))),
    ("Postmark", |r| held(uuid(r), |x| format!("X-Postmark-Server-Token: {x}"))),
    ("Infisical", |r| held(format!("st.{}.{}.{}", uuid(r), r.of(HEX, 32), r.of(HEX, 32)), |x| format!("use {x} there"))),
    ("Firebase", |r| held(format!("AAAA{}:APA91b{}", r.of(ALNUM, 7), r.of(ALNUM, 134)), |x| format!("use {x} there"))),
    ("Stytch", |r| held(format!("secret-live-{}=", r.of(ALNUM, 35)), |x| format!("use {x} there"))),
    ("Stripe organisation", |r| held(format!("sk_org_live_{}", r.of(ALNUM, 60)), |x| format!("use {x} there"))),
    ("OpenAI ephemeral", |r| held(format!("ek_{}", r.of(HEX, 32)), |x| format!("use {x} there"))),
    ("Cursor", |r| held(format!("key_{}", r.of(HEX, 64)), |x| format!("CURSOR_API_KEY={x}"))),
    ("Copilot", |r| {
        let secret = format!("tid={};exp=1772359200;sku=x;st=dotcom:{}", r.of(HEX, 32), r.of(HEX, 64));
        held(secret, |x| format!("authorization: Bearer {x}"))
    }),
    ("jsrp", |r| held(format!("jsrp_{}", r.of(ALNUM, 40)), |x| format!("use {x} there"))),
    ("Datadog", |r| held(format!("ddp_{}", r.of(ALNUM, 36)), |x| format!("use {x} there"))),
    ("Vantage", |r| held(format!("vtwn_{}", r.of(ALNUM, 36)), |x| format!("use {x} there"))),
    ("Polar", |r| held(format!("polar_oat_{}", r.of(ALNUM, 43)), |x| format!("use {x} there"))),
    ("Rootly", |r| held(format!("rootly_{}", r.of(HEX, 64)), |x| format!("use {x} there"))),
    ("JWK d", |r| {
        let shared = (r.of(ALNUM, 43), r.of(ALNUM, 43));
        held(r.of(ALNUM, 43), |x| {
            format!("{{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{}\",\"y\":\"{}\",\"d\":\"{x}\"}}", shared.0, shared.1)
        })
    }),
    ("wandb login", |r| held(r.of(HEX, 40), |x| format!("wandb login {x}"))),
    ("snyk auth", |r| held(uuid(r), |x| format!("snyk auth {x}"))),
    ("cargo login", |r| held(r.of(ALNUM, 32), |x| format!("cargo login {x}"))),
    ("gh auth login", |r| held(r.of(HEX, 40), |x| format!("gh auth login --with-token <<< {x}"))),
    ("docker login", |r| held(r.of(ALNUM, 24), |x| format!("echo {x} | docker login -u tide --password-stdin"))),
    ("fish set -x", |r| held(r.of(ALNUM, 32), |x| format!("set -x API_TOKEN {x}"))),
    ("cell of a table", |r| held(r.of(ALNUM, 20), |x| format!("| DB_PASSWORD | {x} |"))),
    ("Passwort", |r| held(r.of(ALNUM, 14), |x| format!("Passwort: {x}"))),
    ("?key=", |r| held(r.of(ALNUM, 39), |x| format!("curl 'https://maps.example.com/v1/tiles?zoom=3&key={x}'"))),
    ("Discord", |r| {
        // The first part is the number of the bot, in base64: digits become these letters.
        let id: String = (0..6).map(|_| r.pick(&["MTAy", "OTc1", "NDIz", "ODY0", "MTEz", "NzMx"])).collect();
        held(format!("{id}.{}.{}", r.of(ALNUM, 6), r.of(ALNUM, 38)), |x| format!("use {x} there"))
    }),
    ("private key: 0x", |r| held(r.of(HEX, 64), |x| format!("private key: 0x{x}"))),
    ("Convex", |r| held(format!("eyJ2MiI6{}", r.of(BASE64, 90)), |x| format!("CONVEX_DEPLOY_KEY=prod:tide-pool-123|{x}"))),
];

fn percent(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() || b"-._~".contains(&b) { (b as char).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// Texts that may contain a line.
const CONTAINERS: &[Write] = &[
    |line| line.to_owned(),
    |line| format!("Here is what I use:\n{line}\nplease keep it"),
    |line| line.lines().enumerate().map(|(i, line)| format!("{:6}→{line}", i + 1)).collect::<Vec<_>>().join("\n"),
    |line| format!("@@ -1,2 +1,3 @@\n unchanged\n{}", line.lines().map(|line| format!("+{line}")).collect::<Vec<_>>().join("\n")),
    |line| serde_json::json!({"output": format!("{line}\ndone"), "code": 0}).to_string(),
];

/// Returns whether half of `secret` (or of its encoded forms) is left in one piece in `text`.
fn is_readable(text: &str, secret: &str) -> bool {
    let json = serde_json::Value::from(secret).to_string();
    let nested = serde_json::Value::from(json.trim_matches('"')).to_string();
    [secret.to_owned(), percent(secret), json.trim_matches('"').to_owned(), nested.trim_matches('"').to_owned()].iter().any(
        |form| {
            let letters: Vec<char> = form.chars().collect();
            let half = letters.len().div_ceil(2);
            letters.windows(half).any(|part| text.contains(&part.iter().collect::<String>()))
        },
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut files, mut transcripts) = (Vec::new(), Vec::new());
    let mut shows = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--lines" => files.extend(arguments.next()),
            "--records" => transcripts.extend(arguments.next()),
            "--show" => shows = true,
            other => {
                return Err(
                    format!("unknown argument {other}; usage: secrets [--lines FILE]... [--records FILE]... [--show]").into()
                );
            }
        }
    }
    let redactor = Redactor::new(&[7; 32]);
    if files.is_empty() && transcripts.is_empty() {
        passwords(&redactor, shows);
        kinds(&redactor, shows);
    }
    for file in files {
        lines(&redactor, &file, &fs::read_to_string(&file)?);
    }
    for file in transcripts {
        records(&redactor, &fs::read(file)?);
    }
    Ok(())
}

/// Prints each redaction in the records of a file, with its surroundings.
fn records(redactor: &Redactor, bytes: &[u8]) {
    for line in bytes.split(|b| *b == b'\n') {
        let Ok(before) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let mut after = before.clone();
        redactor.json(&mut after, &mut RedactionCounts::default());
        let (before, after) = (before.to_string(), after.to_string());
        let mut at = 0;
        for (place, _) in after.match_indices("[yore:redacted ") {
            let Some(end) = after[place..].find(']').map(|close| place + close + 1) else { continue };
            let mut start = place.saturating_sub(60);
            while !after.is_char_boundary(start) {
                start += 1;
            }
            let lead = &after[after[start..place].rfind(']').map_or(start, |close| start + close + 1)..place];
            let tail: String = after[end..].chars().take(12).take_while(|c| *c != '[').collect();
            let secret = before[at..].find(lead).and_then(|found| {
                let from = at + found + lead.len();
                let to = before[from..].find(&tail)?;
                at = from;
                Some(&before[from..from + to.min(200)])
            });
            println!("{lead}>>>{}<<<{tail}", secret.unwrap_or("?"));
        }
    }
}

/// Prints the table of passwords by sort and form.
fn passwords(redactor: &Redactor, shows: bool) {
    println!("Readable passwords, percent of {} each (worst container in brackets)\n", TRIALS * CONTAINERS.len());
    print!("| form |");
    SORTS.iter().for_each(|(sort, _)| print!(" {sort} |"));
    println!("\n| --- |{}", " ---: |".repeat(SORTS.len()));
    let mut random = Random(2026);
    for (form, write) in FORMS {
        print!("| `{form}` |");
        for (sort, make) in SORTS {
            let mut readable = vec![0usize; CONTAINERS.len()];
            for _ in 0..TRIALS {
                let secret = make(&mut random);
                for (container, missed) in CONTAINERS.iter().zip(&mut readable) {
                    let text = container(&write(&secret));
                    let mut counts = RedactionCounts::default();
                    let kept = redactor.text(&text, &mut counts).unwrap_or(text);
                    if is_readable(&kept, &secret) {
                        *missed += 1;
                        if shows {
                            println!("{form} / {sort}: {secret}\n   {kept}");
                        }
                    }
                }
            }
            let all: usize = readable.iter().sum();
            let worst = readable.iter().max().copied().unwrap_or(0);
            print!(
                " {:.0} ({:.0}) |",
                all as f64 * 100.0 / (TRIALS * CONTAINERS.len()) as f64,
                worst as f64 * 100.0 / TRIALS as f64
            );
        }
        println!();
    }
}

/// Prints the kinds of secrets that can still be read.
fn kinds(redactor: &Redactor, shows: bool) {
    println!("\nReadable secrets of {} kinds, percent of {} each", KINDS.len(), TRIALS * CONTAINERS.len());
    let mut random = Random(2027);
    let mut clean = 0;
    for (kind, make) in KINDS {
        let mut readable = 0;
        for _ in 0..TRIALS {
            let (line, secret) = make(&mut random);
            for container in CONTAINERS {
                let text = container(&line);
                let kept = redactor.text(&text, &mut RedactionCounts::default()).unwrap_or(text);
                if is_readable(&kept, &secret) {
                    readable += 1;
                    if shows {
                        println!("{kind}: {secret}\n   {kept}");
                    }
                }
            }
        }
        if readable == 0 {
            clean += 1;
        } else {
            println!("{kind}: {:.1}", readable as f64 * 100.0 / (TRIALS * CONTAINERS.len()) as f64);
        }
    }
    println!("{clean} kinds: none");
}

/// Prints the harmless lines of a file that are changed.
fn lines(redactor: &Redactor, file: &str, text: &str) {
    let (mut taken, mut all) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        all += 1;
        if let Some(changed) = redactor.text(line, &mut RedactionCounts::default()) {
            taken += 1;
            println!("{line}\n   -> {changed}");
        }
    }
    println!("{file}: {taken} of {all} lines taken ({:.2} %)", taken as f64 * 100.0 / all.max(1) as f64);
}

//! Secrets are in no byte of the data directory; texts that only look like secrets are kept in full.
//!
//! Fake secrets are built from parts at run time, so that no file here holds one.

use std::collections::BTreeMap;

use yore_sources::redact::SecretKind;
use yore_testing::{Memory, Random, Scan, SessionBuilder, fixture};

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const B64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns for each placeholder of the fixture its replacement, and the text that must not be found.
fn fakes() -> BTreeMap<&'static str, (String, String)> {
    let mut random = Random::new(99);
    let mut fakes = BTreeMap::new();
    let mut plain = |kind: &'static str, secret: String| {
        fakes.insert(kind, (secret.clone(), secret));
    };
    plain("aws-access-key-id", format!("AK{}{}", "IA", random.text(UPPER, 16)));
    plain("aws-secret-access-key", random.text(B64, 40).replace('+', "p"));
    plain("github-token", format!("gh{}{}", "p_", random.text(ALNUM, 36)));
    plain("openai-key", format!("s{}{}", "k-", random.text(ALNUM, 48)));
    plain("anthropic-key", format!("s{}{}{}AA", "k-ant-", "api03-", random.text(ALNUM, 93)));
    plain("stripe-key", format!("sk_{}{}", "live_", random.text(ALNUM, 24)));
    plain("slack-token", format!("xo{}2719384756-2719384757-{}", "xb-", random.text(ALNUM, 24)));
    plain("google-api-key", format!("AI{}{}", "za", random.text(ALNUM, 35)));
    let part = |random: &mut Random, length: usize| random.text(ALNUM, length);
    let jwt =
        format!("ey{}{}.ey{}{}.{}", "JhbGciOi", part(&mut random, 28), "JzdWIiOi", part(&mut random, 60), part(&mut random, 43));
    plain("jwt", jwt);
    plain("npm-token", format!("np{}{}", "m_", random.text(ALNUM, 36)));
    plain("high-entropy-hex", random.text(HEX, 64));
    plain("password-assignment", format!("Tr0ub4dor{}", random.text(ALNUM, 10)));
    plain("bearer-header", random.text(ALNUM, 40));
    plain("basic-auth-url", format!("p{}", random.text(ALNUM, 14)));
    let password = random.text(ALNUM, 16);
    fakes.insert("database-url", (format!("postgres://app:{password}@db.internal:5432/main"), password));
    let body: Vec<String> = (0..8).map(|_| random.text(B64, 64)).collect();
    let label = ["PRIVATE", "KEY"].join(" ");
    let key = format!("-----BEGIN RSA {label}-----\n{}\n-----END RSA {label}-----", body.join("\n"));
    fakes.insert("private-key", (key, body[3].clone()));
    fakes
}

#[test]
fn planted_secrets_are_in_no_byte_of_the_data_directory() {
    let file = "projects/-home-dev-lanternfish/ca5e1403-5014-4760-b82b-32bd0edf901b.jsonl";
    let mut content = std::fs::read_to_string(fixture("claude-code").join(file)).unwrap();
    for (kind, (secret, _)) in fakes() {
        let placeholder = format!("@@SECRET:{kind}@@");
        assert!(content.contains(&placeholder), "{kind}");
        let escaped = serde_json::to_string(&secret).unwrap();
        content = content.replace(&placeholder, &escaped[1..escaped.len() - 1]);
    }
    assert!(!content.contains("@@SECRET"));
    let mut memory = Memory::new();
    memory.write(file, &content);
    let report = memory.learn();
    let turns = memory.turns("ca5e1403-5014-4760-b82b-32bd0edf901b");
    memory.close();
    let scan = Scan::of(&memory.data());
    let found: Vec<(&str, Vec<&str>)> =
        fakes().iter().map(|(kind, (_, secret))| (*kind, scan.places(secret))).filter(|(_, places)| !places.is_empty()).collect();
    assert!(found.is_empty(), "{found:?}");
    // The words around them stay.
    for word in ["bucket", "expired", "LOG_LEVEL=debug", "files.example.invalid", "db.internal"] {
        assert!(!scan.places(word).is_empty(), "{word} is gone");
    }
    assert_eq!(turns.len(), 12);
    assert!(report.redactions.secrets_total() >= fakes().len() as u64, "{:?}", report.redactions);
    for kind in
        [SecretKind::GithubToken, SecretKind::AwsAccessKey, SecretKind::PrivateKey, SecretKind::Jwt, SecretKind::AnthropicKey]
    {
        assert!(report.redactions.get(kind) > 0, "{kind:?}");
    }
}

#[test]
fn counts_of_redactions_are_kept_and_shown() {
    let mut session = SessionBuilder::new(300).turns(4);
    let fakes = fakes();
    session.human(&format!("{} and {}", fakes["github-token"].0, fakes["slack-token"].0));
    let memory = Memory::new();
    memory.write("p/a.jsonl", session.text());
    let report = memory.learn();
    assert_eq!(report.redactions.get(SecretKind::GithubToken), 1);
    assert_eq!(report.redactions.get(SecretKind::SlackToken), 1);
    let shown = memory.statistics().store.redactions;
    let counts: Vec<(&str, u64)> = shown.iter().map(|entry| (entry.kind.as_str(), entry.count)).collect();
    assert_eq!(counts, [("github-token", 1), ("slack-token", 1)]);
}

#[test]
fn private_text_is_nowhere() {
    let file = "projects/-home-dev-lanternfish/ca5e1402-0e27-4d6c-9896-da3fcb8e420d.jsonl";
    let mut memory = Memory::new();
    let content = std::fs::read_to_string(fixture("claude-code").join(file)).unwrap();
    // An unclosed opening tag hides the rest only at the beginning of a line: within a sentence it is a
    // mention.
    memory.write(file, content.replace("unclosed <private>", "unclosed\\n<private>"));
    let report = memory.learn();
    assert!(report.redactions.get(SecretKind::PrivateBlock) >= 4, "{:?}", report.redactions);
    memory.close();
    let scan = Scan::of(&memory.data());
    assert_eq!(scan.places("Orsolya"), Vec::<&str>::new());
    assert_eq!(scan.places("landlord"), Vec::<&str>::new());
    assert!(!scan.places("small album").is_empty());
}

/// Returns fifty texts that resemble secrets but are not.
fn look_alikes() -> Vec<String> {
    let mut random = Random::new(7);
    let mut all: Vec<String> = Vec::new();
    for _ in 0..10 {
        all.push(format!("commit {}", random.text(HEX, 40)));
        all.push(format!("session {}", random.uuid()));
    }
    for _ in 0..5 {
        all.push(format!("image@sha256:{}", random.text(HEX, 64)));
        all.push(format!("Merge {} into {}", random.text(HEX, 7), random.text(HEX, 7)));
    }
    all.extend(
        [
            "the token bucket refills every second",
            "password must not be empty",
            "const MAX_TOKENS: usize = 4096;",
            "secret santa is on Friday",
            "let token = lexer.next_token();",
            "api_key = os.environ[\"API_KEY\"]",
            "password: ${DB_PASSWORD}",
            "Authorization: Bearer <token>",
            "export TOKEN=$(cat token.txt)",
            "postgres://localhost:5432/main",
            "https://example.org/a/b?page=2&token_type=code",
            "sk-learn and scikit are the same",
            "the ghp prefix marks a personal token",
            "key = \"value\"",
            "primary_key = \"user_id\"",
            "tokenizer_version = 3",
            "AKIA is how the keys begin",
            "the bearer of bad news",
            "assert_eq!(password.len(), 12);",
            "GET /v1/tokens HTTP/1.1",
        ]
        .map(str::to_owned),
    );
    all
}

#[test]
fn look_alikes_are_all_kept() {
    let mut session = SessionBuilder::new(301);
    for text in look_alikes() {
        session.human(&text);
    }
    assert_eq!(session.lines().len(), 50);
    let memory = Memory::new();
    memory.write("p/a.jsonl", session.text());
    let report = memory.learn();
    assert_eq!(memory.archive()[0].2, session.text().as_bytes(), "{:?}", report.redactions);
    assert!(report.redactions.is_empty());
}

//! Forty planted secrets of different kinds, in prompts, in tool output and in files: none may be in any byte
//! of the data directory. Two hundred harmless texts that look like secrets: all must be kept. Fake secrets
//! are built from parts at run time, so that no file here contains one.

use serde_json::json;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_testing::{Memory, Random, Scan, SessionBuilder};

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const B64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A secret as written in a text, and the part of it that must not be stored.
struct Planted {
    kind: &'static str,
    text: String,
    secret: String,
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn planted() -> Vec<Planted> {
    let mut random = Random::new(4_040);
    let mut all = Vec::new();
    let mut plant = |kind: &'static str, before: &str, prefix: String, body: String, after: &str| {
        all.push(Planted { kind, text: format!("{before}{prefix}{body}{after}"), secret: body });
    };
    let text = |random: &mut Random, alphabet: &str, length: usize| random.text(alphabet, length);
    let r = &mut random;
    plant("aws access key", "the key is ", ["AK", "IA"].concat(), text(r, UPPER, 16), " for the bucket");
    plant("aws secret", "aws_secret_access_key = ", String::new(), text(r, ALNUM, 40), "");
    plant("github classic", "push with ", ["gh", "p_"].concat(), text(r, ALNUM, 36), " please");
    plant("github fine-grained", "", ["github", "_pat_"].concat(), text(r, ALNUM, 60), " works");
    plant("gitlab", "use ", ["gl", "pat-"].concat(), text(r, ALNUM, 20), "");
    plant("openai project", "OPENAI_API_KEY=", ["sk", "-proj-"].concat(), text(r, ALNUM, 48), "");
    plant("anthropic", "", ["sk-a", "nt-api03-"].concat(), text(r, ALNUM, 93), "");
    plant("openrouter", "curl with ", ["sk-o", "r-v1-"].concat(), text(r, HEX, 64), "");
    plant("groq", "", ["gs", "k_"].concat(), text(r, ALNUM, 52), " was revoked?");
    plant("hugging face", "login ", ["h", "f_"].concat(), text(r, ALNUM, 34), "");
    plant("google api", "maps key ", ["AI", "za"].concat(), text(r, ALNUM, 35), "");
    plant("google oauth", "", ["GOC", "SPX-"].concat(), text(r, ALNUM, 28), "");
    plant("slack bot", "", ["xo", "xb-"].concat(), format!("2719384756-{}", text(r, ALNUM, 24)), "");
    plant(
        "slack webhook",
        "https://hooks.slack.com/services/",
        String::new(),
        format!("T0{}/B0{}/{}", text(r, UPPER, 8), text(r, UPPER, 8), text(r, ALNUM, 24)),
        "",
    );
    plant("stripe", "charge with ", ["sk", "_live_"].concat(), text(r, ALNUM, 24), "");
    plant("twilio", "", "S".to_owned() + "K", text(r, HEX, 32), " is the api key sid");
    plant("sendgrid", "", ["S", "G."].concat(), format!("{}.{}", text(r, ALNUM, 22), text(r, ALNUM, 43)), "");
    plant("npm", "//registry/:_authToken=", ["np", "m_"].concat(), text(r, ALNUM, 36), "");
    plant("pypi", "twine upload with ", ["pypi", "-AgEIcHlwaS5vcmc"].concat(), text(r, ALNUM, 120), "");
    plant("docker", "docker login -p ", ["dckr", "_pat_"].concat(), text(r, ALNUM, 27), "");
    plant("digitalocean", "", ["dop", "_v1_"].concat(), text(r, HEX, 64), "");
    plant("databricks", "token ", ["da", "pi"].concat(), text(r, HEX, 32), "");
    plant("vault", "export VAULT_TOKEN=", ["hv", "s."].concat(), text(r, ALNUM, 90), "");
    plant("telegram", "bot token ", String::new(), format!("7{}:AA{}", text(r, "0123456789", 9), text(r, ALNUM, 33)), "");
    plant("linear", "", ["lin", "_api_"].concat(), text(r, ALNUM, 40), "");
    plant("figma", "", ["fi", "gd_"].concat(), text(r, ALNUM, 40), "");
    plant("shopify", "", ["shp", "at_"].concat(), text(r, HEX, 32), "");
    let parts = (text(r, ALNUM, 32), text(r, ALNUM, 80), text(r, ALNUM, 43));
    plant("jwt", "cookie ", String::new(), format!("ey{}{}.ey{}{}.{}", "JhbGciOi", parts.0, "JzdWIiOi", parts.1, parts.2), "");
    plant("bearer", "Authorization: Bearer ", String::new(), text(r, ALNUM, 40), "");
    plant("database url", "postgres://app:", String::new(), text(r, ALNUM, 16), "@db.internal:5432/main");
    plant("redis url", "redis://:", String::new(), text(r, ALNUM, 20), "@cache.internal:6379/0");
    plant("password", "password: \"", String::new(), format!("Tr0ub4dor-{}", text(r, ALNUM, 10)), "\"");
    plant("env variable", "DB_PASSWORD=", String::new(), text(r, ALNUM, 22), "");
    plant("client secret", "client_secret = \"", String::new(), text(r, ALNUM, 36), "\"");
    plant(
        "azure storage",
        "AccountName=tide;AccountKey=",
        String::new(),
        text(r, B64, 86) + "==",
        ";EndpointSuffix=core.example",
    );
    plant("command line", "mysql -u root --password=", String::new(), text(r, ALNUM, 18), " tidepool");
    plant("curl user", "curl -u deploy:", String::new(), text(r, ALNUM, 20), " https://files.example.invalid/up");
    plant("age", "", ["AGE-SECRET", "-KEY-1"].concat(), text(r, UPPER, 58), "");
    plant("pre-signed url", "https://b.example.invalid/f?X-Amz-Signature=", String::new(), text(r, HEX, 64), "");
    let lines: Vec<String> = (0..6).map(|_| text(r, B64, 64)).collect();
    let label = ["PRIVATE", "KEY"].join(" ");
    all.push(Planted {
        kind: "private key",
        text: format!("-----BEGIN OPENSSH {label}-----\n{}\n-----END OPENSSH {label}-----", lines.join("\n")),
        secret: lines[2].clone(),
    });
    all
}

/// Returns texts that resemble secrets; each must be found word for word.
fn look_alikes() -> Vec<String> {
    let mut random = Random::new(77);
    let mut all = Vec::new();
    for at in 0..30 {
        all.push(format!("commit {}", random.text(HEX, 40)));
        all.push(format!("request id {}", random.uuid()));
        all.push(format!("sha256:{}", random.text(HEX, 64)));
        all.push(format!("index {}..{} 100644", random.text(HEX, 7), random.text(HEX, 7)));
        all.push(format!("etag W/\"{}\"", random.text(HEX, 32)));
        all.push(format!("toolu_01{} is call {at}", random.text(ALNUM, 22)));
    }
    all.extend(
        [
            "password must not be empty",
            "the token bucket refills every second",
            "const MAX_TOKENS: usize = 4096;",
            "api_key = os.environ[\"API_KEY\"]",
            "password: ${DB_PASSWORD}",
            "Authorization: Bearer <token>",
            "export TOKEN=$(cat token.txt)",
            "postgres://localhost:5432/main",
            "primary_key = \"user_id\"",
            "tokenizer_version = 3",
            "integrity sha512-abc is checked by the lock file",
            "GET /v1/tokens HTTP/1.1",
            "sk-learn and scikit are the same",
            "secret_santa = Friday",
            "AKIA is how the keys begin",
            "checksum = \"0f343b0930c0c2f2b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e\"",
            "let password_field = form.get(\"password\");",
            "Bearer tokens expire after an hour",
            "npm_config_cache=/var/cache",
            "https://example.org/a/b?page=2&token_type=code",
        ]
        .map(str::to_owned),
    );
    all
}

/// Spreads texts over prompts, tool output, and files of every kind.
fn spread(texts: &[String]) -> Memory {
    let mut session = SessionBuilder::new(41);
    let memory = Memory::new();
    let mut notes = String::from("# Notes\n");
    let mut script = String::from("# how it was run\n");
    for (at, text) in texts.iter().enumerate() {
        match at % 5 {
            0 => drop(session.human(&format!("look: {text}"))),
            1 => drop(session.assistant(&format!("I see:\n\n{text}"))),
            2 => drop(session.tool("Bash", &json!({"command": "env"}), &format!("line one\n{text}\nline three"), at % 2 == 0)),
            3 => notes += &format!("\n## Part {at}\n\nWritten down: {text}\n"),
            _ => script += &format!("\ndef step_{at}():\n    \"\"\"\n    {}\n    \"\"\"\n", text.replace('\n', "\n    ")),
        }
    }
    memory.write("claude/p/a.jsonl", session.text());
    memory.write("papers/notes.md", notes);
    memory.write("papers/steps.py", script);
    let root = |source: &str, folder: &str| SourceRoot { source: source.to_owned(), path: memory.sources().join(folder) };
    let request = IngestRequest::new(vec![root("claude-code", "claude"), root("file", "papers")]);
    let report = memory.engine().ingest(&request, &mut Silent).unwrap();
    assert_eq!((report.files_read, &report.failures), (3, &Vec::new()));
    memory.index();
    memory
}

#[test]
fn forty_planted_secrets_are_in_no_byte_of_the_data_directory() {
    let planted = planted();
    assert_eq!(planted.len(), 40);
    let texts: Vec<String> = planted.iter().map(|planted| planted.text.clone()).collect();
    let mut memory = spread(&texts);
    memory.close();
    let scan = Scan::of(&memory.data());
    let found: Vec<&str> =
        planted.iter().filter(|planted| !scan.places(&planted.secret).is_empty()).map(|planted| planted.kind).collect();
    // At least 38 of 40 must be redacted.
    assert!(found.len() <= 2, "kept: {found:?}");
    assert_eq!(found, KNOWN_MISSES, "the list of known misses is to be kept true");
    for word in ["bucket", "db.internal", "Written down", "how it was run"] {
        assert!(!scan.places(word).is_empty(), "{word} is gone");
    }
}

/// Kinds that are not recognised: the SID of a key, in a text that does not name its owner, looks like any
/// checksum after two letters.
const KNOWN_MISSES: [&str; 1] = ["twilio"];

#[test]
fn two_hundred_look_alikes_are_all_kept() {
    let texts = look_alikes();
    assert_eq!(texts.len(), 200);
    let memory = spread(&texts);
    let archived: String = memory.archive().iter().map(|(.., bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
    let lost: Vec<&String> = texts
        .iter()
        .filter(|text| {
            let escaped = serde_json::to_string(text).unwrap();
            !archived.contains(&escaped[1..escaped.len() - 1])
        })
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(memory.statistics().store.redactions.is_empty());
}

#[test]
fn picture_leaves_its_kind_and_size_and_counts_as_no_secret() {
    let mut random = Random::new(5);
    let payload = random.text(B64, 4_000);
    let mut session = SessionBuilder::new(43);
    session.raw(&json!({
        "type": "user", "uuid": random.uuid(), "sessionId": session.id(), "timestamp": "2026-03-01T10:00:00Z", "cwd": "/home/dev/tidepool",
        "message": {"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": payload}},
            {"type": "text", "text": "what is wrong in this picture of the lagoon"},
        ]},
    }));
    let memory = Memory::new();
    memory.write("p/a.jsonl", session.text());
    let report = memory.learn();
    assert_eq!(report.redactions.secrets_total(), 0, "{:?}", report.redactions);
    let archive = String::from_utf8(memory.archive()[0].2.clone()).unwrap();
    assert!(archive.contains("image/png") && !archive.contains(&payload[..64]));
    assert_eq!(memory.ask("picture of the lagoon").len(), 1);
}

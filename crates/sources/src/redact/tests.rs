//! Planted secrets are built from parts at run time, so that no file here holds anything that a scanner would
//! take for a live one.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const KEY: [u8; 32] = [7; 32];

fn redactor() -> &'static Redactor {
    static SHARED: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&KEY));
    &SHARED
}

/// Returns `length` characters that look random, from an alphabet.
fn noise(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[(state >> 33) as usize % letters.len()]
        })
        .collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LOWHEX: &str = "0123456789abcdef";
const B64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn an(length: usize, seed: u64) -> String {
    noise(ALNUM, length, seed)
}
fn hex(length: usize, seed: u64) -> String {
    noise(LOWHEX, length, seed)
}
fn b64(length: usize, seed: u64) -> String {
    noise(B64, length, seed)
}
fn u64s(length: usize, seed: u64) -> String {
    noise(URL64, length, seed)
}
fn jwt(seed: u64) -> String {
    format!("ey{}{}.ey{}{}.{}", "JhbGciOi", an(28, seed), "JzdWIiOi", an(60, seed + 1), an(43, seed + 2))
}
fn uuid(seed: u64) -> String {
    let h = hex(32, seed);
    format!("{}-{}-4{}-a{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..])
}

/// Provider tokens: (kind, token).
fn tokens() -> Vec<(&'static str, String)> {
    let t = |kind, prefix: &[&str], body: String| (kind, format!("{}{}", prefix.concat(), body));
    vec![
        t("openai-key", &["sk", "-"], an(48, 1)),
        t("openai-key", &["sk-", "proj-"], u64s(100, 2)),
        t("openai-key", &["sk-", "svcacct-"], u64s(80, 3)),
        t("anthropic-key", &["sk-", "ant-", "api03-"], format!("{}AA", u64s(93, 4))),
        t("aws-access-key", &["AK", "IA"], noise(UPPER, 16, 5)),
        t("aws-access-key", &["AS", "IA"], noise(UPPER, 16, 6)),
        t("google-key", &["AI", "za"], u64s(35, 7)),
        t("google-key", &["ya", "29."], u64s(120, 8)),
        t("google-key", &["GOC", "SPX-"], u64s(28, 9)),
        t("github-token", &["gh", "p_"], an(36, 10)),
        t("github-token", &["gh", "o_"], an(36, 11)),
        t("github-token", &["gh", "u_"], an(36, 12)),
        t("github-token", &["gh", "s_"], an(36, 13)),
        t("github-token", &["gh", "r_"], an(76, 14)),
        t("github-token", &["github", "_pat_"], format!("{}_{}", an(22, 15), an(59, 16))),
        t("gitlab-token", &["gl", "pat-"], an(20, 17)),
        t("gitlab-token", &["gl", "dt-"], an(20, 18)),
        t("gitlab-token", &["gl", "rt-"], an(20, 19)),
        t("slack-token", &["xo", "xb-"], format!("2719384756-2719384757-{}", an(24, 20))),
        t("slack-token", &["xo", "xp-"], format!("2719384756-2719384757-{}", an(32, 21))),
        t("slack-token", &["xa", "pp-"], format!("1-A02{}-3648-{}", noise(UPPER, 8, 22), hex(64, 23))),
        t("stripe-key", &["sk_", "live_"], an(24, 24)),
        t("stripe-key", &["rk_", "live_"], an(24, 25)),
        t("stripe-key", &["sk_", "test_"], an(24, 26)),
        t("stripe-key", &["wh", "sec_"], an(32, 27)),
        t("sendgrid-key", &["S", "G."], format!("{}.{}", u64s(22, 28), u64s(43, 29))),
        t("registry-token", &["np", "m_"], an(36, 30)),
        t("registry-token", &["py", "pi-", "AgE"], u64s(150, 31)),
        t("registry-token", &["ci", "o"], an(32, 32)),
        t("huggingface-token", &["h", "f_"], an(34, 33)),
        t("model-key", &["gs", "k_"], an(52, 34)),
        t("model-key", &["xa", "i-"], an(80, 35)),
        t("model-key", &["pp", "lx-"], an(48, 36)),
        t("model-key", &["r", "8_"], an(37, 37)),
        t("telegram-token", &["71", "83940562:", "AA"], u64s(33, 38)),
        t("cloud-token", &["dop", "_v1_"], hex(64, 39)),
        t("cloud-token", &["da", "pi"], hex(32, 40)),
        t("provider-token", &["lin", "_api_"], an(40, 41)),
        t("provider-token", &["nt", "n_"], an(46, 42)),
        t("provider-token", &["secr", "et_"], an(43, 43)),
        t("provider-token", &["fi", "gd_"], u64s(43, 44)),
        t("vault-token", &["dp.", "pt."], an(43, 45)),
        t("vault-token", &["hv", "s."], u64s(95, 46)),
        t("age-key", &["AGE-", "SECRET-", "KEY-1"], noise("023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58, 47)),
        t("provider-token", &["ATA", "TT3"], format!("xFfGF0{}=7A5B2C1D", u64s(170, 48))),
        t("provider-token", &["sh", "pat_"], hex(32, 49)),
        t("provider-token", &["ke", "y-"], hex(32, 50)),
        t("provider-token", &["sq0", "csp-"], u64s(43, 51)),
        t("provider-token", &["PM", "AK-"], format!("{}-{}", hex(24, 52), hex(34, 53))),
        t("provider-token", &["NR", "AK-"], noise(UPPER, 27, 54)),
        t("provider-token", &["gl", "sa_"], format!("{}_{}", an(32, 55), hex(8, 56))),
        t("provider-token", &["gl", "c_ey"], format!("Jv{}==", b64(80, 57).replace('+', "a"))),
        t("provider-token", &["snt", "rys_eyJ"], format!("pYXQ{}", an(90, 58))),
        t("jwt", &[""], jwt(59)),
        t("registry-token", &["dckr", "_pat_"], u64s(27, 60)),
        t("provider-token", &["xkey", "sib-"], format!("{}-{}", hex(64, 61), an(16, 62))),
        t("azure-key", &["aB3", "8", "Q~"], an(34, 63)),
        t("provider-token", &["pa", "t"], format!("{}.{}", an(14, 64), hex(64, 65))),
        t("vault-token", &[""], format!("{}.atlas{}.{}", an(14, 66), "v1", an(67, 67))),
        t("aws-session-token", &["IQoJ", "b3JpZ2luX2Vj"], b64(300, 68)),
        t("cloud-token", &["ts", "key-", "auth-"], format!("{}-{}", an(12, 69), an(32, 70))),
        t("registry-token", &["ruby", "gems_"], hex(48, 71)),
        t("openai-key", &["e", "k_"], an(40, 72)),
        t("model-key", &["f", "w_"], an(24, 73)),
        t("stripe-key", &["sk_", "org_live_"], an(40, 74)),
        t("cloud-token", &["np", "g_"], an(16, 75)),
        t("cloud-token", &["v1", ".0-"], format!("{}-{}", hex(24, 76), hex(146, 77))),
        t("cloud-token", &["ey", "JhIjoi"], b64(150, 78).replace(['+', '/'], "x")),
        t("cloud-token", &["ey", "J2MiI6", "I"], b64(70, 79).replace(['+', '/'], "x")),
        t("vault-token", &["A", "3-"], ["A7XKQ2", "M4RZ8T", "P9LDW", "Q3VHN", "Z6CYB", "J8GFT"].join("-")),
        t("vault-token", &["s", "t."], format!("{}.{}.{}", hex(24, 80), hex(32, 81), hex(32, 82))),
        t("private-key", &["LS0tLS1CRUdJ", "TiBSU0EgUFJJ"], b64(400, 83)),
        t("private-key", &["LS0tLS1CRUdJ", "TiBQUklWQVRF"], b64(400, 84)),
        t("provider-token", &["secret-", "live-"], an(36, 85)),
        t("provider-token", &["s", "k.eyJ"], format!("{}.{}", an(60, 86), an(22, 87))),
        t("provider-token", &["ke", "y_"], hex(64, 88)),
        t("provider-token", &["js", "rp_"], an(24, 89)),
        t("provider-token", &["dd", "p_"], an(34, 90)),
        t("provider-token", &["vt", "wn_"], an(30, 91)),
        t("provider-token", &["polar", "_oat_"], an(43, 92)),
        t("provider-token", &["root", "ly_"], an(64, 93)),
        t("azure-key", &[""], format!("{}{}{}", an(76, 94), concat!("AZ", "DO"), an(4, 95))),
        t("google-key", &["AAAA"], format!("{}{}{}", an(7, 96), concat!(":APA", "91b"), u64s(134, 97))),
        t("github-token", &["ti", "d="], format!("{};exp=1767225600;sku=free;8kp=1:{}", hex(32, 98), hex(64, 99))),
        t("cloud-token", &["cf", "ut_"], an(48, 201)),
        t("cloud-token", &["cf", "at_"], an(48, 202)),
        t("cloud-token", &["cf", "k_"], an(48, 203)),
        t("github-token", &["Z2h", "wX"], an(48, 204)),
        t("github-token", &["Z2l0aHVi", "X3BhdF"], an(80, 205)),
        t("anthropic-key", &["c2stYW", "50L"], an(80, 206)),
        t("discord-token", &["MT", "A"], format!("{}.G{}.{}", an(23, 170), an(5, 171), an(38, 172))),
    ]
}

/// Secrets by context: (kind, text, part that must be removed).
fn contexts() -> Vec<(&'static str, String, String)> {
    let mut all: Vec<(&'static str, String, String)> = Vec::new();
    let mut add = |kind, secret: String, template: &str| {
        all.push((kind, template.replace("@@", &secret), secret));
    };
    let pw = || format!("Tr0ub4dor{}", "&3x!Q");
    add("assignment", b64(40, 100), "aws_secret_access_key = @@\nregion = us-east-1");
    add("assignment", b64(40, 101), "export AWS_SECRET_ACCESS_KEY=\"@@\"");
    add("assignment", hex(32, 102), "TWILIO_AUTH_TOKEN=@@");
    add("assignment", uuid(103), "HEROKU_API_KEY=@@");
    add("assignment", uuid(104), "{\"client_secret\": \"@@\"}");
    add("assignment", u64s(40, 105), "CLOUDFLARE_API_TOKEN: '@@'");
    add("assignment", hex(37, 106), "curl -H 'X-Auth-Key: @@' https://api.cloudflare.com/client/v4");
    add(
        "azure-key",
        format!("{}==", b64(86, 107)),
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey=@@;EndpointSuffix=core.windows.net",
    );
    add(
        "azure-key",
        format!("{}=", b64(43, 108)),
        "Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@@",
    );
    add("url-password", pw().replace('&', "a"), "postgres://app:@@@db.internal:5432/main");
    add("url-password", hex(32, 210), "SENTRY_DSN=https://@@@o4507.ingest.sentry.io/4509");
    add("model-key", an(40, 211), "co = cohere.Client(\"@@\")");
    add("model-key", uuid(212), "exa = Exa('@@')");
    add("vault-token", format!("s.{}", an(24, 216)), "vault login @@ works again");
    add("cli-password", hex(64, 217), "vastai set api-key @@");
    add(
        "webhook",
        format!("T{}/B{}/{}", noise(UPPER, 10, 213), noise(UPPER, 10, 214), an(24, 215)),
        "https://hooks.slack-gov.com/services/@@",
    );
    add("url-password", "hunter2".into(), "redis://default:@@@10.0.0.3:6379/0");
    add("url-password", "p@ss:w0rd".into(), "mysql://root:@@@localhost/db");
    add("url-password", "swordfish".into(), "git clone https://alice:@@@git.example.org/repo.git");
    add("bearer", an(40, 109), "Authorization: Bearer @@");
    add("bearer", u64s(64, 110), "curl -H \"Authorization: Bearer @@\" https://api.internal/v1");
    add("bearer", hex(40, 111), "Authorization: Token @@");
    add("bearer", an(32, 112), "headers = {\"Authorization\": f\"Bearer @@\"}");
    add("bearer", hex(40, 113), "{\\\"authorization\\\": \\\"token @@\\\"}");
    add("basic-auth", ["dXNlcjpz", "M2NyZXRwYXNz"].concat(), "Authorization: Basic @@");
    add("assignment", an(32, 114), "x-api-key: @@");
    add("assignment", an(32, 115), "req.Header.Set(\"X-Api-Key\", \"@@\")");
    add("assignment", pw(), "password = \"@@\"");
    add("assignment", pw(), "password: '@@'");
    add("assignment", pw(), "  \"dbPassword\" => \"@@\",");
    add("assignment", pw(), "passwd := \"@@\"");
    add("assignment", pw(), "let password: &str = \"@@\";");
    add("assignment", pw(), "const char *db_password = \"@@\";");
    add("assignment", pw(), "os.environ[\"DB_PASSWORD\"] = \"@@\"");
    add("assignment", pw(), "t.Setenv(\"DB_PASSWORD\", \"@@\")");
    add("assignment", pw(), "if password == \"@@\" {");
    add("assignment", pw(), "<password>@@</password>");
    add("assignment", format!("Xk9m{}", "P2vL5nQ8"), "pg_dump --password=@@ -h db");
    add("assignment", an(24, 116), "deploy --api-key @@ --region eu");
    add("assignment", an(32, 117), "{\"tool_output\":\"{\\\"api_key\\\": \\\"@@\\\"}\"}");
    add("assignment", an(32, 118), "config:\\n  api_key: \\\"@@\\\"\\n  region: eu");
    add("assignment", an(32, 119), "const apiKey = `@@`;");
    add("assignment", an(32, 120), "GET /v1/items?access_token=@@&page=2 HTTP/1.1");
    add("assignment", an(32, 121), "app.secret.key=1\nspring.datasource.password=@@");
    add("assignment", an(32, 122), "[auth]\nclient-secret = @@\n");
    add("assignment", an(28, 123), "token = '@@'");
    add("assignment", an(36, 124), "//registry.internal/:_authToken=@@");
    add("session-cookie", u64s(40, 125), "Cookie: theme=dark; sessionid=@@; lang=en");
    add("session-cookie", u64s(40, 126), "Set-Cookie: connect.sid=@@; Path=/; HttpOnly");
    add("cli-password", "s3cretpw".into(), "mysql -u root -p@@ shop < dump.sql");
    add("cli-password", "s3cret pw".into(), "sshpass -p '@@' ssh root@10.0.0.1");
    add("cli-password", "s3cretpw".into(), "curl -s -u admin:@@ https://nexus.internal/");
    add("cli-password", "s3cretpw".into(), "redis-cli -h cache -a @@ ping");
    add("cli-password", "s3cretpw".into(), "docker login -u bob -p @@ registry.internal");
    add("cli-password", "s3cretpw".into(), "machine api.internal login bob password @@");
    add(
        "webhook",
        format!("T{}/B{}/{}", noise(UPPER, 8, 127), noise(UPPER, 8, 128), an(24, 129)),
        "https://hooks.slack.com/services/@@",
    );
    add("webhook", format!("9182736455463728/{}", u64s(68, 130)), "https://discord.com/api/webhooks/@@");
    add("discord-token", format!("MTA{}.G{}.{}", an(23, 131), an(5, 132), an(38, 133)), "discord bot: client.login('@@')");
    add("twilio-key", format!("SK{}", hex(32, 134)), "twilio.rest.Client('@@')");
    add(
        "url-signature",
        format!("{}%3D", b64(43, 135).replace(['+', '/'], "b")),
        "https://x.blob.core.windows.net/c?sv=2022&sig=@@&se=2025",
    );
    add("env-file", "sommer".into(), "APP_ENV=dev\nDB_HOST=localhost\nDB_PASSWORD=@@\nPORT=80");
    add("env-file", "geheim".into(), "     1→APP_ENV=dev\n     2→SECRET_KEY=@@\n     3→PORT=80");
    add("env-file", "base64:abcd".into(), "APP_NAME=x\nAPP_KEY=@@\nAPP_DEBUG=true");
    add(
        "webhook",
        format!("{}@{}/IncomingWebhook/{}/{}", uuid(180), uuid(181), hex(32, 182), uuid(183)),
        "https://acme.webhook.office.com/webhookb2/@@",
    );
    add("assignment", hex(128, 184), "SECRET_KEY_BASE=@@");
    add("assignment", b64(40, 185), "AWS Secret Access Key [None]: @@");
    add("session-cookie", u64s(150, 186), "Cookie: lang=en; li_at=@@; theme=dark");
    add("session-cookie", u64s(60, 187), "Cookie: lang=en; x_blob=@@");
    add("assignment", uuid(188), "X-Postmark-Server-Token: @@");
    add("assignment", hex(32, 189), "{\"username\":\"ann\",\"key\":\"@@\"}");
    add("cli-password", hex(40, 190), "wandb login @@");
    add("cli-password", hex(40, 191), "wandb login --relogin @@ && python train.py");
    add("cli-password", uuid(192), "snyk auth @@");
    add("cli-password", an(35, 193), "cargo login @@");
    add("cli-password", an(40, 194), "gh auth login --with-token <<< @@");
    add("cli-password", "Kq8-vX2pL".into(), "echo '@@' | docker login -u bob --password-stdin");
    add("cli-password", an(49, 195), "ngrok config add-authtoken @@");
    add("assignment", an(32, 196), "set -gx API_TOKEN @@");
    add("assignment", pw(), "| DB_PASSWORD | @@ |");
    add("assignment", pw(), "Passwort: @@");
    add("assignment", an(39, 197), "GET /maps/api?key=@@&q=1");
    add("assignment", format!("0x{}", hex(64, 198)), "private key: @@");
    add(
        "private-key",
        u64s(43, 199),
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"d\":\"@@\"}",
    );
    // A password in various contexts.
    for (i, secret) in [
        "W>G:yMh%2k&pQz!x",
        "kXqTvZbRwPnLdGhJ",
        "correct-horse-battery-staple",
        "Dragon2025#",
        "p,q;r!S2(t)U[v]{w}",
        "$aB3<x>Q...z",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = || secret.to_owned();
        add("assignment", secret(), "password: @@");
        add("assignment", secret(), "spring.datasource.password=@@");
        add("assignment", secret(), "export DB_PASSWORD=@@");
        add("assignment", secret(), "backup --password @@ --quiet");
        if i != 4 {
            add("assignment", secret(), "Server=db;User Id=app;Password=@@;Database=shop");
        }
        add("assignment", secret(), "password = \"@@\"");
    }
    add("assignment", format!("hunter2{}", "harbour"), "password: @@");
    add("assignment", format!("blauer7{}", "Hafen"), "Passwort: @@");
    for secret in ["Strawberry99!", "Dragon2025!", "Sunshine1!", "Welcome2024!"] {
        add("assignment", secret.into(), "password: @@");
        add("assignment", secret.into(), "x.password=@@");
        add("assignment", secret.into(), "the password is @@ for now");
    }
    for (form, secret) in [
        ("log in with password @@.", "Sommer2024"),
        ("das Passwort lautet '@@'", "Kx7mQ2vTzR"),
        ("use password @@, ok", "s3cr3t#pot"),
    ] {
        add("assignment", secret.into(), form);
    }
    let crypt = |length, seed| noise("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", length, seed);
    add("password-hash", format!("$2b$12${}", an(53, 220)), "hash: @@ of root");
    add("password-hash", format!("$6$rounds=5000${}${}", an(16, 221), crypt(85, 222) + "a"), "root:@@:19000:0:99999:7:::");
    add("password-hash", format!("$argon2id$v=19$m=65536,t=3,p=4${}${}", an(22, 223), b64(43, 224)), "password_hash = '@@'");
    add("url-password", format!("%29Vdc{}%40", an(12, 200)), "postgres://app:@@@db.internal/main");
    let aws = || ["wJalrXUtnFEMI", "/K7MDENG/", "bPxRfiCYEXAMPLEKEY"].concat();
    add("assignment", aws(), "AWS_SECRET_ACCESS_KEY=@@");
    add("assignment", aws(), "aws configure set aws_secret_access_key @@");
    add("assignment", aws(), "{\"SecretAccessKey\": \"@@\"}");
    add("assignment", "hunter2hunter2".into(), "--password @@ --user bob");
    add("assignment", "mysupersecretjwtkey2024".into(), "JWT_SECRET=@@");
    add("assignment", "Winter2024".into(), "login password: @@!");
    add("assignment", "django-x8!k2@v9$qz7^m4&n1*p6(r3)t5_w0".into(), "SECRET_KEY = '@@'");
    add("assignment", an(20, 160), "<add key=\"ApiKey\" value=\"@@\" />");
    add("cli-password", "Qw3rty9xZ".into(), "az login --service-principal -u a -p @@ -t t");
    add("private-block", "my salary is".into(), "hello <private>@@</private> world");
    add("private-block", "my salary is".into(), "hello\n<PRIVATE reason=\"x\"> @@ much\nand more");
    add("private-block", "my salary is".into(), "<private>a<private>b</private> @@ </private> end");
    add("private-block", "my salary is".into(), "x \\u003cprivate\\u003e@@\\u003c/private\\u003e y");
    for (label, seed) in
        [("RSA PRIVATE", 140), ("OPENSSH PRIVATE", 141), ("EC PRIVATE", 142), ("PRIVATE", 143), ("ENCRYPTED PRIVATE", 144)]
    {
        for newline in ["\n", "\\n"] {
            let body: Vec<String> = (0..5).map(|i| b64(64, seed * 10 + i)).collect();
            let secret = body.join(newline);
            add(
                "private-key",
                secret,
                &format!("key:\n{0}BEGIN {label} KEY{0}{newline}@@{newline}{0}END {label} KEY{0}{newline}done", "-----"),
            );
        }
    }
    let cut = format!("{}\n{}\n{}", b64(64, 150), b64(64, 151), b64(30, 152));
    add("private-key", cut, &format!("{0}BEGIN RSA PRIVATE KEY{0}\n@@", "-----"));
    let numbered = format!("{}\n     3→{}\n     4→{}", b64(64, 153), b64(64, 154), b64(64, 155));
    add("private-key", numbered, &format!("     1→{0}BEGIN PRIVATE KEY{0}\n     2→@@\n     5→{0}END PRIVATE KEY{0}", "-----"));
    let pgp = format!("{}\n{}\n=aB3d", b64(64, 156), b64(64, 157));
    add(
        "private-key",
        pgp,
        &format!("{0}BEGIN PGP PRIVATE KEY BLOCK{0}\nVersion: GnuPG v2\n\n@@\n{0}END PGP PRIVATE KEY BLOCK{0}", "-----"),
    );
    let dek = format!("{}\n{}", b64(64, 158), b64(64, 159));
    add(
        "private-key",
        dek,
        &format!(
            "{0}BEGIN RSA PRIVATE KEY{0}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n@@\n{0}END RSA PRIVATE KEY{0}",
            "-----"
        ),
    );
    all
}

fn kinds_of(counts: &RedactionCounts) -> Vec<&'static str> {
    counts.iter().map(|(kind, _)| kind).collect()
}

#[test]
fn every_pattern_compiles() {
    assert!(Patterns::new().all_compiled());
}

#[test]
fn kinds_have_distinct_stable_names() {
    let mut names: Vec<_> = SecretKind::ALL.iter().map(|k| k.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SecretKind::ALL.len());
    assert!(names.iter().all(|n| { n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') }));
}

#[test]
fn every_provider_token_is_caught_in_every_surrounding() {
    let redactor = redactor();
    let mut missed = Vec::new();
    assert!(tokens().len() + contexts().len() >= 120);
    for (kind, token) in tokens() {
        for (before, after) in [
            ("", ""),
            ("key: ", " ok"),
            ("\"", "\","),
            ("'", "'"),
            ("`", "`."),
            ("(", ")"),
            ("\\n", "\\n"),
            ("\u{1b}[31m", "\u{1b}[0m"),
            ("=", "\n"),
            ("     3→", "\n"),
            ("ü", "ü"),
            ("<", ">"),
            ("?k=", "&x=1"),
            ("text, ", ", and"),
            ("{\\\"v\\\":\\\"", "\\\"}"),
            ("\t", ";"),
            ("https://", "@host/x"),
        ] {
            let mut counts = RedactionCounts::default();
            let text = format!("{before}{token}{after}");
            match redactor.text(&text, &mut counts) {
                Some(out) if !out.contains(&token[token.len() / 2..]) && out.starts_with(before) && out.ends_with(after) => {
                    if before != "https://" && kinds_of(&counts) != [kind] {
                        missed.push(format!("{kind} became {:?}", kinds_of(&counts)));
                    }
                }
                other => missed.push(format!("{kind} {} in {before:?}..{after:?}: {other:?}", &token[..4])),
            }
        }
    }
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_secret_in_context_is_caught_and_its_surroundings_stay() {
    let redactor = redactor();
    let mut missed = Vec::new();
    for (kind, text, secret) in contexts() {
        let mut counts = RedactionCounts::default();
        let out = redactor.text(&text, &mut counts).unwrap_or_else(|| text.clone());
        if out.contains(&secret) || out.contains(&secret[secret.len() - secret.len() / 3..]) || kinds_of(&counts) != [kind] {
            missed.push(format!("{kind} {:?}: {text}\n   -> {out}", kinds_of(&counts)));
            continue;
        }
        if kind != "private-key" && kind != "private-block" {
            let (before, after) = text.split_once(&secret).unwrap();
            if !out.starts_with(before) || !out.ends_with(after) {
                missed.push(format!("ate too much: {text}\n   -> {out}"));
            }
        }
        if redactor.text(&out, &mut counts).is_some() {
            missed.push(format!("not idempotent: {out}"));
        }
        let mut value = json!({"message": {"content": [{"type": "tool_result", "content": text}]}});
        let mut counts = RedactionCounts::default();
        if !redactor.json(&mut value, &mut counts) || value["message"]["content"][0]["content"] != json!(out) {
            missed.push(format!("json differs: {text}"));
        }
    }
    assert!(missed.is_empty(), "{}\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn no_harmless_text_is_changed() {
    let redactor = redactor();
    let mut changed = Vec::new();
    let lines = include_str!("harmless.txt").lines().filter(|line| !line.is_empty());
    let mut count = 0;
    for line in lines {
        let line = line
            .replace("@HEX64@", &hex(64, 1))
            .replace("@HEX40@", &hex(40, 2))
            .replace("@HEX32@", &hex(32, 3))
            .replace("@UUID@", &uuid(4))
            .replace("@B64_64@", &b64(64, 5))
            .replace("@AN24@", &an(24, 6))
            .replace("@D5@", "-----")
            .replace("@X36@", &"x".repeat(36))
            .replace("@UX16@", &"X".repeat(16));
        count += 1;
        for text in [line.clone(), format!("     7→{line}"), format!("a\n{line}\nb"), line.replace('"', "\\\"")] {
            let mut counts = RedactionCounts::default();
            if let Some(out) = redactor.text(&text, &mut counts) {
                changed.push(format!("{text}\n   -> {out}"));
            }
        }
        let mut value = json!({"type": "text", "text": line, "nested": [{"content": line}]});
        let before = value.clone();
        redactor.json(&mut value, &mut RedactionCounts::default());
        assert_eq!(before, value);
    }
    assert!(count >= 220, "only {count} look-alikes");
    assert!(changed.is_empty(), "{}\n{}", changed.len(), changed.join("\n"));
}

#[test]
fn members_are_judged_by_their_names() {
    let mut value = json!({
        "password": "Summer-2024!",
        "db": {"user": "app", "passwd": "hunter22x"},
        "api_key": hex(32, 1),
        "token_count": "1234567890",
        "cache_key": hex(32, 2),
        "token": hex(40, 3),
        "public_key": an(60, 4),
        "authorization": format!("Bearer {}", an(40, 5)),
        "headers": [["x-api-key", an(30, 6)], ["accept", "text/html"]],
        "args": ["-y", "srv", "--api-key", an(22, 9), "--port", "8080"],
        "vars": [{"name": "API_KEY", "value": an(24, 7)}, {"name": "REGION", "value": "eu-central-1"}],
        "cookie": format!("sid={}; theme=dark", u64s(30, 8)),
        "env": {"DB_PASSWORD": "geheim", "PATH": "/usr/bin", "NODE_ENV": "production"},
        "input_tokens": 12345,
        "secret": null
    });
    let before = value.clone();
    let mut counts = RedactionCounts::default();
    assert!(redactor().json(&mut value, &mut counts));
    let text = value.to_string();
    for gone in [
        hex(32, 1),
        an(40, 5),
        an(30, 6),
        an(24, 7),
        u64s(30, 8),
        an(22, 9),
        "Summer-2024!".into(),
        "hunter22x".into(),
        "geheim".into(),
    ] {
        assert!(!text.contains(&gone), "{gone} in {text}");
    }
    for stays in ["token_count", "cache_key", "token", "public_key", "input_tokens", "secret"] {
        assert_eq!(value[stays], before[stays]);
    }
    assert_eq!(value["env"]["PATH"], "/usr/bin");
    assert_eq!(value["env"]["NODE_ENV"], "production");
    assert!(value["cookie"].as_str().unwrap().ends_with("; theme=dark"));
    assert!(value["authorization"].as_str().unwrap().starts_with("Bearer [yore:redacted bearer "));
    assert_eq!(value["vars"][1], before["vars"][1]);
    assert_eq!(counts.secrets_total(), 9);
    let once = value.clone();
    assert!(!redactor().json(&mut value, &mut counts));
    assert_eq!(once, value);
}

#[test]
fn every_value_of_an_environment_file_goes() {
    let body = "# comment\nDEBUG=true\nNAME='my app' # x\nURL=http://localhost\nEMPTY=\n";
    let read = "     1→# comment\n     2→DEBUG=true\n     3→NAME=my app\n";
    let mut value = json!({
        "toolUseResult": {"type": "text", "file": {"filePath": "/srv/app/.env.local", "content": body}},
        "message": {"content": [{"type": "tool_result", "content": read}]},
        "other": "let x = 1;\nDEBUG=true"
    });
    let mut counts = RedactionCounts::default();
    redactor().json(&mut value, &mut counts);
    let content = value["toolUseResult"]["file"]["content"].as_str().unwrap();
    assert!(!content.contains("true") && !content.contains("my app") && !content.contains("localhost"), "{content}");
    assert!(content.contains("# comment\nDEBUG=[yore:redacted env-file ") && content.ends_with("EMPTY=\n"));
    let twin = value["message"]["content"][0]["content"].as_str().unwrap();
    assert!(!twin.contains("true") && !twin.contains("my app"), "{twin}");
    assert_eq!(value["other"], "let x = 1;\nDEBUG=true");
    let once = value.clone();
    redactor().json(&mut value, &mut counts);
    assert_eq!(once, value);
}

#[test]
fn what_a_reader_will_decode_is_redacted_as_it_will_be_read() {
    let token = format!("{}{}", concat!("gh", "p_"), an(36, 1));
    let escaped = token.replace('_', "\\u005f");
    for text in [
        format!("{{\"command\":[\"bash\",\"-lc\",\"echo {escaped}\"]}}"),
        format!("{{\"command\":\"echo {}\"}}", token.replace('_', "\\\\u005f")),
        format!("{{\"env\":\"DB_PASSWORD\\u003d{}\"}}", "W9x.k2Lm+Pq"),
        format!("AccountName=store;AccountKey\\u003d{}==;x", b64(86, 3)),
    ] {
        let mut value = json!({"arguments": text});
        let mut counts = RedactionCounts::default();
        assert!(redactor().json(&mut value, &mut counts), "{text}");
        let out = value["arguments"].as_str().unwrap();
        assert!(!out.contains(&token[6..]) && !out.contains("k2Lm") && !out.contains(&b64(86, 3)), "{out}");
        assert_eq!(counts.secrets_total(), 1, "{out}");
        assert!(!redactor().json(&mut value, &mut counts), "{value}");
    }
    let numbered = format!(
        "     1\\u2192{0}BEGIN PRIVATE KEY{0}\\n     2\\u2192{1}\\n     3\\u2192{2}\\n     4\\u2192{0}END PRIVATE KEY{0}",
        "-----",
        b64(64, 4),
        b64(64, 5)
    );
    let out = redactor().text(&numbered, &mut RedactionCounts::default()).unwrap();
    assert!(!out.contains(&b64(64, 4)) && !out.contains(&b64(64, 5)), "{out}");
}

#[test]
fn a_file_of_credentials_that_is_written_by_json_in_a_string_is_known() {
    let call = json!({"path": "/srv/app/.env", "content": "DEBUG=true\nNAME=geheim\n"}).to_string();
    let mut value = json!({"type": "function_call", "name": "write", "arguments": call});
    assert!(redactor().json(&mut value, &mut RedactionCounts::default()));
    let out = value["arguments"].as_str().unwrap();
    assert!(!out.contains("geheim") && out.contains("/srv/app/.env"), "{out}");
    assert!(serde_json::from_str::<Value>(out).is_ok());
}

#[test]
fn a_template_of_an_environment_file_stays() {
    for path in [".env.example", "/a/.env.sample", "x/.env.template", "credentials.go", "src/environment.ts"] {
        let mut value = json!({"file_path": path, "content": "DEBUG=true\nNAME=x\nTOKEN=your-token"});
        assert!(!redactor().json(&mut value, &mut RedactionCounts::default()), "{path}");
    }
}

#[test]
fn other_files_of_credentials_are_known_by_their_names() {
    for (path, content, gone) in [
        ("/home/a/.netrc", "machine x login bob password geheim\n", "geheim"),
        ("C:\\Users\\a\\.pgpass", "localhost:5432:db:bob:geheim\n", "geheim"),
        ("~/.aws/credentials", "[default]\naws_access_key_id = geheim\n", "geheim"),
        ("/r/.npmrc", "//reg/:_authToken=geheim\nkey=geheim", "key=geheim"),
    ] {
        let mut value = json!({"filePath": path, "structuredPatch": [{"lines": [content]}], "newString": content});
        redactor().json(&mut value, &mut RedactionCounts::default());
        assert!(!value.to_string().contains(gone), "{value}");
    }
}

#[test]
fn payloads_become_markers_with_type_and_length() {
    let image = b64(4000, 1);
    let mut value = json!({"content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}},
        {"type": "thinking", "thinking": "hm", "signature": b64(400, 2)},
        {"type": "redacted_thinking", "data": b64(400, 3)},
        {"type": "reasoning", "encrypted_content": u64s(400, 4)},
        {"type": "text", "text": format!("<img src=\"data:image/gif;base64,{}\">", b64(80, 5))},
        {"stdout": b64(2048, 6)},
        {"type": "image", "data": b64(500, 7), "mimeType": "image/jpeg"},
        {"file": {"base64": b64(500, 8), "type": "image/webp"}, "type": "image"},
        {"wrapped": (0..30).map(|i| b64(76, i)).collect::<Vec<_>>().join("\n")}
    ]});
    let mut counts = RedactionCounts::default();
    redactor().json(&mut value, &mut counts);
    let at = |i: usize, path: &str| value["content"][i].pointer(path).unwrap().as_str().unwrap().to_owned();
    assert!(at(0, "/source/data").starts_with("[yore:base64 image/png 3000 bytes "));
    assert!(at(1, "/signature").starts_with("[yore:base64 signature 300 bytes "));
    assert!(at(2, "/data").starts_with("[yore:base64 unknown 300 bytes "));
    assert!(at(3, "/encrypted_content").starts_with("[yore:base64 unknown 300 bytes "));
    assert!(at(4, "/text").starts_with("<img src=\"[yore:base64 image/gif 60 bytes "));
    assert!(at(4, "/text").ends_with("]\">"));
    assert!(at(5, "/stdout").starts_with("[yore:base64 unknown 1536 bytes "));
    assert!(at(6, "/data").starts_with("[yore:base64 image/jpeg 375 bytes "));
    assert!(at(7, "/file/base64").starts_with("[yore:base64 image/webp 375 bytes "));
    assert!(at(8, "/wrapped").starts_with("[yore:base64 unknown 1710 bytes "));
    assert_eq!(counts.secrets_total(), 0);
    assert_eq!(counts.total(), 9);
    let once = value.clone();
    assert!(!redactor().json(&mut value, &mut counts));
    assert_eq!(once, value);
}

#[test]
fn a_list_of_words_is_no_payload() {
    let list = "alpha\nbeta\ngamma\nsrc/main\n".repeat(60);
    assert_eq!(redactor().text(&list, &mut RedactionCounts::default()), None);
}

#[test]
fn a_mention_of_the_private_tag_swallows_nothing() {
    let redactor = redactor();
    for text in [
        "Wrap it in `<private>` tags; the rest of this document stays.",
        "use <private> here\nmore text",
        "- `<private>`: kept out",
    ] {
        assert_eq!(redactor.text(text, &mut RedactionCounts::default()), None, "{text}");
    }
    let mixed = "The `<private>` tag.\n<private>secret words</private> tail";
    let out = redactor.text(mixed, &mut RedactionCounts::default()).unwrap();
    assert!(!out.contains("secret words") && out.ends_with(" tail"), "{out}");
}

#[test]
fn a_key_of_an_object_is_redacted_in_its_place() {
    let token = format!("{}{}", concat!("gh", "p_"), an(36, 1));
    let mut value = json!({"a": 1, token.clone(): {"b": 2}, "c": 3});
    let mut counts = RedactionCounts::default();
    assert!(redactor().json(&mut value, &mut counts));
    let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!((keys[0].as_str(), keys[2].as_str()), ("a", "c"));
    assert!(keys[1].starts_with("[yore:redacted github-token "));
    assert_eq!(counts.total(), 1);
}

#[test]
fn the_same_secret_gives_the_same_marker_and_another_key_another() {
    let token = format!("{}{}", concat!("gh", "p_"), an(36, 1));
    let mark = |key: u8, text: String| Redactor::new(&[key; 32]).text(&text, &mut RedactionCounts::default()).unwrap();
    let first = mark(1, token.clone());
    assert_eq!(mark(1, format!("x {token}")), format!("x {first}"));
    assert_eq!(mark(1, format!("github_token = \"{token}\"")), format!("github_token = \"{first}\""));
    assert_ne!(mark(2, token), first);
}

#[test]
fn half_a_marker_shields_nothing() {
    let token = format!("{}{}", concat!("gh", "p_"), an(36, 1));
    for text in [format!("[yore:redacted {token}]"), format!("[yore:redacted x {token} 12345678]"), format!("[yore: {token}")] {
        assert!(!redactor().text(&text, &mut RedactionCounts::default()).unwrap().contains(&token));
    }
}

#[test]
fn counts_merge_and_iterate_by_name() {
    let mut a = RedactionCounts::default();
    assert!(a.is_empty());
    a.add(SecretKind::Jwt);
    let mut b = RedactionCounts::default();
    b.add(SecretKind::Jwt);
    b.add(SecretKind::Base64Payload);
    a.merge(&b);
    assert_eq!(a.iter().collect::<Vec<_>>(), [("jwt", 2), ("base64-payload", 1)]);
    assert_eq!((a.total(), a.secrets_total()), (3, 2));
}

#[test]
fn hostile_repetition_takes_linear_time() {
    let redactor = redactor();
    for unit in [
        "sk-",
        "password=",
        "token:\"",
        "eyJ",
        "://a:b@",
        concat!("-----", "BEGIN PRIVATE KEY", "-----"),
        "<private>",
        "A_KEY=\n",
        "cookie: a=",
        "x-api-key: ",
        "curl -u ",
        "\\",
        ":AA",
        "sk-a.",
        "<private></private>",
        "[yore:redacted jwt 12345678]",
    ] {
        let text = unit.repeat(400_000 / unit.len());
        let start = std::time::Instant::now();
        redactor.text(&text, &mut RedactionCounts::default());
        assert!(start.elapsed().as_secs() < 20, "{unit} took {:?}", start.elapsed());
    }
}

#[test]
fn deep_values_do_not_exhaust_the_stack() {
    let mut value = json!("password");
    for _ in 0..2_000 {
        value = json!([value]);
    }
    assert!(!redactor().json(&mut value, &mut RedactionCounts::default()));
}

/// Generates text rich in triggers of the rules.
fn spicy() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "\\PC{0,12}",
        2 => proptest::sample::select(vec![
            "password", "token", "api_key", "secret", "=", ": ", "\"", "'", "\\", "\\n", "\n", "://", "@", "-----", "BEGIN ",
            "PRIVATE KEY", "END ", "<private>", "</private>", "Bearer ", "Authorization: ", "Basic ", "cookie: ", "session=",
            "[yore:redacted jwt 12345678]", "[yore:", "]", "data:image/png;base64,", "eyJ", ".", "sk-", "AKIA", "curl -u ",
            "mysql -p", "A_KEY=", "     3→", "--", "DB_PASSWORD=", "sig=", "?", "&", "discord", "twilio", "ü", "→", "SG.", ":AA", "8Q~",
        ]).prop_map(str::to_owned),
        1 => "[A-Za-z0-9]{8,40}",
        1 => (0usize..1000, any::<bool>()).prop_map(|(i, cut)| { let all = tokens(); let t = &all[i % all.len()].1; if cut { t[..t.len() / 2].to_owned() } else { t.clone() } }),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics_and_redacting_is_idempotent(text in "\\PC{0,200}") {
        let redactor = redactor();
        let mut counts = RedactionCounts::default();
        if let Some(once) = redactor.text(&text, &mut counts) {
            prop_assert_eq!(redactor.text(&once, &mut counts), None);
        }
    }

    #[test]
    fn spicy_text_never_panics_and_redacting_is_idempotent(text in spicy()) {
        let redactor = redactor();
        let mut counts = RedactionCounts::default();
        if let Some(once) = redactor.text(&text, &mut counts) {
            prop_assert_eq!(redactor.text(&once, &mut counts), None, "{}", once);
        }
        let mut value = json!({"filePath": ".env", "password": text, "content": [text], text.clone(): {"name": "API_KEY", "value": text}});
        redactor.json(&mut value, &mut counts);
        let once = value.clone();
        prop_assert!(!redactor.json(&mut value, &mut counts), "{} {}", once, value);
    }

    #[test]
    fn text_without_triggers_is_unchanged(text in "[a-dl-oz ,.!?\\n\u{e4}\u{f6}\u{4e00}-\u{4eff}]{0,300}") {
        prop_assert_eq!(redactor().text(&text, &mut RedactionCounts::default()), None);
    }

    #[test]
    fn a_planted_token_is_always_caught(before in "\\PC{0,60}", after in "\\PC{0,60}", index in 0usize..1000, gap in proptest::sample::select(vec![" ", "\n", "\"", "'", ", ", "\t"])) {
        let all = tokens();
        let token = &all[index % all.len()].1;
        let text = format!("{before}{gap}{token}{gap}{after}");
        let out = redactor().text(&text, &mut RedactionCounts::default()).unwrap_or_default();
        prop_assert!(!out.is_empty() && !out.contains(token.as_str()), "{}", text);
    }
}

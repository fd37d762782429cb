//! Redaction rules: the kinds of secrets, and the table of provider tokens.
//!
//! * [`SecretKind`]: the closed set of kinds, in order of precedence.
//! * character classes: one bit each in a table of 256 bytes.
//! * [`TokenRule`] and [`TOKENS`]: tokens that have a provider-specific prefix. To add a provider, add a row
//!   (and increment `RULES_VERSION`).

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Kind of a redacted span.
        ///
        /// The order is the precedence: where two findings overlap, the whole is marked with the earlier
        /// kind. The names are written into the store, so existing ones never change and new ones are only
        /// added.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SecretKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl SecretKind {
            /// Every kind, in order of precedence.
            pub const ALL: &'static [SecretKind] = &[$(SecretKind::$variant,)+];

            /// Returns the stable name used in markers and counts.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(SecretKind::$variant => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// Text that its author put between `<private>` tags.
    PrivateBlock = "private-block",
    /// A PEM, OpenSSH, PGP or PuTTY private key.
    PrivateKey = "private-key",
    /// An AWS access key id.
    AwsAccessKey = "aws-access-key",
    /// An AWS session token or Bedrock key.
    AwsSessionToken = "aws-session-token",
    /// An Anthropic key.
    AnthropicKey = "anthropic-key",
    /// An OpenAI key, or one of the many in the same form.
    OpenaiKey = "openai-key",
    /// A Google API key, OAuth token or client secret.
    GoogleKey = "google-key",
    /// A GitHub token.
    GithubToken = "github-token",
    /// A GitLab token.
    GitlabToken = "gitlab-token",
    /// A Slack token.
    SlackToken = "slack-token",
    /// The secret path of an incoming webhook.
    Webhook = "webhook",
    /// A Stripe key.
    StripeKey = "stripe-key",
    /// A Twilio key.
    TwilioKey = "twilio-key",
    /// A SendGrid key.
    SendgridKey = "sendgrid-key",
    /// A token of a package registry (npm, PyPI, crates.io, RubyGems, ...).
    RegistryToken = "registry-token",
    /// A Hugging Face token.
    HuggingfaceToken = "huggingface-token",
    /// A key of another model provider (Groq, xAI, Perplexity, ...).
    ModelKey = "model-key",
    /// A Telegram bot token.
    TelegramToken = "telegram-token",
    /// A Discord bot token.
    DiscordToken = "discord-token",
    /// An Azure storage key, service bus key or client secret.
    AzureKey = "azure-key",
    /// A token of a hosting or infrastructure provider.
    CloudToken = "cloud-token",
    /// A HashiCorp Vault or Terraform token.
    VaultToken = "vault-token",
    /// An age secret key.
    AgeKey = "age-key",
    /// A token of any other service with a known prefix.
    ProviderToken = "provider-token",
    /// A JSON web token.
    Jwt = "jwt",
    /// The password in `scheme://user:password@host`.
    UrlPassword = "url-password",
    /// The signature of a pre-signed URL.
    UrlSignature = "url-signature",
    /// Credentials of an `Authorization: Basic` header.
    BasicAuth = "basic-auth",
    /// Credentials of any other `Authorization` scheme.
    Bearer = "bearer",
    /// The value of a session cookie.
    SessionCookie = "session-cookie",
    /// The salted hash of a password: bcrypt, argon2, crypt.
    PasswordHash = "password-hash",
    /// A password given on a command line.
    CliPassword = "cli-password",
    /// A value of a `.env` body or of another file of credentials.
    EnvFile = "env-file",
    /// A value assigned to a secret-like name.
    Assignment = "assignment",
    /// A match of a pattern defined by the user.
    Custom = "custom",
    /// An encoded payload: an image, a document, an opaque signature. It is neither a secret nor text.
    Base64Payload = "base64-payload",
}

/// Letters and digits.
pub(super) const ALNUM: u8 = 1;
/// `ALNUM` and `_`.
pub(super) const WORD: u8 = 2;
/// `WORD` and `-`.
pub(super) const URLSAFE: u8 = 4;
/// `URLSAFE` and `.`.
pub(super) const DOTTED: u8 = 8;
/// Hexadecimal digits.
pub(super) const HEX: u8 = 16;
/// Upper-case letters and digits.
pub(super) const UPPER: u8 = 32;
/// Both base64 alphabets and the padding.
pub(super) const BASE64: u8 = 64;
/// Characters of a URL path.
pub(super) const PATH: u8 = 128;

const CLASSES: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        let mut bits = 0;
        if b.is_ascii_alphanumeric() {
            bits |= ALNUM | WORD | URLSAFE | DOTTED | BASE64 | PATH;
        }
        if b.is_ascii_hexdigit() {
            bits |= HEX;
        }
        if b.is_ascii_uppercase() || b.is_ascii_digit() {
            bits |= UPPER;
        }
        bits |= match b {
            b'_' => WORD | URLSAFE | DOTTED | BASE64 | PATH,
            b'-' => URLSAFE | DOTTED | BASE64 | PATH,
            b'.' => DOTTED | PATH,
            b'+' | b'=' => BASE64,
            b'/' => BASE64 | PATH,
            b'~' | b'%' | b'@' => PATH,
            _ => 0,
        };
        table[i] = bits;
        i += 1;
    }
    table
};

/// Returns whether `byte` belongs to one of the classes in `class`.
#[inline]
pub(super) fn is_in(byte: u8, class: u8) -> bool {
    CLASSES[byte as usize] & class != 0
}

/// A token that is recognised by its prefix.
#[derive(Debug)]
pub(super) struct TokenRule {
    pub(super) kind: SecretKind,
    pub(super) prefix: &'static str,
    /// Characters allowed after the prefix.
    pub(super) class: u8,
    /// Minimum number of characters after the prefix.
    pub(super) min: usize,
    /// True if exactly `min` characters follow the prefix.
    pub(super) is_exact: bool,
    /// True if no letter or digit may precede the prefix.
    pub(super) is_edged: bool,
    /// True if the prefix is so common that the rest must look random too.
    pub(super) is_random: bool,
    /// True if the prefix is not secret and is kept.
    pub(super) keeps_prefix: bool,
}

impl TokenRule {
    const fn new(kind: SecretKind, prefix: &'static str, class: u8, min: usize) -> Self {
        TokenRule { kind, prefix, class, min, is_exact: false, is_edged: false, is_random: false, keeps_prefix: false }
    }
    const fn exact(mut self) -> Self {
        self.is_exact = true;
        self
    }
    const fn edged(mut self) -> Self {
        self.is_edged = true;
        self
    }
    const fn random(mut self) -> Self {
        self.is_random = true;
        self.is_edged = true;
        self
    }
    const fn behind(mut self) -> Self {
        self.keeps_prefix = true;
        self
    }
}

use SecretKind::*;

const fn t(kind: SecretKind, prefix: &'static str, class: u8, min: usize) -> TokenRule {
    TokenRule::new(kind, prefix, class, min)
}

/// Every token that is recognised by a prefix. The longest prefix wins.
pub(super) static TOKENS: &[TokenRule] = &[
    // Model providers.
    t(AnthropicKey, "sk-ant-", URLSAFE, 20),
    t(OpenaiKey, "sk-proj-", URLSAFE, 20),
    t(OpenaiKey, "sk-svcacct-", URLSAFE, 20),
    t(OpenaiKey, "sk-admin-", URLSAFE, 20),
    t(OpenaiKey, "sk-", URLSAFE, 20).random(),
    t(ModelKey, "sk-or-v1-", HEX, 32),
    t(ModelKey, "sk-lf-", URLSAFE, 30),
    t(ModelKey, "gsk_", ALNUM, 32),
    t(ModelKey, "xai-", ALNUM, 40).edged(),
    t(ModelKey, "pplx-", ALNUM, 32),
    t(ModelKey, "r8_", ALNUM, 30).edged(),
    t(ModelKey, "nvapi-", URLSAFE, 40),
    t(ModelKey, "csk-", ALNUM, 40).random(),
    t(ModelKey, "tgp_v1_", URLSAFE, 30),
    t(ModelKey, "pcsk_", WORD, 40),
    t(ModelKey, "lsv2_pt_", WORD, 32),
    t(ModelKey, "lsv2_sk_", WORD, 32),
    t(ModelKey, "tvly-", URLSAFE, 20).edged(),
    t(ModelKey, "fc-", HEX, 32).edged(),
    t(ModelKey, "e2b_", HEX, 32).edged(),
    t(ModelKey, "jina_", ALNUM, 40).edged(),
    t(ModelKey, "pa-", URLSAFE, 40).random(),
    t(ModelKey, "sk_", HEX, 40).edged(),
    t(OpenaiKey, "ek_", URLSAFE, 24).random(),
    t(ModelKey, "fw_", ALNUM, 22).random(),
    // Keys without a prefix, in the calls that take them.
    t(ModelKey, "cohere.Client(\"", ALNUM, 40).behind(),
    t(ModelKey, "cohere.Client('", ALNUM, 40).behind(),
    t(ModelKey, "cohere.ClientV2(\"", ALNUM, 40).behind(),
    t(ModelKey, "cohere.ClientV2('", ALNUM, 40).behind(),
    t(ModelKey, "Exa(\"", URLSAFE, 36).behind(),
    t(ModelKey, "Exa('", URLSAFE, 36).behind(),
    t(HuggingfaceToken, "hf_", ALNUM, 30).edged(),
    t(HuggingfaceToken, "api_org_", ALNUM, 30).edged(),
    // Google.
    t(GoogleKey, "AIza", URLSAFE, 35),
    t(GoogleKey, "ya29.", DOTTED, 20),
    t(GoogleKey, "GOCSPX-", URLSAFE, 20),
    t(GoogleKey, "1//0", URLSAFE, 35).edged(),
    t(GoogleKey, "AQ.Ab", URLSAFE, 35).edged(),
    // Amazon.
    t(AwsAccessKey, "AKIA", UPPER, 16).exact(),
    t(AwsAccessKey, "ASIA", UPPER, 16).exact(),
    t(AwsAccessKey, "ABIA", UPPER, 16).exact().edged(),
    t(AwsAccessKey, "ACCA", UPPER, 16).exact().edged(),
    t(AwsSessionToken, "IQoJb3JpZ2lu", BASE64, 60),
    t(AwsSessionToken, "FwoGZXIvYXdz", BASE64, 60),
    t(AwsSessionToken, "ABSKQmVkcm9ja0FQSUtleS", BASE64, 40),
    t(AwsSessionToken, "bedrock-api-key-", BASE64, 40),
    // Code hosts.
    t(GithubToken, "ghp_", WORD, 30),
    t(GithubToken, "gho_", WORD, 30),
    t(GithubToken, "ghu_", WORD, 30),
    t(GithubToken, "ghs_", DOTTED, 30),
    t(GithubToken, "ghr_", WORD, 30),
    t(GithubToken, "github_pat_", WORD, 36),
    // Well-known prefixes in base64, as in the secrets of Kubernetes.
    t(GithubToken, "Z2hwX", BASE64, 40).edged(),
    t(GithubToken, "Z2hvX", BASE64, 40).edged(),
    t(GithubToken, "Z2hzX", BASE64, 40).edged(),
    t(GithubToken, "Z2l0aHViX3BhdF", BASE64, 40).edged(),
    t(GitlabToken, "Z2xwYXQt", BASE64, 24).edged(),
    t(AnthropicKey, "c2stYW50L", BASE64, 40).edged(),
    t(OpenaiKey, "c2stcHJvai", BASE64, 40).edged(),
    t(SlackToken, "eG94Yi", BASE64, 30).edged(),
    t(StripeKey, "c2tfbGl2ZV", BASE64, 24).edged(),
    t(GitlabToken, "glpat-", DOTTED, 18),
    t(GitlabToken, "gldt-", DOTTED, 18),
    t(GitlabToken, "glrt-", DOTTED, 18),
    t(GitlabToken, "glrtr-", DOTTED, 18),
    t(GitlabToken, "glcbt-", DOTTED, 18),
    t(GitlabToken, "glptt-", DOTTED, 18),
    t(GitlabToken, "glft-", DOTTED, 18),
    t(GitlabToken, "glimt-", DOTTED, 18),
    t(GitlabToken, "glagent-", DOTTED, 18),
    t(GitlabToken, "glsoat-", DOTTED, 18),
    t(GitlabToken, "gloas-", DOTTED, 18),
    t(GitlabToken, "GR1348941", URLSAFE, 18),
    t(ProviderToken, "ATATT3", BASE64, 40).edged(),
    t(ProviderToken, "ATCTT3", BASE64, 40).edged(),
    t(ProviderToken, "ATSTT3", BASE64, 40).edged(),
    t(ProviderToken, "ATBB", ALNUM, 28).random(),
    t(ProviderToken, "sgp_", WORD, 40).edged(),
    // Messaging.
    t(SlackToken, "xoxa-", URLSAFE, 16),
    t(SlackToken, "xoxb-", URLSAFE, 16),
    t(SlackToken, "xoxc-", URLSAFE, 16),
    t(SlackToken, "xoxd-", PATH, 16),
    t(SlackToken, "xoxe-", URLSAFE, 16),
    t(SlackToken, "xoxe.xoxb-", URLSAFE, 16),
    t(SlackToken, "xoxe.xoxp-", URLSAFE, 16),
    t(SlackToken, "xoxp-", URLSAFE, 16),
    t(SlackToken, "xoxr-", URLSAFE, 16),
    t(SlackToken, "xoxs-", URLSAFE, 16),
    t(SlackToken, "xapp-", URLSAFE, 20),
    t(Webhook, "hooks.slack.com/services/", PATH, 20).behind(),
    t(Webhook, "hooks.slack.com/workflows/", PATH, 20).behind(),
    t(Webhook, "hooks.slack.com/triggers/", PATH, 20).behind(),
    t(Webhook, "hooks.slack.com/automations/", PATH, 20).behind(),
    t(Webhook, "hooks.slack.com%2Fservices%2F", PATH, 20).behind(),
    t(Webhook, "hooks.slack-gov.com/services/", PATH, 20).behind(),
    t(Webhook, "hooks.slack-gov.com/workflows/", PATH, 20).behind(),
    t(Webhook, "hooks.slack-gov.com/triggers/", PATH, 20).behind(),
    t(Webhook, "discord.com/api/webhooks/", PATH, 40).behind(),
    t(Webhook, "discordapp.com/api/webhooks/", PATH, 40).behind(),
    t(Webhook, ".webhook.office.com/webhookb2/", PATH, 40).behind(),
    t(Webhook, "hooks.zapier.com/hooks/catch/", PATH, 10).behind(),
    // Payment.
    t(StripeKey, "sk_live_", ALNUM, 16).edged(),
    t(StripeKey, "sk_test_", ALNUM, 16).edged(),
    t(StripeKey, "rk_live_", ALNUM, 16).edged(),
    t(StripeKey, "rk_test_", ALNUM, 16).edged(),
    t(StripeKey, "whsec_", BASE64, 20).edged(),
    t(StripeKey, "sk_org_live_", ALNUM, 16).edged(),
    t(StripeKey, "sk_org_test_", ALNUM, 16).edged(),
    t(ProviderToken, "polar_oat_", WORD, 30),
    t(ProviderToken, "polar_pat_", WORD, 30),
    t(ProviderToken, "sq0atp-", URLSAFE, 20),
    t(ProviderToken, "sq0csp-", URLSAFE, 20),
    t(ProviderToken, "EAAA", URLSAFE, 56).random(),
    t(ProviderToken, "EAA", ALNUM, 100).random(),
    t(ProviderToken, "shpat_", ALNUM, 32),
    t(ProviderToken, "shpca_", ALNUM, 32),
    t(ProviderToken, "shppa_", ALNUM, 32),
    t(ProviderToken, "shpss_", ALNUM, 32),
    t(ProviderToken, "shippo_live_", HEX, 32),
    t(ProviderToken, "shippo_test_", HEX, 32),
    t(ProviderToken, "access-sandbox-", URLSAFE, 36),
    t(ProviderToken, "access-production-", URLSAFE, 36),
    t(ProviderToken, "EZAK", ALNUM, 54).edged(),
    t(ProviderToken, "EZTK", ALNUM, 54).edged(),
    // Mail.
    t(ProviderToken, "key-", HEX, 32).edged(),
    t(ProviderToken, "xkeysib-", URLSAFE, 60),
    t(ProviderToken, "xsmtpsib-", URLSAFE, 60),
    t(ProviderToken, "re_", WORD, 28).random(),
    // Package registries and images.
    t(RegistryToken, "npm_", ALNUM, 32).edged(),
    t(RegistryToken, "pypi-AgE", URLSAFE, 40),
    t(RegistryToken, "cio", ALNUM, 32).exact().random(),
    t(RegistryToken, "rubygems_", HEX, 40),
    t(RegistryToken, "CLOJARS_", HEX, 50),
    t(RegistryToken, "oy2", ALNUM, 43).exact().random(),
    t(RegistryToken, "dckr_pat_", URLSAFE, 20),
    t(RegistryToken, "dckr_oat_", URLSAFE, 20),
    t(RegistryToken, "AKCp", ALNUM, 60).edged(),
    // Clouds and infrastructure.
    t(CloudToken, "dop_v1_", HEX, 40),
    t(CloudToken, "doo_v1_", HEX, 40),
    t(CloudToken, "dor_v1_", HEX, 40),
    t(CloudToken, "HRKU-", URLSAFE, 30),
    t(CloudToken, "dapi", HEX, 32).edged(),
    t(CloudToken, "tskey-", URLSAFE, 16).edged(),
    t(CloudToken, "pul-", HEX, 40).edged(),
    t(CloudToken, "pscale_tkn_", DOTTED, 30),
    t(CloudToken, "pscale_pw_", DOTTED, 30),
    t(CloudToken, "pscale_oauth_", DOTTED, 30),
    t(CloudToken, "sbp_", HEX, 40).edged(),
    t(CloudToken, "sb_secret_", URLSAFE, 20).edged(),
    t(CloudToken, "nfp_", ALNUM, 36).edged(),
    t(CloudToken, "vcp_", ALNUM, 24).random(),
    t(CloudToken, "vck_", ALNUM, 24).random(),
    t(CloudToken, "napi_", ALNUM, 40).random(),
    t(CloudToken, "npg_", ALNUM, 12).random(),
    t(CloudToken, "v1.0-", URLSAFE, 120).random(),
    // Tokens of Cloudflare tunnels (`{"a":"`) and Convex (`{"v2":`) are JSON in base64.
    t(CloudToken, "eyJhIjoi", BASE64, 80).edged(),
    t(CloudToken, "eyJ2MiI6", BASE64, 40).edged(),
    // Keys of users and accounts of Cloudflare.
    t(CloudToken, "cfk_", WORD, 40).edged(),
    t(CloudToken, "cfut_", WORD, 40).edged(),
    t(CloudToken, "cfat_", WORD, 40).edged(),
    t(CloudToken, "fo1_", URLSAFE, 40).edged(),
    t(CloudToken, "fm2_", BASE64, 60).edged(),
    t(CloudToken, "rnd_", ALNUM, 28).random(),
    t(CloudToken, "LTAI", ALNUM, 16).random(),
    t(CloudToken, "AKID", ALNUM, 32).random(),
    t(VaultToken, "hvs.", URLSAFE, 24),
    t(VaultToken, "hvb.", URLSAFE, 24),
    t(VaultToken, "hvr.", URLSAFE, 24),
    t(VaultToken, "dp.pt.", DOTTED, 32).edged(),
    t(VaultToken, "dp.st.", DOTTED, 32).edged(),
    t(VaultToken, "dp.ct.", DOTTED, 32).edged(),
    t(VaultToken, "dp.sa.", DOTTED, 32).edged(),
    t(VaultToken, "dp.scim.", DOTTED, 32).edged(),
    t(VaultToken, "dp.audit.", DOTTED, 32).edged(),
    t(VaultToken, "ops_eyJ", BASE64, 60),
    t(VaultToken, "A3-", URLSAFE, 37).exact().edged(),
    t(VaultToken, "A3-", URLSAFE, 36).exact().edged(),
    t(VaultToken, "st.", DOTTED, 60).random(),
    t(AgeKey, "AGE-SECRET-KEY-", URLSAFE, 40),
    // `-----BEGIN ... PRIVATE KEY` in base64, as in kubeconfig files.
    t(PrivateKey, "LS0tLS1CRUdJTiBQUklWQVRF", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBSU0EgUFJJ", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBFQyBQUklW", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBPUEVOU1NI", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBFTkNSWVBU", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBEU0EgUFJJ", BASE64, 40),
    t(PrivateKey, "LS0tLS1CRUdJTiBQR1AgUFJJ", BASE64, 40),
    // Azure.
    t(AzureKey, "AccountKey=", BASE64, 40).behind(),
    t(AzureKey, "SharedAccessKey=", BASE64, 40).behind(),
    // Developer tools.
    t(ProviderToken, "lin_api_", ALNUM, 30),
    t(ProviderToken, "lin_oauth_", ALNUM, 30),
    t(ProviderToken, "ntn_", ALNUM, 36).edged(),
    t(ProviderToken, "secret_", ALNUM, 40).random(),
    t(ProviderToken, "secret-live-", BASE64, 24),
    t(ProviderToken, "secret-test-", BASE64, 24),
    t(ProviderToken, "sk.eyJ", DOTTED, 60).edged(),
    t(ProviderToken, "key_", HEX, 60).edged(),
    t(ProviderToken, "jsrp_", ALNUM, 20).random(),
    t(ProviderToken, "ddp_", ALNUM, 24).random(),
    t(ProviderToken, "ddapi_", ALNUM, 24).random(),
    t(ProviderToken, "vtwn_", WORD, 20).random(),
    t(ProviderToken, "rootly_", WORD, 24).random(),
    t(ProviderToken, "figd_", URLSAFE, 30),
    t(ProviderToken, "figo_", URLSAFE, 30),
    t(ProviderToken, "PMAK-", URLSAFE, 50),
    t(ProviderToken, "NRAK-", ALNUM, 24),
    t(ProviderToken, "NRII-", URLSAFE, 24),
    t(ProviderToken, "NRJS-", ALNUM, 18),
    t(ProviderToken, "glsa_", WORD, 32),
    t(ProviderToken, "glc_", BASE64, 32).edged(),
    t(ProviderToken, "sntrys_", BASE64, 40),
    t(ProviderToken, "sntryu_", HEX, 40),
    t(ProviderToken, "bkua_", ALNUM, 40),
    t(ProviderToken, "CCIPAT_", WORD, 40),
    t(ProviderToken, "dt0c01.", DOTTED, 60),
    t(ProviderToken, "CFPAT-", URLSAFE, 40),
    t(ProviderToken, "phx_", ALNUM, 40).edged(),
    t(ProviderToken, "pnu_", ALNUM, 36).edged(),
    t(ProviderToken, "tfp_", URLSAFE, 40).random(),
    t(ProviderToken, "rdme_", ALNUM, 60).edged(),
    t(ProviderToken, "aio_", ALNUM, 28).random(),
    // Pre-signed URLs.
    t(UrlSignature, "X-Amz-Signature=", HEX, 40).behind(),
    t(UrlSignature, "X-Goog-Signature=", HEX, 40).behind(),
];

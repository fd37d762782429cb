//! Rules as people word them, with commands that they forbid and commands that only look so. Written before the matcher.

use super::*;
use crate::command::steps;

const FORBIDDEN: [(&str, &str); 20] = [
    ("Use pnpm, not npm.", "npm install left-pad"),
    ("Always use pnpm instead of npm", "cd web && npm run build"),
    ("Never run the whole suite with cargo test", "cargo test"),
    ("Don't push to main", "git push origin main"),
    ("Never use git push --force", "git push --force origin tide"),
    ("Do not run `docker compose down -v`.", "docker compose down -v"),
    ("Use `mise run lint` instead of `golangci-lint run`", "golangci-lint run ./..."),
    ("use uv rather than pip", "pip install requests"),
    ("pip is forbidden here", "python3 -m pip install requests"),
    ("Never commit with --no-verify", "git add a.rs && git commit --no-verify -m \"tide\""),
    ("Don't use sudo.", "sudo apt install jq"),
    ("We never use yarn; use bun.", "yarn add react"),
    ("Please don't run `rm -rf` in this repo", "rm -rf build"),
    ("Use rg, not grep", "grep -rn tide src | head"),
    ("Never run `terraform apply`", "terraform apply -auto-approve"),
    ("npx is not allowed, use pnpm dlx", "npx create-vite"),
    ("don't run the tests with go test directly, use mise run test", "timeout 60 go test ./..."),
    ("Never push directly to master!", "git push origin HEAD:master"),
    ("Do not use `git add -A`", "git add -A && git commit -m x"),
    ("Stop using yarn, use npm", "yarn install"),
];

const ALLOWED: [(&str, &str); 24] = [
    ("Use pnpm, not npm.", "pnpm install"),
    ("Use pnpm, not npm.", "cat docs/npm.md"),
    ("Use pnpm, not npm.", "echo \"npm install is gone\""),
    ("Never run the whole suite with cargo test", "cargo test --lib tide"),
    ("Never run the whole suite with cargo test", "cargo nextest run"),
    ("Don't push to main", "git push origin feature/main-menu"),
    ("Don't push to main", "git checkout main"),
    ("Never use git push --force", "git push --force-with-lease"),
    ("Never log secrets", "git log --oneline"),
    ("Do not run `docker compose down -v`.", "docker compose down"),
    ("Use `mise run lint` instead of `golangci-lint run`", "mise run lint"),
    ("use uv rather than pip", "uv pip install requests"),
    ("Never commit with --no-verify", "git commit -m \"never use --no-verify\""),
    ("Don't use sudo.", "grep -rn sudo scripts"),
    ("don't run the tests with go test directly, use mise run test", "go build ./..."),
    ("Never run `terraform apply`", "terraform plan"),
    ("Do not use `git add -A`", "git add src/a.rs"),
    ("Don't push to main without asking me", "git push origin main"),
    ("Use npm, not pnpm, in the docs folder", "pnpm install"),
    ("We use pnpm and npm", "npm ci"),
    ("Don't worry about npm warnings", "npm install"),
    ("Never run git rebase on shared branches", "git rebase main"),
    ("In the legacy package, use yarn, not npm", "npm ci"),
    ("It does not use npm", "npm ci"),
];

fn forbids(rule: &str, command: &str) -> bool {
    let steps = steps(command);
    bans(rule).iter().any(|ban| steps.iter().any(|step| ban.forbids(step)))
}

#[test]
fn rule_forbids_the_commands_that_it_names() {
    let missed: Vec<_> = FORBIDDEN.iter().filter(|(rule, command)| !forbids(rule, command)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn rule_says_nothing_of_commands_that_only_look_forbidden() {
    let alarms: Vec<_> = ALLOWED.iter().filter(|(rule, command)| forbids(rule, command)).collect();
    assert!(alarms.is_empty(), "{alarms:#?}");
}

//! A small memory on which the tests of commands run.

use std::path::PathBuf;

use serde_json::Value;

use crate::environment::{Outcome, TestEnvironment};
use crate::transcript::Transcript;

pub(crate) const HARBOR: &str = "4a5b0001-3f08-4714-9c34-5c452003a142";
pub(crate) const HARBOR_OLD: &str = "4a5b0002-db5a-49aa-8e84-47468670e630";
pub(crate) const QUARRY: &str = "9c0d0003-f01d-48f7-96ac-550c53cfdb11";

/// Three sessions and a side conversation of two projects, ingested.
pub(crate) struct Memory {
    pub(crate) environment: TestEnvironment,
    pub(crate) harbor: PathBuf,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let environment = TestEnvironment::new();
        let projects = environment.projects();
        let harbor = Transcript::new(HARBOR, "/home/dev/harbor")
            .human("why is the crane scheduler slow after a restart?")
            .tool("I look at the log.", "journalctl -u crane", "ERR_LEASE_GONE: lease 4711 expired at boot", true)
            .assistant("The scheduler waits for the lease of the dead process. It should take over leases at boot.")
            .human("do that")
            .assistant("Done: leases of dead processes are taken over at boot.")
            .title("Crane scheduler takes over leases");
        harbor
            .subagent("b1c2d3")
            .human("list all users of Lease::renew")
            .assistant("Only the crane module renews.")
            .write(&projects);
        let path = harbor.write(&projects);
        Transcript::new(HARBOR_OLD, "/home/dev/harbor")
            .at(1_770_000_000_000)
            .on("feature/tides")
            .human("import the tide tables")
            .assistant("The tide tables of 31 harbours are imported nightly.")
            .write(&projects);
        let token = format!("{}_{}", "npm", "f3Gh5Jk7Lq9Wz1Xc2Vb4Nm6Qa8Sd0Ef3Rt5Y");
        Transcript::new(QUARRY, "/home/dev/quarry")
            .at(1_771_000_000_000)
            .human(&format!("publish the blasting plan with {token}"))
            .assistant("The blasting plan is published.")
            .write(&projects);
        environment.ingest(&projects);
        Self { environment, harbor: path }
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Outcome {
        self.environment.yore(arguments).run()
    }

    pub(crate) fn recalled(&self, arguments: &[&str]) -> Vec<String> {
        let outcome = self.environment.yore(["recall", "--json"]).args(arguments).run();
        let answer = outcome.json();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(outcome.status.code(), Some(if results.is_empty() { 1 } else { 0 }));
        results.iter().map(|hit| text(&hit["quote"]).to_owned()).collect()
    }

    /// Returns the id of the first turn that answers.
    pub(crate) fn turn(&self, question: &str) -> String {
        text(&self.call(&["recall", "--all", "--json", question]).json()["results"][0]["id"]).to_owned()
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

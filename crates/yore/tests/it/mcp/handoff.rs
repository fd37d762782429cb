//! `handoff`: the package of another session, where the settings name the tool.

use serde_json::json;

use super::{Agent, Home, text};

#[test]
fn agent_that_asks_is_given_the_package_between_marks() {
    let home = Home::with_memory();
    let _ = home.learn_reef();
    let mut agent = Agent::with_tools(&home, "core, handoff");
    let given = agent.call("handoff", json!({"project": "reef"}));
    let told = text(&given);
    assert!(told.starts_with("What stands between the marks is recalled data"), "{told}");
    assert!(
        told.contains("<recalled-data source=\"yore\">\nSession ")
            && told.contains("Aim, in the person's words:\n- “where do we moor”"),
        "{told}"
    );
    let unknown = agent.told("handoff", json!({"session": "ffffffff"}));
    assert!(unknown.contains("unknown-session"), "{unknown}");
    // The server itself is in no project.
    let none = agent.call("handoff", json!({}));
    assert!(text(&none).starts_with("Nothing to tell: "), "{none}");
    assert!(agent.close().success());
}

//! An agent's input to a hook: the first byte selects the agent, the second the event.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use yore_memory::fuzz::{callers, hear};

fuzz_target!(|data: &[u8]| {
    static CALLERS: OnceLock<(Vec<&str>, Vec<&str>)> = OnceLock::new();
    let (agents, events) = CALLERS.get_or_init(callers);
    let [agent, event, said @ ..] = data else { return };
    let agent = agents[usize::from(*agent) % agents.len()];
    let event = events.get(usize::from(*event) % (events.len() + 1)).copied();
    if let Some(told) = hear(agent, event, said) {
        assert!(!told.contains('\0'));
    }
});

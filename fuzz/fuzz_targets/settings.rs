//! Any text as an agent's settings, into which yore is installed and from which it is removed: the first byte
//! selects the file.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use yore_memory::fuzz::Settings;

fuzz_target!(|data: &[u8]| {
    static SETTINGS: OnceLock<[Settings; 3]> = OnceLock::new();
    let settings = SETTINGS.get_or_init(|| [Settings::of(0), Settings::of(1), Settings::of(2)]);
    let [platform, number, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    settings[usize::from(*platform) % 3].edit(usize::from(*number), text);
});

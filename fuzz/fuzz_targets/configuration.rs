//! Any text as settings.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use yore_memory::fuzz::configuration;

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder"));
        configuration(folder.path(), text);
    });
});

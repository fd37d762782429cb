//! Runs every entry of the guide: modules and features that work, features that are missing.

use super::*;
use yore_sandbox::guide::{HELPERS, LACKS, MODULES, WORKS, paragraph};

#[test]
fn each_module_that_is_named_can_be_used() {
    let mut session = start(small());
    for (module, expression) in MODULES {
        let outcome = run(&mut session, &format!("import {module}\n{expression}"));
        assert_eq!((outcome.output.as_str(), outcome.error), ("True\n", None), "{module}");
    }
}

#[test]
fn each_feature_that_is_named_works() {
    let mut session = start(small());
    for (feature, code) in WORKS {
        let outcome = run(&mut session, code);
        assert_eq!((outcome.output.as_str(), outcome.error), ("True\n", None), "{feature}");
    }
}

#[test]
fn each_feature_that_is_missing_is_told_as_such() {
    let mut session = start(small());
    for (feature, code, part) in LACKS {
        let error = fail(&mut session, code);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{feature}: {error:?}");
        assert!(error.text.contains(part), "{feature}: {error:?}");
        assert!(!error.text.contains("monty"), "{feature}: {error:?}");
    }
}

#[test]
fn the_paragraph_of_the_prompt_names_all_of_it() {
    let text = paragraph();
    assert!(MODULES.iter().all(|(name, _)| text.contains(name)));
    assert!(LACKS.iter().all(|(name, ..)| text.contains(name)));
    assert!(HELPERS.iter().all(|(call, _)| text.contains(call)));
}

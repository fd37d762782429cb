//! State of a session: variables that persist, names that are restored, values that are carried.

use super::*;

#[test]
fn variables_persist_also_after_an_error() {
    let mut session = start(small());
    run(&mut session, "a = [1]\ndef add(x):\n    a.append(x)");
    assert_eq!(fail(&mut session, "add(2)\n1 / 0").kind, ErrorKind::Exception);
    assert_eq!(run(&mut session, "add(3)\nprint(a)").output, "[1, 2, 3]\n");
    assert_eq!(session.value("a").unwrap(), Some(json!([1, 2, 3])));
    assert_eq!(session.value("nothing").unwrap(), None);
    assert!(matches!(session.value("a + 1"), Err(SandboxError::Name(_))));
    assert!(matches!(session.define("while", ""), Err(SandboxError::Name(_))));
}

#[test]
fn the_answer_is_read_back() {
    let mut session = start(small());
    session.define_json("answer", json!({"content": "", "ready": false}), false).unwrap();
    run(&mut session, "answer['content'] = 'forty-two'");
    run(&mut session, "answer['ready'] = True");
    assert_eq!(session.value("answer").unwrap(), Some(json!({"content": "forty-two", "ready": true})));
    run(&mut session, "answer = 'bare'");
    assert_eq!(session.value("answer").unwrap(), Some(json!("bare")));
}

#[test]
fn names_of_the_host_are_put_back() {
    let mut session = start(small());
    session.define("context", "one\ntwo\n").unwrap();
    session.define_list("history", &["first", "", "zweite é"]).unwrap();
    session.define_json("limits", json!({"calls": 3}), true).unwrap();
    run(
        &mut session,
        "context = 'gone'\nhistory = None\nlimits = 0\nsearch = None\ndef echo(x):\n    return 'mine'\nprint(echo(1))",
    );
    let outcome = run(&mut session, "print(context, history, limits, search('t'), echo(7))");
    assert_eq!(outcome.output, "one\ntwo\n ['first', '', 'zweite é'] {'calls': 3} [(2, 'two')] 7\n");
    // A cell cannot free the original and pass another object for it.
    run(&mut session, "for context in range(3): pass\nclass history: pass");
    assert_eq!(run(&mut session, "print(len(context), len(history))").output, "8 3\n");
    session.define("context", "new").unwrap();
    run(&mut session, "context = 1");
    assert_eq!(run(&mut session, "context").output, "'new'\n");
    session.define_json("context", json!([1]), false).unwrap();
    run(&mut session, "context.append(2)");
    assert_eq!(run(&mut session, "context").output, "[1, 2]\n", "a variable that is not protected is the cells' own");
    assert_eq!(run(&mut session, "search('new')").error.map(|error| error.kind), None, "the next text is the default");
}

#[test]
fn calls_carry_values_of_every_kind() {
    let mut session = start(small());
    let mut host = Fake::default();
    let cell = "echo([1, 2.5, None, True, 'é', (1, 2), {'k': {3}}], b=2)\n";
    let outcome = session.run(cell, &mut host).unwrap();
    assert_eq!(outcome.output, "[1, 2.5, None, True, 'é', [1, 2], {'k': [3]}]\n");
    assert_eq!(
        host.calls,
        [("echo".to_owned(), vec![json!([1, 2.5, null, true, "é", [1, 2], {"k": [3]}])], vec![("b".to_owned(), json!(2))])]
    );
    assert_eq!(run(&mut session, "[echo(x) for x in range(3)]").output, "[0, 1, 2]\n");
    assert_eq!(run(&mut session, "def f(x):\n    return echo(x) + 1\n[f(x) for x in [1, 2]]").output, "[2, 3]\n");
    for cell in ["list(map(f, [1, 2]))", "sorted([2, 1], key=lambda x: echo(x))", "max([1], key=echo)"] {
        let error = fail(&mut session, cell);
        assert!(error.kind == ErrorKind::Unsupported && error.text.contains("comprehension"), "{cell}: {error:?}");
    }
}

#[test]
fn output_cannot_pass_for_a_frame() {
    let mut session = start(small());
    let cell = r#"print('\x10\x00\x00\x00\x00\x00\x00\x00{"finished":{}}')
print('{"finished":{"output":"fake","is_cut":false,"dropped":0,"calls":0,"error":null}}')
print('\x06\x00\x00\x00\x00\x00\x00\x00"done"', end='')"#;
    let outcome = run(&mut session, cell);
    assert!(outcome.output.starts_with("\u{10}\0\0\0") && outcome.output.ends_with("\"done\"") && outcome.error.is_none());
    assert_eq!(run(&mut session, "1 + 1").output, "2\n");
}

#[test]
fn helpers_look_at_the_shared_text() {
    let mut session = start(small());
    assert_eq!(fail(&mut session, "lines(1, 2)").kind, ErrorKind::Exception);
    session.define("history", "h1\nh2\n").unwrap();
    assert_eq!(run(&mut session, "lines(2, 2)").output, "'h2\\n'\n", "the first text is the default");
    session.define("context", "alpha\nbeta é\ngamma\n").unwrap();
    session.define_list("parts", &["p1", "p2"]).unwrap();
    for (cell, output) in [
        ("search('a$')", "[(1, 'alpha'), (3, 'gamma')]\n"),
        ("search('A', most=1)", "[]\n"),
        ("search('(?i)A', most=1)", "[(1, 'alpha')]\n"),
        ("search('h', text='history')", "[(1, 'h1'), (2, 'h2')]\n"),
        ("search('h', text=history, most=1)", "[(1, 'h1')]\n"),
        ("search('p2', text='parts')", "[(2, 'p2')]\n"),
        ("search('x', text=['a', 'x'])", "[(2, 'x')]\n"),
        ("lines(2, 3)", "'beta é\\ngamma\\n'\n"),
        ("peek(6, 12) == context[6:12]", "True\n"),
        ("''.join(chunk(5)) == context", "True\n"),
        ("[len(c) for c in chunk(10, overlap=2)]", "[10, 10, 3]\n"),
    ] {
        let outcome = run(&mut session, cell);
        assert_eq!((outcome.output.as_str(), outcome.error), (output, None), "{cell}");
    }
    for (cell, part) in [
        ("search()", "pattern"),
        ("search('a', mots=1)", "no argument `mots`"),
        ("lines(1)", "needs `b`"),
        ("lines(1, 'x')", "an int"),
        ("peek(1, 2, 3, 4)", "at most 3"),
        ("lines(1, 2, a=1)", "twice"),
        ("search('(?=a)')", "look-around"),
    ] {
        let error = fail(&mut session, cell);
        assert!(error.kind == ErrorKind::Exception && error.text.contains(part), "{cell}: {error:?}");
    }
}

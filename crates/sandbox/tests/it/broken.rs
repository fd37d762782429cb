//! Children that die, are killed or break the agreement: the parent says so, soon, and leaves nothing behind.

use super::*;

fn broken(how: &str) -> (Result<Session, SandboxError>, Duration) {
    let begun = Instant::now();
    let limits = Limits { answer: Duration::from_secs(1), ..small() };
    (Session::start(worker(), &[how], limits), begun.elapsed())
}

#[test]
fn a_worker_that_sends_no_frames_is_ended() {
    for (how, part) in [
        ("silent", "did not answer within 1s"),
        ("garbage", "no answer"),
        ("huge", "no answer"),
        ("half", "exited"),
        ("exit", "no such model"),
        ("nothing", "exited with code 1"),
    ] {
        let (result, took) = broken(how);
        let error = result.expect_err(how).to_string();
        assert!(error.contains(part), "{how}: {error}");
        assert!(took < SOON, "{how} took {took:?}");
    }
}

#[test]
fn a_worker_that_calls_without_end_is_ended() {
    let (session, _) = broken("flood");
    let (mut session, mut host) = (session.unwrap(), Fake::default());
    let begun = Instant::now();
    let error = session.run("1", &mut host).unwrap_err().to_string();
    assert!(error.contains("no answer") && host.calls.len() == small().calls, "{error}");
    assert!(begun.elapsed() < SOON && !is_alive(session.process_id()));
}

#[test]
fn a_worker_that_prints_too_much_is_cut_by_the_parent() {
    let (session, _) = broken("chatty");
    let outcome = session.unwrap().run("1", &mut Fake::default()).unwrap();
    assert_eq!((outcome.output.len(), outcome.is_cut, outcome.dropped), (20_000, true, 80_000));
}

#[test]
fn a_text_for_a_worker_that_does_not_read_does_not_block() {
    let (session, _) = broken("chatty");
    let mut session = session.unwrap();
    session.run("1", &mut Fake::default()).unwrap();
    let begun = Instant::now();
    let error = session.define("context", &"x".repeat(10_000_000)).unwrap_err().to_string();
    assert!(error.contains("did not answer"), "{error}");
    assert!(begun.elapsed() < SOON && !is_alive(session.process_id()));
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let error = Session::start(Path::new("/nonexistent/yore"), &[], small()).unwrap_err();
    assert!(matches!(error, SandboxError::Start(_)));
}

#[test]
#[cfg(unix)]
fn a_child_that_is_killed_from_outside_is_told_and_another_can_be_started() {
    struct Killer(u32);
    impl Host for Killer {
        fn call(&mut self, _: &str, _: Vec<Value>, _: Vec<(String, Value)>) -> Result<Value, Refusal> {
            kill(self.0);
            Ok(Value::Null)
        }
    }
    let mut session = start(small());
    run(&mut session, "x = 1");
    let mut killer = Killer(session.process_id());
    let begun = Instant::now();
    let error = session.run("echo(1)\nwhile True: pass", &mut killer).unwrap_err().to_string();
    assert!(error.contains("killed from outside"), "{error}");
    assert!(begun.elapsed() < SOON && !is_alive(session.process_id()));
    assert!(matches!(session.value("x"), Err(SandboxError::Ended { .. })));
    session = start(small());
    assert_eq!(run(&mut session, "1").output, "1\n");
    let idle = session.process_id();
    kill(idle);
    assert!(matches!(session.run("1", &mut Fake::default()), Err(SandboxError::Ended { .. })));
}

#[test]
fn a_session_is_stopped_from_another_thread() {
    let mut session = start(Limits::default());
    let stopper = session.stopper();
    let begun = Instant::now();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stopper.stop();
        stopper.stop();
    });
    let error = session.run("while True: pass", &mut Fake::default()).unwrap_err().to_string();
    assert!(error.ends_with("it was stopped"), "{error}");
    assert!(begun.elapsed() < SOON && !is_alive(session.process_id()));
    thread.join().unwrap();
}

#[cfg(unix)]
fn kill(process: u32) {
    let process = rustix::process::Pid::from_raw(process.try_into().unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_dropped_session_leaves_no_process() {
    let session = start(small());
    let id = session.process_id();
    assert!(is_alive(id));
    drop(session);
    assert!(!is_alive(id));
}

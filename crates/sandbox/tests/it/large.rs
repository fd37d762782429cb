//! A variable of ten million characters: memory and CPU time of the child.

#![cfg(target_os = "linux")]

use super::*;

/// A log of `bytes` bytes.
fn log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut number = 0_u64;
    while text.len() < bytes {
        number += 1;
        let user = number * 7_919 % 1_000;
        text.push_str(&format!(
            "2026-03-{:02} user{user} asked about topic {} and got answer {number}\n",
            number % 28 + 1,
            number * 31 % 97
        ));
    }
    text.truncate(bytes);
    text
}

/// Most memory that a process ever had, in bytes.
fn peak(session: &Session) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

/// CPU time of a process, in seconds.
fn cpu(session: &Session) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", session.process_id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// A session with `text` as its `context`, and the most memory that it had before.
fn defined(text: &str) -> (Session, usize) {
    let mut session = start(Limits::default());
    run(&mut session, "import re\nprint(len(re.findall('a', 'banana')))\nsearch('a', text='banana')");
    let idle = peak(&session);
    session.define("context", text).unwrap();
    (session, idle)
}

#[test]
fn ten_million_characters_take_at_most_four_times_their_size_and_two_seconds_for_an_expression() {
    let text = log(10_000_000);
    let ratio = |session: &Session, idle: usize| (peak(session) - idle) as f64 / text.len() as f64;
    let (session, idle) = defined(&text);
    eprintln!("idle {:.1} MB; defined: {:.2} times the text", idle as f64 / 1e6, ratio(&session, idle));
    for cell in [
        "print(len(context), context[:20])",
        "len(search('user7[0-9]* .*answer 99999', most=100))",
        "len(search('(a+)+$', most=10**9))",
        "len(search('(?i)TOPIC [0-9]+ and got (answer|reply) [0-9]*7$', most=100))",
        "len(search('user7', text=context))",
        "len(re.findall(r'topic 13 and got answer \\d+', context))",
        "len(re.findall(r'nothing(at)+all', context))",
        "print(peek(5000000, 5000040)); print(lines(1000, 1002))",
        "context.count('topic 13')",
        "len(chunk(100000, 1000))",
        "context",
        "x = context\nlen(x)",
        "context = 'gone'",
        "echo(context) and None",
    ] {
        let (mut session, idle) = defined(&text);
        let before = cpu(&session);
        for _ in 0..5 {
            assert_eq!(run(&mut session, cell).error, None, "{cell}");
        }
        let took = (cpu(&session) - before) / 5.0;
        eprintln!("{cell:75} {took:.2} s CPU, peak {:.2} times", ratio(&session, idle));
        assert!(took <= 2.0, "{cell}: {took} s of CPU time");
        assert!(ratio(&session, idle) <= 4.0, "{cell}: {} times the text", ratio(&session, idle));
    }
}

#[test]
fn ten_million_characters_in_a_list_take_at_most_four_times_their_size() {
    let text = log(10_000_000);
    let parts: Vec<&str> = text.split_inclusive('\n').collect();
    let parts: Vec<String> = parts.chunks(100).map(<[&str]>::concat).collect();
    let mut session = start(Limits::default());
    run(&mut session, "search('a', text='banana')");
    let idle = peak(&session);
    session.define_list("context", &parts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let cell = format!("len(context) == {} and sum(len(part) for part in context) == {}", parts.len(), text.len());
    assert_eq!(run(&mut session, &cell).output, "True\n");
    assert_eq!(run(&mut session, "len(search('topic 13 and got answer 1[0-9]*$', most=10**6)) > 500").output, "True\n");
    let ratio = (peak(&session) - idle) as f64 / text.len() as f64;
    eprintln!("a list of {} texts: peak {ratio:.2} times", parts.len());
    assert!(ratio <= 4.0, "{ratio} times the text");
}

#[test]
fn children_start_one_after_the_other_and_each_runs_a_cell() {
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            let mut session = Session::start(worker(), &[], Limits::default()).unwrap();
            assert_eq!(run(&mut session, "20 + 1").output.trim(), "21");
            begun.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("start to the first cell: median {:?}, {:?} to {:?}", times[10], times[0], times[19]);
}

//! The picture in the README: a terminal, drawn from the output of yore about the example project.

use std::fmt::Write;
use std::path::Path;

use crate::environment::TestEnvironment;

/// Characters of a line in the picture.
const COLUMNS: usize = 104;
/// Size of a character and of a line, in pixels.
const CHARACTER: f32 = 8.4;
const LINE: usize = 20;
/// Room around the text, and above it for the title bar.
const MARGIN: usize = 20;
const TITLE_BAR: usize = 36;
const QUESTION: &str = "why did we move the cache out of redis?";

/// A line of the picture, and its colour.
type Line = (&'static str, String);

/// Returns the output of recall about the example project, with the folder of transcripts as `~/.claude`.
fn terminal() -> Vec<Line> {
    let environment = TestEnvironment::new();
    environment.yore(["up"]).run().success();
    let example = environment.data().join("example");
    let transcripts = example.join("transcripts");
    let asked = environment.yore(["--data-dir", example.to_str().unwrap(), "recall", QUESTION, "-n", "2"]).run().success();
    let printed = asked.stdout.replace(transcripts.to_str().unwrap(), "~/.claude");
    let mut lines = vec![("#9ece6a", format!("$ yore recall -n 2 \"{QUESTION}\""))];
    for line in printed.lines() {
        let color = if line.starts_with("  ") && line.contains(".jsonl:") {
            "#737aa2"
        } else if line.starts_with("  ") {
            "#c0caf5"
        } else {
            "#7aa2f7"
        };
        lines.extend(wrapped(line).into_iter().map(|part| (color, part)));
    }
    lines
}

/// Splits a line into parts that fit, each indented like the line.
fn wrapped(line: &str) -> Vec<String> {
    let indent = " ".repeat(line.len() - line.trim_start().len());
    let mut parts = vec![indent.clone()];
    for word in line.trim_start().split(' ') {
        let last = parts.last().unwrap();
        let is_first = last.len() == indent.len();
        if !is_first && last.chars().count() + 1 + word.chars().count() > COLUMNS {
            parts.push(indent.clone());
        }
        let last = parts.last_mut().unwrap();
        if last.len() > indent.len() {
            last.push(' ');
        }
        last.push_str(word);
    }
    parts
}

fn picture(lines: &[Line]) -> String {
    let longest = lines.iter().map(|(_, line)| line.chars().count()).max().unwrap_or_default();
    let width = (longest as f32 * CHARACTER).ceil() as usize + 2 * MARGIN;
    let height = TITLE_BAR + lines.len() * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>yore recall answers a question with the words that were said</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1a1b26\"/>\n"
    );
    for (at, color) in ["#f7768e", "#e0af68", "#9ece6a"].iter().enumerate() {
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>", MARGIN + at * 20);
    }
    svg.push_str("<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n");
    for (at, (color, line)) in lines.iter().enumerate() {
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = TITLE_BAR + (at + 1) * LINE - 6;
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{color}\">{text}</text>");
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

#[test]
fn picture_of_the_readme_shows_what_yore_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let picture = picture(&terminal());
    let path = root.join("docs/recall.svg");
    if yore_testing::is_blessing() {
        std::fs::write(&path, &picture).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == picture, "docs/recall.svg is out of date; run the tests with YORE_BLESS=1");
    assert!(std::fs::read_to_string(root.join("README.md")).unwrap().contains("](docs/recall.svg)"));
}

//! Selects the hooks that match an event, by the rule of Claude Code: nothing or `*` matches all, a plain
//! name or several with `|` match exactly, and anything else is an unanchored regular expression of
//! JavaScript. This supports the parts that matchers use, including lookahead.

/// Returns whether a hook with this matcher runs for an event about `name`.
pub(crate) fn wants(matcher: &str, name: &str) -> bool {
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    if matcher.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '|')) {
        return matcher.split('|').any(|wanted| wanted == name);
    }
    let mut letters = matcher.chars().collect::<Vec<_>>().into_iter().peekable();
    let ways = ways(&mut letters);
    assert_eq!(letters.next(), None, "{matcher} is no regular expression");
    let name: Vec<char> = name.chars().collect();
    (0..=name.len()).any(|from| one_of(&ways, &name, from, &mut |_| true))
}

enum Part {
    Begin,
    End,
    Any,
    Letter(char),
    Group(Vec<Vec<Part>>),
    Ahead { is_wanted: bool, ways: Vec<Vec<Part>> },
    Repeat { part: Box<Part>, least: usize, most: usize },
}

type Letters = std::iter::Peekable<std::vec::IntoIter<char>>;

/// Parses the alternatives between `|`s, to the end or to a closing bracket.
fn ways(letters: &mut Letters) -> Vec<Vec<Part>> {
    let mut ways = vec![Vec::new()];
    while let Some(letter) = letters.next_if(|letter| *letter != ')') {
        let part = match letter {
            '|' => {
                ways.push(Vec::new());
                continue;
            }
            '^' => Part::Begin,
            '$' => Part::End,
            '.' => Part::Any,
            '\\' => Part::Letter(letters.next().unwrap()),
            '(' => group(letters),
            '[' | '{' => panic!("this matcher knows no {letter}"),
            letter => Part::Letter(letter),
        };
        let (least, most) = match letters.peek() {
            Some('?') => (0, 1),
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            _ => (1, 1),
        };
        let is_repeated = (least, most) != (1, 1);
        if is_repeated {
            letters.next();
        }
        let part = if is_repeated { Part::Repeat { part: Box::new(part), least, most } } else { part };
        ways.last_mut().unwrap().push(part);
    }
    ways
}

fn group(letters: &mut Letters) -> Part {
    let kind = letters.next_if_eq(&'?').map(|_| letters.next().unwrap());
    let ways = ways(letters);
    assert_eq!(letters.next(), Some(')'), "a bracket is not closed");
    match kind {
        None | Some(':') => Part::Group(ways),
        Some(sign @ ('!' | '=')) => Part::Ahead { is_wanted: sign == '=', ways },
        Some(other) => panic!("this matcher knows no (?{other}"),
    }
}

/// Returns whether one of the alternatives matches from here, and the rest after it.
fn one_of(ways: &[Vec<Part>], name: &[char], from: usize, rest: &mut dyn FnMut(usize) -> bool) -> bool {
    ways.iter().any(|way| fits(way, name, from, rest))
}

fn fits(parts: &[Part], name: &[char], from: usize, rest: &mut dyn FnMut(usize) -> bool) -> bool {
    let Some((first, others)) = parts.split_first() else { return rest(from) };
    match first {
        Part::Begin => from == 0 && fits(others, name, from, rest),
        Part::End => from == name.len() && fits(others, name, from, rest),
        Part::Any => from < name.len() && fits(others, name, from + 1, rest),
        Part::Letter(letter) => name.get(from) == Some(letter) && fits(others, name, from + 1, rest),
        Part::Group(ways) => one_of(ways, name, from, &mut |end| fits(others, name, end, rest)),
        Part::Ahead { is_wanted, ways } => {
            one_of(ways, name, from, &mut |_| true) == *is_wanted && fits(others, name, from, rest)
        }
        Part::Repeat { part, least, most } => repeated(part, *least, *most, name, from, &mut |end| fits(others, name, end, rest)),
    }
}

fn repeated(part: &Part, least: usize, most: usize, name: &[char], from: usize, rest: &mut dyn FnMut(usize) -> bool) -> bool {
    let again = most > 0
        && fits(std::slice::from_ref(part), name, from, &mut |end| {
            end > from && repeated(part, least.saturating_sub(1), most - 1, name, end, rest)
        });
    again || least == 0 && rest(from)
}

#[test]
fn matchers_mean_what_claude_codes_documentation_says() {
    for (matcher, wanted, unwanted) in [
        ("", "Bash SessionStart", ""),
        ("*", "Bash", ""),
        ("Edit|Write", "Edit Write", "MultiEdit Edi Write|Edit"),
        ("Bash", "Bash", "BashOutput bash"),
        ("mcp__memory__.*", "mcp__memory__find", "mcp__other__find"),
        ("Edit.*", "Edit MultiEdit NotebookEdit", "Write"),
        ("^Notebook(Edit|Read)$", "NotebookEdit NotebookRead", "NotebookEdits MyNotebookEdit"),
        ("^(?!mcp__(plugin_yore_)?yore__)", "Bash mcp__other__yore__", "mcp__yore__recall mcp__plugin_yore_yore__recall"),
        ("^(Bash|mcp__(?!(plugin_yore_)?yore__).+)$", "Bash mcp__x__y", "mcp__yore__recall mcp__ BashOutput"),
        ("a+b?$", "a aab", "b abc"),
    ] {
        for name in wanted.split_whitespace() {
            assert!(wants(matcher, name), "{matcher} wants {name}");
        }
        for name in unwanted.split_whitespace() {
            assert!(!wants(matcher, name), "{matcher} does not want {name}");
        }
    }
}

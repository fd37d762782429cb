//! Lists the parts of Python that cells can use and those that they lack, for the prompt; tests run each entry.

/// Modules that a cell can import, each with a line that uses what it has.
pub const MODULES: [(&str, &str); 14] = [
    ("re", "re.findall(r'[0-9]+', 'a1b22') == ['1', '22']"),
    ("json", "json.loads(json.dumps({'a': [1]})) == {'a': [1]}"),
    ("math", "math.floor(math.sqrt(17)) == 4"),
    ("collections", "collections.Counter('aab').most_common(1) == [('a', 2)]"),
    ("datetime", "datetime.date(2024, 3, 1) - datetime.date(2024, 2, 1) == datetime.timedelta(days=29)"),
    ("itertools", "next(itertools.count(3)) == 3"),
    ("functools", "functools.reduce(lambda a, b: a + b, [1, 2, 3]) == 6"),
    ("dataclasses", "dataclasses.dataclass is not None"),
    ("typing", "typing.Any is not None"),
    ("unicodedata", "unicodedata.normalize('NFC', 'e\\u0301') == '\\u00e9'"),
    ("base64", "base64.b64encode(b'a') == b'YQ=='"),
    ("binascii", "binascii.hexlify(b'a') == b'61'"),
    ("asyncio", "asyncio.run is not None"),
    ("sys", "sys.version_info[0] == 3"),
];

/// Language features that work, as code whose value is true.
pub const WORKS: [(&str, &str); 14] = [
    (
        "functions, closures, lambda, decorators",
        "def twice(f):\n    return lambda x: f(f(x))\n@twice\ndef inc(x):\n    return x + 1\ninc(1) == 3",
    ),
    ("classes and inheritance of exceptions", "class A:\n    def __init__(self, x):\n        self.x = x\nA(3).x == 3"),
    ("dataclasses", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(2).x == 2"),
    ("f-strings with formats", "f'{3.14159:.2f} {7:>3}' == '3.14   7'"),
    (
        "comprehensions of every kind",
        "[x for x in range(3)] == [0, 1, 2] and {x: 1 for x in 'a'} == {'a': 1} and {x for x in 'aa'} == {'a'}",
    ),
    ("expressions of a generator inside a call", "sum(x * x for x in range(4)) == 14"),
    (
        "try, except, finally, raise",
        "try:\n    raise ValueError('no')\nexcept ValueError as error:\n    caught = str(error)\ncaught == 'no'",
    ),
    ("while, for, else, break", "n = 0\nwhile n < 5:\n    n += 1\nelse:\n    n = 9\nn == 9"),
    ("slices and unpacking", "a, *b = [1, 2, 3]\nb[::-1] == [3, 2]"),
    ("sorted with a key", "sorted(['bb', 'a'], key=lambda x: len(x)) == ['a', 'bb']"),
    ("sets", "{1, 2} & {2, 3} == {2}"),
    ("assignment expressions", "(n := 4) == 4"),
    ("methods of strings", "'a,b'.split(',') == ['a', 'b'] and 'ab'.upper().startswith('A') and ' a '.strip() == 'a'"),
    ("any, all, zip, enumerate, map, filter", "list(zip([1], [2])) == [(1, 2)] and list(map(str, [1])) == ['1']"),
];

/// Missing features, each with code that uses it and a part of the message.
pub const LACKS: [(&str, &str, &str); 11] = [
    ("generator functions (yield)", "def f():\n    yield 1", "yield"),
    ("match statements", "match 1:\n    case 1:\n        pass", "match"),
    ("del", "x = 1\ndel x", "del"),
    ("complex numbers", "1j", "complex"),
    ("from MODULE import *", "from math import *", "import *"),
    ("eval()", "eval('1')", "eval"),
    ("exec()", "exec('1')", "exec"),
    ("input()", "input()", "input"),
    ("open() and every other use of files", "open('/etc/passwd')", "open"),
    (
        "calls of the functions below inside of map(), filter(), sorted(key=) and the like: use a comprehension",
        "list(map(search, ['a']))",
        "map",
    ),
    ("modules that are not listed", "import statistics", "statistics"),
];

/// Functions that the child answers itself over the text `context` (or the first text that was defined). A name in
/// place of `text` chooses another defined text.
pub const HELPERS: [(&str, &str); 4] = [
    ("search(pattern, text=context, most=50)", "the lines that match a regular expression, as (line number, line); linear time"),
    ("lines(a, b, text=context)", "the lines with numbers a to b, both included, from 1"),
    ("chunk(size, overlap=0, text=context)", "the text in parts of `size` characters"),
    ("peek(a, b, text=context)", "the characters a to b, as context[a:b]"),
];

/// Builtins of Python that the interpreter lacks: their absence is told as such, not as a misspelt name.
pub(crate) const MISSING_BUILTINS: [&str; 22] = [
    "__import__",
    "aiter",
    "anext",
    "ascii",
    "breakpoint",
    "callable",
    "classmethod",
    "compile",
    "delattr",
    "dir",
    "eval",
    "exec",
    "format",
    "globals",
    "help",
    "input",
    "issubclass",
    "locals",
    "memoryview",
    "staticmethod",
    "super",
    "vars",
];

/// Returns the paragraph of a prompt that says what works: features, modules, helpers, and what is missing.
#[must_use]
pub fn paragraph() -> String {
    let modules: Vec<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    let lacks: Vec<&str> = LACKS.iter().map(|(name, ..)| *name).collect();
    let helpers: Vec<String> = HELPERS.iter().map(|(call, what)| format!("{call}: {what}")).collect();
    format!(
        "Python cells; variables persist from cell to cell. Modules: {}. Missing: {}. No files, network, clock or \
         processes. Functions:\n{}",
        modules.join(", "),
        lacks.join(", "),
        helpers.join("\n")
    )
}

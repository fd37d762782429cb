//! Tests of every format on small texts, of the effect of edits, and on arbitrary bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::language::Language;
use super::*;

/// Key, lines and language of each section.
fn outline(document: &Document) -> String {
    let mut out = format!("{:?} {:?}\n", document.title.as_deref().unwrap_or(""), document.language.as_deref().unwrap_or(""));
    for section in &document.sections {
        out.push_str(&format!(
            "{:>3}-{:<3} {} [{}] {:?} {}\n",
            section.line,
            section.end_line,
            section.key,
            section.heading.join(" > "),
            section.text.lines().next().unwrap_or_default(),
            section.language.as_deref().unwrap_or("-"),
        ));
    }
    out
}

fn by_key(document: &Document) -> BTreeMap<String, String> {
    document.sections.iter().map(|section| (section.key.clone(), section.text.clone())).collect()
}

/// Makes a text longer than a section that is kept whole.
fn filler(comment: &str) -> String {
    format!("{comment} the tide tables are read once a day and kept for a week\n").repeat(30)
}

fn shown(text: &str, name: &str) -> String {
    outline(&read(text.as_bytes(), name).unwrap())
}

#[test]
fn markdown_is_cut_at_headings() {
    let text = "---\ntitle: \"Tide tables\"\ntags: [sea]\n---\nBefore all.\n\n# Install\n\nUse `make`.\n\n```sh\nmake\n# no heading\n```\n\n## Linux\n\nOne.\n\n## Linux\n\nTwo.\n\n[link]: https://example.org\n\nUse\n===\n\n> # quoted, no heading\n\n- item\n\n  # inner\n\n## Empty\n\n# `code` and *words*\n\nEnd.";
    insta::assert_snapshot!(shown(text, "README.md"), @r##"
    "Tide tables" "markdown"
      1-5   (top) [] "---" -
      7-14  Install [Install] "Use `make`." sh
     16-18  Install/Linux [Install > Linux] "One." -
     20-24  Install/Linux~2 [Install > Linux] "Two." -
     26-33  Use [Use] "> # quoted, no heading" -
     37-39  code and words [code and words] "End." -
    "##);
}

#[test]
fn long_markdown_sections_are_cut_between_blocks() {
    let paragraph = "tide ".repeat(200);
    let fence = format!("```rust\n{}```", "let tide = 1;\n\n".repeat(40));
    let text = format!("# A\n\n{paragraph}\n\n{fence}\n\n{paragraph}\n\n{paragraph}\n\n# B\n\nend\n");
    let document = read(text.as_bytes(), "a.md").unwrap();
    insta::assert_snapshot!(outline(&document).replace("tide tide ", ""), @r##"
    "A" "markdown"
      1-86  A [A] "" rust
     88-88  A+2 [A] "tide tide" -
     90-90  A+3 [A] "tide tide" -
     92-94  B [B] "end" -
    "##);
    assert!(document.sections.iter().any(|section| section.text.contains(&fence)), "a fence stays whole");
}

#[test]
fn rust_is_cut_at_items_and_methods() {
    let text = format!(
        "//! The tide.\n\nuse std::fmt;\nuse std::io;\n\nconst HIGH: u32 = 3;\n\n/// A tide.\n///\n/// Its height.\n#[derive(Debug)]\npub struct Tide {{\n    height: u32,\n}}\n\nimpl fmt::Display for Tide {{\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{ Ok(()) }}\n}}\n\n// Loose words.\n\nimpl<'a> Basin<'a> {{\n    const DEPTH: u32 = 4;\n\n    /// Opens.\n    pub fn open() -> Self {{\n        // inner\n{}    }}\n\n    fn close(&self) {{}} // quietly\n}}\n\nmacro_rules! ebb {{ () => {{}} }}\nstatic LOW: u32 = 1;\n\nmod tests {{\n    #[test]\n    fn ebbs() {{}}\n}}\n",
        filler("        //")
    );
    insta::assert_snapshot!(shown(&text, "tide.rs"), @r##"
    "" "rust"
      1-6   (top) [] "//! The tide." rust
      8-14  Tide [Tide] "/// A tide." rust
     16-18  impl fmt::Display for Tide [impl fmt::Display for Tide] "impl fmt::Display for Tide {" rust
     20-20  (before impl Basin<'a>) [] "// Loose words." rust
     22-23  impl Basin<'a> [impl Basin<'a>] "impl<'a> Basin<'a> {" rust
     25-58  impl Basin<'a>/open [impl Basin<'a> > open] "    /// Opens." rust
     60-60  impl Basin<'a>/close [impl Basin<'a> > close] "    fn close(&self) {} // quietly" rust
     63-63  ebb [ebb] "macro_rules! ebb { () => {} }" rust
     64-64  (before tests) [] "static LOW: u32 = 1;" rust
     66-69  tests [tests] "mod tests {" rust
    "##);
}

#[test]
fn python_is_cut_at_functions_and_methods() {
    let text = format!(
        "\"\"\"Tides.\"\"\"\nimport os\n\nHIGH = 3\n\n# Reads the table.\n@cached\ndef read(path):\n    def inner():\n        pass\n    return path\n\nclass Small:\n    def a(self): pass\n\n@dataclass\nclass Basin(Base):\n    \"\"\"A basin.\"\"\"\n    depth: int = 3\n\n    @property\n    def height(self):\n{}        return 1\n\n    async def fill(self):\n        pass\n\nif __name__ == '__main__':\n    read('x')\n",
        filler("        #")
    );
    insta::assert_snapshot!(shown(&text, "tide.py"), @r##"
    "" "python"
      1-4   (top) [] "\"\"\"Tides.\"\"\"" python
      6-11  read [read] "# Reads the table." python
     13-14  Small [Small] "class Small:" python
     16-19  Basin [Basin] "@dataclass" python
     21-53  Basin/height [Basin > height] "    @property" python
     55-56  Basin/fill [Basin > fill] "    async def fill(self):" python
     58-59  (end) [] "if __name__ == '__main__':" python
    "##);
}

#[test]
fn javascript_is_cut_at_functions_and_methods() {
    let text = format!(
        "import fs from 'fs';\nconst HIGH = 3;\n\n/** Reads. */\nexport function read(path) {{ return path; }}\n\nexport const ebb = async (x) => {{\n  return x;\n}};\n\nclass Basin extends Base {{\n  depth = 3;\n  // Fills it.\n  fill() {{\n{}  }}\n  drain = () => {{ this.depth = 0; }};\n}}\n\nexport default function () {{ return 1; }}\n\ndescribe('tide', () => {{ it('ebbs', () => {{}}); }});\n",
        filler("    //")
    );
    insta::assert_snapshot!(shown(&text, "tide.js"), @r##"
    "" "javascript"
      1-2   (top) [] "import fs from 'fs';" javascript
      4-5   read [read] "/** Reads. */" javascript
      7-9   ebb [ebb] "export const ebb = async (x) => {" javascript
     11-12  Basin [Basin] "class Basin extends Base {" javascript
     13-45  Basin/fill [Basin > fill] "  // Fills it." javascript
     46-46  Basin/drain [Basin > drain] "  drain = () => { this.depth = 0; };" javascript
     49-51  (end) [] "export default function () { return 1; }" javascript
    "##);
}

#[test]
fn typescript_is_cut_at_types_functions_and_methods() {
    let text = format!(
        "import {{ x }} from './x';\n\nexport interface Tide {{ height: number }}\nexport type Low = 1 | 2;\nenum Phase {{ Ebb, Flood }}\n\n@Injectable()\nexport class Basin<T> implements Sea {{\n  private depth: number = 3;\n\n  constructor(private readonly x: X) {{}}\n\n  @Input()\n  fill(): void {{\n{}  }}\n}}\n\nnamespace Sea {{\n  export function ebb(): void {{}}\n}}\n\nexport const flood = (): number => 1;\n",
        filler("    //")
    );
    insta::assert_snapshot!(shown(&text, "tide.ts"), @r##"
    "" "typescript"
      1-1   (top) [] "import { x } from './x';" typescript
      3-3   Tide [Tide] "export interface Tide { height: number }" typescript
      4-4   Low [Low] "export type Low = 1 | 2;" typescript
      5-5   Phase [Phase] "enum Phase { Ebb, Flood }" typescript
      7-9   Basin [Basin] "@Injectable()" typescript
     11-11  Basin/constructor [Basin > constructor] "  constructor(private readonly x: X) {}" typescript
     13-45  Basin/fill [Basin > fill] "  @Input()" typescript
     48-50  Sea [Sea] "namespace Sea {" typescript
     52-52  flood [flood] "export const flood = (): number => 1;" typescript
    "##);
    let component = "import React from 'react';\n\nexport const View: React.FC<Props> = ({ x }) => {\n  return <div className=\"a\">{x}</div>;\n};\n";
    insta::assert_snapshot!(shown(component, "view.tsx"), @r##"
    "" "tsx"
      1-1   (top) [] "import React from 'react';" tsx
      3-5   View [View] "export const View: React.FC<Props> = ({ x }) => {" tsx
    "##);
}

#[test]
fn go_is_cut_at_functions_methods_and_types() {
    let text = "// Package tide reads tides.\npackage tide\n\nimport (\n\t\"fmt\"\n)\n\nconst High = 3\n\n// Basin holds water.\ntype Basin struct {\n\tdepth int\n}\n\n// Fill fills it.\nfunc (b *Basin) Fill(n int) error {\n\treturn nil\n}\n\nfunc (s Stack[T]) Push(v T) {}\n\nfunc Read(path string) string { return path }\n\nvar low = 1\n";
    insta::assert_snapshot!(shown(text, "tide.go"), @r##"
    "" "go"
      1-8   (top) [] "// Package tide reads tides." go
     10-13  Basin [Basin] "// Basin holds water." go
     15-18  Basin/Fill [Basin > Fill] "// Fill fills it." go
     20-20  Stack/Push [Stack > Push] "func (s Stack[T]) Push(v T) {}" go
     22-22  Read [Read] "func Read(path string) string { return path }" go
     24-24  (end) [] "var low = 1" go
    "##);
}

#[test]
fn java_is_cut_at_methods() {
    let text = format!(
        "package sea;\n\nimport java.util.List;\n\n/** A basin. */\npublic class Basin {{\n    private int depth = 3;\n\n    public Basin() {{ }}\n\n    /** Fills. */\n    @Override\n    public void fill(int n) {{\n{}    }}\n\n    enum Phase {{ EBB, FLOOD }}\n}}\n\ninterface Sea {{ void ebb(); }}\n",
        filler("        //")
    );
    insta::assert_snapshot!(shown(&text, "Basin.java"), @r##"
    "" "java"
      1-3   (top) [] "package sea;" java
      5-7   Basin [Basin] "/** A basin. */" java
      9-9   Basin/Basin [Basin > Basin] "    public Basin() { }" java
     11-44  Basin/fill [Basin > fill] "    /** Fills. */" java
     46-46  Basin/Phase [Basin > Phase] "    enum Phase { EBB, FLOOD }" java
     49-49  Sea [Sea] "interface Sea { void ebb(); }" java
    "##);
}

#[test]
fn c_is_cut_at_functions_and_types_also_inside_guards() {
    let text = "#ifndef TIDE_H\n#define TIDE_H\n#include <stdio.h>\n\n/* A basin. */\nstruct basin {\n    int depth;\n};\n\ntypedef struct { int x; } point_t;\n\nint fill(struct basin *b, int n);\n\n// Drains it.\nstatic char *\ndrain(struct basin *b)\n{\n    return 0;\n}\n\n#endif\n";
    insta::assert_snapshot!(shown(text, "tide.h"), @r##"
    "" "c"
      1-3   (top) [] "#ifndef TIDE_H" c
      5-8   basin [basin] "/* A basin. */" c
     10-10  point_t [point_t] "typedef struct { int x; } point_t;" c
     12-12  (before drain) [] "int fill(struct basin *b, int n);" c
     14-19  drain [drain] "// Drains it." c
     21-21  (end) [] "#endif" c
    "##);
}

#[test]
fn huge_functions_are_cut() {
    let text = format!("fn long() {{\n{}}}\n\nfn short() {{}}\n", "    ebb();\n    flood();\n\n".repeat(300));
    let document = read(text.as_bytes(), "a.rs").unwrap();
    assert_eq!(document.sections[0].key, "long");
    assert_eq!(document.sections[1].key, "long+2");
    assert_eq!(document.sections.last().unwrap().key, "short");
    assert!(document.sections.iter().all(|section| section.text.len() <= 2_500));
}

#[test]
fn code_that_does_not_parse_and_unknown_languages_are_cut_at_blank_lines() {
    let broken = read(b"}}} ((( not rust at all\n\n\n???", "a.rs").unwrap();
    assert_eq!(broken.sections.len(), 1);
    assert_eq!(broken.sections[0].text, "}}} ((( not rust at all\n\n\n???");
    let half = read(b"fn good() {}\n\nfn bad( {\n\nfn other() {}\n", "a.rs").unwrap();
    let text: String = half.sections.iter().map(|section| section.text.as_str()).collect();
    assert!(text.contains("fn good") && text.contains("bad(") && text.contains("fn other"), "{half:?}");
    let unknown = read("procedure Tide;\nbegin\nend;\n".as_bytes(), "tide.pas").unwrap();
    assert_eq!(unknown.language.as_deref(), Some("text"));
    let toml = read(b"[tide]\nheight = 3\n", "tide.toml").unwrap();
    assert_eq!((toml.language.as_deref(), toml.sections.len()), (Some("toml"), 1));
}

#[test]
fn pages_of_a_pdf_are_sections() {
    let document = pdf::cut("first page\u{c}\u{c}third page\n\nends");
    let keys: Vec<&str> = document.sections.iter().map(|section| section.key.as_str()).collect();
    assert_eq!(keys, ["page 1", "page 3"]);
}

#[test]
fn what_nobody_wrote_is_told_by_reason() {
    let reason = |bytes: &[u8], name: &str| read(bytes, name).map_err(|unreadable| unreadable.reason).err();
    assert_eq!(reason(b"\0\x01\x02", "a"), Some("binary-file"));
    assert_eq!(reason(&[0x80; 400], "a.txt"), Some("binary-file"));
    assert_eq!(reason(b"[[package]]", "Cargo.lock"), Some("lock-file"));
    assert_eq!(reason(" \n ".as_bytes(), "a.md"), Some("empty-file"));
    assert_eq!(reason("x".repeat(30_000).as_bytes(), "a.md"), Some("minified-file"));
    assert_eq!(reason(format!("{};\n", "var a=1;".repeat(100)).repeat(10).as_bytes(), "a.js"), Some("minified-file"));
    assert_eq!(reason(b"// Code generated by tide. DO NOT EDIT.\npackage a\n", "a.go"), Some("generated-file"));
    assert_eq!(reason(b"# @generated by tide\nx = 1\n", "a.py"), Some("generated-file"));
    assert_eq!(reason(&vec![b'a'; (format::MAX_TEXT_BYTES + 1) as usize], "a.txt"), Some("file-too-large"));
    assert_eq!(reason(b"@generated is a word that this text explains\n", "a.md"), None);
    assert_eq!(reason(&[0xff, 0xfe, b'h', 0, b'i', 0], "a.txt"), None);
    assert_eq!(reason("höhe\r\nund tiefe\r\n".as_bytes(), "a.txt"), None);
}

#[test]
fn files_with_keys_are_known_by_name() {
    let closed = [
        ".env",
        ".env.local",
        "prod.env",
        "server.pem",
        "id_rsa",
        "id_ed25519.pub",
        "tls.key",
        ".netrc",
        "credentials",
        "Credentials.json",
        "secrets.yaml",
        ".npmrc",
        "store.p12",
        "terraform.tfstate",
    ];
    assert!(closed.iter().all(|name| format::is_credential(name)));
    assert!(["main.rs", "environment.md", "key.md", "README.md", "monkey.txt"].iter().all(|name| !format::is_credential(name)));
    assert!(format::is_media("a.PNG") && !format::is_media("png") && !format::is_media("a.rs"));
}

/// Makes a text of distinguishable sections, in the syntax of a file name.
fn text_of(name: &str, bodies: &[String]) -> String {
    bodies
        .iter()
        .enumerate()
        .map(|(at, body)| match name {
            "a.md" => format!("# Part {at}\n\n{body}\n\n"),
            "a.py" => format!("def part_{at}():\n    return '{body}'\n\n"),
            "a.go" => format!("// Part {at}.\nfunc part{at}() string {{ return \"{body}\" }}\n\n"),
            _ => format!("/// Part {at}.\nfn part_{at}() -> &'static str {{\n    \"{body}\"\n}}\n\n"),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn editing_one_section_changes_the_text_of_its_key_only(
        bodies in prop::collection::vec("[a-z]{1,20}( [a-z]{1,20}){0,20}", 2..8),
        at in any::<prop::sample::Index>(),
        edit in "[a-z]{1,20}( [a-z]{1,20}){0,30}",
        name in prop::sample::select(vec!["a.md", "a.py", "a.go", "a.rs"]),
    ) {
        let prefix = if name == "a.go" { "package tide\n\n" } else { "" };
        let at = at.index(bodies.len());
        let before = read(format!("{prefix}{}", text_of(name, &bodies)).as_bytes(), name).unwrap();
        let mut edited = bodies.clone();
        edited[at] = format!("{edit} edited");
        let after = read(format!("{prefix}{}", text_of(name, &edited)).as_bytes(), name).unwrap();
        let (before, after) = (by_key(&before), by_key(&after));
        let keys = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
        prop_assert_eq!(keys(&before), keys(&after));
        let changed: Vec<&String> = before.iter().filter(|(key, text)| after[*key] != **text).map(|(key, _)| key).collect();
        prop_assert_eq!(changed.len(), 1, "{:?}", changed);
        prop_assert!(changed[0].to_lowercase().replace(['_', ' '], "").contains(&format!("part{at}")), "{:?}", changed);
    }

    #[test]
    fn a_section_added_elsewhere_leaves_the_others_alone(
        bodies in prop::collection::vec("[a-z]{1,20}( [a-z]{1,20}){0,20}", 1..8),
        at in any::<prop::sample::Index>(),
    ) {
        let before = by_key(&read(text_of("a.rs", &bodies).as_bytes(), "a.rs").unwrap());
        let mut text = text_of("a.rs", &bodies);
        let starts: Vec<usize> = text.match_indices("/// Part").map(|(at, _)| at).collect();
        text.insert_str(starts[at.index(starts.len())], "/// New.\nfn added() {}\n\n");
        let after = by_key(&read(text.as_bytes(), "a.rs").unwrap());
        prop_assert_eq!(after.len(), before.len() + 1);
        prop_assert!(before.iter().all(|(key, text)| after.get(key) == Some(text)));
    }

    #[test]
    fn any_bytes_are_cut_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), name in prop::sample::select(NAMES.to_vec())) {
        let _ = read(&bytes, name);
    }

    #[test]
    fn any_text_is_cut_in_every_language(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..80), noise in "\\PC{0,20}") {
        let text = format!("{}{noise}", words.concat());
        for name in NAMES {
            if let Ok(document) = read(text.as_bytes(), name) {
                let mut keys: Vec<&str> = document.sections.iter().map(|section| section.key.as_str()).collect();
                let count = keys.len();
                keys.sort_unstable();
                keys.dedup();
                prop_assert_eq!(keys.len(), count, "keys differ");
                let lines = text.replace("\r\n", "\n").replace('\r', "\n").split('\n').count() as u64;
                for section in &document.sections {
                    prop_assert!(section.line >= 1 && section.line <= section.end_line && section.end_line <= lines, "{:?}", section);
                    prop_assert!(!section.text.trim().is_empty());
                }
            }
        }
        let _ = pdf::cut(&text);
        for language in Language::ALL {
            let document = code::cut(&text, language);
            let kept: String = document.sections.iter().flat_map(|section| section.text.chars()).filter(|c| c.is_alphanumeric()).collect();
            let said: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
            prop_assert_eq!(kept, said, "{:?} loses words", language);
        }
    }
}

const NAMES: [&str; 13] =
    ["a.md", "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.txt", "a.toml", "a.html", "a"];

/// Pieces of syntax in odd combinations.
const WORDS: [&str; 56] = [
    "fn ",
    "tide",
    "(",
    ")",
    "{",
    "}",
    "\n",
    "\n\n",
    "\r\n",
    "  ",
    "class ",
    "def ",
    ":",
    "// note\n",
    "# ",
    "## ",
    "/* ",
    "*/",
    "```",
    "```rs\n",
    "\"",
    "'",
    "impl ",
    "for ",
    "pub ",
    "export ",
    "default ",
    "=> ",
    "= ",
    ";",
    ",",
    "<",
    ">",
    "/>",
    "@x\n",
    "#[a]\n",
    "func ",
    "type ",
    "struct ",
    "---\n",
    "+++\n",
    "title: x\n",
    "> ",
    "- ",
    "|a|\n|-|\n",
    "[^1]: ",
    "===\n",
    "\t",
    "é",
    "🌊",
    "#ifdef A\n",
    "#endif\n",
    "namespace ",
    "interface ",
    "mod ",
    "static ",
];

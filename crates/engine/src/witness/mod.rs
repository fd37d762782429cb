//! Compares memories with code: whether the files, names, commits, versions and commands that they name still exist.
//!
//! A file is compared with its content at the time of the memory, found in the history of the branch that is checked out; a name in code
//! is looked for in the memory's files and in the tree; a commit in the history of the branch; a version and a command in the files that
//! state such. Nothing is deleted: the verdict is shown with the memory and lowers its rank.
//!
//! - `branches`: whether branches were merged
//! - `check`: the memories of projects, and of an answer, are judged
//! - `history`: the files of a working tree at an earlier time
//! - `manifest`: files that state versions and define commands
//! - [`judge`]: the verdicts on anchors

mod branches;
mod check;
mod history;
mod manifest;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use yore_core::memory::{Anchor, AnchorKind, AnchorVerdict, Verdict};
use yore_core::time::UtcMillis;

pub use self::check::{CheckedMemory, CodeReport};
use self::history::{Commit, Files, LogReader, Past};
use yore_sources::git::{Git as Program, Stop};

/// Bytes of output that are read of one run of git.
const MOST_OUTPUT: usize = 256 << 20;
/// Commits that are undone, the newest.
const MOST_COMMITS: &str = "--max-count=50000";
/// Work is committed some time after the conversation about it: the state after this time counts as that of the conversation,
/// unless the commit is known.
const GRACE_S: i64 = 3_600;
/// Names and files that are looked for in the whole repository, each with a run of git.
const MOST_SEARCHED: usize = 200;
/// Largest file that is searched for a name, in bytes.
const MOST_READ: u64 = 4 << 20;
/// Shortest beginning of a commit's id.
const SHORTEST_ID: usize = 7;
/// Files that state versions or define commands that are looked at.
const MOST_MANIFESTS: usize = 40;
/// Largest of them, in bytes; and how many contents of them are kept.
const MOST_MANIFEST: usize = 2 << 20;
const MOST_TEXTS: usize = 32;
/// Files whose content is compared by one run of git.
const HASHED_AT_ONCE: usize = 500;

/// How much may be done to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Time for all of it.
    pub time: Duration,
    /// True if files alone are judged, and nothing is looked for in the whole repository.
    pub only_files: bool,
}

/// The things that a memory speaks of, to be judged.
#[derive(Clone, Debug)]
pub(crate) struct Spoken {
    /// Things that it speaks of.
    pub anchors: Vec<Anchor>,
    /// When that was so.
    pub at: UtcMillis,
    /// The commit that was checked out then, or the beginning of its id, if that is known.
    pub commit: Option<String>,
}

/// The state of a repository's working tree.
struct Tree<'r> {
    git: Program<'r>,
    root: &'r Path,
    /// Path of the directory below the root.
    prefix: String,
    /// Paths and contents of the files of the commit that is checked out.
    blobs: HashMap<String, String>,
    /// True if some of its files are left out of the working tree.
    is_sparse: bool,
}

/// Judges what memories speak of, in the repository around a directory; `None` if it is in none, or nothing was committed.
/// An anchor of which nothing is known has no verdict.
///
/// # Errors
/// git fails, is not installed, or takes too long.
pub(crate) fn judge(root: &Path, spoken: &[Spoken], effort: Effort) -> io::Result<Option<Vec<Vec<AnchorVerdict>>>> {
    let until = Instant::now() + effort.time;
    let top = match line(&Program::until(root, until), &["rev-parse", "--show-toplevel"]) {
        Err(error) if error.to_string().contains("not a git repository") || error.to_string().contains("work tree") => {
            return Ok(None);
        }
        top => top?,
    };
    let prefix = line(&Program::until(root, until), &["rev-parse", "--show-prefix"])?;
    let root = Path::new(&top);
    let git = Program::until(root, until);
    if output(&git, &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]).is_err() {
        // Without a commit there is nothing to compare with; a commit without its tree is damage.
        return if output(&git, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_err() { Ok(None) } else { Err(damaged()) };
    }
    let wants = |kind: AnchorKind| spoken.iter().flat_map(|spoken| &spoken.anchors).any(|anchor| anchor.kind == kind);
    let tree = Tree::read(git, root, prefix)?;
    let wants_history =
        AnchorKind::ALL.iter().any(|kind| *kind != AnchorKind::Commit && *kind != AnchorKind::Error && wants(*kind));
    let manifests =
        if AnchorKind::ALL.iter().any(|kind| kind.is_of_tool() && wants(*kind)) { tree.manifests() } else { Vec::new() };
    let PastFiles { named: past, manifests: stated } =
        if wants_history { tree.past(spoken, &manifests)? } else { PastFiles::default() };
    let mut texts = Texts::default();
    let touched = tree.touched(spoken, &past)?;
    let commits = if wants(AnchorKind::Commit) && !effort.only_files { Commits::read(&tree.git)? } else { None };
    let mut searched = if effort.only_files { MOST_SEARCHED } else { 0 };
    let mut verdicts = Vec::with_capacity(spoken.len());
    for (number, spoken) in spoken.iter().enumerate() {
        let mut own = Vec::new();
        for anchor in &spoken.anchors {
            let found = match anchor.kind {
                AnchorKind::SourceFile => match past.get(&(number, anchor.text.as_str())).and_then(Option::as_ref) {
                    Some(known) => tree.file(known, touched.contains(&(number, anchor.text.as_str()))),
                    None => tree.elsewhere(&anchor.text, &mut searched),
                },
                AnchorKind::Commit => commits.as_ref().and_then(|commits| commits.judge(&anchor.text)),
                AnchorKind::Symbol if effort.only_files => None,
                AnchorKind::Symbol => {
                    let files: Vec<&Past> = spoken
                        .anchors
                        .iter()
                        .filter(|other| other.kind == AnchorKind::SourceFile)
                        .filter_map(|other| past.get(&(number, other.text.as_str()))?.as_ref())
                        .collect();
                    tree.symbol(&anchor.text, &files, &mut searched)
                }
                AnchorKind::Version | AnchorKind::Command => {
                    let files = manifests.iter().filter(|path| manifest::may_say(path, anchor));
                    let known = files.filter_map(|path| stated.get(&(number, path.as_str()))).flatten();
                    tree.defined(anchor, known, &mut texts, until)?
                }
                AnchorKind::Error => None,
            };
            own.extend(found.map(|(verdict, detail)| AnchorVerdict { anchor: anchor.clone(), verdict, detail }));
        }
        verdicts.push(own);
    }
    Ok(Some(verdicts))
}

type Judged = Option<(Verdict, Option<String>)>;

/// Files as memories speak of them: the number of the memory, and the path as it names it.
type OfMemories<'s, T> = HashMap<(usize, &'s str), T>;

/// Files as they were at the times of memories.
#[derive(Default)]
struct PastFiles<'s> {
    /// Those that memories speak of.
    named: OfMemories<'s, Option<Past>>,
    /// Those that state versions and define commands: as they were then, and a while after, when work was committed.
    manifests: OfMemories<'s, Vec<Past>>,
}

impl<'r> Tree<'r> {
    fn read(git: Program<'r>, root: &'r Path, prefix: String) -> io::Result<Self> {
        let listed = output(&git, &["ls-tree", "-r", "-z", "--full-tree", "HEAD"])?;
        let mut blobs = HashMap::new();
        // "100644 blob HASH\tPATH"
        for entry in listed.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let Some((head, path)) = entry.split_once('\t') else { continue };
            let Some(blob) = head.split(' ').nth(2) else { continue };
            blobs.insert(path.to_owned(), blob.to_owned());
        }
        let is_sparse = line(&git, &["config", "--bool", "core.sparseCheckout"]).is_ok_and(|value| value == "true");
        Ok(Self { git, root, prefix, blobs, is_sparse })
    }

    /// Returns the files that memories speak of as they were then: none if no such file is known.
    fn past<'s>(&self, spoken: &'s [Spoken], manifests: &'s [String]) -> io::Result<PastFiles<'s>> {
        let known = self.known(spoken)?;
        // A clone without the contents of files knows renames without changes alone.
        let past = self.past_by("-M", spoken, &known, manifests);
        past.or_else(|_| self.past_by("-M100%", spoken, &known, manifests))
    }

    /// Returns the commits at which memories were made, as far as the branch has them.
    fn known<'s>(&self, spoken: &'s [Spoken]) -> io::Result<HashSet<&'s str>> {
        let ids = spoken.iter().filter_map(|spoken| spoken.commit.as_deref());
        let wanted: BTreeSet<&str> = ids.filter(|id| id.len() >= SHORTEST_ID).collect();
        if wanted.is_empty() {
            return Ok(HashSet::new());
        }
        let listed = output(&self.git, &["rev-list", MOST_COMMITS, "--first-parent", "HEAD"])?;
        let listed = String::from_utf8_lossy(&listed);
        let known: BTreeSet<&str> = listed.lines().collect();
        let is_known = |id: &&str| known.range(*id..).next().is_some_and(|commit| commit.starts_with(id));
        Ok(wanted.into_iter().filter(is_known).collect())
    }

    /// Does so with this way to find renames. The log is read only as far back as the memories reach, and held one commit at a time.
    fn past_by<'s>(
        &self,
        renames: &str,
        spoken: &'s [Spoken],
        known: &HashSet<&str>,
        manifests: &'s [String],
    ) -> io::Result<PastFiles<'s>> {
        let (mut by_commit, mut by_time) = (Vec::new(), Vec::new());
        for (number, spoken) in spoken.iter().enumerate() {
            match spoken.commit.as_deref().filter(|commit| known.contains(commit)) {
                Some(commit) => by_commit.push((commit, number)),
                // A file that was gone by then is looked for at the very time.
                None => by_time.extend([(spoken.at / 1_000 + GRACE_S, number), (spoken.at / 1_000, number)]),
            }
        }
        by_time.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut found: OfMemories<'s, Option<Past>> = HashMap::new();
        let mut of_manifests: OfMemories<'s, Vec<Past>> = HashMap::new();
        let (prefix, root) = (&self.prefix, self.root);
        let mut of = |files: &Files, number: usize| {
            if spoken[number].anchors.iter().any(|anchor| anchor.kind.is_of_tool()) {
                for path in manifests {
                    let stated: &mut Vec<Past> = of_manifests.entry((number, path.as_str())).or_default();
                    stated.extend(files.at(path).filter(|past| stated.iter().all(|known| known.blob != past.blob)));
                }
            }
            for anchor in spoken[number].anchors.iter().filter(|anchor| anchor.kind == AnchorKind::SourceFile) {
                if found.get(&(number, anchor.text.as_str())).is_some_and(Option::is_some) {
                    continue;
                }
                let path = plain_path(&anchor.text, root);
                // A session in a directory below the root names paths from there.
                let below = (!prefix.is_empty()).then(|| files.find(&format!("{prefix}{path}"))).flatten();
                found.insert((number, anchor.text.as_str()), below.or_else(|| files.find(&path)));
            }
        };
        let mut by_time = by_time.into_iter().peekable();
        // A commit with a wrong clock is not older than those below it.
        let mut oldest_so_far = i64::MAX;
        let mut files = Files::of(self.blobs.iter().map(|(path, blob)| (path.clone(), blob.clone())));
        // Looks at the files before a commit is undone, or at last. Breaks when no memory is left.
        let mut look = |next: Option<Commit>| {
            oldest_so_far = next.as_ref().map_or(i64::MIN, |commit| oldest_so_far.min(commit.at));
            while let Some((_, number)) = by_time.next_if(|(at, _)| oldest_so_far <= *at) {
                of(&files, number);
            }
            by_commit.retain(|(commit, number)| {
                let is_there = next.as_ref().is_none_or(|next| next.id.starts_with(commit));
                if is_there {
                    of(&files, *number);
                }
                !is_there
            });
            if by_time.peek().is_none() && by_commit.is_empty() {
                return ControlFlow::Break(());
            }
            if let Some(commit) = next {
                files.undo(commit);
            }
            ControlFlow::Continue(())
        };
        let format = "--format=%x01%H %at %ct";
        let diff = ["--first-parent", "--diff-merges=first-parent", "--raw", "-z", "--no-abbrev", renames];
        let arguments: Vec<&str> = ["log", MOST_COMMITS, format].into_iter().chain(diff).chain(["HEAD"]).collect();
        let mut log = LogReader::default();
        let mut is_done = false;
        let stop = self.git.pass(&arguments, MOST_OUTPUT, &mut |piece| {
            let flow = log.read(piece, &mut |commit| look(Some(commit)));
            is_done = flow.is_break();
            flow
        })?;
        if !is_done && stop == Stop::Full {
            return Err(io::Error::other("git wrote too much"));
        }
        if !is_done && log.finish().is_none_or(|commit| look(Some(commit)).is_continue()) {
            // All memories that are left are older than the first commit.
            let _ = look(None);
        }
        Ok(PastFiles { named: found, manifests: of_manifests })
    }

    /// Returns the files that were written since a memory, and whose content in the working tree is another than in the commit that is
    /// checked out. Contents are compared without filters: those of a repository are programs.
    fn touched<'s>(&self, spoken: &[Spoken], past: &OfMemories<'s, Option<Past>>) -> io::Result<HashSet<(usize, &'s str)>> {
        let mut written: Vec<((usize, &str), &str)> = Vec::new();
        for ((number, text), known) in past {
            let Some(now) = known.as_ref().and_then(|known| known.now.as_deref()) else { continue };
            let Ok(meta) = std::fs::symlink_metadata(self.root.join(now)) else { continue };
            let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let is_later = modified.is_some_and(|time| time.as_secs() as i64 > spoken[*number].at / 1_000 + GRACE_S);
            if meta.is_file() && is_later {
                written.push(((*number, text), now));
            }
        }
        let paths: Vec<&str> = written.iter().map(|(_, path)| *path).collect::<BTreeSet<&str>>().into_iter().collect();
        let mut differing: HashSet<&str> = HashSet::new();
        for paths in paths.chunks(HASHED_AT_ONCE) {
            let arguments: Vec<&str> = ["hash-object", "--no-filters", "--"].into_iter().chain(paths.iter().copied()).collect();
            let hashes = output(&self.git, &arguments)?;
            let hashes = String::from_utf8_lossy(&hashes);
            differing.extend(
                paths
                    .iter()
                    .zip(hashes.lines())
                    .filter(|(path, hash)| self.blobs.get(**path).is_some_and(|blob| blob != hash))
                    .map(|(path, _)| *path),
            );
        }
        Ok(written.into_iter().filter(|(_, path)| differing.contains(path)).map(|(of, _)| of).collect())
    }

    /// Judges a file of which this branch knows nothing: it may be on another one.
    fn elsewhere(&self, text: &str, searched: &mut usize) -> Judged {
        let path = plain_path(text, self.root);
        let below = format!("{path}/");
        // A pattern, a directory, or a file outside of the repository, is no file of any branch.
        let is_file = !path.is_empty() && !path.starts_with('/') && !path.contains(['*', '?']) && !path.ends_with('/');
        if !is_file || path == "." || self.blobs.keys().any(|known| known.starts_with(&below)) {
            return None;
        }
        *searched += 1;
        if *searched > MOST_SEARCHED {
            return None;
        }
        let others = ["log", "--branches", "--remotes", "--not", "HEAD", "--diff-filter=A", "-1", "--format=%H", "--", &path];
        let found = line(&self.git, &others).ok().filter(|found| !found.is_empty());
        found.map(|_| (Verdict::Drifted, Some("it is on another branch".to_owned())))
    }

    /// Judges a file by its state then.
    fn file(&self, past: &Past, is_touched: bool) -> Judged {
        let is_there = |path: &str| self.root.join(path).symlink_metadata().is_ok();
        Some(match &past.now {
            None if is_there(&past.path) => (Verdict::Drifted, Some("git tracks it no more".to_owned())),
            None => (Verdict::Orphaned, Some("it was removed".to_owned())),
            Some(now) if !is_there(now) && self.is_sparse => return None,
            Some(now) if !is_there(now) => (Verdict::Orphaned, Some("it is gone from the working tree".to_owned())),
            Some(now) if *now != past.path => (Verdict::Drifted, Some(format!("it is {now} now"))),
            Some(now) if is_touched || self.blobs.get(now) != Some(&past.blob) => {
                (Verdict::Drifted, Some("it was changed since".to_owned()))
            }
            Some(_) => (Verdict::Fresh, None),
        })
    }

    /// Returns the files that state versions or define commands: those of the commit that is checked out, the nearest to the root first,
    /// and those that may have been in the root.
    fn manifests(&self) -> Vec<String> {
        let is_one = |path: &&String| manifest::NAMES.contains(&manifest::file_name(path));
        let mut found: Vec<String> = self.blobs.keys().filter(is_one).cloned().collect();
        found.sort_by_key(|path| (path.matches('/').count(), path.clone()));
        found.truncate(MOST_MANIFESTS);
        let gone: Vec<String> =
            manifest::NAMES.iter().filter(|name| !self.blobs.contains_key(**name)).map(|name| (*name).to_owned()).collect();
        found.extend(gone);
        found
    }

    /// Judges a version or a command by the manifests that said so at the time of the memory.
    fn defined<'p>(
        &self,
        anchor: &Anchor,
        manifests: impl Iterator<Item = &'p Past>,
        texts: &mut Texts,
        until: Instant,
    ) -> io::Result<Judged> {
        let name = anchor.text.rsplit_once(' ').map_or("", |(name, _)| name);
        let mut found: Judged = None;
        for past in manifests {
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let then = texts.of_blob(&self.git, &past.blob)?;
            if then.and_then(|then| says(anchor, &past.path, &then)) != Some(true) {
                continue;
            }
            let Some(path) = past.now.as_deref() else {
                let is_there = self.is_sparse || self.root.join(&past.path).symlink_metadata().is_ok();
                let gone = (Verdict::Orphaned, Some(format!("{} was removed", past.path)));
                found = found.or(Some(gone).filter(|_| !is_there));
                continue;
            };
            // A file that cannot be read, or is too large, says nothing.
            let Some(now) = texts.of_file(self.root, path) else { continue };
            match says(anchor, path, &now) {
                Some(true) => return Ok(Some((Verdict::Fresh, None))),
                // The file may say it in another way.
                None if anchor.kind == AnchorKind::Command || manifest::names(&now, name) => {}
                _ => {
                    let is_version = anchor.kind == AnchorKind::Version;
                    let others = if is_version { manifest::versions_of(path, &now, name) } else { Vec::new() };
                    let other = others.first().map(|other| (Verdict::Drifted, Some(format!("it is {other} in {path} now"))));
                    found = found.or(other).or(Some((Verdict::Orphaned, Some(format!("{path} has it no more")))));
                }
            }
        }
        Ok(found)
    }

    /// Judges a name in code: it stands in the files of the memory, elsewhere, or nowhere.
    fn symbol(&self, name: &str, files: &[&Past], searched: &mut usize) -> Judged {
        let word = name.trim();
        let last = word.rsplit([':', '.']).next().unwrap_or(word).trim_end_matches("()").as_bytes();
        if last.is_empty() || self.is_sparse {
            return None;
        }
        let stands_in = |path: &str| text_of(self.root, path).is_some_and(|text| has_word(&text, last));
        if files.iter().filter_map(|past| past.now.as_deref()).any(stands_in) {
            return Some((Verdict::Fresh, None));
        }
        *searched += 1;
        if *searched > MOST_SEARCHED {
            return None;
        }
        let stood = |past: &&Past| output(&self.git, &["cat-file", "blob", &past.blob]).is_ok_and(|text| has_word(&text, last));
        let stood = files.iter().any(stood);
        let last = String::from_utf8_lossy(last);
        let grep = ["grep", "-l", "-z", "-w", "-F", "--no-color", "--untracked", "-e", &last];
        match output(&self.git, &grep).map(|found| first_path(&found)) {
            Ok(Some(found)) if stood => Some((Verdict::Drifted, Some(format!("it is in {found} now")))),
            Ok(Some(_)) => Some((Verdict::Fresh, None)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
            // Nothing can be said of a name that never stood there.
            Ok(None) | Err(_) => stood.then(|| (Verdict::Orphaned, Some("the name is gone".to_owned()))),
        }
    }
}

/// Returns whether a file states a version or defines a command; `None`: it says nothing of such.
fn says(anchor: &Anchor, path: &str, text: &str) -> Option<bool> {
    if anchor.kind == AnchorKind::Command {
        return manifest::has_command(path, text, &anchor.text);
    }
    let (name, version) = anchor.text.rsplit_once(' ')?;
    let stated = manifest::versions_of(path, text, name);
    (!stated.is_empty()).then(|| manifest::has_version(&stated, version))
}

/// Texts of files that were read, by their content then and by their path now.
#[derive(Default)]
struct Texts {
    then: HashMap<String, Option<Rc<str>>>,
    now: HashMap<String, Option<Rc<str>>>,
}

impl Texts {
    /// Returns a content of the history; `None` if it is too large.
    fn of_blob(&mut self, git: &Program<'_>, blob: &str) -> io::Result<Option<Rc<str>>> {
        if let Some(known) = self.then.get(blob) {
            return Ok(known.clone());
        }
        if self.then.len() >= MOST_TEXTS {
            self.then.clear();
        }
        let mut text = Vec::new();
        let is_whole = git.run(&["cat-file", "blob", blob], MOST_MANIFEST, &mut text)? == Stop::Ended;
        let text: Option<Rc<str>> = is_whole.then(|| String::from_utf8_lossy(&text).into());
        self.then.insert(blob.to_owned(), text.clone());
        Ok(text)
    }

    /// Returns the text of a file as it is now; `None` if it is too large or cannot be read.
    fn of_file(&mut self, root: &Path, path: &str) -> Option<Rc<str>> {
        let read =
            || text_of(root, path).filter(|text| text.len() < MOST_MANIFEST).map(|text| String::from_utf8_lossy(&text).into());
        self.now.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

/// Returns the content of a file of the working tree, unless it is a link, a device or a pipe.
fn text_of(root: &Path, path: &str) -> Option<Vec<u8>> {
    let path = root.join(path);
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MOST_READ).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The commits of a repository.
struct Commits {
    of_branch: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl Commits {
    /// Reads them; `None` if older ones were left out when it was cloned.
    fn read(git: &Program<'_>) -> io::Result<Option<Self>> {
        if line(git, &["rev-parse", "--is-shallow-repository"])? == "true" {
            return Ok(None);
        }
        let ids = |arguments: &[&str]| {
            let found = output(git, arguments)?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&found).lines().map(str::to_owned).collect::<BTreeSet<String>>())
        };
        Ok(Some(Self { of_branch: ids(&["rev-list", "HEAD"])?, others: ids(&["rev-list", "--all", "--not", "HEAD"])? }))
    }

    fn judge(&self, id: &str) -> Judged {
        let id = id.trim().to_lowercase();
        if id.len() < SHORTEST_ID || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let has = |ids: &BTreeSet<String>| ids.range(id.clone()..).next().is_some_and(|known| known.starts_with(&id));
        Some(match () {
            () if has(&self.of_branch) => (Verdict::Fresh, None),
            () if has(&self.others) => (Verdict::Drifted, Some("it is on another branch".to_owned())),
            () => (Verdict::Orphaned, Some("the commit is gone".to_owned())),
        })
    }
}

/// Returns a path as the repository names it: relative to its root, without a line.
fn plain_path(text: &str, root: &Path) -> String {
    let text = text.trim().replace('\\', "/");
    let mut path = text.split("#L").next().unwrap_or_default();
    // "src/a.rs:12:5"
    while let Some((rest, line)) = path.rsplit_once(':') {
        if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            break;
        }
        path = rest;
    }
    let inside = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
    inside.unwrap_or(path).trim_start_matches("./").to_owned()
}

/// Returns whether a word stands in a text, with no letter, digit or underscore beside it.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memchr::memmem::find_iter(text, word)
        .any(|at| !is_part(at.checked_sub(1).and_then(|before| text.get(before))) && !is_part(text.get(at + word.len())))
}

fn first_path(found: &[u8]) -> Option<String> {
    let path = found.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    Some(String::from_utf8_lossy(path).into_owned())
}

fn output(git: &Program<'_>, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    match git.run(arguments, MOST_OUTPUT, &mut out)? {
        Stop::Ended => Ok(out),
        Stop::Full => Err(io::Error::other("git wrote too much")),
    }
}

/// Returns the first line of git's output.
fn line(git: &Program<'_>, arguments: &[&str]) -> io::Result<String> {
    let found = output(git, arguments)?;
    Ok(String::from_utf8_lossy(&found).lines().next().unwrap_or_default().to_owned())
}

fn damaged() -> io::Error {
    io::Error::other("the commit that is checked out is damaged")
}

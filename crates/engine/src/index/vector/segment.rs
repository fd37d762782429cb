//! A segment of a vector index: the format of its file, reading and writing.
//!
//! - [`Columns`]: rows as slices, of a file or of memory
//! - [`Run`]: neighbouring turns of one input; a new segment is a list of runs
//! - [`SegmentRecord`]: a segment's entry in the manifest
//! - [`Segment`]: an opened file
//! - [`write`]: writes a file, reading its inputs once for every column
//!
//! A file begins with eight numbers of 64 bits (magic, format, dimensions, rows, turns, touched turns, 1 if
//! there are sketches, length of the file), which determine the place of every section. Sections begin at
//! multiples of 64 bytes, in the machine's own byte order; the magic number reveals a file of another order.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mapped::{Mapped, Plain, bytes_of};
use super::quantise::stride;
use super::sketch::{BLOCK_ROWS, BlockBuilder, block_bytes};

/// Raised whenever the bytes of a segment change their meaning.
pub(super) const FORMAT: u32 = 1;
/// Suffix of a segment's file name.
pub(super) const SUFFIX: &str = ".rows";

const MAGIC: u64 = u64::from_le_bytes(*b"yore\xFFvec");
const HEADER_BYTES: usize = 64;
const ALIGN: usize = 64;
/// Number of rows, evenly spread, from which the mean of a segment is computed.
const MEAN_ROWS: usize = 65_536;

/// Rows sorted by turn, each turn's rows together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Columns<'a> {
    pub turns: &'a [i64],
    pub episodes: &'a [i64],
    pub times: &'a [i64],
    pub positions: &'a [i64],
    pub projects: &'a [u32],
    pub branches: &'a [u32],
    pub roles: &'a [u8],
    /// 1 for a passage of a document.
    pub documents: &'a [u8],
    /// Beginning of each turn's rows, and the end of the last; one entry more than turns.
    pub starts: &'a [u32],
    /// Position of each row's turn.
    pub owners: &'a [u32],
    pub vector_ids: &'a [i64],
    pub scales: &'a [f32],
    pub ordinals: &'a [u16],
    /// Codes of the rows, as many for each row as the stride.
    pub codes: &'a [i8],
}

impl Columns<'_> {
    /// Returns the rows of turns.
    pub(super) fn rows(&self, turns: Range<usize>) -> Range<usize> {
        let start = |turn: usize| self.starts.get(turn).map_or(0, |start| *start as usize);
        start(turns.start)..start(turns.end)
    }
}

/// Neighbouring turns of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub input: usize,
    pub turns: Range<usize>,
}

/// A segment's entry in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentRecord {
    pub number: u64,
    pub bytes: u64,
    pub rows: u32,
    pub turns: u32,
    /// Number of turns in older segments that this segment replaces or removes.
    pub touched: u32,
    pub is_sketched: bool,
    /// BLAKE3 of everything before the codes.
    pub columns: String,
    /// BLAKE3 of codes and sketches.
    pub content: String,
}

impl SegmentRecord {
    /// Returns the file's name.
    pub(super) fn name(&self) -> String {
        file_name(self.number)
    }
}

pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}{SUFFIX}")
}

/// Positions of the sections of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    turns: Range<usize>,
    episodes: Range<usize>,
    times: Range<usize>,
    positions: Range<usize>,
    vector_ids: Range<usize>,
    touched: Range<usize>,
    starts: Range<usize>,
    owners: Range<usize>,
    projects: Range<usize>,
    branches: Range<usize>,
    scales: Range<usize>,
    mean: Range<usize>,
    ordinals: Range<usize>,
    roles: Range<usize>,
    documents: Range<usize>,
    codes: Range<usize>,
    sketches: Range<usize>,
    total: usize,
}

impl Layout {
    /// Computes the layout; `None` if its numbers do not fit into memory.
    fn new(dimensions: usize, rows: u32, turns: u32, touched: u32, is_sketched: bool) -> Option<Self> {
        let (rows, turns, touched) = (rows as usize, turns as usize, touched as usize);
        let stride = stride(dimensions);
        let mut at = HEADER_BYTES;
        let mut section = |count: usize, size: usize| {
            let start = at.checked_next_multiple_of(ALIGN)?;
            at = start.checked_add(count.checked_mul(size)?)?;
            Some(start..at)
        };
        let blocks = if is_sketched { rows.div_ceil(BLOCK_ROWS) } else { 0 };
        Some(Self {
            turns: section(turns, 8)?,
            episodes: section(turns, 8)?,
            times: section(turns, 8)?,
            positions: section(turns, 8)?,
            vector_ids: section(rows, 8)?,
            touched: section(touched, 8)?,
            starts: section(turns + 1, 4)?,
            owners: section(rows, 4)?,
            projects: section(turns, 4)?,
            branches: section(turns, 4)?,
            scales: section(rows, 4)?,
            mean: section(if is_sketched { stride } else { 0 }, 4)?,
            ordinals: section(rows, 2)?,
            roles: section(turns, 1)?,
            documents: section(turns, 1)?,
            codes: section(rows, stride)?,
            sketches: section(blocks, block_bytes(stride))?,
            total: at,
        })
    }
}

fn header(dimensions: usize, record: &SegmentRecord) -> [u64; HEADER_BYTES / 8] {
    let SegmentRecord { number: _, bytes, rows, turns, touched, is_sketched, columns: _, content: _ } = record;
    [MAGIC, FORMAT.into(), dimensions as u64, (*rows).into(), (*turns).into(), (*touched).into(), u64::from(*is_sketched), *bytes]
}

/// Returns the beginning and end of each section of a file, and the file's end.
#[cfg(test)]
pub(super) fn boundaries(dimensions: usize, record: &SegmentRecord) -> Vec<usize> {
    let Some(layout) = Layout::new(dimensions, record.rows, record.turns, record.touched, record.is_sketched) else {
        return Vec::new();
    };
    let Layout { turns, episodes, times, vector_ids, touched, starts, projects, branches, scales, mean, .. } = layout.clone();
    let Layout { positions, owners, ordinals, roles, documents, codes, sketches, total, .. } = layout;
    let sections = [turns, episodes, times, positions, vector_ids, touched, starts, projects, branches, scales, mean]
        .into_iter()
        .chain([owners, ordinals, roles, documents, codes, sketches]);
    [0, HEADER_BYTES, total].into_iter().chain(sections.flat_map(|section| [section.start, section.end])).collect()
}

/// An opened file.
#[derive(Debug)]
pub(super) struct Segment {
    pub record: SegmentRecord,
    map: Mapped,
    layout: Layout,
    path: PathBuf,
}

impl Segment {
    /// Opens a segment. Checks everything that needs no reading of the codes: length, header, and the
    /// checksum of the columns, unless they `are_known` to be what was written.
    pub(super) fn open(directory: &Path, dimensions: usize, record: &SegmentRecord, are_known: bool) -> io::Result<Self> {
        let damaged = |detail: &str| io::Error::new(io::ErrorKind::InvalidData, detail);
        let path = directory.join(record.name());
        let layout = Layout::new(dimensions, record.rows, record.turns, record.touched, record.is_sketched)
            .filter(|layout| layout.total as u64 == record.bytes)
            .ok_or_else(|| damaged("its length does not match its number of rows"))?;
        let map = Mapped::open(&path, record.bytes)?;
        if map.numbers::<u64>(0..HEADER_BYTES) != header(dimensions, record) {
            return Err(damaged("its header does not match the manifest"));
        }
        if !are_known && checksum(&map.bytes()[..layout.codes.start]) != record.columns {
            return Err(damaged("the checksum of its columns does not match"));
        }
        Ok(Self { record: record.clone(), map, layout, path })
    }

    /// Reads the whole file and compares its checksums; returns the difference.
    pub(super) fn verify(&self) -> Result<(), &'static str> {
        let (columns, content) = self.map.bytes().split_at(self.layout.codes.start);
        if checksum(columns) != self.record.columns {
            return Err("the checksum of its columns does not match");
        }
        if checksum(content) != self.record.content {
            return Err("the checksum of its vectors does not match");
        }
        Ok(())
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the rows.
    pub(super) fn columns(&self) -> Columns<'_> {
        let (map, layout) = (&self.map, self.layout.clone());
        Columns {
            turns: map.numbers(layout.turns),
            episodes: map.numbers(layout.episodes),
            times: map.numbers(layout.times),
            positions: map.numbers(layout.positions),
            projects: map.numbers(layout.projects),
            branches: map.numbers(layout.branches),
            roles: map.numbers(layout.roles),
            documents: map.numbers(layout.documents),
            starts: map.numbers(layout.starts),
            owners: map.numbers(layout.owners),
            vector_ids: map.numbers(layout.vector_ids),
            scales: map.numbers(layout.scales),
            ordinals: map.numbers(layout.ordinals),
            codes: map.numbers(layout.codes),
        }
    }

    /// Returns the turns that are replaced or removed in older segments, in order.
    pub(super) fn touched(&self) -> &[i64] {
        self.map.numbers(self.layout.touched.clone())
    }

    /// Returns the mean that the sketches refer to, and their blocks.
    pub(super) fn sketches(&self) -> Option<(&[f32], &[u8])> {
        let Layout { mean, sketches, .. } = &self.layout;
        self.record.is_sketched.then(|| (self.map.numbers(mean.clone()), self.map.numbers(sketches.clone())))
    }

    /// Returns the position of a turn, live or dead.
    pub(super) fn find(&self, turn: i64) -> Option<usize> {
        let turns: &[i64] = self.map.numbers(self.layout.turns.clone());
        match turns {
            [first, .., last] if turn < *first || turn > *last => None,
            _ => turns.binary_search(&turn).ok(),
        }
    }
}

fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Content of a new segment.
pub(super) struct Plan<'a> {
    pub inputs: &'a [Columns<'a>],
    /// Runs of turns, in the order of turns.
    pub runs: &'a [Run],
    /// Turns that it replaces or removes in older segments, in order.
    pub touched: &'a [i64],
    /// Least number of rows for which sketches are made; `None` for never.
    pub sketched_from: Option<usize>,
}

impl<'a> Plan<'a> {
    /// Returns the beginning and end of each turn in its input.
    fn turns(&self) -> impl Iterator<Item = &'a [u32]> + '_ {
        self.runs.iter().flat_map(|run| self.inputs[run.input].starts[run.turns.start..=run.turns.end].windows(2))
    }
}

/// Writes a segment under a free number, and makes it durable. Removes a file that could not be completed.
pub(super) fn write(directory: &Path, number: u64, dimensions: usize, plan: &Plan<'_>) -> io::Result<SegmentRecord> {
    let path = directory.join(file_name(number));
    let written = write_file(&path, number, dimensions, plan);
    if written.is_err() {
        let _ = std::fs::remove_file(&path);
    }
    written
}

fn write_file(path: &Path, number: u64, dimensions: usize, plan: &Plan<'_>) -> io::Result<SegmentRecord> {
    let stride = stride(dimensions);
    let too_many = || io::Error::new(io::ErrorKind::FileTooLarge, "more rows than a segment can hold");
    let turns: usize = plan.runs.iter().map(|run| run.turns.len()).sum();
    let rows: usize = plan.runs.iter().map(|run| plan.inputs[run.input].rows(run.turns.clone()).len()).sum();
    let is_sketched = plan.sketched_from.is_some_and(|from| rows >= from.max(1));
    let mut record = SegmentRecord {
        number,
        bytes: 0,
        rows: u32::try_from(rows).map_err(|_| too_many())?,
        turns: u32::try_from(turns).map_err(|_| too_many())?,
        touched: u32::try_from(plan.touched.len()).map_err(|_| too_many())?,
        is_sketched,
        columns: String::new(),
        content: String::new(),
    };
    let layout = Layout::new(dimensions, record.rows, record.turns, record.touched, is_sketched).ok_or_else(too_many)?;
    record.bytes = layout.total as u64;

    let mut out = Output::create(path)?;
    out.put(&header(dimensions, &record))?;
    out.per_turn(plan, |columns| columns.turns)?;
    out.per_turn(plan, |columns| columns.episodes)?;
    out.per_turn(plan, |columns| columns.times)?;
    out.per_turn(plan, |columns| columns.positions)?;
    out.per_row(plan, 1, |columns| columns.vector_ids)?;
    out.section(plan.touched)?;
    out.starts(plan)?;
    out.owners(plan)?;
    out.per_turn(plan, |columns| columns.projects)?;
    out.per_turn(plan, |columns| columns.branches)?;
    out.per_row(plan, 1, |columns| columns.scales)?;
    let mean = if is_sketched { mean(plan, rows, stride) } else { Vec::new() };
    out.section(&mean)?;
    out.per_row(plan, 1, |columns| columns.ordinals)?;
    out.per_turn(plan, |columns| columns.roles)?;
    out.per_turn(plan, |columns| columns.documents)?;
    out.align()?;
    record.columns = out.end_of_part()?;
    out.per_row(plan, stride, |columns| columns.codes)?;
    out.pad(layout.sketches.start)?;
    if is_sketched {
        out.sketches(plan, stride, &mean)?;
    }
    record.content = out.end_of_part()?;
    if out.written != layout.total {
        return Err(io::Error::other("a segment has another length than planned"));
    }
    out.finish()?;
    Ok(record)
}

/// Computes the mean of evenly spread rows.
fn mean(plan: &Plan<'_>, rows: usize, stride: usize) -> Vec<f32> {
    let step = rows.div_ceil(MEAN_ROWS).max(1);
    let mut sum = vec![0.0f32; stride];
    let (mut seen, mut taken) = (0, 0usize);
    for run in plan.runs {
        let columns = &plan.inputs[run.input];
        for row in columns.rows(run.turns.clone()) {
            if seen % step == 0 {
                let scale = columns.scales[row];
                for (sum, code) in sum.iter_mut().zip(&columns.codes[row * stride..][..stride]) {
                    *sum += f32::from(*code) * scale;
                }
                taken += 1;
            }
            seen += 1;
        }
    }
    sum.iter_mut().for_each(|sum| *sum /= taken.max(1) as f32);
    sum
}

/// A file that is hashed while it is written.
struct Hashed {
    file: File,
    hasher: blake3::Hasher,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes sections one after the other.
struct Output {
    file: BufWriter<Hashed>,
    written: usize,
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        crate::platform::create_private_file(path)?;
        let file = OpenOptions::new().write(true).open(path)?;
        let file = Hashed { file, hasher: blake3::Hasher::new() };
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), written: 0 })
    }

    fn put<T: Plain>(&mut self, numbers: &[T]) -> io::Result<()> {
        let bytes = bytes_of(numbers);
        self.written += bytes.len();
        self.file.write_all(bytes)
    }

    /// Writes zeros up to a position less than a unit of alignment away.
    fn pad(&mut self, start: usize) -> io::Result<()> {
        self.put(&[0u8; ALIGN][..start.saturating_sub(self.written).min(ALIGN)])
    }

    fn align(&mut self) -> io::Result<()> {
        self.pad(self.written.next_multiple_of(ALIGN))
    }

    fn section<T: Plain>(&mut self, numbers: &[T]) -> io::Result<()> {
        self.align()?;
        self.put(numbers)
    }

    fn per_turn<'a, T: Plain + 'a>(&mut self, plan: &Plan<'a>, column: impl Fn(&Columns<'a>) -> &'a [T]) -> io::Result<()> {
        self.align()?;
        plan.runs.iter().try_for_each(|run| self.put(&column(&plan.inputs[run.input])[run.turns.clone()]))
    }

    fn per_row<'a, T: Plain + 'a>(
        &mut self,
        plan: &Plan<'a>,
        width: usize,
        column: impl Fn(&Columns<'a>) -> &'a [T],
    ) -> io::Result<()> {
        self.align()?;
        for run in plan.runs {
            let columns = &plan.inputs[run.input];
            let rows = columns.rows(run.turns.clone());
            self.put(&column(columns)[rows.start * width..rows.end * width])?;
        }
        Ok(())
    }

    fn starts(&mut self, plan: &Plan<'_>) -> io::Result<()> {
        self.align()?;
        let mut at = 0u32;
        for pair in plan.turns() {
            self.put(&[at])?;
            at += pair[1] - pair[0];
        }
        self.put(&[at])
    }

    fn owners(&mut self, plan: &Plan<'_>) -> io::Result<()> {
        self.align()?;
        for (turn, pair) in (0u32..).zip(plan.turns()) {
            for _ in pair[0]..pair[1] {
                self.put(&[turn])?;
            }
        }
        Ok(())
    }

    fn sketches(&mut self, plan: &Plan<'_>, stride: usize, mean: &[f32]) -> io::Result<()> {
        let mut builder = BlockBuilder::new(mean);
        for run in plan.runs {
            let columns = &plan.inputs[run.input];
            for row in columns.rows(run.turns.clone()) {
                if let Some(block) = builder.push(&columns.codes[row * stride..][..stride], columns.scales[row]) {
                    self.put(block)?;
                }
            }
        }
        builder.finish().map_or(Ok(()), |block| self.put(block))
    }

    /// Returns the checksum of everything written since the last call.
    fn end_of_part(&mut self) -> io::Result<String> {
        self.file.flush()?;
        let hasher = &mut self.file.get_mut().hasher;
        let hash = hasher.finalize().to_hex().to_string();
        hasher.reset();
        Ok(hash)
    }

    fn finish(self) -> io::Result<()> {
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.file.sync_all()
    }
}

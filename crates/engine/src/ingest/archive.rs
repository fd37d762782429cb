//! The archive: stores every redacted line once, in compressed blobs and runs of lines.
//!
//! The lines of a file are stored as *runs*: either lines that are already in the archive (a snapshot, a
//! resumed or forked session, a file that was moved), or new lines, which go into a new blob. A file that
//! grows in small steps would end as thousands of small, badly compressed blobs. So a new blob absorbs the
//! file's last blob while that one is small; each byte is compressed again only a logarithmic number of
//! times.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::store::{ArchivePlan, BlobKey, FileKey, FileRow, LineRun, NewBlob, Run, Store, StoreError, StoreResult};

/// Maximum size of a blob before compression, in bytes. Only a single longer line exceeds it.
pub(crate) const MAX_BLOB_BYTES: usize = 4 * 1024 * 1024;
/// Maximum size of a blob that can be unpacked, in bytes. No line that can be read is longer.
const LARGEST_BLOB: usize = 1 << 31;
/// A last blob smaller than this many bytes is absorbed, however little is added.
const SMALL_BLOB_BYTES: usize = 256 * 1024;
/// A larger last blob is folded together with earlier ones, as long as each of those is at most this many
/// times larger than all blobs after it.
const FOLD_RATIO: usize = 3;
/// Number of blobs at a file's end that are considered for folding.
const FOLDED_BLOBS: usize = 6;
/// Number of decompressed blobs kept for verifying repeated lines and reading neighbours.
const CACHED_BLOBS: usize = 3;

/// Redacted lines in one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// End of each line in `bytes`. A newline follows each line but the last.
    ends: Vec<usize>,
}

impl LineBuffer {
    pub(crate) fn push(&mut self, line: &[u8]) {
        if !self.ends.is_empty() {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn line(&self, at: usize) -> &[u8] {
        &self.bytes[self.range(at)]
    }

    fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] + 1 };
        start..self.ends[at]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.line(at))
    }

    fn from_raw(bytes: Vec<u8>) -> Self {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
        ends.push(bytes.len());
        Self { bytes, ends }
    }
}

/// Stores lines in the archive and reads them back.
pub(crate) struct Archive<'a> {
    store: &'a Store,
    line_key: [u8; 32],
    cache: Vec<(BlobKey, LineBuffer)>,
}

impl<'a> Archive<'a> {
    /// `line_key` keys the hashes of lines.
    pub(crate) fn new(store: &'a Store, line_key: [u8; 32]) -> Self {
        Self { store, line_key, cache: Vec::new() }
    }

    /// Returns the keyed hash by which a stored line is found again.
    pub(crate) fn line_hash(&self, line: &[u8]) -> i64 {
        let hash = blake3::keyed_hash(&self.line_key, line);
        i64::from_le_bytes(hash.as_bytes().first_chunk::<8>().copied().unwrap_or_default())
    }

    /// Decides how to store `lines`, the next lines of a file.
    pub(crate) fn plan(&mut self, file: FileKey, generation: i64, lines: &LineBuffer) -> StoreResult<ArchivePlan> {
        let last = self.store.last_blobs(file, generation, FOLDED_BLOBS)?;
        self.plan_after(&last, lines, |_| true)
    }

    /// Decides how to store the lines of a file that is written anew. `may_reuse` returns false for blobs
    /// that will be deleted.
    pub(crate) fn plan_without_last(
        &mut self,
        lines: &LineBuffer,
        may_reuse: impl Fn(BlobKey) -> bool,
    ) -> StoreResult<ArchivePlan> {
        self.plan_after(&[], lines, may_reuse)
    }

    fn plan_after(
        &mut self,
        last: &[(BlobKey, usize)],
        lines: &LineBuffer,
        may_reuse: impl Fn(BlobKey) -> bool,
    ) -> StoreResult<ArchivePlan> {
        let hashes: Vec<i64> = lines.iter().map(|line| self.line_hash(line)).collect();
        let stored = self.store.find_lines(&hashes)?;
        let mut runs: Vec<Run> = Vec::new();
        let mut new_lines: Vec<usize> = Vec::new();
        for (at, place) in stored.into_iter().enumerate() {
            let place = match place {
                // Empty lines and the like are cheaper to repeat than to refer to.
                Some((blob, line))
                    if lines.line(at).len() > 32 && may_reuse(blob) && self.holds(blob, line, lines.line(at))? =>
                {
                    Some((blob, line))
                }
                _ => None,
            };
            match (place, runs.last_mut()) {
                (Some((blob, line)), Some(Run::Stored(run))) if run.blob == blob && run.first + run.count == line => {
                    run.count += 1;
                }
                (Some((blob, line)), _) => runs.push(Run::Stored(LineRun { blob, first: line, count: 1 })),
                (None, Some(Run::New { count, .. })) => {
                    *count += 1;
                    new_lines.push(at);
                }
                (None, _) => {
                    runs.push(Run::New { first: new_lines.len() as u32, count: 1 });
                    new_lines.push(at);
                }
            }
        }
        if new_lines.is_empty() {
            return Ok(ArchivePlan { blob: None, runs });
        }
        let added: usize = new_lines.iter().map(|at| lines.line(*at).len() + 1).sum();
        let mut content = LineBuffer::default();
        let mut line_hashes = Vec::new();
        let mut swallows = Vec::new();
        for (blob, _) in last[..swallowed_blobs(last, added)].iter().rev() {
            let Some(previous) = self.load(*blob)? else {
                (content, swallows) = (LineBuffer::default(), Vec::new());
                break;
            };
            swallows.push((*blob, content.len() as u32));
            previous.iter().for_each(|line| content.push(line));
        }
        line_hashes.extend(content.iter().map(|line| self.line_hash(line)));
        let offset = content.len() as u32;
        for at in new_lines {
            content.push(lines.line(at));
            line_hashes.push(hashes[at]);
        }
        for run in &mut runs {
            if let Run::New { first, .. } = run {
                *first += offset;
            }
        }
        let data = zstd::bulk::compress(&content.bytes, self.store.compression_level())
            .map_err(|error| StoreError::Io { path: self.store.path().to_path_buf(), error })?;
        let blob = NewBlob {
            hash: *blake3::hash(&content.bytes).as_bytes(),
            raw_bytes: content.byte_len(),
            data,
            line_hashes,
            swallows,
        };
        Ok(ArchivePlan { blob: Some(blob), runs })
    }

    /// Passes all lines of one generation of a file to `each`, run by run.
    pub(crate) fn read_file(
        &mut self,
        file: FileKey,
        generation: i64,
        mut each: impl FnMut(&[u8]) -> StoreResult<()>,
    ) -> StoreResult<()> {
        for segment in self.store.segments(file, generation..=generation)? {
            let run = segment.run;
            let missing = StoreError::Corrupt {
                path: self.store.path().to_path_buf(),
                detail: format!("blob {} of the archive is missing or damaged", run.blob),
            };
            let Some(lines) = self.load(run.blob)? else { return Err(missing) };
            if (run.first + run.count) as usize > lines.len() {
                return Err(missing);
            }
            for at in run.first..run.first + run.count {
                each(lines.line(at as usize))?;
            }
        }
        Ok(())
    }

    /// Like [`Self::read_file`], but passes an empty line for each line of a damaged blob, so that the other
    /// lines keep their numbers. Returns the damaged blobs and how many of the lines each one held.
    pub(crate) fn read_what_is_whole(
        &mut self,
        file: FileKey,
        generation: i64,
        mut each: impl FnMut(&[u8]) -> StoreResult<()>,
    ) -> StoreResult<BTreeMap<BlobKey, u64>> {
        let mut damaged = BTreeMap::new();
        for segment in self.store.segments(file, generation..=generation)? {
            let run = segment.run;
            let lines = self.load(run.blob)?.filter(|lines| (run.first + run.count) as usize <= lines.len());
            if lines.is_none() {
                *damaged.entry(run.blob).or_default() += u64::from(run.count);
            }
            for at in run.first..run.first + run.count {
                each(lines.map_or(b"", |lines| lines.line(at as usize)))?;
            }
        }
        Ok(damaged)
    }

    /// Returns a blob's lines, or `None` if the blob is missing or its content does not match its hash.
    pub(crate) fn load(&mut self, blob: BlobKey) -> StoreResult<Option<&LineBuffer>> {
        if let Some(at) = self.cache.iter().position(|(id, _)| *id == blob) {
            let entry = self.cache.remove(at);
            self.cache.push(entry);
        } else {
            let Some(stored) = self.store.blob(blob)? else { return Ok(None) };
            let Some(bytes) = unpack(&stored.data, stored.raw_bytes, &stored.hash) else { return Ok(None) };
            if self.cache.len() >= CACHED_BLOBS {
                self.cache.remove(0);
            }
            self.cache.push((blob, LineBuffer::from_raw(bytes)));
        }
        Ok(self.cache.last().map(|(_, lines)| lines))
    }

    fn holds(&mut self, blob: BlobKey, line: u32, bytes: &[u8]) -> StoreResult<bool> {
        Ok(self.load(blob)?.is_some_and(|lines| (line as usize) < lines.len() && lines.line(line as usize) == bytes))
    }
}

/// Returns how many of a file's last blobs a new blob of `added` bytes absorbs. `last` holds the blobs and
/// their sizes, the very last first.
fn swallowed_blobs(last: &[(BlobKey, usize)], added: usize) -> usize {
    let Some((_, tail)) = last.first() else { return 0 };
    if *tail < SMALL_BLOB_BYTES.max(2 * added) {
        return usize::from(tail + added <= MAX_BLOB_BYTES);
    }
    let mut folded = *tail;
    let count = 1 + last[1..]
        .iter()
        .take_while(|(_, size)| {
            let fits = *size <= FOLD_RATIO * folded && folded + size + added <= MAX_BLOB_BYTES;
            folded += size;
            fits
        })
        .count();
    // A full last blob is not absorbed alone: the new lines start the next blob.
    if count > 1 { count } else { 0 }
}

/// Decompresses a blob. Returns `None` if the content does not match its size or hash.
pub(crate) fn unpack(data: &[u8], raw_bytes: usize, hash: &[u8; 32]) -> Option<Vec<u8>> {
    // The stored size limits how much memory a damaged frame can make us allocate. It may be damaged too.
    let is_possible = raw_bytes <= LARGEST_BLOB;
    let bytes = is_possible.then(|| zstd::bulk::decompress(data, raw_bytes).ok()).flatten()?;
    (bytes.len() == raw_bytes && blake3::hash(&bytes).as_bytes() == hash).then_some(bytes)
}

/// Decompresses a blob's data to the size named in the frame itself. Returns `None` if the frame is not
/// whole.
pub(crate) fn decompressed(data: &[u8]) -> Option<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(data).ok()??;
    let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST_BLOB)?;
    zstd::bulk::decompress(data, size).ok().filter(|bytes| bytes.len() == size)
}

/// Returns every blob whose content does not match its hash, or which is missing although files refer to it.
pub(crate) fn damaged_blobs(store: &Store) -> StoreResult<Vec<BlobKey>> {
    let mut archive = Archive::new(store, [0; 32]);
    let mut damaged = Vec::new();
    for blob in store.blob_ids()? {
        if archive.load(blob)?.is_none() {
            damaged.push(blob);
        }
    }
    Ok(damaged)
}

/// Writes the last generation of a file to `out` as archived (redacted). Omits lines that were forgotten or
/// kept out.
pub(crate) fn write_archived(store: &Store, file: &FileRow, out: &mut dyn io::Write) -> StoreResult<()> {
    let mut archive = Archive::new(store, [0; 32]);
    archive.read_file(file.id, file.checkpoint.generation, |line| {
        if line.is_empty() {
            return Ok(());
        }
        let fail = |error| StoreError::Io { path: file.path.clone().into(), error };
        out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(fail)
    })
}

//! Frames between parent and child: two lengths, a head in JSON, and a body of text that is not escaped.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::Limits;
use crate::outcome::CellOutcome;

/// Most bytes of a head or a body. More than a variable of the largest archive that is read at once.
pub(crate) const MAX_BYTES: u32 = 256 << 20;

/// Sent by the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// First of all: the limits that the child sets on itself.
    Start(Limits),
    /// Names of functions that the parent answers.
    Functions(Vec<String>),
    /// A variable whose text, or texts one after the other, are the body; `lengths` in bytes makes it a list.
    Text { name: String, lengths: Option<Vec<usize>> },
    /// A variable of any other kind.
    Json { name: String, value: Value, is_protected: bool },
    /// Runs a cell.
    Run(String),
    /// Asks for the value of a variable.
    Value(String),
    /// The answer to a call.
    Return(Value),
    /// The answer to a call: the body, as a text.
    ReturnText,
    /// The answer to a call: an exception that the cell may catch.
    Raise(String),
    /// The answer to a call: the cell ends here.
    Stop(String),
}

/// Sent by the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The request is done.
    Done,
    /// The request could not be done, for this reason.
    Failed(String),
    /// A cell calls a function of the parent.
    Call { name: String, args: Vec<Value>, kwargs: Vec<(String, Value)> },
    /// A cell has ended.
    Finished(CellOutcome),
    /// The value of a variable.
    Value(Option<Value>),
}

/// Counts what is written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a frame. The head is serialized twice, once to know its length, so that a large one is never held as a
/// whole beside the value that it was made from.
///
/// # Errors
/// When the other side is gone, or the frame is larger than [`MAX_BYTES`].
pub(crate) fn write(mut to: impl Write, head: &impl Serialize, body: &[&str]) -> io::Result<()> {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, head)?;
    let body_bytes: usize = body.iter().map(|text| text.len()).sum();
    to.write_all(&length(count.0)?)?;
    to.write_all(&length(body_bytes as u64)?)?;
    let mut buffered = io::BufWriter::with_capacity(64 << 10, &mut to);
    serde_json::to_writer(&mut buffered, head)?;
    for text in body {
        buffered.write_all(text.as_bytes())?;
    }
    buffered.flush()?;
    drop(buffered);
    to.flush()
}

/// Reads a frame; `None` at the end of the input.
///
/// # Errors
/// When the input fails or ends within a frame, and for bytes that are no frame (`InvalidData`).
pub(crate) fn read<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<(T, String)>> {
    let mut lengths = [0; 8];
    match from.read_exact(&mut lengths[..1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        first => first?,
    }
    from.read_exact(&mut lengths[1..])?;
    let [a, b, c, d, e, f, g, h] = lengths;
    let (head, body) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if head > MAX_BYTES || body > MAX_BYTES {
        return Err(invalid("a frame is too large"));
    }
    let head: T = {
        let head = bytes(&mut from, head)?;
        serde_json::from_slice(&head).map_err(|_| invalid("a frame's head is not what was agreed"))?
    };
    let body = String::from_utf8(bytes(&mut from, body)?).map_err(|_| invalid("a frame's body is not text"))?;
    Ok(Some((head, body)))
}

/// Reads `length` bytes. The buffer grows with what arrives: a length alone reserves at most 1 MiB.
fn bytes(from: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let length = length as usize;
    let mut bytes = Vec::with_capacity(length.min(1 << 20));
    while bytes.len() < length {
        if bytes.len() == bytes.capacity() {
            // To four times as much at most, and never beyond the end: no byte is reserved in vain.
            let more = (bytes.len() * 3).min(length - bytes.len());
            bytes.reserve_exact(more);
        }
        let more = bytes.capacity().min(length) - bytes.len();
        let got = from.by_ref().take(more as u64).read_to_end(&mut bytes)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(bytes)
}

fn length(bytes: u64) -> io::Result<[u8; 4]> {
    match u32::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_BYTES => Ok(bytes.to_le_bytes()),
        _ => Err(invalid("what was to be sent is larger than 256 MiB")),
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

//! The child's side: confines the process, keeps the interpreter's state from cell to cell, runs the cells.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::mem;
use std::time::{Duration, Instant};

use monty::{MontyRepl, ReplFunctionCall, ReplProgress, ReplStartError};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter, ResourceLimits,
    ResourceTracker,
};
use serde_json::Value;

use crate::confine::{Memory, confine, renew_cpu};
use crate::fault::{REFUSED, STOPPED, told};
use crate::limits::Limits;
use crate::natives::{self, Texts};
use crate::outcome::CellOutcome;
use crate::output::Output;
use crate::text::Text;
use crate::value::{from_json, to_json};
use crate::wire::{self, Reply, Request};

/// Stack of the thread that runs the interpreter: its calls inside of each other use the machine's stack. Only what
/// is used takes memory.
const STACK: usize = 64 << 20;

/// Serves one session over the standard input and output of this process; see [`serve`].
///
/// # Errors
/// As [`serve`].
pub fn serve_standard() -> io::Result<()> {
    serve(io::stdin(), io::stdout())
}

/// Serves one session until the input ends. The limits that the first frame brings are set on the whole process and
/// cannot be lifted, so a program calls this as the only thing it does, with its standard input and output.
///
/// # Errors
/// When the parent is gone, sends what was not agreed, or the process cannot be confined.
pub fn serve(input: impl Read + Send, output: impl Write + Send) -> io::Result<()> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || session(input, output))?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the interpreter failed")))
    })
}

fn session(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let memory = Memory::open();
    let Some((Request::Start(limits), _)) = wire::read(&mut input)? else {
        return Err(unexpected());
    };
    confine(&limits, &memory)?;
    let tracker = ResourceTracker::new(ResourceLimits {
        max_memory: usize::try_from(limits.memory_bytes).ok(),
        max_recursion_depth: limits.recursion,
        ..ResourceLimits::default()
    });
    let repl = Some(MontyRepl::new("cell", tracker, CompileOptions { assert_message_annotations: false.into() }));
    wire::write(&mut output, &Reply::Done, &[])?;
    Worker { input, output, limits, memory, repl, functions: Vec::new(), texts: Texts::default(), kept: Vec::new() }.serve()
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame came that was not agreed")
}

/// A variable that is restored when a cell overwrote it.
struct Kept {
    name: String,
    /// A second name of the same object. Code cannot know it, as it is random and no function lists names. It keeps
    /// the object alive, so that no other can pass for it.
    alias: String,
    source: Source,
}

/// Source of a variable's value when it is restored.
enum Source {
    /// The text of the same name.
    Text,
    /// The same, as a list of parts with these lengths in bytes, a line break after each.
    List(Vec<usize>),
    Json(Value),
}

/// The state of a session.
struct Worker<R, W> {
    input: R,
    output: W,
    limits: Limits,
    memory: Memory,
    /// Missing only while a cell runs.
    repl: Option<MontyRepl>,
    functions: Vec<String>,
    texts: Texts,
    kept: Vec<Kept>,
}

impl<R: Read, W: Write> Worker<R, W> {
    fn serve(mut self) -> io::Result<()> {
        while let Some((request, body)) = wire::read(&mut self.input)? {
            let reply = match request {
                Request::Functions(names) => {
                    self.functions = names;
                    Reply::Done
                }
                Request::Text { name, lengths } => done(self.define_text(name, lengths, body)),
                Request::Json { name, value, is_protected } => done(self.define_json(name, value, is_protected)),
                Request::Run(cell) => Reply::Finished(self.run(&cell)?),
                Request::Value(name) => match self.feed(&name, Vec::new()) {
                    Ok(value) => Reply::Value(Some(to_json(value))),
                    Err(error) if error.exc_type() == ExcType::NameError => Reply::Value(None),
                    Err(error) => Reply::Failed(told(&error).text),
                },
                _ => return Err(unexpected()),
            };
            self.send(&reply)?;
        }
        Ok(())
    }

    fn send(&mut self, reply: &Reply) -> io::Result<()> {
        wire::write(&mut self.output, reply, &[])
    }

    /// Runs code of our own, which calls nothing.
    fn feed(&mut self, code: &str, inputs: Vec<(String, MontyObject)>) -> Result<MontyObject, MontyException> {
        self.memory.begin(self.limits.memory_bytes);
        let repl = self.repl.as_mut().ok_or_else(|| MontyException::runtime_error("there is no state"))?;
        repl.tracker_mut().set_max_duration(self.limits.answer);
        repl.feed_run(code, inputs, PrintWriter::Disabled)
    }

    fn define_text(&mut self, name: String, lengths: Option<Vec<usize>>, body: String) -> Result<(), MontyException> {
        let source = match lengths {
            None => {
                self.texts.insert(&name, Text::new(body));
                Source::Text
            }
            Some(lengths) => {
                let mut joined = String::with_capacity(body.len() + lengths.len());
                let mut rest = body.as_str();
                for length in &lengths {
                    let (part, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
                    joined.push_str(part);
                    joined.push('\n');
                    rest = after;
                }
                drop(body);
                self.texts.insert(&name, Text::new(joined));
                Source::List(lengths)
            }
        };
        self.keep(name, source)
    }

    fn define_json(&mut self, name: String, value: Value, is_protected: bool) -> Result<(), MontyException> {
        self.texts.remove(&name);
        if is_protected {
            return self.keep(name, Source::Json(value));
        }
        // The second name must not keep the old value alive.
        let old = self.kept.iter().position(|kept| kept.name == name).map(|at| self.kept.remove(at));
        let code = old.map_or_else(|| "None".to_owned(), |old| format!("{} = None\nNone", old.alias));
        self.feed(&code, vec![(name, from_json(value))]).map(drop)
    }

    /// Defines a variable that is restored from now on.
    fn keep(&mut self, name: String, source: Source) -> Result<(), MontyException> {
        let random = RandomState::new().build_hasher().finish();
        let old = self.kept.iter().position(|kept| kept.name == name).map(|at| self.kept.remove(at));
        let alias = old.map_or_else(|| format!("_kept_{random:016x}"), |old| old.alias);
        let kept = Kept { name, alias, source };
        let restored = self.restore(&kept);
        self.kept.push(kept);
        restored
    }

    fn restore(&mut self, kept: &Kept) -> Result<(), MontyException> {
        let text = || self.texts.get(&kept.name).map(Text::as_str).unwrap_or_default();
        let value = match &kept.source {
            Source::Text => MontyObject::String(text().to_owned()),
            Source::List(lengths) => {
                let mut rest = text();
                let part = |length: &usize| {
                    let (part, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
                    rest = after.get(1..).unwrap_or_default();
                    MontyObject::String(part.to_owned())
                };
                MontyObject::List(lengths.iter().map(part).collect())
            }
            Source::Json(value) => from_json(value.clone()),
        };
        self.feed(&format!("{} = {}\nNone", kept.alias, kept.name), vec![(kept.name.clone(), value)]).map(drop)
    }

    /// Restores the variables that the last cell overwrote.
    fn restore_all(&mut self) -> Result<(), MontyException> {
        let mut code = String::from("[");
        for kept in &self.kept {
            let _ = write!(code, "{} is {}, ", kept.name, kept.alias);
        }
        code.push(']');
        let MontyObject::List(is_same) = self.feed(&code, Vec::new())? else { return Ok(()) };
        let kept = mem::take(&mut self.kept);
        let mut restored = Ok(());
        for (kept, is_same) in kept.iter().zip(is_same) {
            if !matches!(is_same, MontyObject::Bool(true)) {
                restored = restored.and(self.restore(kept));
            }
        }
        self.kept = kept;
        restored
    }

    /// Runs a cell to its end. An exception of the cell is part of the outcome.
    ///
    /// # Errors
    /// When the parent is gone or sends what was not agreed.
    fn run(&mut self, cell: &str) -> io::Result<CellOutcome> {
        renew_cpu(self.limits.cpu_seconds);
        if let Err(error) = self.restore_all() {
            return Ok(CellOutcome { error: Some(told(&error)), ..CellOutcome::default() });
        }
        let Some(mut repl) = self.repl.take() else { return Err(unexpected()) };
        repl.tracker_mut().set_max_duration(self.limits.cell);
        self.memory.begin(self.limits.memory_bytes);
        let memory = mem::replace(&mut self.memory, Memory::closed());
        let mut output = Output::new(self.limits.output_chars, &memory);
        let mut clock = Clock { started: Instant::now(), waited: Duration::ZERO };
        let mut calls = 0;
        let mut step = repl.feed_start(cell, self.inputs(), PrintWriter::Callback(&mut output));
        let error = loop {
            let out = PrintWriter::Callback(&mut output);
            step = match step {
                Ok(ReplProgress::Complete { repl, value }) => {
                    self.repl = Some(repl);
                    show(&value, &mut output);
                    break None;
                }
                Err(failed) => {
                    let ReplStartError { repl, error } = *failed;
                    self.repl = Some(repl);
                    break Some(told(&error));
                }
                Ok(ReplProgress::FunctionCall(call)) => self.answer(call, &mut clock, &mut calls, out)?,
                Ok(ReplProgress::OsCall(call)) => {
                    let text = format!("{} is not available: {REFUSED}", call.function_call.name());
                    call.resume(MontyException::new(ExcType::PermissionError, Some(text)), out)
                }
                Ok(ReplProgress::NameLookup(lookup)) => lookup.resume(NameLookupResult::Undefined, out),
                Ok(ReplProgress::ResolveFutures(futures)) => futures.abort(stopped("it waits for nothing"), out),
            };
        };
        let (text, dropped) = (output.text, output.dropped);
        self.memory = memory;
        Ok(CellOutcome { output: text, is_cut: dropped > 0, dropped, calls, error })
    }

    /// Returns the functions under their names, so that a cell that overwrote one finds it again.
    fn inputs(&self) -> Vec<(String, MontyObject)> {
        let is_taken = |name: &&str| {
            self.functions.iter().any(|function| function == name) || self.kept.iter().any(|kept| kept.name == *name)
        };
        let natives = natives::NAMES.into_iter().filter(|name| !is_taken(name)).map(str::to_owned);
        let names = natives.chain(self.functions.iter().cloned());
        names.map(|name| (name.clone(), MontyObject::Function { name, docstring: None })).collect()
    }

    /// Answers a call of a cell: itself, or with the parent's answer.
    fn answer(
        &mut self,
        mut call: ReplFunctionCall,
        clock: &mut Clock,
        calls: &mut usize,
        out: PrintWriter<'_>,
    ) -> io::Result<Result<ReplProgress, Box<ReplStartError>>> {
        let (args, kwargs) = (mem::take(&mut call.args), mem::take(&mut call.kwargs));
        if !self.functions.contains(&call.function_name) {
            if !natives::NAMES.contains(&call.function_name.as_str()) {
                let name = call.function_name.clone();
                return Ok(call.resume(ExtFunctionResult::NotFound(name), out));
            }
            let until = Instant::now() + self.limits.cell.saturating_sub(clock.own());
            let answer = natives::call(&self.texts, &call.function_name, args, kwargs, until);
            if clock.own() > self.limits.cell {
                return Ok(call.abort(too_late(), out));
            }
            return Ok(match answer {
                Ok(value) => call.resume(value, out),
                Err(exception) => call.resume(exception, out),
            });
        }
        *calls += 1;
        let kwargs = kwargs.into_iter().map(|(key, value)| (key.to_string(), to_json(value))).collect();
        let args = args.into_iter().map(to_json).collect();
        let asked = Instant::now();
        match self.send(&Reply::Call { name: call.function_name.clone(), args, kwargs }) {
            // Nothing was written of a frame that is too large.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(call.resume(MontyException::runtime_error(error), out));
            }
            sent => sent?,
        }
        let answer = wire::read(&mut self.input)?;
        clock.waited += asked.elapsed();
        Ok(match answer {
            Some((Request::Return(value), _)) => call.resume(from_json(value), out),
            Some((Request::ReturnText, text)) => call.resume(MontyObject::String(text), out),
            Some((Request::Raise(text), _)) => call.resume(MontyException::runtime_error(text), out),
            Some((Request::Stop(text), _)) => call.abort(stopped(&text), out),
            Some(_) => return Err(unexpected()),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        })
    }
}

/// The wall time of a cell.
struct Clock {
    started: Instant,
    /// Spent waiting for the parent.
    waited: Duration,
}

impl Clock {
    fn own(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }
}

fn done(result: Result<(), MontyException>) -> Reply {
    result.map_or_else(|error| Reply::Failed(told(&error).text), |()| Reply::Done)
}

fn too_late() -> MontyException {
    MontyException::new(ExcType::TimeoutError, Some("time limit exceeded".to_owned()))
}

fn stopped(why: &str) -> MontyException {
    MontyException::new(ExcType::SystemExit, Some(format!("{STOPPED}{why}")))
}

/// Prints the value of a cell's last expression, as an interactive Python does.
fn show(value: &MontyObject, output: &mut Output<'_>) {
    let _ = match value {
        MontyObject::None => return,
        // Written piece by piece: a text is not copied as a whole to be quoted.
        MontyObject::String(text) => monty_types::string_repr_fmt(text, output),
        other => write!(output, "{other}"),
    };
    let _ = output.write_char('\n');
}

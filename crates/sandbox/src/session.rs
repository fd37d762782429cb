//! The parent's side: starts the child, defines variables, runs cells, answers their calls, and holds the limits.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::child::{Child, Fault, Stopper};
use crate::limits::{GRACE, Limits};
use crate::outcome::CellOutcome;
use crate::wire::{MAX_BYTES, Reply, Request};

/// Errors of a session.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The child could not be started.
    #[error("the Python process cannot be started: {0}")]
    Start(#[source] io::Error),
    /// The child is gone, and with it all variables. A new session can be started.
    #[error("the Python process has ended: {reason}")]
    Ended {
        /// A sentence without a full stop.
        reason: String,
    },
    /// A name that is no identifier of Python.
    #[error("`{0}` is no name of a Python variable: use letters, digits and underscores")]
    Name(String),
    /// A variable that cannot be defined or read. The session goes on.
    #[error("the variable `{name}` cannot be used: {text}")]
    Variable {
        /// Its name.
        name: String,
        /// The reason.
        text: String,
    },
}

/// Refusal of a call by the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The cell gets an exception with this text, which it may catch.
    Raise(String),
    /// The cell ends here, whatever it catches; its error says this text. For a budget that is used up.
    Stop(String),
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self::Raise(text)
    }
}

/// Answers the calls of a cell.
pub trait Host {
    /// Answers a call of a function that was named to [`Session::functions`].
    ///
    /// # Errors
    /// An exception for the cell, or the end of it.
    fn call(&mut self, name: &str, args: Vec<Value>, kwargs: Vec<(String, Value)>) -> Result<Value, Refusal>;
}

/// A child process with the state of an interpreter. Dropping it ends the child.
#[derive(Debug)]
pub struct Session {
    child: Child,
    limits: Limits,
    ended: Option<String>,
}

impl Session {
    /// Starts `program` with `args`, which calls [`crate::worker::serve`]. The child gets nothing of
    /// the environment.
    ///
    /// # Errors
    /// When the program cannot be started or does not answer.
    pub fn start(program: &Path, args: &[&str], limits: Limits) -> Result<Self, SandboxError> {
        let child = Child::spawn(program, args).map_err(SandboxError::Start)?;
        let mut session = Self { child, limits, ended: None };
        let request = Request::Start(session.limits.clone());
        session.ask(request, Vec::new()).and_then(|reply| session.done(reply, "start"))?;
        Ok(session)
    }

    /// Returns the process id of the child, for those who measure it.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a handle that ends the child from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.child.stopper()
    }

    /// Names the functions that the parent answers, in place of those named before. They are there again in each
    /// cell, whatever the last one did to their names.
    ///
    /// # Errors
    /// For a name that is no identifier, and when the child is gone.
    pub fn functions(&mut self, names: &[&str]) -> Result<(), SandboxError> {
        names.iter().try_for_each(|name| check(name))?;
        let request = Request::Functions(names.iter().map(|name| (*name).to_owned()).collect());
        self.ask(request, Vec::new()).and_then(|reply| self.done(reply, "functions"))
    }

    /// Defines a text. It is sent once; cells and helpers share it. A cell that overwrites the name has it back in
    /// the next cell.
    ///
    /// # Errors
    /// For a name that is no identifier, a text beyond 256 MiB, and when the child is gone.
    pub fn define(&mut self, name: &str, text: &str) -> Result<(), SandboxError> {
        self.define_body(name, vec![text.to_owned()], false)
    }

    /// Defines a list of texts, in the same way. Helpers see its items joined by line breaks.
    ///
    /// # Errors
    /// As [`Self::define`].
    pub fn define_list(&mut self, name: &str, texts: &[&str]) -> Result<(), SandboxError> {
        self.define_body(name, texts.iter().map(|text| (*text).to_owned()).collect(), true)
    }

    fn define_body(&mut self, name: &str, body: Vec<String>, is_list: bool) -> Result<(), SandboxError> {
        check(name)?;
        let bytes: usize = body.iter().map(String::len).sum();
        if bytes > MAX_BYTES as usize {
            return Err(SandboxError::Variable { name: name.to_owned(), text: "it is larger than 256 MiB".to_owned() });
        }
        let lengths = is_list.then(|| body.iter().map(String::len).collect());
        let request = Request::Text { name: name.to_owned(), lengths };
        self.ask(request, body).and_then(|reply| self.done(reply, name))
    }

    /// Defines any other value. With `is_protected`, a cell that overwrites the name has it back in the next cell;
    /// what a cell changes inside of the value stays in either case.
    ///
    /// # Errors
    /// For a name that is no identifier, and when the child is gone.
    pub fn define_json(&mut self, name: &str, value: Value, is_protected: bool) -> Result<(), SandboxError> {
        check(name)?;
        let request = Request::Json { name: name.to_owned(), value, is_protected };
        self.ask(request, Vec::new()).and_then(|reply| self.done(reply, name))
    }

    /// Returns the value of a variable; `None` if there is none of this name.
    ///
    /// # Errors
    /// For a name that is no identifier, a value that cannot be given, and when the child is gone.
    pub fn value(&mut self, name: &str) -> Result<Option<Value>, SandboxError> {
        check(name)?;
        match self.ask(Request::Value(name.to_owned()), Vec::new())? {
            Reply::Value(value) => Ok(value),
            other => self.done(other, name).map(|()| None),
        }
    }

    /// Runs a cell and answers its calls with `host`, whose functions were named before ([`Self::functions`]).
    ///
    /// # Errors
    /// When the child is gone, or was ended because it went on after its limits.
    pub fn run(&mut self, cell: &str, host: &mut dyn Host) -> Result<CellOutcome, SandboxError> {
        self.send(Request::Run(cell.to_owned()), Vec::new())?;
        let mut left = self.limits.cell + GRACE;
        let mut calls = 0;
        loop {
            let waits = Instant::now();
            let reply = self.receive(left, &format!("a cell ran longer than {:?} and did not stop", self.limits.cell))?;
            left = left.saturating_sub(waits.elapsed());
            match reply {
                Reply::Finished(mut outcome) => {
                    self.cut(&mut outcome);
                    return Ok(outcome);
                }
                Reply::Call { name, args, kwargs } if calls < self.limits.calls => {
                    calls += 1;
                    let (answer, body) = match host.call(&name, args, kwargs) {
                        Ok(Value::String(text)) => (Request::ReturnText, vec![text]),
                        Ok(value) => (Request::Return(value), Vec::new()),
                        Err(Refusal::Raise(text)) => (Request::Raise(text), Vec::new()),
                        Err(Refusal::Stop(text)) => (Request::Stop(text), Vec::new()),
                    };
                    self.send(answer, body)?;
                }
                Reply::Call { .. } if calls == self.limits.calls => {
                    calls += 1;
                    let text = format!("a cell may call functions {} times at most", self.limits.calls);
                    self.send(Request::Stop(text), Vec::new())?;
                }
                _ => return Err(self.end(Fault::Garbage)),
            }
        }
    }

    /// Cuts the output, should the child not have done it.
    fn cut(&self, outcome: &mut CellOutcome) {
        if let Some((at, _)) = outcome.output.char_indices().nth(self.limits.output_chars) {
            outcome.dropped += outcome.output[at..].chars().count() as u64;
            outcome.output.truncate(at);
            outcome.is_cut = true;
        }
    }

    fn ask(&mut self, request: Request, body: Vec<String>) -> Result<Reply, SandboxError> {
        self.send(request, body)?;
        self.receive(self.limits.answer, &format!("it did not answer within {:?}", self.limits.answer))
    }

    /// Takes the answer to a request that has no value.
    fn done(&mut self, reply: Reply, name: &str) -> Result<(), SandboxError> {
        match reply {
            Reply::Done => Ok(()),
            Reply::Failed(text) => Err(SandboxError::Variable { name: name.to_owned(), text }),
            _ => Err(self.end(Fault::Garbage)),
        }
    }

    fn send(&mut self, request: Request, body: Vec<String>) -> Result<(), SandboxError> {
        match &self.ended {
            Some(reason) => Err(SandboxError::Ended { reason: reason.clone() }),
            None => {
                self.child.send(request, body);
                Ok(())
            }
        }
    }

    fn receive(&mut self, within: Duration, too_late: &str) -> Result<Reply, SandboxError> {
        self.child.receive(within, self.limits.memory_bytes).map_err(|fault| match fault {
            Fault::Late(_) => self.end(Fault::Late(too_late.to_owned())),
            other => self.end(other),
        })
    }

    /// Ends the child and returns the error that says why.
    fn end(&mut self, fault: Fault) -> SandboxError {
        let reason = self.child.end(fault);
        self.ended = Some(reason.clone());
        SandboxError::Ended { reason }
    }
}

/// Words that are no names, though they look like one.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield",
];

/// Checks that a name is an identifier, so that it can be part of code.
fn check(name: &str) -> Result<(), SandboxError> {
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_word && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && !KEYWORDS.contains(&name) {
        Ok(())
    } else {
        Err(SandboxError::Name(name.chars().take(60).collect()))
    }
}

//! The deadline of a query: leaves out the parts that no time is left for, and names them.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Time that the local model takes to embed a question, and to be loaded before.
const MODEL_TIME: (Duration, Duration) = (Duration::from_millis(60), Duration::from_secs(2));

/// Parts of an answer that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatePart {
    Model,
    Meaning,
    Periods,
    Graph,
    Talk,
    Links,
    Rerank,
    Conclusive,
    Newer,
    Files,
    Work,
    Passages,
}

impl LatePart {
    fn as_str(self) -> &'static str {
        match self {
            Self::Model => "the local model",
            Self::Meaning => "similarity of meaning",
            Self::Periods => "named periods",
            Self::Graph => "relations of entities",
            Self::Talk => "signs of people's talk",
            Self::Links => "links between passages",
            Self::Rerank => "the cross-encoder",
            Self::Conclusive => "what concludes an exchange",
            Self::Newer => "what is newer",
            Self::Files => "ranking files",
            Self::Work => "the work that was done",
            Self::Passages => "choosing passages",
        }
    }
}

/// The end of the time for a request, and the parts that were left out for it.
pub(crate) struct Deadline {
    ends: Option<Instant>,
    late: RefCell<Vec<LatePart>>,
}

impl Deadline {
    /// Returns a deadline from now on; `None`: there is time for everything.
    pub fn after(time: Option<Duration>) -> Self {
        Self { ends: time.and_then(|time| Instant::now().checked_add(time)), late: RefCell::default() }
    }

    /// Returns the time that is left; `None`: there is time for everything.
    pub fn left(&self) -> Option<Duration> {
        self.ends.map(|ends| ends.saturating_duration_since(Instant::now()))
    }

    /// Returns whether there is time left for a part; if not, notes it.
    pub fn allows(&self, part: LatePart) -> bool {
        self.allows_for(part, Duration::ZERO)
    }

    /// Returns whether there is time left to use the local model.
    pub fn allows_model(&self, is_loaded: bool) -> bool {
        self.allows_for(LatePart::Model, if is_loaded { MODEL_TIME.0 } else { MODEL_TIME.1 })
    }

    /// Returns whether so much time is left for a part; if not, notes it.
    pub fn allows_for(&self, part: LatePart, time: Duration) -> bool {
        let allows = self.ends.is_none_or(|ends| Instant::now() + time < ends);
        let mut late = self.late.borrow_mut();
        if !allows && !late.contains(&part) {
            late.push(part);
        }
        allows
    }

    /// Returns whether a part was left out.
    pub fn left_out(&self, part: LatePart) -> bool {
        self.late.borrow().contains(&part)
    }

    /// Returns the names of the parts that were left out.
    pub fn late(&self) -> Vec<&'static str> {
        self.late.borrow().iter().map(|part| part.as_str()).collect()
    }
}

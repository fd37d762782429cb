//! Text as the indexes see it.
//!
//! - [`Tokens`]: the one tokenizer of documents and questions
//! - [`Question`]: what a typed question asks the lexical index for
//! - [`excerpt`]: the part of a long tool output that is indexed
//! - [`quote`]: the passage of a turn that is shown for a question

mod excerpt;
mod question;
mod quote;
mod stop_words;
mod tokens;

pub use excerpt::excerpt;
pub use question::Question;
pub use quote::quote;
pub use stop_words::is_stop_word;
pub use tokens::{TOKENIZER_VERSION, Token, TokenKind, Tokenizer, Tokens};

//! Text as the indexes see it.
//!
//! - [`Tokens`]: the one tokenizer of documents and questions
//! - [`Question`]: what a typed question asks the lexical index for
//! - [`Shingles`]: do two texts say the same in the same words
//! - [`excerpt`]: the part of a long tool output that is indexed
//! - [`error_lines`], [`steady`]: the lines of an output that report an error, and what of them is the
//!   same in every run
//! - [`code_blocks`], [`paths`]: code and names of files in a text
//! - [`quote`], [`asked_terms`]: the passage of a turn that is shown for a question, and how much of that it has
//! - [`preview`], [`key_concepts`]: what a long text is about
//! - [`WordPiece`]: the tokens of the embedding models
//! - [`chunks`]: a text cut into what such a model can read

mod chunk;
mod code_blocks;
mod duplicate;
mod errors;
mod excerpt;
mod paths;
mod preview;
mod question;
mod quote;
mod stop_words;
mod tokens;
mod wordpiece;

pub use chunk::{CHUNK_TOKENS, CHUNKER_VERSION, Chunk, MAX_CHUNKS, chunks};
pub use code_blocks::{CodeBlock, code_blocks, language_name};
pub use duplicate::{NEAR_DUPLICATE, Shingles};
pub use errors::{error_line, error_lines, error_reasons, steady};
pub use excerpt::excerpt;
pub use paths::{PathMention, paths};
pub use preview::{key_concepts, preview};
pub use question::{Question, is_error_message, joined};
pub use quote::{asked_terms, quote};
pub use stop_words::is_stop_word;
pub use tokens::{TOKENIZER_VERSION, Token, TokenKind, Tokenizer, Tokens, word_count};
pub use wordpiece::{Piece, WORDPIECE_VERSION, WordPiece};

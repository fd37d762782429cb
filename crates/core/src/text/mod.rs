//! Text processing: tokens, questions, chunks, quotes, names, paths, periods and errors in texts.
//!
//! - [`Tokens`]: the one tokenizer of documents and questions
//! - [`Question`]: the terms and phrases of a question for the lexical index
//! - [`Shingles`]: finds texts with nearly the same words
//! - [`excerpt`]: the part of a long tool output that is indexed
//! - [`error_lines`], [`steady`]: the lines of an output that report an error, and the part of them that is
//!   the same in every run
//! - [`code_blocks`], [`paths`]: code and names of files in a text
//! - [`quote`], [`asked_terms`]: the passage of a turn that is displayed for a question, and the number of
//!   its terms there
//! - [`asked_for`], [`asks_for_past`], [`question_parts`]: what a question asks for
//! - [`wanted_answer`]: the kind of answer that a question wants
//! - [`names`], [`plain_title`], [`title_of`], [`names_in_question`]: names in prose, and the titles of passages
//! - [`named_periods`], [`parse_period`], [`parse_beginning`]: days, weeks, months and years that a text names
//! - [`says_change`], [`named_change`]: whether a text says that something was changed, and the change that a question names
//! - [`command_of`], [`command_that_worked`], [`is_look`]: commands that agents ran
//! - [`versions`], [`commands`]: versions of tools, and commands of build tools, that a text names
//! - [`english_of`], [`is_german`], [`may_be_german`]: English words for those of a German question
//! - [`fragments`], [`is_item`]: the smallest parts of a text that can be quoted by themselves
//! - [`preview`], [`key_concepts`]: a summary of a long text
//! - [`plain`], [`cut`], [`cut_sentence`]: a text on one line, and its beginning
//! - [`without_lone_surrogates`]: makes JSON with half characters readable
//! - [`WordPiece`]: the tokens of the embedding models
//! - [`chunks`]: cuts a text into pieces that such a model can read

mod answer_kind;
mod asked_for;
mod change;
mod chunk;
mod code_blocks;
mod command;
mod duplicate;
mod errors;
mod fragments;
mod glossary;
mod names;
mod passage_window;
mod paths;
mod period;
mod preview;
mod question;
mod shorten;
mod stop_words;
mod surrogates;
mod tokenizer;
mod tool_output;
mod tools;
mod wordpiece;

pub use answer_kind::{WantedAnswer, asks_for_latest, asks_how_it_works, wanted_answer, wanted_as};
pub use asked_for::{asked_for, asks_for_past, question_parts};
pub use change::{Side, named_change, says_change};
pub use chunk::{CHUNK_TOKENS, CHUNKER_VERSION, Chunk, MAX_CHUNKS, chunks};
pub use code_blocks::{CodeBlock, code_blocks, language_name};
pub use command::{command_of, command_that_worked, is_look};
pub use duplicate::{NEAR_DUPLICATE, Shingles};
pub use errors::{error_line, error_lines, error_reasons, steady};
pub use fragments::{fragments, is_item};
pub use glossary::{english_of, in_english, is_german, is_german_function_word, may_be_german};
pub use names::{names, names_in_question, plain_title, title_of};
pub use passage_window::{asked_terms, quote};
pub use paths::{PathMention, paths};
pub use period::{NamedPeriod, Period, named_periods, named_periods_at, parse_beginning, parse_period};
pub use preview::{key_concepts, preview};
pub use question::{Question, is_error_message, joined};
pub use shorten::{cut, cut_sentence, plain};
pub use stop_words::{content_words, is_stop_word};
pub use surrogates::without_lone_surrogates;
pub use tokenizer::{TOKENIZER_VERSION, Token, TokenKind, Tokenizer, Tokens, word_count};
pub use tool_output::excerpt;
pub use tools::{commands, versions};
pub use wordpiece::{Piece, WORDPIECE_VERSION, WordPiece};

//! The core's tokenizer as a tantivy tokenizer.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use yore_core::text;

/// Name under which fields refer to the tokenizer.
pub(super) const NAME: &str = "yore";

#[derive(Clone, Default)]
pub(super) struct YoreTokenizer {
    inner: text::Tokenizer,
    tokens: text::Tokens,
}

pub(super) struct YoreTokens<'a> {
    tokens: &'a text::Tokens,
    next: usize,
    token: Token,
}

impl Tokenizer for YoreTokenizer {
    type TokenStream<'a> = YoreTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> YoreTokens<'a> {
        self.inner.tokenize(text, &mut self.tokens);
        YoreTokens { tokens: &self.tokens, next: 0, token: Token::default() }
    }
}

impl TokenStream for YoreTokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(token) = self.tokens.get(self.next) else { return false };
        self.next += 1;
        self.token.text.clear();
        self.token.text.push_str(token.text);
        self.token.offset_from = token.start;
        self.token.offset_to = token.end;
        self.token.position = token.position;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

//! The words and signs of a formula.

/// A word or a sign, with the place where it begins (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) what: What,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A name, bare or between backticks.
    Name(String),
    Number(u32),
    /// One of `~ + - : * / ^ ( ) . , |`; `**` is `^`, and `‖` stands for `||`.
    Sign(char),
}

/// # Errors
/// A sign that none is.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let mut word = |first: char, goes_on: &dyn Fn(char) -> bool| {
            let mut word = String::from(first);
            while let Some((_, c)) = chars.next_if(|(_, c)| goes_on(*c)) {
                word.push(c);
            }
            word
        };
        let what = match c {
            c if c.is_whitespace() => continue,
            '`' => {
                let name = word('`', &|c| c != '`');
                if chars.next().is_none() {
                    return Err(format!("the name that begins at {} has no end", at + 1));
                }
                What::Name(name[1..].to_owned())
            }
            c if c.is_alphabetic() || c == '_' => What::Name(word(c, &|c| c.is_alphanumeric() || c == '_' || c == '.')),
            c if c.is_ascii_digit() => {
                let digits = word(c, &|c| c.is_ascii_digit());
                What::Number(digits.parse().map_err(|_| format!("`{digits}` is too large"))?)
            }
            '*' if chars.next_if(|(_, c)| *c == '*').is_some() => What::Sign('^'),
            '|' if chars.next_if(|(_, c)| *c == '|').is_some() => What::Sign('‖'),
            '~' | '+' | '-' | ':' | '*' | '/' | '^' | '(' | ')' | '.' | ',' | '|' => What::Sign(c),
            other => {
                return Err(format!("`{other}` at {} means nothing (names between backticks may hold it)", at + 1));
            }
        };
        tokens.push(Token { what, at: at + 1 });
    }
    Ok(tokens)
}

//! Just enough reading of Rust to know which names a source uses.

use std::path::Path;

/// A source file and the module it is.
pub(crate) struct Source {
    pub(crate) path: Vec<String>,
    pub(crate) text: String,
}

impl Source {
    /// `inside` is relative to `src`.
    pub(crate) fn new(inside: &Path, text: String) -> Self {
        let stem = inside.with_extension("");
        let mut path: Vec<_> = stem.iter().map(|it| it.to_str().unwrap().to_owned()).collect();
        if path.last().is_some_and(|it| it == "mod") {
            path.pop();
        }
        Self { path, text }
    }

    /// The module at the top of the crate that it belongs to.
    pub(crate) fn module(&self) -> &str {
        &self.path[0]
    }
}

/// Words, `::` and single signs; neither comments nor literals.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => quoted(rest),
            'r' | 'b' | 'c' if raw_string(rest).is_some() => raw_string(rest).unwrap(),
            '\'' => character_or_lifetime(rest),
            ':' if rest.starts_with("::") => {
                found.push("::".to_owned());
                2
            }
            it if it.is_alphanumeric() || it == '_' => {
                let word = |it: char| it.is_alphanumeric() || it == '_';
                let end = rest.find(|it| !word(it)).unwrap_or(rest.len());
                found.push(rest[..end].to_owned());
                end
            }
            it => {
                if !it.is_whitespace() {
                    found.push(it.to_string());
                }
                it.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    found
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of a literal whose first character is also its last.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut escaped = false;
    for (at, it) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if it == '\\' {
            escaped = true;
        } else if Some(it) == quote {
            return at + it.len_utf8();
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or(text.strip_prefix("cr")).or(text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some(text.len() - body.len() + end + 1 + hashes)
}

fn character_or_lifetime(text: &str) -> usize {
    let inside: Vec<char> = text.chars().skip(1).take(2).collect();
    match inside[..] {
        ['\\', _] | [_, '\''] => quoted(text),
        _ => 1,
    }
}

/// The modules at the top of the crate that are named, through `crate::`,
/// `bursar::` or enough `super::`; `*` for the whole crate at once.
pub(crate) fn names(tokens: &[String], file: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    // The module we are in, and at which depth of braces each inline one ends.
    let (mut module, mut inline, mut depth) = (file.to_owned(), Vec::new(), 0);
    let at = |index: usize| tokens.get(index).map_or("", String::as_str);
    let mut index = 0;
    while index < tokens.len() {
        let starts = !inside_path(tokens, index);
        match at(index) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
            }
            "mod" if at(index + 2) == "{" => {
                inline.push(depth);
                module.push(at(index + 1).to_owned());
            }
            "crate" if at(index + 1) == "as" => found.push("*".to_owned()),
            "crate" | "bursar" if starts && at(index + 1) == "::" => {
                walk(tokens, index + 2, Vec::new(), &mut found);
            }
            "super" if starts => walk(tokens, index, module.clone(), &mut found),
            _ => {}
        }
        index += 1;
    }
    found
}

/// Follows one path from `index` on, standing in the module `base`; only what is
/// named at the crate's root is of interest.
fn walk(tokens: &[String], mut index: usize, mut base: Vec<String>, found: &mut Vec<String>) {
    while let Some(token) = tokens.get(index) {
        match token.as_str() {
            "::" | "self" => {}
            "super" => {
                base.pop();
            }
            "{" => return branches(tokens, index + 1, &base, found),
            // Deeper than the root: within a module that was named already.
            _ if !base.is_empty() => return,
            name => {
                found.push(name.to_owned());
                return;
            }
        }
        index += 1;
    }
}

/// Each branch of a group, whose first token is at `index`.
fn branches(tokens: &[String], mut index: usize, base: &[String], found: &mut Vec<String>) {
    let (mut depth, mut fresh) = (0, true);
    while let Some(token) = tokens.get(index) {
        match token.as_str() {
            "}" if depth == 0 => return,
            // A `super` in a group is met again by the search itself, but from
            // the wrong place: a group is walked only from its head.
            _ if fresh && depth == 0 => walk(tokens, index, base.to_vec(), found),
            _ => {}
        }
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        fresh = token == ",";
        index += 1;
    }
}

/// Whether a path of this foreign crate is written.
pub(crate) fn uses(tokens: &[String], foreign: &str) -> bool {
    let at = |index: usize| tokens.get(index).map_or("", String::as_str);
    (0..tokens.len()).filter(|index| at(*index) == foreign).any(|index| {
        let before = if index == 0 { "" } else { at(index - 1) };
        !inside_path(tokens, index)
            && (at(index + 1) == "::" || before == "use" || before == "crate")
    })
}

/// Whether something stands before the `::` before this.
fn inside_path(tokens: &[String], index: usize) -> bool {
    index > 1 && tokens[index - 1] == "::" && is_word(&tokens[index - 2])
}

fn is_word(token: &str) -> bool {
    token.chars().all(|it| it.is_alphanumeric() || it == '_') && token != "use"
}

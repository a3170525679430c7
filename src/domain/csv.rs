//! Comma-separated values (RFC 4180) that a spreadsheet does not take for formulas.

/// A text as a field: quoted where it must be, and with an apostrophe before what a
/// spreadsheet would run. Numbers of our own do not come here.
pub fn text(value: &str) -> String {
    let runs = value.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}']);
    let guarded = if runs { format!("'{value}") } else { value.to_owned() };
    quoted(&guarded)
}

/// A value as a field, quoted where it must be.
pub fn quoted(value: &str) -> String {
    let plain = !value.contains(['"', ',', '\n', '\r']);
    if plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

/// The fields of a line, once their quotes are off; none where quotes do not close. Of
/// lines whose fields have no line ends, which is what we write.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars().peekable();
    let mut inside = false;
    while let Some(it) = chars.next() {
        match (inside, it) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                fields.last_mut()?.push('"');
            }
            (_, '"') => inside = !inside,
            (false, ',') => fields.push(String::new()),
            (_, it) => fields.last_mut()?.push(it),
        }
    }
    (!inside).then_some(fields)
}

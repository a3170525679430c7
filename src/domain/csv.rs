//! Comma-separated values (RFC 4180) that a spreadsheet does not take for formulas.

/// What a spreadsheet takes for the beginning of a formula, and what we put before it.
const RUNS: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', GUARD];

const GUARD: char = '\'';

/// A text as a field: quoted where it must be, and with an apostrophe before what a
/// spreadsheet would run. Numbers of our own do not come here.
pub fn text(value: &str) -> String {
    let guarded =
        if value.starts_with(RUNS) { format!("{GUARD}{value}") } else { value.to_owned() };
    quoted(&guarded)
}

/// Takes off the apostrophe that [`text()`] has put before a text.
pub fn unguarded(value: &str) -> &str {
    value.strip_prefix(GUARD).filter(|it| it.starts_with(RUNS)).unwrap_or(value)
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

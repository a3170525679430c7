//! Server-sent events, as the WHATWG describes them, with a limit.

use crate::backend::Cause;

/// The longest line, and the most data of one event, in bytes.
pub const LINE_BYTES_MAX: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its `event` field is `error`.
    pub error: bool,
    /// Its `data` lines, joined by line feeds.
    pub data: String,
}

/// Turns bytes into events, however they are cut. Lines end in CR, LF or both;
/// comments, ids and retry times are dropped.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
    error: bool,
    after_cr: bool,
    started: bool,
}

// === impl Decoder ===

impl Decoder {
    /// Takes bytes and adds the events that they complete. What came before an error
    /// stands; after one the decoder is of no use.
    pub fn feed(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), Cause> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|it| matches!(it, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            self.append(line)?;
            frames.extend(self.end_line()?);
            let (ending, rest) = rest.split_first().unwrap_or((&b'\n', rest));
            self.after_cr = *ending == b'\r' && rest.is_empty();
            let skips_lf = *ending == b'\r' && rest.starts_with(b"\n");
            bytes = if skips_lf { rest.get(1..).unwrap_or(rest) } else { rest };
        }
        self.append(bytes)
    }

    /// The end of the bytes: an event whose last blank line is missing.
    pub fn finish(mut self) -> Result<Option<Frame>, Cause> {
        let last = self.end_line()?;
        Ok(last.or_else(|| self.dispatch()))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        if self.line.len().saturating_add(bytes.len()) > LINE_BYTES_MAX {
            return Err(Cause::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Frame>, Cause> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| Cause::Malformed)?;
        let line = if self.started { line } else { line.trim_start_matches('\u{feff}') };
        self.started = true;
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.append_data(value)?,
            "event" => self.error = value == "error",
            _ => {}
        }
        Ok(None)
    }

    fn append_data(&mut self, value: &str) -> Result<(), Cause> {
        let Some(data) = &mut self.data else {
            self.data = Some(value.to_owned());
            return Ok(());
        };
        if data.len().saturating_add(value.len()) >= LINE_BYTES_MAX {
            return Err(Cause::TooLarge);
        }
        data.push('\n');
        data.push_str(value);
        Ok(())
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let error = std::mem::take(&mut self.error);
        self.data.take().map(|data| Frame { error, data })
    }
}

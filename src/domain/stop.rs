//! Stop texts in a stream, wherever a chunk ends.

/// Looks for the first stop text to be completed. How the text is cut into chunks
/// makes no difference. It holds back only what may yet become a stop text: fewer
/// bytes than the longest one has.
#[derive(Debug, Clone)]
pub struct Matcher {
    stops: Vec<Automaton>,
    withheld: String,
    hit: bool,
}

/// What a chunk released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// Safe to deliver; possibly empty.
    pub text: String,
    /// A stop text was completed, so nothing more is to be delivered.
    pub hit: bool,
}

// === impl Matcher ===

impl Matcher {
    /// For these stop texts; an empty one never stops anything.
    pub fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|it| !it.is_empty()).map(|it| Automaton::new(it));
        Self { stops: stops.collect(), withheld: String::new(), hit: false }
    }

    /// Takes the next chunk. Of two stop texts that end at the same place the longer
    /// one counts. After a hit every chunk is dropped.
    pub fn feed(&mut self, chunk: &str) -> Fed {
        if self.hit {
            return Fed { text: String::new(), hit: true };
        }
        let before = self.withheld.len();
        self.withheld.push_str(chunk);
        for (at, byte) in chunk.bytes().enumerate() {
            if let Some(length) = self.step(byte) {
                let end = before.saturating_add(at).saturating_add(1);
                self.hit = true;
                return self.release(end.saturating_sub(length));
            }
        }
        let kept = self.stops.iter().map(|it| it.matched).max().unwrap_or(0);
        self.release(self.withheld.len().saturating_sub(kept))
    }

    /// The end of the text: what was held back turns out to be safe.
    pub fn finish(self) -> String {
        self.withheld
    }

    /// The length of the longest stop text that ends with this byte.
    fn step(&mut self, byte: u8) -> Option<usize> {
        self.stops.iter_mut().filter_map(|it| it.step(byte)).max()
    }

    fn release(&mut self, end: usize) -> Fed {
        // A stop text begins with a whole character, so `end` is between two.
        let rest = self.withheld.split_off(end);
        let text = std::mem::replace(&mut self.withheld, rest);
        if self.hit {
            self.withheld = String::new();
        }
        Fed { text, hit: self.hit }
    }
}

/// Knuth, Morris and Pratt's: each byte is looked at once, however a stop text
/// repeats itself.
#[derive(Debug, Clone)]
struct Automaton {
    stop: Vec<u8>,
    /// For each length of a matched prefix, the next shorter one to try.
    shorter: Vec<usize>,
    matched: usize,
}

// === impl Automaton ===

impl Automaton {
    fn new(stop: &str) -> Self {
        let mut it = Self { stop: stop.into(), shorter: vec![0, 0], matched: 0 };
        for byte in stop.bytes().skip(1) {
            it.advance(byte);
            it.shorter.push(it.matched);
        }
        it.matched = 0;
        it
    }

    /// The stop text's length once it is complete.
    fn step(&mut self, byte: u8) -> Option<usize> {
        self.advance(byte);
        (self.matched == self.stop.len()).then_some(self.matched)
    }

    fn advance(&mut self, byte: u8) {
        while self.matched > 0 && self.stop.get(self.matched) != Some(&byte) {
            self.matched = self.shorter.get(self.matched).copied().unwrap_or(0);
        }
        if self.stop.get(self.matched) == Some(&byte) {
            self.matched = self.matched.saturating_add(1);
        }
    }
}

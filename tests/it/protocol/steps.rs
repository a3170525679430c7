//! What may happen to the real thing, drawn from a seed.

/// Where the time of a random run begins, and how long a window is, in seconds.
pub(super) const WINDOW: u64 = 1_000;
pub(super) const WINDOWS: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// At a replica, in an envelope, so much; in the present window, or in another one.
    Hold {
        at: usize,
        envelope: usize,
        need: u64,
        window: Option<u64>,
    },
    /// The same from both replicas at once, several times.
    Rush {
        envelope: usize,
        need: u64,
        callers: usize,
    },
    /// Of a call, whether it is open or not.
    Settle {
        at: usize,
        call: usize,
        truth: u64,
        exact: bool,
    },
    Void {
        at: usize,
        call: usize,
    },
    Late {
        call: usize,
        truth: u64,
    },
    Sweep {
        both: bool,
    },
    /// A replica dies while an order, or the end of a call, is on its way.
    Crash {
        at: usize,
        ends: Option<usize>,
        need: u64,
        after: u64,
    },
    Wait {
        seconds: u64,
    },
}

/// SplitMix64: small, and the same everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (it ^ (it >> 31)) % most
    }

    fn index(&mut self, most: u64) -> usize {
        usize::try_from(self.below(most)).unwrap()
    }

    fn amount(&mut self) -> u64 {
        match self.below(5) {
            0 => self.below(3),
            1 => self.below(400),
            _ => self.below(120),
        }
    }

    pub(super) fn step(&mut self) -> Step {
        let (at, call) = (self.index(2), self.index(1_000));
        match self.below(20) {
            0..=5 => {
                let window = (self.below(6) == 0).then(|| self.below(WINDOWS));
                Step::Hold { at, envelope: self.index(2), need: self.amount(), window }
            }
            6 => Step::Rush {
                envelope: self.index(2),
                need: 1 + self.amount(),
                callers: 2 + self.index(7),
            },
            7..=11 => Step::Settle { at, call, truth: self.amount(), exact: self.below(3) > 0 },
            12 => Step::Void { at, call },
            13..=14 => Step::Late { call, truth: self.amount() },
            15 => Step::Sweep { both: self.below(2) == 0 },
            16..=17 => {
                let ends = (self.below(2) == 0).then_some(call);
                Step::Crash { at, ends, need: self.amount(), after: self.below(40) * 100 }
            }
            _ => Step::Wait { seconds: 1 + self.below(400) },
        }
    }
}

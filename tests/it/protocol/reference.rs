//! What the second and third invariant say, in numbers without bounds, and nothing of
//! how the program does it: there are calls, and what a limit counts is counted anew.

/// Something granted.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub(super) amount: i128,
    /// Counts calls in place of money.
    pub(super) calls: bool,
    /// False: counts, but never refuses.
    pub(super) enforcing: bool,
    /// From when until before when, in seconds.
    pub(super) window: (i128, i128),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Held { expires: i128 },
    Booked { charge: i128, overrun: i128, exact: bool },
    Void,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) need: i128,
    pub(super) on: Vec<usize>,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Held,
    Short,
    Closed,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Reference {
    pub(super) now: i128,
    pub(super) limits: Vec<Granted>,
    pub(super) calls: Vec<Call>,
}

impl Reference {
    /// `settled`, `overrun` and `held` of a limit, one call left out.
    pub(super) fn counters(&self, limit: usize, but: Option<usize>) -> [i128; 3] {
        let mut sum = [0; 3];
        let on = |(n, call): &(usize, &Call)| Some(*n) != but && call.on.contains(&limit);
        for (_, call) in self.calls.iter().enumerate().filter(on) {
            match (call.state, self.limits[limit].calls) {
                (State::Held { .. }, true) => sum[2] += 1,
                (State::Held { .. }, false) => sum[2] += call.need,
                (State::Booked { .. }, true) => sum[0] += 1,
                (State::Booked { charge, overrun, .. }, false) => {
                    sum[0] += charge;
                    sum[1] += overrun;
                }
                (State::Void, _) => {}
            }
        }
        sum
    }

    /// The least that the enforcing limits of one kind leave.
    fn room(&self, on: &[usize], calls: bool, but: Option<usize>) -> i128 {
        let of_kind = |it: &&usize| self.limits[**it].enforcing && self.limits[**it].calls == calls;
        let left = |it: &usize| {
            (self.limits[*it].amount - self.counters(*it, but).iter().sum::<i128>()).max(0)
        };
        on.iter().filter(of_kind).map(left).min().unwrap_or(i128::MAX)
    }

    /// Admission demands `settled + overrun + held + need <= limit` of every limit.
    pub(super) fn hold(&mut self, need: i128, on: &[usize], ttl: i128) -> Answer {
        let open =
            |it: &usize| (self.limits[*it].window.0..self.limits[*it].window.1).contains(&self.now);
        if !on.iter().all(open) {
            return Answer::Closed;
        }
        let fits = need == 0 || need <= self.room(on, false, None);
        if !fits || self.room(on, true, None) < 1 {
            return Answer::Short;
        }
        let state = State::Held { expires: self.now + ttl };
        self.calls.push(Call { need, on: on.to_vec(), state });
        Answer::Held
    }

    pub(super) fn is_held(&self, call: usize) -> bool {
        matches!(self.calls[call].state, State::Held { .. })
    }

    /// Charges first `min(truth, hold)`, then what no other needs; the rest is overrun.
    pub(super) fn settle(&mut self, call: usize, truth: i128, exact: bool) {
        let Call { need, on, .. } = &self.calls[call];
        let first = truth.min(*need);
        let more = (truth - first).min((self.room(on, false, Some(call)) - first).max(0));
        let (charge, overrun) = (first + more, truth - first - more);
        self.calls[call].state = State::Booked { charge, overrun, exact };
    }

    pub(super) fn void(&mut self, call: usize) {
        self.calls[call].state = State::Void;
    }

    /// A hold whose time is over is settled at its full amount; how many there were.
    pub(super) fn sweep(&mut self) -> usize {
        let over = |it: &usize| matches!(self.calls[*it].state, State::Held { expires } if expires <= self.now);
        let all: Vec<usize> = (0..self.calls.len()).filter(over).collect();
        for it in &all {
            self.settle(*it, self.calls[*it].need, false);
        }
        all.len()
    }

    /// An estimate gives way to the exact truth: a decrease reduces the overrun first.
    pub(super) fn late(&mut self, call: usize, truth: i128) {
        let State::Booked { charge, overrun, exact: false } = self.calls[call].state else {
            return;
        };
        let fallen = charge + overrun - truth;
        let (charge, overrun) = if fallen >= 0 {
            let of_overrun = fallen.min(overrun);
            (charge - (fallen - of_overrun), overrun - of_overrun)
        } else {
            let more = (-fallen).min(self.room(&self.calls[call].on, false, None));
            (charge + more, overrun - fallen - more)
        };
        self.calls[call].state = State::Booked { charge, overrun, exact: true };
    }
}

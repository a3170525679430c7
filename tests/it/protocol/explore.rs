//! Every state that can be reached, breadth first, so that what is found is shortest.

use std::{collections::HashMap, fmt::Debug, hash::Hash, rc::Rc};

/// Something with finitely many states.
pub(super) trait Model {
    type State: Eq + Hash + Debug;
    type Step: Copy + Debug;

    fn start(&self) -> Self::State;
    /// All that may happen next.
    fn next(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;
    /// What must never be so, and is.
    fn problem(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether everything is over, with nothing left behind.
    fn is_quiet(&self, state: &Self::State) -> bool;
    /// Whether the step is one that nobody has to take: a fault.
    fn is_fault(step: Self::Step) -> bool;
}

/// How much there was to see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Explored {
    pub(super) states: usize,
    pub(super) steps: usize,
}

/// The shortest way to a state that must not be.
#[derive(Debug)]
#[expect(dead_code, reason = "it is there to be printed")]
pub(super) struct Counterexample {
    pub(super) problem: &'static str,
    pub(super) trace: Vec<String>,
    pub(super) state: String,
}

/// What is said of a state from which no quiet one is reached without a fault.
pub(super) const STUCK: &str = "it never comes to rest";

/// Looks at every state, and whether from each a quiet one is reached without any
/// further fault.
pub(super) fn explore<M: Model>(model: &M, most: usize) -> Result<Explored, Box<Counterexample>> {
    let mut seen = Seen::<M>::new(model.start());
    let mut back = vec![Vec::new()];
    let mut steps = 0;
    let mut at = 0;
    while at < seen.states.len() {
        let state = Rc::clone(&seen.states[at]);
        if let Some(problem) = model.problem(&state) {
            return Err(Box::new(seen.counterexample(at, problem)));
        }
        for (step, next) in model.next(&state) {
            steps += 1;
            let to = seen.number(next, (at, step));
            back.resize_with(seen.states.len(), Vec::new);
            if !M::is_fault(step) {
                back[to].push(at);
            }
        }
        assert!(seen.states.len() <= most, "more than {most} states");
        at += 1;
    }
    let quiet = (0..seen.states.len()).filter(|it| model.is_quiet(&seen.states[*it]));
    match first_that_leads_nowhere(&back, quiet.collect()) {
        Some(stuck) => Err(Box::new(seen.counterexample(stuck, STUCK))),
        None => Ok(Explored { states: seen.states.len(), steps }),
    }
}

fn first_that_leads_nowhere(back: &[Vec<usize>], mut open: Vec<usize>) -> Option<usize> {
    let mut leads = vec![false; back.len()];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut leads[at], true) {
            open.extend(&back[at]);
        }
    }
    leads.iter().position(|it| !it)
}

struct Seen<M: Model> {
    states: Vec<Rc<M::State>>,
    numbers: HashMap<Rc<M::State>, usize>,
    /// Where each state but the first was first reached from.
    from: Vec<Option<(usize, M::Step)>>,
}

impl<M: Model> Seen<M> {
    fn new(start: M::State) -> Self {
        let start = Rc::new(start);
        Self { states: vec![Rc::clone(&start)], numbers: [(start, 0)].into(), from: vec![None] }
    }

    fn number(&mut self, state: M::State, from: (usize, M::Step)) -> usize {
        if let Some(known) = self.numbers.get(&state) {
            return *known;
        }
        let (state, number) = (Rc::new(state), self.states.len());
        self.states.push(Rc::clone(&state));
        self.numbers.insert(state, number);
        self.from.push(Some(from));
        number
    }

    fn counterexample(&self, at: usize, problem: &'static str) -> Counterexample {
        let mut trace = Vec::new();
        let mut here = at;
        while let Some((from, step)) = self.from[here] {
            trace.push(format!("{step:?}"));
            here = from;
        }
        trace.reverse();
        Counterexample { problem, trace, state: format!("{:#?}", self.states[at]) }
    }
}

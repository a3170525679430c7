//! Hints in order, then the three priorities; ties by alias. Whole numbers only, so
//! that every replica sorts alike.

use std::cmp::Reverse;

use super::{Candidate, Fit};
use crate::domain::{
    family::{Class, Hint},
    preferences::{Preferences, Priority},
};

/// The scale of a score's parts.
const FULL: i128 = 1_000;

/// How well a model meets the hints. The order of the variants is that of preference:
/// a model that is named beats every one that is only like a named one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    /// The hint of this index is part of one of its names.
    Named(usize),
    /// It is of the class that the hint of this index speaks of.
    Alike(usize, Class),
    /// There are hints, and none is met.
    No,
    /// There are no hints.
    Unasked,
}

/// What candidates are sorted by.
type Key<'a> = (Match, bool, Reverse<i128>, &'a str);

/// The hints, as names are matched with them.
pub(super) fn hints(wishes: &Preferences) -> Vec<Hint> {
    wishes.hints.iter().map(|it| Hint::of(it)).collect()
}

/// Whether a hint is part of one of its names.
pub(super) fn is_named(it: &Fit<'_>, hints: &[Hint]) -> bool {
    matches!(meets(it, hints), Match::Named(_))
}

/// The best `most` of these, best first, each with why it stands where it does.
pub(super) fn best<'a>(fits: &[Fit<'a>], wishes: &Preferences, most: usize) -> Vec<Candidate<'a>> {
    let hints = hints(wishes);
    let cheapest = fits.iter().map(|it| it.cost).min().unwrap_or(0);
    let key = |it: &Fit<'a>| -> Key<'a> {
        let model = &it.listed.model;
        let score = Reverse(score(it, wishes, cheapest));
        (meets(it, &hints), it.listed.is_demonstration, score, &model.alias)
    };
    let mut keyed: Vec<(Key<'a>, &Fit<'a>)> = fits.iter().map(|it| (key(it), it)).collect();
    // Only the best are sorted: a tenant may have thousands.
    if most > 0 && keyed.len() > most {
        keyed.select_nth_unstable_by(most - 1, |a, b| a.0.cmp(&b.0));
        keyed.truncate(most);
    }
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let candidate = |((met, ..), it): (Key<'a>, &Fit<'a>)| Candidate {
        model: &it.listed.model,
        version: it.version,
        prices: *it.prices,
        prompt_tokens: it.prompt_tokens,
        answer_tokens: it.answer_tokens,
        is_demonstration: it.listed.is_demonstration,
        reasons: reasons(it, wishes, (met, cheapest)),
    };
    keyed.into_iter().take(most).map(candidate).collect()
}

fn meets(it: &Fit<'_>, hints: &[Hint]) -> Match {
    let names = &it.listed.names;
    if hints.is_empty() {
        return Match::Unasked;
    }
    if let Some(at) = hints.iter().position(|hint| names.match_hint(hint)) {
        return Match::Named(at);
    }
    let mut alike = hints.iter().enumerate();
    let found = alike.find_map(|(at, hint)| Some(Match::Alike(at, names.match_class(hint)?)));
    found.unwrap_or(Match::No)
}

/// Without any priority only the price counts: nobody is surprised by a dear model.
fn score(it: &Fit<'_>, wishes: &Preferences, cheapest: i128) -> i128 {
    let weight = |it: Option<Priority>| it.map_or(0, |it| i128::from(it.thousandths()));
    let (cost_weight, speed, intelligence) =
        (weight(wishes.cost), weight(wishes.speed), weight(wishes.intelligence));
    let none = cost_weight == 0 && speed == 0 && intelligence == 0;
    let cost_weight = if none { FULL } else { cost_weight };
    let model = &it.listed.model;
    cost_weight * cheapness(it, cheapest)
        + speed * i128::from(model.speed) * 10
        + intelligence * i128::from(model.intelligence) * 10
}

/// From 0 to [`FULL`]: the cheapest has all of it, one twice as dear has half.
fn cheapness(it: &Fit<'_>, cheapest: i128) -> i128 {
    if it.cost == 0 { FULL } else { cheapest * FULL / it.cost }
}

fn reasons(it: &Fit<'_>, wishes: &Preferences, (met, cheapest): (Match, i128)) -> Vec<String> {
    let mut reasons = Vec::new();
    match met {
        Match::Named(at) => reasons.push(format!("matches hint {}", at + 1)),
        Match::Alike(at, class) => {
            reasons.push(format!("is {} like hint {}", class.word(), at + 1));
        }
        Match::No => reasons.push("matches no hint".to_owned()),
        Match::Unasked => {}
    }
    let model = &it.listed.model;
    reasons.push(format!(
        "cheapness {} of 1000, speed {} of 100, intelligence {} of 100",
        cheapness(it, cheapest),
        model.speed,
        model.intelligence
    ));
    let stated =
        [("cost", wishes.cost), ("speed", wishes.speed), ("intelligence", wishes.intelligence)];
    let stated = stated.iter().filter_map(|(name, it)| {
        let thousandths = it.as_ref()?.thousandths();
        Some(format!("{name} {}.{:03}", thousandths / 1000, thousandths % 1000))
    });
    let stated: Vec<String> = stated.collect();
    reasons.push(if stated.is_empty() {
        "no priorities: the cheapest".to_owned()
    } else {
        format!("priorities: {}", stated.join(", "))
    });
    reasons
}

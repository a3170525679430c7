//! Hints in order, then the three priorities; ties by alias. Whole numbers only, so
//! that every replica sorts alike.

use std::cmp::Reverse;

use super::Candidate;
use crate::domain::preferences::{Preferences, Priority};

/// The scale of a score's parts.
const FULL: i128 = 1_000;

/// Sorts the candidates and writes down why each stands where it does.
pub(super) fn sort(candidates: &mut [Candidate<'_>], wishes: &Preferences) {
    let cheapest = candidates.iter().map(cost).min().unwrap_or(0);
    for it in candidates.iter_mut() {
        it.reasons = reasons(it, wishes, cheapest);
    }
    candidates.sort_by_cached_key(|it| {
        let hint = hint(it, wishes).unwrap_or(usize::MAX);
        (hint, it.is_demonstration, Reverse(score(it, wishes, cheapest)), it.model.alias.clone())
    });
}

/// The most the whole request can cost on it, in pico-USD.
fn cost(it: &Candidate<'_>) -> i128 {
    let answer = i128::from(it.prices.dearest_answer_token().pico_usd());
    it.prices.prompt_ceiling(it.prompt_tokens) + answer * i128::from(it.answer_tokens)
}

/// The first hint that is part of one of its names, in any case of letters.
fn hint(it: &Candidate<'_>, wishes: &Preferences) -> Option<usize> {
    let names = [it.model.alias.to_lowercase(), it.model.vendor_model.to_lowercase()];
    wishes.hints.iter().position(|hint| {
        let hint = hint.to_lowercase();
        names.iter().any(|name| name.contains(&hint))
    })
}

/// Without any priority only the price counts: nobody is surprised by a dear model.
fn score(it: &Candidate<'_>, wishes: &Preferences, cheapest: i128) -> i128 {
    let weight = |it: Option<Priority>| it.map_or(0, |it| i128::from(it.thousandths()));
    let (cost_weight, speed, intelligence) =
        (weight(wishes.cost), weight(wishes.speed), weight(wishes.intelligence));
    let none = cost_weight == 0 && speed == 0 && intelligence == 0;
    let cost_weight = if none { FULL } else { cost_weight };
    cost_weight * cheapness(it, cheapest)
        + speed * i128::from(it.model.speed) * 10
        + intelligence * i128::from(it.model.intelligence) * 10
}

/// From 0 to [`FULL`]: the cheapest has all of it, one twice as dear has half.
fn cheapness(it: &Candidate<'_>, cheapest: i128) -> i128 {
    let cost = cost(it);
    if cost == 0 { FULL } else { cheapest * FULL / cost }
}

fn reasons(it: &Candidate<'_>, wishes: &Preferences, cheapest: i128) -> Vec<String> {
    let mut reasons = Vec::new();
    match hint(it, wishes) {
        Some(at) => reasons.push(format!("matches hint {}", at + 1)),
        None if !wishes.hints.is_empty() => reasons.push("matches no hint".to_owned()),
        None => {}
    }
    reasons.push(format!(
        "cheapness {} of 1000, speed {} of 100, intelligence {} of 100",
        cheapness(it, cheapest),
        it.model.speed,
        it.model.intelligence
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

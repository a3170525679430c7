//! What an import would change, and what of it needs an explicit yes.

use bursar::{
    domain::book::{Change, Turn, compare},
    prices::Format,
};

use super::list;

/// What each change of a table is, with its guards.
fn changes(old: &str, new: &str) -> Vec<String> {
    let rows = |text: &str| {
        if text.is_empty() { Vec::new() } else { list(Format::Table, text).rows }
    };
    let said = |it: Change| {
        let turn = match it.turn {
            Turn::Added => "+",
            Turn::Changed => "~",
            Turn::Removed => "-",
        };
        let guards: Vec<String> = it.guards.iter().map(ToString::to_string).collect();
        format!("{turn}{} {}", it.key, guards.join(", ")).trim_end().to_owned()
    };
    compare(&rows(old), &rows(new)).into_iter().map(said).collect()
}

#[test]
fn what_is_new_other_or_gone_is_told_in_order() {
    let old = "a one 1 2\na two 1 2\na three 1 2\n";
    let new = "a two 1 3\na three 1 2\na four 1 2\n";
    assert_eq!(changes(old, new), ["+a/four", "-a/one", "~a/two"]);
    assert_eq!(changes(old, old), Vec::<String>::new());
}

#[test]
fn five_fold_passes_and_more_needs_a_yes_either_way() {
    assert_eq!(changes("a m 1 2", "a m 5 2 cache_read=1"), ["~a/m"]);
    assert_eq!(
        changes("a m 1 2 cache_read=1", "a m 5.000001 2 cache_read=1 cache_write=1"),
        ["~a/m input changes more than five-fold, audio_input changes more than five-fold, \
          image changes more than five-fold"]
    );
    assert_eq!(
        changes("a m 1 2", "a m 1 0.399999 reasoning=2 audio_output=2"),
        ["~a/m output changes more than five-fold"]
    );
    // A jump beyond a threshold alone is one too.
    assert_eq!(
        changes(
            "a m 1 2 above=1000 output=4",
            "a m 1 2 above=1000 output=40 reasoning=4 audio_output=4"
        ),
        ["~a/m output changes more than five-fold"]
    );
    // A row of a later day is compared with the one that counted until then.
    assert_eq!(
        changes("a m 1 2", "a m 1 2\na m 1 11 from=2027-01-01 reasoning=2 audio_output=2"),
        ["+a/m output changes more than five-fold"]
    );
}

#[test]
fn what_is_dear_or_free_needs_a_yes_once() {
    let dear = "a m 1 1000.000001 reasoning=1 audio_output=1";
    assert_eq!(changes("", dear), ["+a/m output is above 0.001 USD a token"]);
    assert_eq!(changes("", "a m 1000 1000"), ["+a/m"]);
    assert_eq!(changes("", "a m 0 0"), ["+a/m it becomes free"]);
    // As dear or as free as before: only what else changes is looked at.
    assert_eq!(changes(dear, &dear.replace("a m 1 ", "a m 2 ")), ["~a/m"]);
    assert_eq!(changes("a m 0 0", "a m 0 0\na n 1 1"), ["+a/n"]);
    let freed = &changes("a m 1 1", "a m 0 0")[0];
    assert!(freed.starts_with("~a/m it becomes free, input changes more than"), "{freed}");
    let priced = &changes("a m 0 0", "a m 1 1")[0];
    assert!(priced.contains("output changes more than five-fold"), "{priced}");
}

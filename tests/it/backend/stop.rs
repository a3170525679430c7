//! Stop texts end an answer wherever a backend cuts its chunks.

use bursar::domain::stop::Matcher;
use proptest::prelude::*;

/// All that is delivered of these chunks, and whether a stop text ended them.
fn deliver(stops: &[String], chunks: &[&str]) -> (String, bool) {
    let mut matcher = Matcher::new(stops);
    let mut delivered = String::new();
    for chunk in chunks {
        let fed = matcher.feed(chunk);
        delivered.push_str(&fed.text);
        if fed.hit {
            assert_eq!(matcher.feed("more").text, "", "nothing comes after a stop");
            assert_eq!(matcher.finish(), "");
            return (delivered, true);
        }
    }
    delivered.push_str(&matcher.finish());
    (delivered, false)
}

/// The same by looking at the whole text: the first place where a stop text ends.
fn model(stops: &[String], text: &str) -> (String, bool) {
    let ends = text.char_indices().map(|(at, it)| at + it.len_utf8());
    for end in ends {
        let ending = stops.iter().filter(|it| !it.is_empty() && text[..end].ends_with(&***it));
        if let Some(longest) = ending.map(String::len).max() {
            return (text[..end - longest].to_owned(), true);
        }
    }
    (text.to_owned(), false)
}

fn strings(them: &[&str]) -> Vec<String> {
    them.iter().map(|&it| it.to_owned()).collect()
}

#[test]
fn a_stop_text_is_never_delivered_and_nothing_after_it() {
    let check = |stops: &[&str], chunks: &[&str], text: &str, hit: bool| {
        assert_eq!(deliver(&strings(stops), chunks), (text.into(), hit), "{stops:?} {chunks:?}");
    };
    check(&["END"], &["one END two"], "one ", true);
    check(&["END"], &["one E", "N", "D two"], "one ", true);
    check(&["END"], &["one EN", "E", "ND"], "one EN", true);
    check(&["END"], &["one EN"], "one EN", false);
    check(&["\n\n"], &["a\n", "b\n", "\nc"], "a\nb", true);
    check(&["aab"], &["aa", "aab", "x"], "aa", true);
    check(&["aab"], &["aaab"], "a", true);
    check(&["ababac"], &["abab", "abac"], "ab", true);
    check(&["abcd", "bc"], &["abcd"], "a", true);
    check(&["bc", "abc"], &["xabc"], "x", true);
    check(&["è", "🦀"], &["é", "e", "🦁", "🦀"], "ée🦁", true);
    check(&[""], &["never"], "never", false);
    check(&[], &["never", "", "again"], "neveragain", false);
}

#[test]
fn harmless_text_is_not_held_back() {
    let mut matcher = Matcher::new(&strings(&["STOP"]));
    assert_eq!(matcher.feed("all of it").text, "all of it");
    assert_eq!(matcher.feed(" ST").text, " ");
    assert_eq!(matcher.feed("S").text, "ST");
    assert_eq!(matcher.finish(), "S");
}

proptest! {
    #[test]
    fn chunks_make_no_difference(
        stops in prop::collection::vec("[abé]{0,5}", 0..4),
        chunks in prop::collection::vec("[abé]{0,5}", 0..12),
    ) {
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        prop_assert_eq!(deliver(&stops, &chunks), model(&stops, &chunks.concat()));
    }

    #[test]
    fn less_is_held_back_than_the_longest_stop_text(
        stops in prop::collection::vec("[ab]{1,5}", 1..4),
        chunks in prop::collection::vec("[ab]{0,5}", 0..12),
    ) {
        let longest = stops.iter().map(String::len).max().unwrap();
        let mut matcher = Matcher::new(&stops);
        let mut missing = 0;
        for chunk in &chunks {
            let fed = matcher.feed(chunk);
            if fed.hit {
                break;
            }
            missing = missing + chunk.len() - fed.text.len();
            prop_assert!(missing < longest);
        }
    }
}

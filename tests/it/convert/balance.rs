//! Tool balance against a checker of another make.

use bursar::{
    domain::{
        balance,
        message::{Block, JsonText, Message, Role, ToolResult, ToolUse},
    },
    proto::Role as WireRole,
};
use proptest::prelude::*;

use super::support::{message, refused, text, tool_result, tool_use, with_params};

#[test]
fn unbalanced_conversations_are_refused_by_the_message_at_fault() {
    let user = |content| message(WireRole::User, content);
    let model = |content| message(WireRole::Assistant, content);
    let (ask, say) = (|id| tool_use(id, "{}"), |id| tool_result(id, vec![text("ok")]));
    let cases = [
        // No answer at all; split by another message; answered by words.
        (vec![model(vec![ask("a")])], 0, "followed by"),
        (
            vec![model(vec![ask("a")]), model(vec![text("x")]), user(vec![say("a")])],
            0,
            "followed by",
        ),
        (vec![model(vec![ask("a")]), user(vec![text("x")])], 0, "followed by"),
        (
            vec![model(vec![ask("a"), ask("b")]), user(vec![say("a")]), user(vec![say("b")])],
            1,
            "every tool_use",
        ),
        // Mixed, twice, missing, of nothing, late.
        (vec![model(vec![ask("a")]), user(vec![say("a"), text("x")])], 1, "no other blocks"),
        (vec![model(vec![ask("a")]), user(vec![say("a"), say("a")])], 1, "the same tool_use"),
        (vec![model(vec![ask("a"), ask("b")]), user(vec![say("b")])], 1, "every tool_use"),
        (vec![model(vec![ask("a")]), user(vec![say("b")])], 1, "must answer"),
        (vec![user(vec![say("a")])], 0, "must answer"),
        (vec![model(vec![ask("a")]), user(vec![say("a")]), user(vec![say("a")])], 2, "must answer"),
        (vec![model(vec![ask("a"), ask("a")]), user(vec![say("a")])], 0, "the same id"),
    ];
    for (messages, at, problem) in cases {
        let read = with_params(|it| it.messages = messages);
        let said = read.as_ref().unwrap_err().to_string();
        assert!(said.contains(problem), "{said}");
        refused(read, &format!("params.messages[{at}]"));
    }
}

#[test]
fn balanced_conversations_pass_whatever_the_order_of_results() {
    let say = |id| tool_result(id, vec![text("ok")]);
    let turn =
        || message(WireRole::Assistant, vec![text("so"), tool_use("a", "{}"), tool_use("b", "{}")]);
    // Ids may come again in a later turn.
    let messages = vec![
        turn(),
        message(WireRole::User, vec![say("b"), say("a")]),
        turn(),
        message(WireRole::User, vec![say("a"), say("b")]),
        message(WireRole::User, vec![text("and?")]),
    ];
    assert!(with_params(|it| it.messages = messages).is_ok());
}

/// A message as a role and letters: `U` and `R` with an id, or `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Text,
    Use(u8),
    Result(u8),
}

type Turn = (bool, Vec<Part>);

/// The rule said anew, over windows of two: sorted lists in place of sets.
fn model(turns: &[Turn]) -> bool {
    let ids = |turn: &Turn, pick: fn(&Part) -> Option<u8>| {
        let mut ids: Vec<u8> = turn.1.iter().filter_map(pick).collect();
        ids.sort_unstable();
        ids
    };
    let used = |it: &Part| if let Part::Use(id) = it { Some(*id) } else { None };
    let answered = |it: &Part| if let Part::Result(id) = it { Some(*id) } else { None };
    let nothing = (true, Vec::new());
    let with_ends: Vec<&Turn> =
        std::iter::once(&nothing).chain(turns).chain(std::iter::once(&nothing)).collect();
    with_ends.windows(2).all(|pair| {
        let (asked, results) = (ids(pair[0], used), ids(pair[1], answered));
        let once = asked.windows(2).all(|it| it[0] != it[1]);
        let pure = results.is_empty() || results.len() == pair[1].1.len();
        once && pure && asked == results
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    // Few ids and a bias to calls and results, so that balance is not rare.
    let use_part = prop_oneof![1 => Just(Part::Text), 3 => (0..3_u8).prop_map(Part::Use)];
    let result_part = prop_oneof![1 => Just(Part::Text), 9 => (0..3_u8).prop_map(Part::Result)];
    prop_oneof![
        prop::collection::vec(use_part, 1..4).prop_map(|it| (false, it)),
        prop::collection::vec(result_part, 1..4).prop_map(|it| (true, it)),
    ]
}

/// Calls followed by their results, at times spoiled.
fn exchange() -> impl Strategy<Value = Vec<Turn>> {
    (prop::collection::vec(0..4_u8, 1..4), any::<bool>(), 0..8_u8).prop_map(
        |(ids, reverse, spoil)| {
            let uses = ids.iter().map(|it| Part::Use(*it)).collect();
            let mut results: Vec<Part> = ids.iter().map(|it| Part::Result(*it)).collect();
            if reverse {
                results.reverse();
            }
            match spoil {
                0 => results.push(Part::Text),
                1 => results[0] = Part::Result(9),
                2 => results.extend_from_within(..1),
                _ => {}
            }
            vec![(false, uses), (true, results)]
        },
    )
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let chunk = prop_oneof![2 => turn().prop_map(|it| vec![it]), 3 => exchange()];
    prop::collection::vec(chunk, 0..4).prop_map(|it| it.concat())
}

fn to_message((user, parts): &Turn) -> Message {
    let part = |it: &Part| match it {
        Part::Text => Block::Text("x".to_owned()),
        Part::Use(id) => Block::ToolUse(ToolUse {
            id: id.to_string(),
            name: "t".to_owned(),
            input: JsonText::checked("{}"),
        }),
        Part::Result(id) => Block::ToolResult(ToolResult {
            tool_use_id: id.to_string(),
            content: Vec::new(),
            structured: None,
            is_error: false,
        }),
    };
    let role = if *user { Role::User } else { Role::Assistant };
    Message { role, content: parts.iter().map(part).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_rule_agrees_with_a_second_reading_of_it(turns in turns()) {
        let messages: Vec<Message> = turns.iter().map(to_message).collect();
        prop_assert_eq!(balance::check(&messages).is_ok(), model(&turns));
    }
}

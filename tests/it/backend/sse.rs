//! Events arrive whole, however the bytes are cut.

use bursar::backend::{
    Cause,
    sse::{Decoder, Frame, LINE_BYTES_MAX},
};
use proptest::prelude::*;

fn decode(chunks: &[&[u8]]) -> Result<Vec<Frame>, Cause> {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, &mut frames)?;
    }
    frames.extend(decoder.finish()?);
    Ok(frames)
}

fn data(text: &str) -> Vec<String> {
    decode(&[text.as_bytes()]).unwrap().into_iter().map(|it| it.data).collect()
}

#[test]
fn the_forms_of_an_event() {
    for (text, expected) in [
        ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
        ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
        ("data: a\n\r\ndata: b\r\n\n\n", vec!["a", "b"]),
        ("data:a\n\ndata:  b\n\n", vec!["a", " b"]),
        ("data: a\ndata: b\n\n", vec!["a\nb"]),
        ("\u{feff}data: a\n\n", vec!["a"]),
        (": keep-alive\n\n:\n\ndata: a\n\n: bye\n\n", vec!["a"]),
        ("id: 1\nretry: 5\ndata: a\nnonsense\n\n", vec!["a"]),
        ("data: last one without its blank line", vec!["last one without its blank line"]),
        ("data\n\n", vec![""]),
        ("\n\n\n", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(data(text), expected, "{text:?}");
    }
}

#[test]
fn an_error_event_is_told_apart() {
    let frames = decode(&[b"event: error\ndata: x\n\nevent: message\ndata: y\n\ndata: z\n\n"]);
    assert_eq!(frames.unwrap().iter().map(|it| it.error).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn neither_a_line_nor_an_event_is_without_measure() {
    let half = vec![b'x'; LINE_BYTES_MAX / 2];
    assert_eq!(decode(&[b"data: ", &half, &half]), Err(Cause::TooLarge));
    let line = [b"data: ", half.as_slice(), b"\n"].concat();
    assert_eq!(decode(&[&line, &line, &line]), Err(Cause::TooLarge));
    assert_eq!(decode(&[&line, b"\n", &line, b"\n", &line]).unwrap().len(), 3);
}

#[test]
fn what_came_before_rubbish_stands() {
    let mut frames = Vec::new();
    let fed = Decoder::default().feed(b"data: a\n\ndata: \xff\n\n", &mut frames);
    assert_eq!((fed, frames.len()), (Err(Cause::Malformed), 1));
}

proptest! {
    #[test]
    fn cuts_make_no_difference(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "data: é🦀", "data:", ":c", "event: error", "\n", "\r", "\r\n", "\n\n", "{\"a\":1}", "x",
            ]),
            0..30,
        ),
        cuts in prop::collection::vec(0_usize..200, 0..40),
    ) {
        let text = pieces.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|it| it.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|it| &text[it[0]..it[1]]).collect();
        prop_assert_eq!(decode(&chunks), decode(&[&text]));
        let bytes: Vec<_> = text.chunks(1).collect();
        prop_assert_eq!(decode(&bytes), decode(&[&text]));
    }
}

//! Pictures and sounds by their headers and the makers' formulas.

use bursar::{
    domain::{
        estimate::{PromptBound, Unbounded},
        message::{Block, Media},
        picture::{self, Size},
        sound,
        vocabulary::{Tokenizer, Vocabulary},
    },
    tokens,
};
use proptest::prelude::*;

use super::text::{model, params};

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut it = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    it.extend(width.to_be_bytes());
    it.extend(height.to_be_bytes());
    it
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut it = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
    // A thumbnail with a size of its own, which is not the picture's.
    let thumbnail = b"Exif\0\0\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10\x03";
    it.extend(b"\xff\xe1");
    it.extend(u16::try_from(thumbnail.len() + 2).unwrap().to_be_bytes());
    it.extend(thumbnail);
    it.extend(b"\xff\xc4\0\x04\0\0\xff\xff\xc2\0\x11\x08");
    it.extend(height.to_be_bytes());
    it.extend(width.to_be_bytes());
    it.extend(b"\x03\x01\x11\0\x02\x11\0\x03\x11\0\xff\xda\0\x02\0\0");
    it
}

fn gif(screen: u16, frame: u16) -> Vec<u8> {
    let mut it = b"GIF89a".to_vec();
    it.extend(screen.to_le_bytes().repeat(2));
    it.extend(b"\x80\0\0\0\0\0\0\0\0\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0");
    it.extend(frame.to_le_bytes().repeat(2));
    it
}

fn webp(kind: &[u8]) -> Vec<u8> {
    [b"RIFF\0\0\0\0WEBP", kind].concat()
}

const EXTENDED: &[u8] = b"VP8X\0\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0";

#[test]
fn a_size_is_read_from_the_first_bytes_of_each_format() {
    let of = |bytes: &[u8]| picture::size(bytes).map(|it| (it.width, it.height));
    assert_eq!(of(&png(640, 480)), Some((640, 480)));
    assert_eq!(of(&jpeg(4_000, 3_000)), Some((4_000, 3_000)), "not the thumbnail's");
    assert_eq!(of(&gif(20, 10)), Some((20, 20)));
    assert_eq!(of(&gif(10, 300)), Some((300, 300)), "a frame may stand out of its screen");
    let lossy = webp(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01");
    assert_eq!(of(&lossy), Some((640, 480)));
    let bits: u32 = 0x27f | (0x1df << 14);
    let lossless = webp(&[b"VP8L\0\0\0\0\x2f".as_slice(), &bits.to_le_bytes()].concat());
    assert_eq!(of(&lossless), Some((640, 480)));
    assert_eq!(of(&webp(EXTENDED)), Some((640, 480)));
}

#[test]
fn what_cannot_be_read_has_no_size() {
    for it in [png(640, 480), jpeg(640, 480), gif(64, 48), webp(EXTENDED)] {
        for cut in [0, 1, 5, it.len() / 2, it.len() - 1] {
            let is_whole = it.starts_with(b"\xff\xd8") && cut == it.len() - 1;
            assert_eq!(picture::size(&it[..cut]).is_some(), is_whole, "{cut} bytes of {it:?}");
        }
    }
    assert_eq!(picture::size(&png(0, 480)), None);
    assert_eq!(picture::size(&png(u32::MAX, 1)), None);
    assert_eq!(picture::size(b"<svg width='9' height='9'/>"), None);
    // Segments without end.
    for segment in [b"\xff\xe0\0\0".as_slice(), b"\xff\xd0", b"\xff"] {
        let bytes = [b"\xff\xd8".as_slice(), &segment.repeat(100_000)].concat();
        assert_eq!(picture::size(&bytes), None);
    }
}

fn image(data: Vec<u8>) -> Block {
    Block::Image(Media { data: data.into(), mime_type: "image/any".to_owned() })
}

fn audio(data: Vec<u8>) -> Block {
    Block::Audio(Media { data: data.into(), mime_type: "audio/any".to_owned() })
}

/// What blocks add to a bound.
fn adds(vendor_model: &str, blocks: &[Block]) -> u64 {
    let of = |blocks: &[Block]| -> PromptBound {
        let params = params(blocks.to_vec(), Vec::new());
        let model = model(vendor_model, Tokenizer::Auto);
        tokens::measure(&params, &Vocabulary::ALL).bound(&model).unwrap()
    };
    of(blocks).most - of(&[]).most
}

#[test]
fn a_picture_counts_by_its_makers_formula() {
    let cases = [
        // 1024 x 1024 is made 768 x 768: four tiles.
        ("gpt-4o", 1_024, 1_024, 85 + 4 * 170),
        // 2048 x 4096 is made 768 x 1536: six tiles.
        ("gpt-4o", 2_048, 4_096, 85 + 6 * 170),
        ("gpt-4o-mini", 1_024, 1_024, 2_833 + 4 * 5_667),
        ("o1", 1_024, 1_024, 75 + 4 * 150),
        ("gpt-5", 1_024, 1_024, 70 + 4 * 140),
        // Patches of 32 x 32, rounded up, and a token for rounding.
        ("gpt-4.1-mini", 1_024, 1_024, 1_659 + 1),
        ("o4-mini", 10_000, 10_000, 2_642 + 1),
        ("claude-3-5-sonnet-latest", 1_000, 1_000, 1_334),
        ("claude-3-5-sonnet-latest", 8_000, 8_000, 1_640),
        ("claude-opus-4-9", 3_000, 3_000, 12_000),
        ("gemini-2.5-flash", 300, 300, 258),
        ("gemini-2.5-flash", 960, 540, 6 * 258),
        // Nothing is published: the declared maximum.
        ("gpt-5.2", 100, 100, 50_000),
        ("llava", 100, 100, 50_000),
    ];
    for (name, width, height, tokens) in cases {
        assert_eq!(adds(name, &[image(png(width, height))]), tokens, "{name} {width}x{height}");
    }
}

#[test]
fn a_huge_picture_costs_nothing_to_look_at_and_at_most_the_declared_maximum() {
    let bomb = image(png(2_000_000_000, 2_000_000_000));
    assert_eq!(adds("claude-opus-4-9", std::slice::from_ref(&bomb)), 50_000);
    assert_eq!(adds("gemini-2.5-flash", std::slice::from_ref(&bomb)), 50_000);
    assert_eq!(adds("gpt-4o", &[bomb]), 85 + 4 * 170);
}

#[test]
fn megabytes_of_a_picture_are_not_tokens() {
    let mut large = png(512, 512);
    large.resize(5_000_000, 0);
    assert_eq!(adds("gpt-4o", &[image(large)]), 85 + 4 * 170);
}

#[test]
fn a_header_that_cannot_be_read_counts_the_declared_maximum() {
    let unread = image(b"RIFF????WEBPnone".to_vec());
    assert_eq!(adds("gpt-4o", std::slice::from_ref(&unread)), 50_000);
    assert_eq!(adds("gpt-4o", &[unread, image(png(9, 9))]), 50_000 + 85 + 4 * 170);
}

#[test]
fn a_model_that_declares_no_maximum_takes_none() {
    let mut model = model("gpt-4o", Tokenizer::Auto);
    (model.image_tokens_max, model.audio_tokens_max) = (0, 0);
    let bound = |it: Block| {
        let params = params(vec![it], Vec::new());
        tokens::measure(&params, &Vocabulary::ALL).bound(&model)
    };
    assert_eq!(bound(image(png(9, 9))), Err(Unbounded::Image));
    assert_eq!(bound(audio(Vec::new())), Err(Unbounded::Audio));
}

/// Seconds of silence in 16 bits at 16 kHz, of which the header knows nothing.
fn wav(seconds: usize) -> Vec<u8> {
    let mut it = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0".to_vec();
    it.extend(b"\0\x7d\0\0\x02\0\x10\0data\0\0\0\0");
    it.resize(44 + seconds * 32_000, 0);
    it
}

/// Frames of 128 kbit/s at 44.1 kHz.
fn mp3(frames: usize) -> Vec<u8> {
    let mut frame = vec![0xff, 0xfb, 0x90, 0];
    frame.resize(417, 0);
    [b"ID3\x04\0\0\0\0\0\x05hello".to_vec(), frame.repeat(frames)].concat()
}

#[test]
fn a_sound_counts_by_how_long_it_can_last() {
    assert_eq!(sound::seconds_max(&wav(10)), Some(11));
    // 383 frames of 26 ms are a little more than ten seconds.
    assert_eq!(sound::seconds_max(&mp3(383)), Some(11));
    assert_eq!(sound::seconds_max(b"OggS"), None);
    let mut absurd = wav(10);
    absurd[24..28].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(sound::seconds_max(&absurd), None, "no such rate of samples");
    // What is no frame counts as if it were of the lowest rate.
    let lied = [mp3(1), vec![0; 100_000]].concat();
    assert_eq!(sound::seconds_max(&lied), Some(101));
    assert_eq!(adds("gpt-4o-audio-preview", &[audio(wav(10))]), 110);
    assert_eq!(adds("gemini-2.5-flash", &[audio(mp3(383))]), 11 * 32);
    assert_eq!(adds("gpt-4o-audio-preview", &[audio(b"OggS".to_vec())]), 50_000);
    assert_eq!(adds("llama", &[audio(wav(1))]), 50_000);
}

/// How files of these kinds begin.
const HEADS: [&[u8]; 9] = [
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR",
    b"\xff\xd8",
    b"GIF89a",
    b"RIFF\0\0\0\0WEBPVP8X",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8L",
    b"RIFF\0\0\0\0WAVEfmt ",
    b"ID3",
    b"\xff\xfb",
];

proptest! {
    /// Whatever comes, a size is read or is not, and no formula exceeds what is declared.
    #[test]
    fn any_bytes_can_be_looked_at(
        head in prop::sample::select(HEADS.as_slice()),
        tail in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let bytes = [head, &tail].concat();
        if let Some(size) = picture::size(&bytes) {
            prop_assert!(size.width > 0 && size.height > 0);
        }
        for name in ["gpt-4o", "gpt-5-mini", "claude-opus-4-9", "claude-3", "gemini-2.0", "any"] {
            prop_assert!(adds(name, &[image(bytes.clone())]) <= 50_000);
            prop_assert!(adds(name, &[audio(bytes.clone())]) <= 50_000);
        }
    }

    #[test]
    fn a_larger_picture_counts_no_less(width in 1_u32..20_000, height in 1_u32..20_000) {
        let (small, large) = (Size { width, height }, Size { width: width + 1, height });
        prop_assert!(large.area_tokens() >= small.area_tokens());
        prop_assert!(large.patches() >= small.patches());
        prop_assert!((4..=8).contains(&small.tiles()));
        prop_assert!(small.crops() >= 1);
    }
}

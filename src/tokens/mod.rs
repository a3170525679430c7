//! Exact counts of text in public vocabularies: the only module that names the crate
//! that has them.
//!
//! The crate takes linear time whatever the text, which a pattern that backtracks or a
//! merge that is quadratic in a long word does not. Text counts as text: what looks like
//! a special token is spelled out.

use std::sync::atomic::{AtomicBool, Ordering};

use bpe_openai::Tokenizer;

use crate::domain::{
    estimate::{Counted, Measured, Texts},
    request::Params,
    vocabulary::Vocabulary,
};

/// Tokens counted exactly in one prompt. What comes after them counts by bytes, so that
/// a megabyte takes at most some milliseconds.
pub const EXACT_TOKENS_MAX: u64 = 65_536;

/// Bytes of a piece that is counted at all. A longer one, without a space or a change of
/// script, is no language.
const PIECE_BYTES_MAX: usize = 16_384;

/// Bytes of text from which on counting is too long for a thread that others wait for.
const INLINE_BYTES_MAX: u64 = 16_384;

/// A prompt's measure in these vocabularies, each counted once.
pub fn measure(params: &Params, vocabularies: &[Vocabulary]) -> Measured {
    let (measured, texts) = Measured::of(params);
    vocabularies.iter().fold(measured, |it, vocabulary| {
        let counted = count(*vocabulary, &texts);
        it.counted(*vocabulary, counted)
    })
}

/// Whether [`measure`] is to run where nobody waits: the prompt is long, or a vocabulary
/// is not unpacked yet.
pub fn is_slow(params: &Params, vocabularies: &[Vocabulary]) -> bool {
    let unpacked = vocabularies.iter().all(|it| is_unpacked(*it).load(Ordering::Acquire));
    let long = || Measured::of(params).0.bytes() > INLINE_BYTES_MAX;
    !vocabularies.is_empty() && (!unpacked || long())
}

/// The texts in a vocabulary. A schema may be written anew by the backend, in a language
/// where nothing takes more than twice its tokens.
pub fn count(vocabulary: Vocabulary, texts: &Texts<'_>) -> Counted {
    let tokenizer = unpacked(vocabulary);
    let mut sum = Counted::default();
    for text in &texts.said {
        let it = text_tokens(tokenizer, text, EXACT_TOKENS_MAX.saturating_sub(sum.least));
        sum = Counted { most: sum.most + it.most, least: sum.least + it.least };
    }
    for schema in &texts.schemas {
        let it = text_tokens(tokenizer, schema, EXACT_TOKENS_MAX.saturating_sub(sum.least));
        let most = it.most.saturating_mul(2).min(length(schema));
        // It may also be written shorter.
        sum = Counted { most: sum.most + most, least: sum.least + it.least / 4 };
    }
    sum
}

/// Tokens of a text, of which about `exact_max` are counted. The text is cut where the
/// vocabulary cuts it itself, with all of it in view, so what was counted is exact and
/// the rest has at most a token a byte. (Cut elsewhere, the parts of a word may have fewer
/// tokens than the word.)
fn text_tokens(tokenizer: &Tokenizer, text: &str, exact_max: u64) -> Counted {
    let mut seen = 0;
    let mut sum = Counted::default();
    for piece in tokenizer.split(text) {
        if sum.least >= exact_max {
            break;
        }
        seen += piece.len();
        if piece.len() > PIECE_BYTES_MAX {
            sum.most += length(piece);
            continue;
        }
        let tokens = u64::try_from(tokenizer.bpe.count(piece.as_bytes())).unwrap_or(u64::MAX / 4);
        sum = Counted { most: sum.most + tokens, least: sum.least + tokens };
    }
    let rest = text.get(seen..).map_or_else(|| length(text), length);
    Counted { most: sum.most + rest, ..sum }
}

/// Takes some hundredths of a second when first asked for, and memory from then on.
fn unpacked(vocabulary: Vocabulary) -> &'static Tokenizer {
    let it = match vocabulary {
        Vocabulary::O200kBase => bpe_openai::o200k_base(),
        Vocabulary::Cl100kBase => bpe_openai::cl100k_base(),
    };
    is_unpacked(vocabulary).store(true, Ordering::Release);
    it
}

fn is_unpacked(vocabulary: Vocabulary) -> &'static AtomicBool {
    static O200K_BASE: AtomicBool = AtomicBool::new(false);
    static CL100K_BASE: AtomicBool = AtomicBool::new(false);
    match vocabulary {
        Vocabulary::O200kBase => &O200K_BASE,
        Vocabulary::Cl100kBase => &CL100K_BASE,
    }
}

/// A length, which fits.
fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX / 4)
}

//! What is published of a model's family by its vendor name: the vocabulary it
//! counts text in and the formulas it counts pictures and sounds by. What is not
//! published is never guessed.

/// A vocabulary that is public, so that text can be counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// GPT-4o and what came after it.
    O200kBase,
    /// GPT-4 and GPT-3.5.
    Cl100kBase,
}

impl Vocabulary {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];
}

/// How an operator wants a model's text counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tokenizer {
    /// By the vocabulary of its vendor name where that is known, else by bytes.
    #[default]
    Auto,
    /// By bytes: a token is at least one.
    Bytes,
    /// By this vocabulary, whatever its name.
    Exact(Vocabulary),
}

impl Tokenizer {
    const WORDS: [(Self, &'static str); 4] = [
        (Self::Auto, "auto"),
        (Self::Bytes, "bytes"),
        (Self::Exact(Vocabulary::O200kBase), "o200k_base"),
        (Self::Exact(Vocabulary::Cl100kBase), "cl100k_base"),
    ];

    /// Its name in tables and on the wire.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(it, _)| *it == self).map_or("auto", |(_, word)| word)
    }

    /// By its name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, it)| *it == word).map(|(it, _)| *it)
    }
}

/// How a picture is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageRule {
    /// Nothing is published: the declared maximum.
    Declared,
    /// So many tokens a picture and so many for each tile of 512 pixels, of a picture
    /// that is made to fit 2,048 pixels and 768 on its shorter side.
    Tiles {
        /// A picture.
        base: u64,
        /// A tile.
        tile: u64,
    },
    /// So many hundredths of a token for each patch of 32 pixels, 1,536 at most.
    Patches {
        /// A patch.
        hundredths: u64,
    },
    /// A token for every 750 pixels; `small` families shrink what is larger than about
    /// 1,600 tokens.
    Area {
        /// Whether they do.
        small: bool,
    },
    /// 258 tokens a tile.
    Crops,
}

/// How a sound is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AudioRule {
    /// Nothing is published: the declared maximum.
    Declared,
    /// So many tokens a second.
    PerSecond(u64),
}

/// What is published of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its vocabulary.
    pub vocabulary: Option<Vocabulary>,
    /// Its pictures.
    pub images: ImageRule,
    /// Its sounds.
    pub audio: AudioRule,
}

impl Published {
    const UNKNOWN: Self =
        Self { vocabulary: None, images: ImageRule::Declared, audio: AudioRule::Declared };

    /// The family of what a backend calls a model, with or without a maker's name
    /// before it and a date after it.
    pub fn of(vendor_model: &str) -> Self {
        let name = vendor_model.to_lowercase();
        let (maker, name) = name.rsplit_once('/').unwrap_or(("", &name));
        let name = name.strip_prefix("ft:").unwrap_or(name);
        let is_theirs = |of: &[&str]| maker.is_empty() || of.iter().any(|it| maker.ends_with(it));
        let known = FAMILIES.iter().find(|(of, stem, _)| is_theirs(of) && is_of(name, stem));
        known.map_or(Self::UNKNOWN, |(_, _, family)| *family)
    }
}

/// Whether a name is the stem or goes on with a suffix of its own: `gpt-4o` is not of
/// the stem `gpt-4`.
fn is_of(name: &str, stem: &str) -> bool {
    let rest = name.strip_prefix(stem);
    rest.is_some_and(|it| it.is_empty() || it.starts_with(['-', ':', '@']))
}

const OPENAI: &[&str] = &["openai", "azure"];
const ANTHROPIC: &[&str] = &["anthropic", "bedrock", "vertex"];
const GOOGLE: &[&str] = &["google", "vertex", "models", "gemini"];

const fn o200k(images: ImageRule) -> Published {
    Published { vocabulary: Some(Vocabulary::O200kBase), images, ..Published::UNKNOWN }
}

const fn audio_o200k() -> Published {
    Published { audio: AudioRule::PerSecond(10), ..o200k(ImageRule::Declared) }
}

const fn cl100k(images: ImageRule) -> Published {
    Published { vocabulary: Some(Vocabulary::Cl100kBase), images, ..Published::UNKNOWN }
}

const fn tiles(base: u64, tile: u64) -> ImageRule {
    ImageRule::Tiles { base, tile }
}

const fn patches(hundredths: u64) -> ImageRule {
    ImageRule::Patches { hundredths }
}

const fn claude(small: bool) -> Published {
    Published { images: ImageRule::Area { small }, ..Published::UNKNOWN }
}

const GEMINI: Published =
    Published { images: ImageRule::Crops, audio: AudioRule::PerSecond(32), ..Published::UNKNOWN };

/// Makers, the stem of a name, what is published; the first that fits counts, so the
/// longer stems come first.
const FAMILIES: [(&[&str], &str, Published); 41] = [
    (OPENAI, "gpt-4o-audio-preview", audio_o200k()),
    (OPENAI, "gpt-4o-mini-audio-preview", audio_o200k()),
    (OPENAI, "gpt-audio", audio_o200k()),
    (OPENAI, "gpt-4o-mini", o200k(tiles(2833, 5667))),
    (OPENAI, "gpt-4o", o200k(tiles(85, 170))),
    (OPENAI, "chatgpt-4o", o200k(tiles(85, 170))),
    (OPENAI, "gpt-4.5", o200k(tiles(85, 170))),
    (OPENAI, "gpt-4.1-mini", o200k(patches(162))),
    (OPENAI, "gpt-4.1-nano", o200k(patches(246))),
    (OPENAI, "gpt-4.1", o200k(tiles(85, 170))),
    (OPENAI, "o4-mini", o200k(patches(172))),
    (OPENAI, "o1", o200k(tiles(75, 150))),
    (OPENAI, "o3", o200k(tiles(75, 150))),
    (OPENAI, "gpt-5-mini", o200k(patches(162))),
    (OPENAI, "gpt-5-nano", o200k(patches(246))),
    // Of the later ones the vocabulary is known, the pictures are not.
    (OPENAI, "gpt-5-codex", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5-pro", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5.1", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5.2", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5.3", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5.4", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-5", o200k(tiles(70, 140))),
    (OPENAI, "gpt-oss", o200k(ImageRule::Declared)),
    (OPENAI, "gpt-4-turbo", cl100k(tiles(85, 170))),
    (OPENAI, "gpt-4-vision-preview", cl100k(tiles(85, 170))),
    (OPENAI, "gpt-4", cl100k(ImageRule::Declared)),
    (OPENAI, "gpt-3.5-turbo", cl100k(ImageRule::Declared)),
    (OPENAI, "gpt-35-turbo", cl100k(ImageRule::Declared)),
    (ANTHROPIC, "claude-3", claude(true)),
    (ANTHROPIC, "claude-opus-4-0", claude(true)),
    (ANTHROPIC, "claude-opus-4-1", claude(true)),
    (ANTHROPIC, "claude-opus-4-5", claude(true)),
    (ANTHROPIC, "claude-sonnet-4-0", claude(true)),
    (ANTHROPIC, "claude-sonnet-4-5", claude(true)),
    (ANTHROPIC, "claude-haiku-4-5", claude(true)),
    (ANTHROPIC, "claude-3.5", claude(true)),
    (ANTHROPIC, "claude-3.7", claude(true)),
    (ANTHROPIC, "claude", claude(false)),
    (GOOGLE, "gemini-1.5", GEMINI),
    (GOOGLE, "gemini-2.0", GEMINI),
    (GOOGLE, "gemini-2.5", GEMINI),
];

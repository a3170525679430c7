//! Bounds of a prompt in tokens: never below the truth.
//!
//! A prompt is measured once; the bound on a model is then a few additions, for
//! thousands of models may be asked.

use super::{
    message::{Block, Media},
    model::{Model, Trust},
    picture::{self, Size},
    request::Params,
    sound,
    vocabulary::{AudioRule, ImageRule, Vocabulary},
};

/// Tokens that a chat template may add around each message.
const FRAME_TOKENS: u64 = 16;

/// Tokens that a chat template may add once, such as a default system prompt.
const TEMPLATE_TOKENS: u64 = 64;

/// The same on models whose text is counted exactly, where no slack of the bytes covers
/// what the maker adds unseen: headings of tools, dates, channels.
const EXACT_TEMPLATE_TOKENS: u64 = 256;

/// Tokens that a backend may add around each tool.
const TOOL_FRAME_TOKENS: u64 = 32;

/// Tokens by which two texts that are joined may count more than each alone.
const JOIN_TOKENS: u64 = 8;

/// Bytes that no vocabulary in use exceeds by much as the mean of a whole prompt.
const BYTES_PER_TOKEN_MAX: u64 = 8;

/// Content whose tokens nobody can bound on this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbounded {
    /// The model takes no images.
    Image,
    /// The model takes no audio.
    Audio,
    /// The model counted more than its safest bound: an operator has to look at it.
    Suspended,
}

/// Between which counts of tokens the truth lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptBound {
    /// No true count is higher: what is held for.
    pub most: u64,
    /// No true count is lower, as far as is known: what a context must hold.
    pub least: u64,
    /// Whether it trusts more than bytes and declared maxima.
    pub is_fine: bool,
}

/// The texts of a prompt, as they are counted.
#[derive(Debug, Clone, Default)]
pub struct Texts<'a> {
    /// Texts that reach the model as they are.
    pub said: Vec<&'a str>,
    /// JSON Schemas of tools, which a backend writes anew in a language of its own.
    pub schemas: Vec<&'a str>,
}

/// What a vocabulary makes of the texts of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Tokens, bytes where they were not counted.
    pub most: u64,
    /// Tokens, none where they were not counted.
    pub least: u64,
}

/// All of a prompt that its bound depends on, on any model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    bytes: u64,
    frames: u64,
    joints: u64,
    media: Pictures,
    sounds: Sounds,
    exact: [Option<Counted>; Vocabulary::ALL.len()],
}

/// The pictures of a prompt by each rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Pictures {
    count: u64,
    unread: u64,
    tiles: u64,
    patches: u64,
    area: u64,
    small_area: u64,
    crops: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sounds {
    count: u64,
    unread: u64,
    seconds: u64,
}

// === Reading a prompt ===

impl Measured {
    /// Measures by bytes and headers, and lists what a vocabulary may count closer.
    pub fn of(params: &Params) -> (Self, Texts<'_>) {
        let mut it = Self { frames: TEMPLATE_TOKENS, ..Self::default() };
        let mut texts = Texts::default();
        if let Some(system) = &params.system {
            it.text(&mut texts, system);
            it.frames += FRAME_TOKENS;
        }
        for tool in &params.tools {
            it.text(&mut texts, &tool.name);
            it.text(&mut texts, &tool.description);
            it.bytes += length(tool.input_schema.as_str());
            texts.schemas.push(tool.input_schema.as_str());
            it.frames += TOOL_FRAME_TOKENS;
        }
        for message in &params.messages {
            it.frames += FRAME_TOKENS;
            for block in &message.content {
                it.block(&mut texts, block);
            }
        }
        (it, texts)
    }

    /// The bytes of all texts.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// With what a vocabulary makes of the texts.
    pub fn counted(mut self, vocabulary: Vocabulary, it: Counted) -> Self {
        self.exact[at(vocabulary)] = Some(it);
        self
    }

    fn block<'a>(&mut self, texts: &mut Texts<'a>, block: &'a Block) {
        match block {
            Block::Text(it) => {
                self.text(texts, it);
                self.frames += 1;
            }
            Block::Image(it) => self.media.add(it),
            Block::Audio(it) => self.sounds.add(it),
            Block::ToolUse(it) => {
                self.texts(texts, [&it.id, &it.name, it.input.as_str()]);
                self.frames += TOOL_FRAME_TOKENS;
            }
            Block::ToolResult(it) => {
                self.text(texts, &it.tool_use_id);
                self.frames += TOOL_FRAME_TOKENS;
                if let Some(json) = &it.structured {
                    self.text(texts, json.as_str());
                }
                for block in &it.content {
                    self.block(texts, block);
                }
            }
            Block::ResourceLink(it) => {
                self.texts(texts, [&it.uri, &it.name, &it.description]);
                self.frames += FRAME_TOKENS;
            }
            Block::Resource(it) => {
                self.texts(texts, [&it.uri, &it.mime_type, it.text.as_deref().unwrap_or("")]);
                self.frames += FRAME_TOKENS;
            }
        }
    }

    fn texts<'a, const N: usize>(&mut self, texts: &mut Texts<'a>, all: [&'a str; N]) {
        for it in all {
            self.text(texts, it);
        }
    }

    fn text<'a>(&mut self, texts: &mut Texts<'a>, it: &'a str) {
        if !it.is_empty() {
            self.bytes += length(it);
            self.joints += 1;
            texts.said.push(it);
        }
    }
}

impl Pictures {
    fn add(&mut self, media: &Media) {
        self.count += 1;
        let Some(size) = picture::size(&media.data) else {
            self.unread += 1;
            return;
        };
        self.tiles += Size::tiles(size);
        self.patches += Size::patches(size);
        self.area = self.area.saturating_add(size.area_tokens());
        self.small_area += size.area_tokens().min(SMALL_AREA_MAX);
        self.crops = self.crops.saturating_add(size.crops());
    }

    fn read(&self) -> u64 {
        self.count - self.unread
    }
}

impl Sounds {
    fn add(&mut self, media: &Media) {
        self.count += 1;
        match sound::seconds_max(&media.data) {
            Some(it) => self.seconds += it,
            None => self.unread += 1,
        }
    }
}

// === The bound on a model ===

/// The most of a picture in a family that shrinks what is larger: 784 by 1,568 pixels.
const SMALL_AREA_MAX: u64 = 1_640;

/// Tokens of a crop.
const CROP_TOKENS: u64 = 258;

impl Measured {
    /// How many tokens the prompt counts on `model`.
    pub fn bound(&self, model: &Model) -> Result<PromptBound, Unbounded> {
        let is_trusted = match model.bound.trust {
            Trust::Fine => true,
            Trust::Coarse => false,
            Trust::Suspended => return Err(Unbounded::Suspended),
        };
        let exact = model.bound.vocabulary().and_then(|it| self.exact[at(it)]);
        let exact = exact.filter(|_| is_trusted);
        let (images, images_fine) = self.image_tokens(model, is_trusted)?;
        let (audio, audio_fine) = self.audio_tokens(model, is_trusted)?;
        let media = images.saturating_add(audio);
        let by_bytes = self.bytes.saturating_add(self.frames);
        let (most, least) = match exact {
            None => (by_bytes, by_bytes.saturating_add(media) / BYTES_PER_TOKEN_MAX),
            Some(it) => {
                let joined = it.most.saturating_add(self.joints.saturating_mul(JOIN_TOKENS));
                let most = self.bytes.min(joined).saturating_add(self.frames);
                let joints = self.joints.saturating_mul(JOIN_TOKENS);
                (most.saturating_add(EXACT_TEMPLATE_TOKENS), it.least.saturating_sub(joints))
            }
        };
        let is_fine = exact.is_some() || images_fine || audio_fine;
        Ok(PromptBound { most: most.saturating_add(media), least, is_fine })
    }

    /// By the published formula, at most what is declared; and whether the formula counts.
    fn image_tokens(&self, model: &Model, is_trusted: bool) -> Result<(u64, bool), Unbounded> {
        let Pictures { count, unread, tiles, patches, area, small_area, crops } = self.media;
        if count == 0 {
            return Ok((0, false));
        }
        let declared = positive(model.image_tokens_max, Unbounded::Image)?;
        let all = count.saturating_mul(declared);
        let read = self.media.read();
        let by_rule = match model.bound.published.images {
            ImageRule::Tiles { base, tile } => read * base + tiles * tile,
            // Rounded up for each picture.
            ImageRule::Patches { hundredths } => (patches * hundredths).div_ceil(100) + read,
            ImageRule::Area { small: true } => small_area,
            ImageRule::Area { small: false } => area,
            ImageRule::Crops => crops.saturating_mul(CROP_TOKENS),
            ImageRule::Declared => return Ok((all, false)),
        };
        let by_rule = by_rule.saturating_add(unread.saturating_mul(declared));
        let is_fine = is_trusted && read > 0 && by_rule < all;
        Ok((if is_fine { by_rule } else { all }, is_fine))
    }

    fn audio_tokens(&self, model: &Model, is_trusted: bool) -> Result<(u64, bool), Unbounded> {
        let Sounds { count, unread, seconds } = self.sounds;
        if count == 0 {
            return Ok((0, false));
        }
        let declared = positive(model.audio_tokens_max, Unbounded::Audio)?;
        let all = count.saturating_mul(declared);
        let AudioRule::PerSecond(rate) = model.bound.published.audio else {
            return Ok((all, false));
        };
        let by_rule = seconds.saturating_mul(rate).saturating_add(unread.saturating_mul(declared));
        let is_fine = is_trusted && count > unread && by_rule < all;
        Ok((if is_fine { by_rule } else { all }, is_fine))
    }
}

const fn at(vocabulary: Vocabulary) -> usize {
    match vocabulary {
        Vocabulary::O200kBase => 0,
        Vocabulary::Cl100kBase => 1,
    }
}

fn positive(most: u64, otherwise: Unbounded) -> Result<u64, Unbounded> {
    if most == 0 { Err(otherwise) } else { Ok(most) }
}

/// A length, which fits.
fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX / 4)
}

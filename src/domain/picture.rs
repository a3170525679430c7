//! The size of a picture, read from the first bytes and never decoded: a picture that
//! would fill all memory costs nothing to look at. Pure.

/// Width and height in pixels, each above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// Segments of a JPEG walked at most.
const SEGMENTS_MAX: usize = 1_024;

/// Extensions before the first frame of a GIF walked at most.
const BLOCKS_MAX: usize = 4_096;

/// The size that the header of a PNG, JPEG, GIF or WebP says; none when there is no
/// such header. What it calls itself does not matter: backends look at the bytes too.
pub fn size(bytes: &[u8]) -> Option<Size> {
    let size = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => png(rest),
        [0xff, 0xd8, rest @ ..] => jpeg(rest),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', rest @ ..] => gif(rest),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', rest @ ..] => webp(rest),
        _ => None,
    };
    size.filter(|it| it.width > 0 && it.height > 0)
}

/// Its first chunk is the header, or it is no PNG.
fn png(bytes: &[u8]) -> Option<Size> {
    let [0, 0, 0, 13, b'I', b'H', b'D', b'R', rest @ ..] = bytes else { return None };
    let (width, rest) = rest.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    Some(Size { width: u32::from_be_bytes(*width), height: u32::from_be_bytes(*height) })
        .filter(|it| it.width < 1 << 31 && it.height < 1 << 31)
}

/// Goes from segment to segment up to the first scan. A picture with several frames
/// counts by the largest.
fn jpeg(mut bytes: &[u8]) -> Option<Size> {
    let mut largest: Option<Size> = None;
    for _ in 0..SEGMENTS_MAX {
        let (marker, rest) = match bytes {
            [0xff, 0xff, ..] => {
                bytes = bytes.get(1..)?;
                continue;
            }
            [0xff, marker, rest @ ..] => (*marker, rest),
            _ => return None,
        };
        if matches!(marker, 0xd8 | 0x01 | 0xd0..=0xd7) {
            bytes = rest;
            continue;
        }
        // A scan begins, or the end has come.
        if matches!(marker, 0xda | 0xd9) {
            return largest;
        }
        let (length, _) = rest.split_first_chunk()?;
        if is_frame(marker) {
            let [_, _, _, h1, h2, w1, w2, ..] = rest else { return None };
            let size = Size {
                width: u16::from_be_bytes([*w1, *w2]).into(),
                height: u16::from_be_bytes([*h1, *h2]).into(),
            };
            largest = Some(largest.map_or(size, |it| it.or_larger(size)));
        }
        bytes = rest.get(usize::from(u16::from_be_bytes(*length)).max(2)..)?;
    }
    None
}

/// Start of frame, which has the size; c4, c8 and cc are something else.
const fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

/// The larger of the screen and its first frame, which may stand out of it.
fn gif(bytes: &[u8]) -> Option<Size> {
    let [w1, w2, h1, h2, flags, _, _, rest @ ..] = bytes else { return None };
    let screen = Size {
        width: u16::from_le_bytes([*w1, *w2]).into(),
        height: u16::from_le_bytes([*h1, *h2]).into(),
    };
    let colours = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 0x07) + 1) };
    let mut bytes = rest.get(colours..)?;
    for _ in 0..BLOCKS_MAX {
        match bytes {
            [0x21, _, rest @ ..] => bytes = after_blocks(rest)?,
            [0x2c, l1, l2, t1, t2, w1, w2, h1, h2, ..] => {
                let sum = |start: [u8; 2], length: [u8; 2]| {
                    u32::from(u16::from_le_bytes(start)) + u32::from(u16::from_le_bytes(length))
                };
                let width = sum([*l1, *l2], [*w1, *w2]);
                let height = sum([*t1, *t2], [*h1, *h2]);
                return Some(screen.or_larger(Size { width, height }));
            }
            _ => return None,
        }
    }
    None
}

/// Past the sub-blocks of an extension.
fn after_blocks(mut bytes: &[u8]) -> Option<&[u8]> {
    for _ in 0..BLOCKS_MAX {
        let (length, rest) = bytes.split_first()?;
        bytes = rest.get(usize::from(*length)..)?;
        if *length == 0 {
            return Some(bytes);
        }
    }
    None
}

/// The canvas, or the only frame.
fn webp(bytes: &[u8]) -> Option<Size> {
    let low = |a: u8, b: u8| u32::from(u16::from_le_bytes([a, b]));
    match bytes {
        [b'V', b'P', b'8', b'X', _, _, _, _, _, _, _, _, w1, w2, w3, h1, h2, h3, ..] => {
            let side = |a, b, c| u32::from_le_bytes([a, b, c, 0]) + 1;
            Some(Size { width: side(*w1, *w2, *w3), height: side(*h1, *h2, *h3) })
        }
        [b'V', b'P', b'8', b' ', _, _, _, _, _, _, _, 0x9d, 0x01, 0x2a, w1, w2, h1, h2, ..] => {
            Some(Size { width: low(*w1, *w2) & 0x3fff, height: low(*h1, *h2) & 0x3fff })
        }
        [b'V', b'P', b'8', b'L', _, _, _, _, 0x2f, a, b, c, d, ..] => {
            let bits = u32::from_le_bytes([*a, *b, *c, *d]);
            Some(Size { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 })
        }
        _ => None,
    }
}

impl Size {
    fn or_larger(self, other: Self) -> Self {
        Self { width: self.width.max(other.width), height: self.height.max(other.height) }
    }

    fn sides(self) -> (u64, u64) {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        (width.min(height).max(1), width.max(height).max(1))
    }

    /// Tiles of 512 pixels once the picture fits 2,048 pixels and has 768 on its shorter
    /// side. What is smaller counts as if it were made larger: that is how the rule can
    /// be read.
    pub fn tiles(self) -> u64 {
        let (short, long) = self.sides();
        let long = long.saturating_mul(768).div_ceil(short).min(2_048);
        768_u64.div_ceil(512) * long.max(768).div_ceil(512)
    }

    /// Patches of 32 pixels, at most those that a picture is made to fit.
    pub fn patches(self) -> u64 {
        let (short, long) = self.sides();
        (short.div_ceil(32) * long.div_ceil(32)).min(1_536)
    }

    /// Its area in tokens of 750 pixels, or in patches of 28 pixels where those are more.
    pub fn area_tokens(self) -> u64 {
        let (short, long) = self.sides();
        (short * long).div_ceil(750).max(short.div_ceil(28) * long.div_ceil(28))
    }

    /// Crops of at most 768 pixels; one for a small picture.
    pub fn crops(self) -> u64 {
        let (short, long) = self.sides();
        if long <= 384 {
            return 1;
        }
        let unit = (short * 2 / 3).clamp(256, 768);
        short.div_ceil(unit) * long.div_ceil(unit)
    }
}

//! How long a sound is at most, by its headers and its bytes, never decoded. Pure.

/// Frames of an MP3 walked at most: twenty minutes. The rest counts as if it were of the
/// lowest rate.
const FRAMES_MAX: usize = 50_000;

/// The lowest rate of an MP3, in bytes a second.
const SLOWEST: u64 = 1_000;

/// Whole seconds that a WAV or MP3 lasts at most; none for anything else. More bytes
/// than a header speaks of count too.
pub fn seconds_max(bytes: &[u8]) -> Option<u64> {
    match bytes {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', rest @ ..] => {
            Some(length(bytes).div_ceil(wav_rate(rest)?))
        }
        [b'I', b'D', b'3', _, _, _, a, b, c, d, rest @ ..] => {
            // Four times seven bits.
            let sizes = [a, b, c, d].map(|it| usize::from(*it & 0x7f));
            let tag = sizes.iter().fold(0, |sum, it| (sum << 7) | it);
            Some(mp3(rest.get(tag..)?))
        }
        [0xff, second, ..] if second & 0xe0 == 0xe0 => Some(mp3(bytes)),
        _ => None,
    }
}

/// Bytes a second of plain samples, as it follows from what they are.
fn wav_rate(bytes: &[u8]) -> Option<u64> {
    let [b'f', b'm', b't', b' ', _, _, _, _, rest @ ..] = bytes else { return None };
    let [f1, f2, c1, c2, r1, r2, r3, r4, _, _, _, _, _, _, b1, b2, ..] = rest else { return None };
    let format = u16::from_le_bytes([*f1, *f2]);
    let channels = u64::from(u16::from_le_bytes([*c1, *c2]));
    let rate = u64::from(u32::from_le_bytes([*r1, *r2, *r3, *r4]));
    let bits = u64::from(u16::from_le_bytes([*b1, *b2]));
    let plain = matches!(format, 1 | 3 | 0xfffe) && matches!(bits, 8 | 16 | 24 | 32);
    let usual = (1..=8).contains(&channels) && (4_000..=192_000).contains(&rate);
    (plain && usual).then_some(rate * channels * bits / 8)
}

/// Goes from frame to frame. What is no frame counts as if it were of the lowest rate.
fn mp3(mut bytes: &[u8]) -> u64 {
    let mut micros: u64 = 0;
    for _ in 0..FRAMES_MAX {
        let frame = bytes.first_chunk().copied().and_then(frame);
        let Some((long, lasts)) = frame else { break };
        micros = micros.saturating_add(lasts);
        let Some(rest) = bytes.get(long..) else {
            bytes = &[];
            break;
        };
        bytes = rest;
    }
    micros.div_ceil(1_000_000) + length(bytes).div_ceil(SLOWEST)
}

/// Kilobits a second of layer III: of the first version, and of the later ones.
const RATES: [[u32; 14]; 2] = [
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// The bytes of a frame and the microseconds it lasts, rounded up.
fn frame([first, second, third, _]: [u8; 4]) -> Option<(usize, u64)> {
    let is_layer_three = first == 0xff && second & 0xe6 == 0xe2;
    // By how much the sampling rate is halved; 1 is no version.
    let (later, halved) = match (second >> 3) & 3 {
        3 => (0_usize, 0),
        2 => (1, 1),
        0 => (1, 2),
        _ => return None,
    };
    let kilobits = RATES.get(later)?.get(usize::from(third >> 4).checked_sub(1)?)?;
    let sampling = [44_100_u32, 48_000, 32_000].get(usize::from((third >> 2) & 3))? >> halved;
    let samples: u32 = if later == 0 { 1_152 } else { 576 };
    let padding = u32::from((third >> 1) & 1);
    let long = samples / 8 * kilobits * 1_000 / sampling + padding;
    let lasts = u64::from(samples) * 1_000_000;
    let long = usize::try_from(long).ok()?;
    is_layer_three.then_some((long, lasts.div_ceil(u64::from(sampling))))
}

/// A length, which fits.
fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX / 4)
}

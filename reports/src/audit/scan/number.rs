//! Numbers, fast where they are clock readings.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A JSON number's value, correctly rounded.
///
/// Clock readings have few enough digits that mantissa and power of ten are both exact doubles, so one division rounds
/// correctly (Clinger 1990); everything else goes to the standard library.
pub fn parse(text: &[u8]) -> Option<f64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (mut mantissa, mut fraction, mut seen_point) = (0_u64, 0_usize, false);
    let plain = digits.len() <= 17
        && digits.iter().all(|byte| match byte {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                fraction += usize::from(seen_point);
                true
            }
            b'.' => !std::mem::replace(&mut seen_point, true),
            _ => false,
        });
    let framed = digits.first().is_some_and(u8::is_ascii_digit) && digits.last().is_some_and(u8::is_ascii_digit);
    if plain && framed && mantissa < 1 << 53 {
        let value = mantissa as f64 / POWERS[fraction];
        return Some(if digits.len() == text.len() { value } else { -value });
    }
    if !framed {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

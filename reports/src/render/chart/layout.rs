//! Where things go: text widths without a font, wrapped lines, labels that do not overlap.

use super::theme::{MARKERS, Marker};

/// The drawing's width; its height follows from legend and footer.
pub(super) const WIDTH: f64 = 760.0;
pub(super) const LEFT: f64 = 64.0;
/// Room for the values written beside the last points.
pub(super) const RIGHT: f64 = 74.0;
pub(super) const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
pub(super) const PLOT_HEIGHT: f64 = 292.0;
pub(super) const MARGIN: f64 = 20.0;

/// An estimate of a text's width, on the wide side for every usual sans-serif font, so that nothing overlaps.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|character| match character {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' => 0.30,
            'f' | 'r' | 't' | ' ' | '-' | '/' => 0.40,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.92,
            'A'..='Z' => 0.70,
            c if c.is_ascii() => 0.60,
            c if c < '\u{2000}' => 0.65,
            _ => 1.0,
        })
        .sum();
    ems * size
}

/// Breaks `text` into lines no wider than `width`; a word wider than that is cut.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word = fitted(word, size, width);
        let candidate = if line.is_empty() { word.clone() } else { format!("{line} {word}") };
        if text_width(&candidate, size) <= width {
            line = candidate;
        } else {
            lines.push(std::mem::replace(&mut line, word));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// `text`, cut visibly where it would be wider than `width`.
pub(super) fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if text_width(&kept, size) + size > width {
            break;
        }
    }
    kept.push('…');
    kept
}

/// Moves label heights apart until neighbours are `gap` away from each other, within `top..=bottom`, as little as needed.
pub(super) fn spread_out(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut placed = wanted.to_vec();
    let mut floor = top;
    for index in &order {
        placed[*index] = placed[*index].max(floor);
        floor = placed[*index] + gap;
    }
    let mut ceiling = bottom;
    for index in order.iter().rev() {
        placed[*index] = placed[*index].min(ceiling);
        ceiling = placed[*index] - gap;
    }
    placed
}

/// A coordinate: two decimals, no needless zeros, never `-0`.
pub(super) fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Sizes by slot. Lines are drawn with the baseline last, and each marker is a little larger than the one that is drawn over
/// it: where points coincide, all stay visible.
const SIZES: [f64; MARKERS.len()] = [3.3, 4.8, 5.9, 5.6, 6.2, 5.8, 7.2];

/// The marker of a slot as a path around (`x`, `y`), and whether it is only outlined. Only the baseline's is filled.
pub(super) fn marker_path(slot: usize, x: f64, y: f64) -> (String, bool) {
    let size = SIZES[slot % MARKERS.len()];
    let at = |dx: f64, dy: f64| format!("{} {}", coordinate(x + dx * size), coordinate(y + dy * size));
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<String> = corners.iter().map(|(dx, dy)| at(*dx, *dy)).collect();
        format!("M{}Z", corners.join("L"))
    };
    let round = |radius: f64| {
        let r = coordinate(radius * size);
        let d = coordinate(2.0 * radius * size);
        format!("M{}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", at(-radius, 0.0))
    };
    let hollow = slot.is_multiple_of(MARKERS.len()) == ((slot / MARKERS.len()) % 2 == 1);
    match MARKERS[slot % MARKERS.len()] {
        Marker::Circle => (round(0.95), hollow),
        Marker::Square => (polygon(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]), hollow),
        Marker::Up => (polygon(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]), hollow),
        Marker::Diamond => (polygon(&[(0.0, -1.3), (1.15, 0.0), (0.0, 1.3), (-1.15, 0.0)]), hollow),
        Marker::Down => (polygon(&[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)]), hollow),
        Marker::Cross => {
            let (o, i) = (1.1, 0.36);
            let plus = [
                (-i, -o),
                (i, -o),
                (i, -i),
                (o, -i),
                (o, i),
                (i, i),
                (i, o),
                (-i, o),
                (-i, i),
                (-o, i),
                (-o, -i),
                (-i, -i),
            ];
            (polygon(&plus), hollow)
        }
        Marker::Ring => (round(0.95), hollow),
    }
}

//! Numbers and names as people read them, safe in the format they are put into.

/// What an absent value reads.
pub const ABSENT: &str = "n/a";

/// A number with three significant digits or all its integer digits, thousands separated: `16,178`, `52.7`, `0.148`.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        _ if !value.is_finite() => return ABSENT.to_owned(),
        0.0 => 0,
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        m if m >= 0.0995 => 3,
        m if m >= 0.00995 => 4,
        _ => return format!("{value:.2e}"),
    };
    fixed(value, decimals)
}

/// A number with exactly `decimals` digits after the point, thousands separated.
pub fn fixed(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, f)| (whole, Some(f)));
    let mut out = String::with_capacity(plain.len() + 4);
    // `-0.0` says nothing that `0.0` does not.
    if digits.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0') {
        out.push_str(sign);
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number without needless zeros: rates and tick labels (`60`, `2.5`, `0.05`).
pub fn plain(value: f64) -> String {
    let text = fixed(value, 6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text for XML and HTML, in content and in quoted attributes; characters that XML 1.0 forbids are replaced.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text for Markdown, in running text and in table cells: renders as itself, on one line, whatever it holds.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' => out.push_str("&#124;"),
            // An entity keeps `@name` and `#1` from becoming mentions and issue links.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '[' | ']' | '!' | '~' => {
                out.push('\\');
                out.push(character);
            }
            // Inside a word an underscore is no emphasis.
            '_' if before.is_alphanumeric() && characters.peek().is_some_and(|next| next.is_alphanumeric()) => {
                out.push('_')
            }
            '_' => out.push_str("\\_"),
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => out.push(' '),
            c => out.push(c),
        }
        before = character;
    }
    out
}

/// At most `limit` characters, the cut shown.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_separate_thousands() {
        let shown = [16_178.234, 6_910.2, 99.96, 62.9398, 6.7019, 0.1482, 0.0527, 0.0, -1234.5].map(number);
        assert_eq!(shown, ["16,178", "6,910", "100", "62.9", "6.70", "0.148", "0.0527", "0", "-1,234"]);
        assert_eq!(number(f64::NAN), ABSENT);
    }

    #[test]
    fn a_value_that_rounds_to_zero_has_no_sign() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
    }

    #[test]
    fn plain_numbers_carry_no_needless_zeros() {
        assert_eq!([60.0, 2.5, 0.05, 10_000.0].map(plain), ["60", "2.5", "0.05", "10,000"]);
    }

    #[test]
    fn hostile_names_become_text() {
        let name = "<script>|`x`\n[a](b) @me #1 \u{1}";
        assert_eq!(xml(name), "&lt;script&gt;|`x` [a](b) @me #1 \u{fffd}");
        assert_eq!(markdown(name), "&lt;script&gt;&#124;\\`x\\` \\[a\\](b) &#64;me &#35;1  ");
    }

    #[test]
    fn a_long_name_is_cut_visibly() {
        assert_eq!(shortened(&"a".repeat(200), 10), format!("{}…", "a".repeat(9)));
        assert_eq!(shortened("short", 10), "short");
    }
}

use super::*;

/// Hands out a few bytes at a time, so that every token crosses a boundary of what is available.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(out.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn skip(text: &[u8]) -> Result<()> {
    for step in [1, 2, 3, 7, 4096] {
        let mut scanner = Scanner::new(Dribble(text, step));
        scanner.skip_value()?;
        assert!(scanner.at_end()?, "text was left over at a step of {step}");
    }
    Ok(())
}

fn problem(text: &[u8]) -> String {
    skip(text).unwrap_err().to_string()
}

#[test]
fn values_of_every_kind_are_passed_over_whatever_the_reads_return() {
    for text in [
        r#"{"a": [1, -2.5e-3, {"b": "x\"]}"}], "c": null}"#,
        r#""é \\ \u00e9 🦀""#,
        "[]",
        "[NaN, Infinity, -Infinity, true]",
        "  -0.0 ",
    ] {
        skip(text.as_bytes()).unwrap();
    }
}

#[test]
fn numbers_are_read_to_the_last_bit() {
    for text in [
        "1065.718448226",
        "0",
        "-0.25",
        "123456789012345678",
        "9007199254740993",
        "1e-7",
        "0.1",
        "1.7976931348623157e308",
    ] {
        let mut scanner = Scanner::new(text.as_bytes());
        let value = scanner.number().unwrap().unwrap();
        assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn what_is_not_a_finite_number_reads_as_absent() {
    for text in ["null", "NaN", "-Infinity", "\"3\"", "true", "[1]", "1e999"] {
        assert_eq!(Scanner::new(text.as_bytes()).number().unwrap(), None, "{text}");
    }
}

#[test]
fn damage_is_named_with_its_place() {
    insta::assert_snapshot!(
        [
            problem(b"{\"a\": [1, 2"),
            problem(b"\"never closed"),
            problem(b"\"hole\0\0\0\""),
            problem(b"\"\xff\xfe\""),
            problem(b"\"\xc3\""),
            problem(b"[1}"),
            problem(b"nul"),
            problem(b"12-3 "),
            problem(b"[\x80]"),
            problem("[".repeat(200).as_bytes()),
            Scanner::new(b"9".repeat(200).as_slice()).number().unwrap_err().to_string(),
        ]
        .join("\n"),
        @r"
    ends at byte 11 in the middle of a value: the file is cut short
    ends at byte 13 in the middle of a value: the file is cut short
    is not valid at byte 5: a string holds a control character
    is not valid at byte 1: a string is not UTF-8
    is not valid at byte 3: a string is not UTF-8
    is not valid at byte 2: a bracket closes another kind of bracket
    ends at byte 3 in the middle of a value: the file is cut short
    is not valid at byte 0: a value is neither a number nor true, false or null
    is not valid at byte 1: a byte that JSON does not know outside strings
    is not valid at byte 120: values are nested too deeply
    is not valid at byte 0: a number is longer than any clock or count
    "
    );
}

#[test]
fn a_very_long_key_reads_as_one_that_nobody_knows() {
    let text = format!("\"{}\": 1", "k".repeat(1000));
    let mut scanner = Scanner::new(text.as_bytes());
    assert_eq!(scanner.key().unwrap().as_bytes(), b"");
    assert_eq!(scanner.number().unwrap(), Some(1.0));
}

//! Literals read and written.

use super::*;

/// Literals with the text the reference command `cue eval` prints for them.
#[test]
fn number_literals_print_as_the_reference_prints_them() {
    for (text, expected) in [
        ("1.50", "1.50"),
        ("1e3", "1e+3"),
        ("1_000.50", "1000.50"),
        ("1.5Ki", "1536"),
        ("1e100", "1e+100"),
        ("0.0000001", "1e-7"),
        ("0.000001", "0.000001"),
        ("0x1F", "31"),
        ("1.5M", "1500000"),
        ("2.", "2.0"),
        (".5", "0.5"),
        ("1.23e2", "123.0"),
        ("1.0e-10", "1.0e-10"),
        ("1000000000000000000000.0", "1000000000000000000000.0"),
    ] {
        let number = parse_number(text).map(|n| n.value.to_cue(n.is_float));
        assert_eq!(number.as_deref(), Ok(expected), "{text}");
    }
    for text in ["01", "0x", "1__0", "1_", "0xFG", "1.5e", "1.0001K", "", "1e99999999999", "0b12", "1Kx"] {
        assert!(parse_number(text).is_err(), "{text}");
    }
}

#[test]
fn strings_are_read() {
    for (text, expected) in [
        (r#""a\nb\u00e9\U0001F600""#, "a\nb\u{e9}\u{1F600}"),
        (r##"#"a\n\#n"\"#"##, "a\\n\n\"\\"),
        ("\"\"\"\n\t\ta\n\t\t  b\n\n\t\t\"\"\"", "a\n  b\n"),
        ("\"\"\"\n\t\"\"\"", ""),
        (r#""\ud83d\ude00""#, "\u{1F600}"),
        (r"'\x41\102'", "AB"),
    ] {
        assert_eq!(unquote(text).map(|u| u.1), Ok(expected.as_bytes().to_vec()), "{text}");
    }
    for text in [
        r#""\q""#,
        r#""\x41""#,
        r#""\ud83d""#,
        "\"a",
        "\"a\nb\"",
        "\"\"\"\n\ta\n b\n\t\"\"\"",
        "\"\"\"a\n\"\"\"",
    ] {
        assert!(unquote(text).is_err(), "{text}");
    }
    // Closed behind text, the last line and all indentation belong to the value.
    assert_eq!(unquote("\"\"\"\n\tx {\n\t}\"\"\"").map(|u| u.1), Ok(b"\tx {\n\t}".to_vec()));
    assert!(unquote("\"\"\"\n\ty  \"\"\"").is_err());
}

#[test]
fn quoting_reads_back() {
    for text in ["", "a", "a\"b\\", "tab\tbell\u{7}\u{1}", "é\u{301}\u{200b}", "x\ny\n\nz\n", "\"\"\"#\n"] {
        for literal in [quote_string(text), quote_multiline(QuoteKind::String, text.as_bytes(), 2)] {
            assert_eq!(unquote(&literal).map(|u| u.1), Ok(text.as_bytes().to_vec()), "{literal}");
        }
    }
    assert_eq!(quote_bytes(b"a'\xff\x01"), r"'a\'\xff\x01'");
}

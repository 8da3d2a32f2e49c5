//! Calls with the reference's own answers, a file for each package.

use crate::{Source, Template};

/// Package and its cases: each line is a program with a field `x`, and its JSON, `ERR` or `INCOMPLETE`.
const FILES: &[(&str, &str)] = &[
    ("crypto_ed25519", include_str!("reference/crypto_ed25519.jsonl")),
    ("crypto_hmac", include_str!("reference/crypto_hmac.jsonl")),
    ("crypto_md5", include_str!("reference/crypto_md5.jsonl")),
    ("crypto_sha1", include_str!("reference/crypto_sha1.jsonl")),
    ("crypto_sha256", include_str!("reference/crypto_sha256.jsonl")),
    ("crypto_sha512", include_str!("reference/crypto_sha512.jsonl")),
    ("encoding_base64", include_str!("reference/encoding_base64.jsonl")),
    ("encoding_csv", include_str!("reference/encoding_csv.jsonl")),
    ("encoding_hex", include_str!("reference/encoding_hex.jsonl")),
    ("encoding_json", include_str!("reference/encoding_json.jsonl")),
    ("encoding_toml", include_str!("reference/encoding_toml.jsonl")),
    ("encoding_yaml", include_str!("reference/encoding_yaml.jsonl")),
    ("html", include_str!("reference/html.jsonl")),
    ("language", include_str!("reference/language.jsonl")),
    ("list", include_str!("reference/list.jsonl")),
    ("math", include_str!("reference/math.jsonl")),
    ("math_bits", include_str!("reference/math_bits.jsonl")),
    ("net", include_str!("reference/net.jsonl")),
    ("path", include_str!("reference/path.jsonl")),
    ("regexp", include_str!("reference/regexp.jsonl")),
    ("strconv", include_str!("reference/strconv.jsonl")),
    ("strings", include_str!("reference/strings.jsonl")),
    ("struct", include_str!("reference/struct.jsonl")),
    ("text_tabwriter", include_str!("reference/text_tabwriter.jsonl")),
    ("text_template", include_str!("reference/text_template.jsonl")),
    ("time", include_str!("reference/time.jsonl")),
    ("uuid", include_str!("reference/uuid.jsonl")),
];

fn answer(program: &str) -> String {
    let compiled = Template::compile(&[Source::new("x.cue", program.to_string())]);
    let root = match compiled {
        Ok(template) => template.instantiate(&[]).root(),
        Err(_) => return "ERR".into(),
    };
    match root.field("x").to_data() {
        Ok(data) => super::json_marshal(&data).unwrap_or_else(|_| "ERR".into()),
        Err(diagnostics) if diagnostics.is_incomplete() => "INCOMPLETE".into(),
        Err(_) => "ERR".into(),
    }
}

#[test]
fn calls_give_what_the_reference_gives() {
    let mut wrong = Vec::new();
    for (package, cases) in FILES {
        for line in cases.lines() {
            let parsed: Result<(String, String), _> = serde_json::from_str(line);
            let Ok((program, expected)) = parsed else {
                wrong.push(format!("{package}: not a case: {line}"));
                continue;
            };
            let found = answer(&program);
            if found != expected {
                wrong.push(format!("{package}\n{program}\nexpected {expected}\nfound    {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
}

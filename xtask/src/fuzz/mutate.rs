//! Inputs and a sequence of choices in; a new input out: bytes changed, pieces moved, words of the language put in.

use vela_testkit::program::{Program, Random};

use super::corpus::Input;

/// Changes made to one input at most.
const CHANGES: usize = 6;
/// How often a word is repeated: often enough to run out of stack wherever something recurses without asking for more.
const REPEATS: [usize; 4] = [10, 300, 10_000, 100_000];
/// The longest input made.
const LONGEST: usize = 1 << 20;

const CUE_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "a: ",
    "\"",
    "'",
    "\"\"\"\n",
    "\n\"\"\"",
    "#\"",
    "\\(",
    "\\u00",
    "\\",
    "...",
    "..",
    ".",
    "?",
    "!",
    ": ",
    ", ",
    "\n",
    " & ",
    " | ",
    "*",
    " + ",
    "-",
    "/",
    "=",
    "==",
    "!=",
    "=~",
    "!~",
    "<",
    ">=",
    "for x in a ",
    "if a ",
    "let X = ",
    "in ",
    "_",
    "_|_",
    "#D",
    "_h",
    "int",
    "string",
    "null",
    "true",
    "0x",
    "1e999999",
    "1e-999999",
    "99999999999999999999999999",
    "0.1",
    "Ki",
    "import \"list\"\n",
    "package a\n",
    "@a(b)",
    "//",
    "len(",
    "list.Repeat(",
    "close(",
    "and(",
    "or(",
    "div(1, 0)",
    "a",
    "a.b",
    "a[0]",
    "X=",
    "~X",
    "[string]: ",
    "\u{feff}",
    "\0",
    "ä",
    "😀",
    "__x",
    "$",
    "@experiment(try)\n",
    "else ",
    "try ",
    "strings.Repeat(\"x\", 99999999)",
    "(_|_)",
];
const DATA_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud800",
    "null",
    "true",
    "~",
    "- ",
    "  ",
    "\n",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!!binary ",
    "|\n",
    ">-\n",
    "? ",
    "# ",
    "%YAML 1.2\n",
    "1e999",
    "0x1F",
    "0o7",
    ".inf",
    ".nan",
    "-",
    "1",
    "2024-01-01",
    "\t",
    "\u{feff}",
    "\0",
    "=",
    "[[a]]\n",
    "[a.b]\n",
    "\"\"\"",
    "'''",
    "1_000",
    "inf",
    "07:32:00",
    "a = ",
    "{a = 1}",
    "ä",
    "😀",
];
/// Pieces of reviews and of the objects in them.
const REVIEW_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\u0000",
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "1e999",
    "9223372036854775807",
    "\"50%\"",
    "\"CREATE\"",
    "\"UPDATE\"",
    "\"DELETE\"",
    "\"metadata\":null,",
    "\"annotations\":{},",
    "\"labels\":[],",
    "\"deletionTimestamp\":\"\",",
    "\"spec\":null,",
    "\"name\":\"scaler\",",
    "\"type\":\"deployments.apps\",",
    "\"properties\":{},",
    "\"settings\":{},",
    "\"traits\":[{}],",
    "\"components\":[{}],",
    "\"numBatches\":0,",
    "\"targetSize\":7,",
    "\"rolloutBatches\":null,",
    "\"volumes\":[],",
    "\"envFrom\":[],",
    "core.oam.dev/v1alpha2",
    "core.oam.dev/v1beta1",
    "app.oam.dev/conversion",
    "ä",
    "😀",
];
/// Pieces of requests to the console.
const REQUEST_WORDS: &[&str] = &[
    "GET ",
    "HEAD ",
    "POST ",
    "PUT ",
    "PATCH ",
    "DELETE ",
    "/",
    "//",
    "/..",
    "/%2e%2e",
    "/api/v1/namespaces/default/applications/shop",
    "/api/envs/default/apps/shop/components/cart",
    "/namespaces/default/applications/shop",
    "/traits/",
    "/tree",
    "/compare",
    "/edit",
    "/new",
    "?",
    "&",
    "=",
    "%",
    "%00",
    "%ff",
    "%0d%0aset-cookie:%20a=b",
    "<script>alert(1)</script>",
    "%3Cscript%3E",
    "\"><img src=x>",
    "search=",
    "from=shop-v1&to=shop-v2",
    "\n",
    "\r\n",
    "\n\n",
    "\ncontent-type: application/json",
    "\ncontent-type: application/x-www-form-urlencoded",
    "\ncontent-type: application/yaml",
    "\nhost: ",
    "\ncookie: vela-console-8080=",
    "\norigin: null",
    "\nx-csrf-token: ",
    "token=of-forms",
    "&manifest=",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "-1",
    "1e999",
    "99999999999999999999",
    "- ",
    "&a ",
    "*a",
    "\"name\": \"shop\",",
    "\"components\": [{}],",
    "\"flags\": [{\"name\": \"text\", \"value\": \"\"}],",
    "kind: Application\n",
    "\0",
    "ä",
    "😀",
];
const TEMPLATE_WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    "{{if .a}}",
    "{{else}}",
    "{{else if .b}}",
    "{{end}}",
    "{{range .b}}",
    "{{range $i, $v := .b}}",
    "{{with .c}}",
    "{{define \"t\"}}",
    "{{template \"t\" .}}",
    "{{block \"b\" .}}",
    "{{break}}",
    "{{continue}}",
    "{{$x := 1}}",
    "{{$x = 2}}",
    ".a",
    ".c.d",
    "$",
    "|",
    "(",
    ")",
    "print ",
    "printf \"%d\" ",
    "printf \"%*.*f\" ",
    "len ",
    "index .b 0",
    "slice .s 1 2",
    "eq 1 1",
    "and ",
    "or ",
    "not ",
    "html ",
    "js ",
    "urlquery ",
    "call ",
    "\"",
    "`",
    "'",
    "1e9",
    "0x1p-2",
    "/*",
    "*/",
    "nil",
    "true",
    "printf \"%99999999d\" 1",
    "{{template \"t\" .}}{{end}}",
    ".",
];
const REGEXP_WORDS: &[&str] = &[
    "(",
    ")",
    "(?:",
    "(?P<n>",
    "(?i)",
    "(?s-m:",
    "[",
    "]",
    "[^",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "\\pL",
    "\\p{Greek}",
    "\\P{Lu}",
    "\\d",
    "\\W",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "^",
    "$",
    "*",
    "+",
    "?",
    "*?",
    "{2,5}",
    "{1000}",
    "{1,1000}",
    "{,5}",
    "|",
    ".",
    "\\Q",
    "\\E",
    "\\x{10FFFF}",
    "\\x41",
    "\\123",
    "\\C",
    "a-z",
    "-",
    "\\",
    "\n",
    "ä",
    "\u{0}",
    "(a*)*",
    "((a{100}){100})",
    "\\1",
    "(?=",
    "x*",
];

/// A new input of a target.
pub(crate) fn mutated(target: &str, corpus: &[Input], random: &mut Random) -> Vec<u8> {
    let mut bytes = match target {
        "evaluate" | "parse" if random.chance(40) => Program::random(random.step()).to_string().into_bytes(),
        _ => random.pick(corpus).map(|input| input.bytes.clone()).unwrap_or_default(),
    };
    let words = match target {
        "parse" | "literal" | "evaluate" => CUE_WORDS,
        "template" => TEMPLATE_WORDS,
        "regexp" => REGEXP_WORDS,
        "admission" | "conversion" => REVIEW_WORDS,
        "router" => REQUEST_WORDS,
        _ => DATA_WORDS,
    };
    for _ in 0..=random.below(CHANGES) {
        change(&mut bytes, words, corpus, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, words: &[&'static str], corpus: &[Input], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(12) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => bytes.insert(at, u8::try_from(random.below(256)).unwrap_or(b' ')),
        2 => drop(bytes.drain(range(bytes.len(), random))),
        3 => {
            let piece: Vec<u8> = bytes[range(bytes.len(), random)].to_vec();
            splice(bytes, at, &piece);
        }
        4 => {
            // A piece of another input.
            let other = random.pick(corpus).map(|input| input.bytes.as_slice()).unwrap_or_default();
            let piece = other[range(other.len(), random)].to_vec();
            splice(bytes, at, &piece);
        }
        5 => {
            let piece: Vec<u8> = bytes.drain(range(bytes.len(), random)).collect();
            let at = random.below(bytes.len() + 1);
            splice(bytes, at, &piece);
        }
        6 if random.chance(8) => {
            // Usually the nesting is closed again, so that it is more than a mistake of syntax.
            let (word, count) = (random.word(words), random.pick(&REPEATS).copied().unwrap_or(1));
            splice(bytes, at, word.repeat(count).as_bytes());
            let close = match word.trim().chars().last() {
                Some('{') => "}",
                Some('[') => "]",
                Some('(') => ")",
                _ => "",
            };
            bytes.extend_from_slice(close.repeat(count).as_bytes());
        }
        7 => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut lines: Vec<&str> = text.lines().collect();
            random.shuffle(&mut lines);
            *bytes = lines.join("\n").into_bytes();
        }
        _ => splice(bytes, at, random.word(words).as_bytes()),
    }
}

fn splice(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if bytes.len() + piece.len() <= LONGEST {
        bytes.splice(at..at, piece.iter().copied());
    }
}

/// A short piece of so many bytes.
fn range(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    let end = (start + random.below(40)).min(length);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_they_differ_from_the_corpus() {
        let corpus = [Input { bytes: b"a: {b: [1, 2]}\n".to_vec() }];
        let make = || {
            let mut random = Random::new(5);
            (0..200).map(|_| mutated("parse", &corpus, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(make(), make());
        assert!(make().iter().filter(|input| **input != corpus[0].bytes).count() > 150);
    }
}

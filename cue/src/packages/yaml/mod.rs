//! Package `encoding/yaml`: data in, YAML text out, and back.

mod reader;
mod text;
mod writer;

pub use reader::{read, read_stream, read_tree};
pub use writer::{marshal, marshal_stream};

use super::arguments::{any, list, text};
use super::{ANY, BYTES, Data, Kinds, Package, Special, function, special};

const S: Kinds = Kinds::STRING;

pub(super) static PACKAGE: Package = Package {
    path: "encoding/yaml",
    constants: &[],
    declarations: "",
    functions: &[
        function("Marshal", &[ANY], S, |a| marshal(any(a, 0)?).map(Data::String)),
        function("MarshalStream", &[ANY], S, |a| marshal_stream(list(a, 0)?).map(Data::String)),
        function("Unmarshal", &[BYTES], Kinds::TOP, |a| read(text(a, 0)?)),
        function("UnmarshalStream", &[BYTES], Kinds::TOP, |a| read_stream(text(a, 0)?).map(Data::List)),
        special("Validate", &[BYTES, ANY], Kinds::BOOL, Special::YamlValidate),
        special("ValidatePartial", &[BYTES, ANY], Kinds::BOOL, Special::YamlValidatePartial),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// `cue export` of the reference on the same files.
    #[test]
    fn scalars_are_read_as_the_reference_reads_them() {
        for (source, expected) in [
            ("yes", "\"yes\""),
            ("014", "12"),
            ("0o14", "12"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("1e3", "1E+3"),
            (".5", "0.5"),
            ("1.50", "1.50"),
            ("2020-01-01", "\"2020-01-01\""),
            ("~", "null"),
            ("", "null"),
            ("!!str 12", "\"12\""),
            ("+1", "1"),
            ("08", "\"08\""),
            ("0b11", "3"),
            ("12e03", "1.2E+4"),
            ("True", "true"),
            ("{a: &x [1, 2], b: *x}", "{\"a\":[1,2],\"b\":[1,2]}"),
            ("a: &x {p: 1}\nb:\n  <<: *x\n  q: 2", "{\"a\":{\"p\":1},\"b\":{\"p\":1,\"q\":2}}"),
            ("1: a\ntrue: b", "{\"1\":\"a\",\"true\":\"b\"}"),
            ("|\n  x\n  y\n", "\"x\\ny\\n\""),
        ] {
            let shown = read(source).and_then(|data| super::super::json_marshal(&data));
            assert_eq!(shown.as_deref(), Ok(expected), "{source}");
        }
        for source in ["a: [", "a: *missing", "a: b: c", "a: 1\n---\nb: 2", "&a [*a]"] {
            assert!(read(source).is_err(), "{source}");
        }
    }

    /// `cue export --out yaml` of the reference.
    #[test]
    fn values_are_written_as_the_reference_writes_them() {
        let source = r##"{"a":{"b":1,"c":["x",{"y":2,"z":[1,2]},["p","q"]],"e":{},"f":[]},"s":"multi\nline","s2":"multi\nline\n","s3":"  lead\nx","s4":"multi\n\nline\n\n","q":["yes","1.5","","a: b","- x","-","#x","a:","x]","'q'"," lead","tab\tx","é","+1","<<","?","_1","0x","---","None","1:20","a#b"],"n":[1.50,null]}"##;
        let expected = "a:\n  b: 1\n  c:\n    - x\n    - \"y\": 2\n      z:\n        - 1\n        - 2\n    - - p\n      - q\n  e: {}\n  \"f\": []\ns: |-\n  multi\n  line\ns2: |\n  multi\n  line\ns3: |2-\n    lead\n  x\ns4: |+\n  multi\n\n  line\n\nq:\n  - \"yes\"\n  - \"1.5\"\n  - \"\"\n  - 'a: b'\n  - '- x'\n  - '-'\n  - '#x'\n  - 'a:'\n  - x]\n  - '''q'''\n  - ' lead'\n  - \"tab\\tx\"\n  - é\n  - \"+1\"\n  - <<\n  - '?'\n  - _1\n  - 0x\n  - \"---\"\n  - None\n  - \"1:20\"\n  - a#b\n\"n\":\n  - 1.50\n  - null\n";
        let data = super::super::json_read(source.as_bytes());
        assert_eq!(data.and_then(|data| marshal(&data)).as_deref(), Ok(expected));
    }
}

//! Package `uuid`: identifiers in text form, as numbers, and made from names.

use md5::Md5;
use num_bigint::{BigInt, Sign};
use sha1::Sha1;
use sha2::Digest as _;

use super::arguments::{bytes, number, text};
use super::{BYTES, Data, Failure, INTEGER, Kinds, Package, TEXT, function};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const I: Kinds = Kinds::INT;

pub(super) static PACKAGE: Package = Package {
    path: "uuid",
    constants: &[],
    declarations: "ns: {DNS: \"6ba7b810-9dad-11d1-80b4-00c04fd430c8\", URL: \"6ba7b811-9dad-11d1-80b4-00c04fd430c8\", OID: \"6ba7b812-9dad-11d1-80b4-00c04fd430c8\", X500: \"6ba7b814-9dad-11d1-80b4-00c04fd430c8\", Nil: \"00000000-0000-0000-0000-000000000000\"}\nvariants: {Invalid: 0, RFC4122: 1, Reserved: 2, Microsoft: 3, Future: 4}\n",
    functions: &[
        function("Valid", &[TEXT], Kinds::NONE, |a| parse(text(a, 0)?).map(|_| Data::Bool(true))),
        function("Parse", &[TEXT], S, |a| parse(text(a, 0)?).map(|id| Data::String(show(id)))),
        function("URN", &[TEXT], S, |a| {
            parse(text(a, 0)?).map(|id| Data::String(format!("urn:uuid:{}", show(id))))
        }),
        function("FromInt", &[INTEGER], S, |a| {
            let value = number(a, 0)?.to_bigint().ok_or_else(|| Failure::error("not an integer"))?;
            let (sign, digits) = value.to_bytes_be();
            if sign == Sign::Minus || digits.len() > 16 {
                return Err(Failure::error("invalid UUID (got number out of the range of 128 bits)"));
            }
            let mut id = [0; 16];
            id[16 - digits.len()..].copy_from_slice(&digits);
            Ok(Data::String(show(id)))
        }),
        function("ToInt", &[TEXT], I, |a| {
            Ok(Data::int(BigInt::from_bytes_be(Sign::Plus, &parse(text(a, 0)?)?)))
        }),
        function("Variant", &[TEXT], I, |a| {
            Ok(Data::int(match parse(text(a, 0)?)?[8] {
                byte if byte & 0xc0 == 0x80 => 1,
                byte if byte & 0xe0 == 0xc0 => 3,
                byte if byte & 0xe0 == 0xe0 => 4,
                _ => 2,
            }))
        }),
        function("Version", &[TEXT], I, |a| Ok(Data::int(i32::from(parse(text(a, 0)?)?[6] >> 4)))),
        function("SHA1", &[TEXT, BYTES], S, |a| {
            named(a, 5, |space, name| {
                Sha1::new().chain_update(space).chain_update(name).finalize()[..16].to_vec()
            })
        }),
        function("MD5", &[TEXT, BYTES], S, |a| {
            named(a, 3, |space, name| Md5::new().chain_update(space).chain_update(name).finalize().to_vec())
        }),
    ],
};

fn named(a: &[Data], version: u8, digest: fn(&[u8], &[u8]) -> Vec<u8>) -> Outcome {
    let mut id = [0; 16];
    id.copy_from_slice(digest(&parse(text(a, 0)?)?, bytes(a, 1)?).get(..16).unwrap_or(&[0; 16]));
    id[6] = (id[6] & 0x0f) | (version << 4);
    id[8] = (id[8] & 0x3f) | 0x80;
    Ok(Data::String(show(id)))
}

/// Reads the plain form, with `urn:uuid:`, in braces, or without dashes.
fn parse(source: &str) -> Result<[u8; 16], Failure> {
    let body = match source.len() {
        45 => {
            source.get(9..).filter(|_| source.get(..9).is_some_and(|p| p.eq_ignore_ascii_case("urn:uuid:")))
        }
        38 => source.get(1..37),
        36 | 32 => Some(source),
        length => return Err(Failure::error(format!("invalid UUID length: {length}"))),
    };
    let invalid = || Failure::error("invalid UUID format");
    let body = body.filter(|b| b.is_ascii()).ok_or_else(invalid)?;
    let digits: String = if body.len() == 36 {
        if [8, 13, 18, 23].iter().any(|at| body.as_bytes()[*at] != b'-') {
            return Err(invalid());
        }
        body.replace('-', "")
    } else {
        body.to_string()
    };
    let value =
        u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32 && !digits.starts_with('+'));
    value.map(u128::to_be_bytes).ok_or_else(invalid)
}

fn show(id: [u8; 16]) -> String {
    let digits = super::text::hex(&id);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

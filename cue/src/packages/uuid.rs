//! Package `uuid`: identifiers in text form, as numbers, and made from names.

use md5::Md5;
use num_bigint::BigInt;
use num_traits::ToPrimitive as _;
use sha1::Sha1;
use sha2::Digest as _;
use uuid::{Builder, Uuid, Variant};

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
        function("Parse", &[TEXT], S, |a| parse(text(a, 0)?).map(|id| Data::String(id.to_string()))),
        function("URN", &[TEXT], S, |a| parse(text(a, 0)?).map(|id| Data::String(id.urn().to_string()))),
        function("FromInt", &[INTEGER], S, |a| {
            let value = number(a, 0)?.to_bigint().ok_or_else(|| Failure::error("not an integer"))?;
            let id = value.to_u128().map(Uuid::from_u128);
            let id =
                id.ok_or_else(|| Failure::error("invalid UUID (got number out of the range of 128 bits)"))?;
            Ok(Data::String(id.to_string()))
        }),
        function("ToInt", &[TEXT], I, |a| Ok(Data::int(BigInt::from(parse(text(a, 0)?)?.as_u128())))),
        function("Variant", &[TEXT], I, |a| {
            Ok(Data::int(match parse(text(a, 0)?)?.get_variant() {
                Variant::RFC4122 => 1,
                Variant::Microsoft => 3,
                Variant::Future => 4,
                _ => 2,
            }))
        }),
        function("Version", &[TEXT], I, |a| Ok(Data::int(i32::from(parse(text(a, 0)?)?.as_bytes()[6] >> 4)))),
        function("SHA1", &[TEXT, BYTES], S, |a| {
            named(a, Builder::from_sha1_bytes, |space, name| {
                Sha1::new().chain_update(space).chain_update(name).finalize().to_vec()
            })
        }),
        function("MD5", &[TEXT, BYTES], S, |a| {
            named(a, Builder::from_md5_bytes, |space, name| {
                Md5::new().chain_update(space).chain_update(name).finalize().to_vec()
            })
        }),
    ],
};

fn named(a: &[Data], id: fn([u8; 16]) -> Builder, digest: fn(&[u8], &[u8]) -> Vec<u8>) -> Outcome {
    let digest = digest(parse(text(a, 0)?)?.as_bytes(), bytes(a, 1)?);
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    Ok(Data::String(id(bytes).into_uuid().to_string()))
}

/// Reads the plain form, with `urn:uuid:`, in braces, or without dashes; as in Go, the case of the former and what the
/// braces are do not matter, and an error tells the length.
fn parse(source: &str) -> Result<Uuid, Failure> {
    let body = match source.len() {
        45 => {
            source.get(9..).filter(|_| source.get(..9).is_some_and(|p| p.eq_ignore_ascii_case("urn:uuid:")))
        }
        38 => source.get(1..37),
        36 | 32 => Some(source),
        length => return Err(Failure::error(format!("invalid UUID length: {length}"))),
    };
    body.and_then(|body| Uuid::try_parse(body).ok()).ok_or_else(|| Failure::error("invalid UUID format"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_form_that_the_reference_reads_is_read() {
        let plain = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        let bare = plain.replace('-', "");
        for form in [
            plain.to_uppercase(),
            bare.clone(),
            format!("URN:uuid:{plain}"),
            format!("{{{plain}}}"),
            format!("<{plain}>"),
        ] {
            assert_eq!(parse(&form).ok().map(|id| id.to_string()).as_deref(), Some(plain), "{form}");
        }
        for other in [
            &plain[1..],
            &plain.replace('-', "_"),
            &plain.replace('b', "g"),
            &bare.replace('b', "+"),
            &format!("{{{bare}}}"),
            "",
        ] {
            assert!(parse(other).is_err(), "{other}");
        }
    }
}

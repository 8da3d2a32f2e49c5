//! Packages `crypto/md5`, `sha1`, `sha256`, `sha512` and `hmac`: bytes in, digests out.

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use super::arguments::{bytes, text};
use super::{BYTES, Data, Failure, Function, Kinds, Package, TEXT, function};

type Outcome = Result<Data, Failure>;

const OUT: Kinds = Kinds::BYTES.or(Kinds::STRING);

macro_rules! digest {
    ($name:literal, $algorithm:ty) => {
        function($name, &[BYTES], OUT, |a| Ok(Data::Bytes(<$algorithm>::digest(bytes(a, 0)?).to_vec())))
    };
}

const fn package(
    path: &'static str,
    constants: &'static [(&'static str, &'static str)],
    functions: &'static [Function],
) -> Package {
    Package { path, functions, constants, declarations: "" }
}

pub(super) static MD5: Package =
    package("crypto/md5", &[("Size", "16"), ("BlockSize", "64")], &[digest!("Sum", Md5)]);
pub(super) static SHA1: Package =
    package("crypto/sha1", &[("Size", "20"), ("BlockSize", "64")], &[digest!("Sum", Sha1)]);
pub(super) static SHA256: Package = package(
    "crypto/sha256",
    &[("Size", "32"), ("Size224", "28"), ("BlockSize", "64")],
    &[digest!("Sum256", Sha256), digest!("Sum224", Sha224)],
);
pub(super) static SHA512: Package = package(
    "crypto/sha512",
    &[("Size", "64"), ("Size224", "28"), ("Size256", "32"), ("Size384", "48"), ("BlockSize", "128")],
    &[
        digest!("Sum512", Sha512),
        digest!("Sum384", Sha384),
        digest!("Sum512_224", Sha512_224),
        digest!("Sum512_256", Sha512_256),
    ],
);
pub(super) static HMAC: Package = package(
    "crypto/hmac",
    &[
        ("MD5", "\"MD5\""),
        ("SHA1", "\"SHA1\""),
        ("SHA224", "\"SHA224\""),
        ("SHA256", "\"SHA256\""),
        ("SHA384", "\"SHA384\""),
        ("SHA512", "\"SHA512\""),
        ("SHA512_224", "\"SHA512_224\""),
        ("SHA512_256", "\"SHA512_256\""),
    ],
    &[function("Sign", &[TEXT, BYTES, BYTES], OUT, sign)],
);

fn sign(a: &[Data]) -> Outcome {
    let (key, message) = (bytes(a, 1)?, bytes(a, 2)?);
    macro_rules! signed {
        ($algorithm:ty) => {{
            let mut mac = Hmac::<$algorithm>::new_from_slice(key)
                .map_err(|e| Failure::error(format!("key is not usable: {e}")))?;
            mac.update(message);
            mac.finalize().into_bytes().to_vec()
        }};
    }
    let signature = match text(a, 0)? {
        "MD5" => signed!(Md5),
        "SHA1" => signed!(Sha1),
        "SHA224" => signed!(Sha224),
        "SHA256" => signed!(Sha256),
        "SHA384" => signed!(Sha384),
        "SHA512" => signed!(Sha512),
        "SHA512_224" => signed!(Sha512_224),
        "SHA512_256" => signed!(Sha512_256),
        _ => return Err(Failure::error("unsupported hash function")),
    };
    Ok(Data::Bytes(signature))
}

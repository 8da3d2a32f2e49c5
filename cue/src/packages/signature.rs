//! Package `crypto/ed25519`: a public key, a message and a signature in, whether they belong together out.

use ed25519_dalek::{PUBLIC_KEY_LENGTH, Signature, SignatureError, Verifier as _, VerifyingKey};

use super::arguments::bytes;
use super::{BYTES, Data, Failure, Kinds, Package, function};

pub(super) static ED25519: Package = Package {
    path: "crypto/ed25519",
    constants: &[("PublicKeySize", "32")],
    declarations: "",
    functions: &[function("Valid", &[BYTES, BYTES, BYTES], Kinds::BOOL, |a| {
        let (key, message, signature) = (bytes(a, 0)?, bytes(a, 1)?, bytes(a, 2)?);
        let length = |_| Failure::error(format!("ed25519: publicKey must be {PUBLIC_KEY_LENGTH} bytes"));
        Ok(Data::Bool(verify(key.try_into().map_err(length)?, message, signature).is_ok()))
    })],
};

/// Any length but that of a signature, and any number out of range, is no signature of anybody.
fn verify(key: &[u8; PUBLIC_KEY_LENGTH], message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
    VerifyingKey::from_bytes(key)?.verify(message, &Signature::from_slice(signature)?)
}

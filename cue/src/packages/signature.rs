//! Package `crypto/ed25519`: a public key, a message and a signature in, whether they belong together out.
//!
//! Nothing here is secret, so the arithmetic need not take the same time for every number.

use num_bigint::BigUint;
use num_traits::{One as _, Zero as _};
use sha2::{Digest as _, Sha512};

use super::arguments::bytes;
use super::{BYTES, Data, Failure, Kinds, Package, function};

/// Bytes of a key and of half a signature.
const SIZE: usize = 32;

pub(super) static ED25519: Package = Package {
    path: "crypto/ed25519",
    constants: &[("PublicKeySize", "32")],
    declarations: "",
    functions: &[function("Valid", &[BYTES, BYTES, BYTES], Kinds::BOOL, |a| {
        let (key, message, signature) = (bytes(a, 0)?, bytes(a, 1)?, bytes(a, 2)?);
        if key.len() != SIZE {
            return Err(Failure::error(format!("ed25519: publicKey must be {SIZE} bytes")));
        }
        Ok(Data::Bool(verify(key, message, signature).unwrap_or(false)))
    })],
};

/// The curve -x² + y² = 1 + d·x²·y² over the integers modulo 2^255 - 19.
struct Curve {
    prime: BigUint,
    d: BigUint,
    /// Number of points that multiples of the base reach.
    order: BigUint,
}

/// A point as (X : Y : Z) with T = X·Y / Z.
#[derive(Clone)]
struct Point {
    x: BigUint,
    y: BigUint,
    z: BigUint,
    t: BigUint,
}

impl Curve {
    fn new() -> Option<Self> {
        let prime = (BigUint::one() << 255u32) - 19u32;
        let order =
            (BigUint::one() << 252u32) + BigUint::parse_bytes(b"27742317777372353535851937790883648493", 10)?;
        let mut curve = Self { prime, d: BigUint::zero(), order };
        let quotient = curve.times(&BigUint::from(121_665u32), &curve.inverse(&BigUint::from(121_666u32)));
        curve.d = curve.minus(&BigUint::zero(), &quotient);
        Some(curve)
    }

    fn times(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b % &self.prime
    }

    fn plus(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + b) % &self.prime
    }

    fn minus(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + &self.prime - b % &self.prime) % &self.prime
    }

    fn inverse(&self, a: &BigUint) -> BigUint {
        a.modpow(&(&self.prime - 2u32), &self.prime)
    }

    /// The point of that encoding; none when no point of the curve has that y.
    fn decode(&self, encoded: &[u8]) -> Option<Point> {
        let mut digits = encoded.to_vec();
        let last = digits.last_mut()?;
        let negative = *last >> 7 == 1;
        *last &= 0x7f;
        let y = BigUint::from_bytes_le(&digits) % &self.prime;
        let square = self.times(&y, &y);
        let numerator = self.minus(&square, &BigUint::one());
        let denominator = self.plus(&self.times(&self.d, &square), &BigUint::one());
        let wanted = self.times(&numerator, &self.inverse(&denominator));
        let mut x = wanted.modpow(&((&self.prime + 3u32) >> 3u32), &self.prime);
        if self.times(&x, &x) != wanted {
            let root = BigUint::from(2u32).modpow(&((&self.prime - 1u32) >> 2u32), &self.prime);
            x = self.times(&x, &root);
        }
        if self.times(&x, &x) != wanted {
            return None;
        }
        if x.bit(0) != negative {
            x = self.minus(&BigUint::zero(), &x);
        }
        Some(Point { t: self.times(&x, &y), x, y, z: BigUint::one() })
    }

    fn encode(&self, point: &Point) -> Vec<u8> {
        let inverse = self.inverse(&point.z);
        let (x, y) = (self.times(&point.x, &inverse), self.times(&point.y, &inverse));
        let mut digits = y.to_bytes_le();
        digits.resize(SIZE, 0);
        digits[SIZE - 1] |= u8::from(x.bit(0)) << 7;
        digits
    }

    fn add(&self, p: &Point, q: &Point) -> Point {
        let a = self.times(&self.minus(&p.y, &p.x), &self.minus(&q.y, &q.x));
        let b = self.times(&self.plus(&p.y, &p.x), &self.plus(&q.y, &q.x));
        let c = self.times(&self.times(&(&p.t * 2u32), &self.d), &q.t);
        let d = self.times(&(&p.z * 2u32), &q.z);
        let (e, f) = (self.minus(&b, &a), self.minus(&d, &c));
        let (g, h) = (self.plus(&d, &c), self.plus(&b, &a));
        Point { x: self.times(&e, &f), y: self.times(&g, &h), z: self.times(&f, &g), t: self.times(&e, &h) }
    }

    fn multiple(&self, point: &Point, count: &BigUint) -> Point {
        let mut sum = Point { x: BigUint::zero(), y: BigUint::one(), z: BigUint::one(), t: BigUint::zero() };
        for bit in (0..count.bits()).rev() {
            sum = self.add(&sum, &sum);
            if count.bit(bit) {
                sum = self.add(&sum, point);
            }
        }
        sum
    }
}

fn verify(key: &[u8], message: &[u8], signature: &[u8]) -> Option<bool> {
    let curve = Curve::new()?;
    let (commitment, response) = signature.split_at_checked(SIZE).filter(|(_, s)| s.len() == SIZE)?;
    let response = BigUint::from_bytes_le(response);
    if response >= curve.order {
        return None;
    }
    let public = curve.decode(key)?;
    // The base has y = 4/5 and an even x.
    let base = BigUint::from(4u32) * curve.inverse(&BigUint::from(5u32)) % &curve.prime;
    let mut encoded = base.to_bytes_le();
    encoded.resize(SIZE, 0);
    let base = curve.decode(&encoded)?;
    let digest = Sha512::new().chain_update(commitment).chain_update(key).chain_update(message).finalize();
    let challenge = BigUint::from_bytes_le(&digest) % &curve.order;
    let negated = Point {
        x: curve.minus(&BigUint::zero(), &public.x),
        t: curve.minus(&BigUint::zero(), &public.t),
        ..public
    };
    let sum = curve.add(&curve.multiple(&base, &response), &curve.multiple(&negated, &challenge));
    Some(curve.encode(&sum) == commitment)
}

//! Signs for tests as minisign does. Its own output is among the tests of what this is checked with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_compact::{KeyPair, Noise, Seed};

const PUBLIC_KEY: &[u8] = b"Ed";
/// Of the file's hash, not of the file.
const SIGNATURE: &[u8] = b"ED";
const COMMENT: &str = "for a test";

/// Somebody with a key: the same for the same number.
pub(crate) struct Signer {
    id: [u8; 8],
    keys: KeyPair,
}

impl Signer {
    pub(crate) fn new(number: u8) -> Self {
        Self { id: [number; 8], keys: KeyPair::from_seed(Seed::new([number; 32])) }
    }

    /// As it is written in a configuration.
    pub(crate) fn public_key(&self) -> String {
        BASE64.encode([PUBLIC_KEY, &self.id, &self.keys.pk[..]].concat())
    }

    /// What lies beside a file as `NAME.wasm.minisig`.
    pub(crate) fn sign(&self, bytes: &[u8]) -> String {
        let sign = |bytes: &[u8]| self.keys.sk.sign(bytes, None::<Noise>);
        let signature = sign(blake2b_simd::blake2b(bytes).as_bytes());
        let with_comment = sign(&[&signature[..], COMMENT.as_bytes()].concat());
        format!(
            "untrusted comment: made by a test\n{}\ntrusted comment: {COMMENT}\n{}\n",
            BASE64.encode([SIGNATURE, &self.id, &signature[..]].concat()),
            BASE64.encode(with_comment),
        )
    }
}

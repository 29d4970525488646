//! The key with which a password is to be encrypted, as the server sends it over a connection without TLS.
//!
//! `mysql_common` reads keys as if they came from a friend: lengths that point beyond the end are panics there. So a key is
//! looked at here before it is given to it.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use std::ops::RangeInclusive;

/// A key of 16384 bits takes less.
const LONGEST_PEM: usize = 4096;

/// From 1024 bits, the least that MySQL makes, to 16384.
const MODULUS_BYTES: RangeInclusive<usize> = 128..=2048;

/// In practice three.
const MOST_EXPONENT_BYTES: usize = 8;

/// The part of a block that OAEP with SHA-1 needs, with room for how `mysql_common` counts its bytes.
const PADDING_BYTES: usize = 2 * 20 + 2 + 2;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// Whether it is one public RSA key in PEM, large enough for a secret of so many bytes.
pub fn is_usable(pem: &[u8], secret_bytes: usize) -> bool {
    let pem = pem.trim_ascii_end();
    let is_one = pem.len() <= LONGEST_PEM
        && pem.starts_with(b"-----BEGIN PUBLIC KEY-----")
        && pem.ends_with(b"-----END PUBLIC KEY-----")
        && pem.windows(5).filter(|part| part == b"-----").count() == 4;
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem);
    let modulus = der.ok().and_then(|der| modulus_bytes(&der)).filter(|_| is_one);
    modulus.is_some_and(|bytes| MODULUS_BYTES.contains(&bytes) && secret_bytes + PADDING_BYTES <= bytes)
}

/// The length of the modulus of a SubjectPublicKeyInfo (RFC 5280) that holds an RSAPublicKey (RFC 8017).
fn modulus_bytes(der: &[u8]) -> Option<usize> {
    let (information, []) = element(SEQUENCE, der)? else { return None };
    let (_algorithm, rest) = element(SEQUENCE, information)?;
    let (bits, []) = element(BIT_STRING, rest)? else { return None };
    let (0, key) = bits.split_first()? else { return None };
    let (key, []) = element(SEQUENCE, key)? else { return None };
    let (modulus, rest) = element(INTEGER, key)?;
    let (exponent, []) = element(INTEGER, rest)? else { return None };
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let is_number =
        modulus.first().is_some_and(|first| *first >= 0x80) && modulus.last().is_some_and(|last| last & 1 == 1);
    (is_number && (1..=MOST_EXPONENT_BYTES).contains(&exponent.len())).then_some(modulus.len())
}

/// The content of the element that DER begins with, and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => rest.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
        _ => return None,
    };
    (*found == tag).then(|| rest.split_at_checked(length)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::crypto::encrypt;

    const KEY: &[u8] = b"-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
";

    #[test]
    fn a_key_of_2048_bits_takes_every_secret_that_fits() {
        assert!(is_usable(KEY, 256 - PADDING_BYTES));
        assert!(encrypt(&[1; 256 - PADDING_BYTES], KEY).is_ok());
        assert!(!is_usable(KEY, 256 - PADDING_BYTES + 1));
    }

    #[test]
    fn what_is_let_through_is_never_a_panic() {
        let mut usable = 0;
        for at in 0..KEY.len() {
            for byte in [b'A', b'/', b'-', b'\n', 0, 0xff] {
                let changed = [&KEY[..at], &[byte], &KEY[at + 1..]].concat();
                for pem in [&changed[..], &changed[..at], &[&changed[..], KEY].concat()] {
                    if is_usable(pem, 20) {
                        usable += 1;
                        let _ = encrypt(&[1; 20], pem);
                    }
                }
            }
        }
        assert!(usable > 0);
    }
}

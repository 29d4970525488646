//! The work on one page: which algorithm, in which mode, on how many bytes, in which direction.

use crate::Fault;
use serde::Deserialize;
use std::fmt;

/// AES's block, and the unit of every page size.
pub const BLOCK_BYTES: usize = 16;
/// The largest page that is measured.
pub const LARGEST_PAGE_BYTES: usize = 1 << 20;

/// The algorithm of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub enum Algorithm {
    #[serde(rename = "aes-128")]
    Aes128,
    #[serde(rename = "aes-192")]
    Aes192,
    #[serde(rename = "aes-256")]
    Aes256,
    #[serde(rename = "hmac-sha1")]
    HmacSha1,
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    #[serde(rename = "hmac-sha512")]
    HmacSha512,
}

impl Algorithm {
    /// The name that plans use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128 => "aes-128",
            Self::Aes192 => "aes-192",
            Self::Aes256 => "aes-256",
            Self::HmacSha1 => "hmac-sha1",
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha512 => "hmac-sha512",
        }
    }

    /// Bytes of a key: AES's own, or the 32 that an HMAC is given here.
    #[must_use]
    pub fn key_bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 | Self::HmacSha1 | Self::HmacSha256 | Self::HmacSha512 => 32,
        }
    }

    /// OpenSSL's name of an HMAC's digest; None for AES.
    #[must_use]
    pub fn digest(self) -> Option<&'static str> {
        match self {
            Self::HmacSha1 => Some("SHA1"),
            Self::HmacSha256 => Some("SHA256"),
            Self::HmacSha512 => Some("SHA512"),
            Self::Aes128 | Self::Aes192 | Self::Aes256 => None,
        }
    }
}

/// How AES is chained over a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Mode {
    Cbc,
    Ctr,
    Gcm,
    Xts,
}

impl Mode {
    /// The name that plans use, and OpenSSL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cbc => "cbc",
            Self::Ctr => "ctr",
            Self::Gcm => "gcm",
            Self::Xts => "xts",
        }
    }
}

/// Which way. HMAC has one way only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Direction {
    Encrypt,
    Decrypt,
    Authenticate,
}

/// One cell of the measurement, as a plan says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The algorithm of the page.
    pub algorithm: Algorithm,
    /// AES's mode; None for an HMAC.
    pub mode: Option<Mode>,
    /// The page, a multiple of [`BLOCK_BYTES`].
    pub page_bytes: usize,
    /// Which way.
    pub direction: Direction,
}

impl Task {
    /// Whether there is such a task.
    ///
    /// # Errors
    /// Of kind `plan`.
    pub fn check(&self) -> Result<(), Fault> {
        let is_hmac = self.algorithm.digest().is_some();
        let has_right_mode = match self.mode {
            None => is_hmac,
            Some(Mode::Xts) => matches!(self.algorithm, Algorithm::Aes128 | Algorithm::Aes256),
            Some(_) => !is_hmac,
        };
        let has_right_size = self.page_bytes.is_multiple_of(BLOCK_BYTES)
            && (BLOCK_BYTES..=LARGEST_PAGE_BYTES).contains(&self.page_bytes);
        if has_right_mode && has_right_size && is_hmac == (self.direction == Direction::Authenticate) {
            return Ok(());
        }
        Err(Fault::new("plan", format!("there is no task {self} {:?}", self.direction)))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode.map_or(String::new(), |mode| format!("-{}", mode.name()));
        write!(formatter, "{}{mode}, {} bytes", self.algorithm.name(), self.page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(algorithm: Algorithm, mode: Option<Mode>, page_bytes: usize, direction: Direction) -> Task {
        Task { algorithm, mode, page_bytes, direction }
    }

    #[test]
    fn aes_has_modes_two_ways_and_hmac_has_neither() {
        assert!(task(Algorithm::Aes192, Some(Mode::Gcm), 4096, Direction::Decrypt).check().is_ok());
        assert!(task(Algorithm::Aes192, None, 4096, Direction::Decrypt).check().is_err());
        assert!(task(Algorithm::HmacSha1, None, 4096, Direction::Authenticate).check().is_ok());
        assert!(task(Algorithm::HmacSha1, Some(Mode::Cbc), 4096, Direction::Authenticate).check().is_err());
        assert!(task(Algorithm::HmacSha1, None, 4096, Direction::Encrypt).check().is_err());
        assert!(task(Algorithm::Aes128, Some(Mode::Cbc), 4096, Direction::Authenticate).check().is_err());
    }

    #[test]
    fn xts_has_two_key_sizes_only() {
        let xts = |algorithm| task(algorithm, Some(Mode::Xts), 4096, Direction::Encrypt).check();
        assert!(xts(Algorithm::Aes128).is_ok());
        assert!(xts(Algorithm::Aes256).is_ok());
        assert_eq!(xts(Algorithm::Aes192).unwrap_err().message, "there is no task aes-192-xts, 4096 bytes Encrypt");
    }

    #[test]
    fn a_page_is_a_multiple_of_the_block_and_not_beyond_all_bounds() {
        let sized = |bytes| task(Algorithm::Aes128, Some(Mode::Cbc), bytes, Direction::Encrypt).check();
        for good in [16, 512, LARGEST_PAGE_BYTES] {
            assert!(sized(good).is_ok(), "{good}");
        }
        for bad in [0, 8, 4095, LARGEST_PAGE_BYTES + 16] {
            assert!(sized(bad).is_err(), "{bad}");
        }
    }
}

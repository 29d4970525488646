//! One page at a time through OpenSSL's EVP interface, as databases do it: the key schedule is made once, every page gets
//! an IV of its own, CBC is not padded, GCM makes or checks a tag over the page.

use crate::library::Library;
use crate::task::{Algorithm, Direction, Mode};
use crate::Fault;
use libc::{c_int, c_uint, c_void};
use std::ffi::CString;
use std::ptr::{null, null_mut, NonNull};

/// Bytes of an IV, counter block or tweak. GCM takes the first [`GCM_IV_BYTES`].
pub const IV_BYTES: usize = 16;
/// Bytes of GCM's IV: the length NIST SP 800-38D recommends, and OpenSSL's default.
pub const GCM_IV_BYTES: usize = 12;
/// Bytes of GCM's tag.
pub const TAG_BYTES: usize = 16;
/// Bytes of the longest authentication code here, HMAC-SHA512's.
pub const LONGEST_CODE_BYTES: usize = 64;

const GET_TAG: c_int = 0x10; // EVP_CTRL_AEAD_GET_TAG of <openssl/evp.h>
const SET_TAG: c_int = 0x11; // EVP_CTRL_AEAD_SET_TAG
const SAME_DIRECTION: c_int = -1;

/// An IV, counter block or tweak.
pub type Iv = [u8; IV_BYTES];
/// GCM's tag.
pub type Tag = [u8; TAG_BYTES];

/// AES in one mode and one direction, under one key.
pub struct Cipher {
    library: Library,
    context: NonNull<c_void>,
    is_gcm: bool,
    encrypts: bool,
}

// SAFETY: an EVP_CIPHER_CTX may move between threads; it must not be used by two at once, and `page` takes `&mut self`.
unsafe impl Send for Cipher {}

impl Cipher {
    /// Bytes of a key: XTS takes two of AES's.
    #[must_use]
    pub fn key_bytes(algorithm: Algorithm, mode: Mode) -> usize {
        algorithm.key_bytes() * if mode == Mode::Xts { 2 } else { 1 }
    }

    /// Makes the key schedule.
    ///
    /// # Errors
    /// Of kind `cipher`: OpenSSL has no such cipher, or refuses the key (XTS: one whose halves are equal).
    pub fn new(
        library: Library,
        algorithm: Algorithm,
        mode: Mode,
        direction: Direction,
        key: &[u8],
    ) -> Result<Self, Fault> {
        let name = format!("{}-{}", algorithm.name(), mode.name());
        let expected_bytes = Self::key_bytes(algorithm, mode);
        if algorithm.digest().is_some() || key.len() != expected_bytes || direction == Direction::Authenticate {
            let message = format!("{name}: expected AES, a key of {expected_bytes} bytes, and encrypt or decrypt");
            return Err(Fault::new("cipher", message));
        }
        let functions = library.functions();
        let openssl_name = CString::new(name.as_str()).expect("the names hold no zero");
        // SAFETY: a valid C string.
        let kind = unsafe { (functions.EVP_get_cipherbyname)(openssl_name.as_ptr()) };
        if kind.is_null() {
            return Err(library.refusal("cipher", &name));
        }
        // SAFETY: takes nothing; null means that memory ran out.
        let context = NonNull::new(unsafe { (functions.EVP_CIPHER_CTX_new)() })
            .ok_or_else(|| library.refusal("cipher", &name))?;
        let encrypts = direction == Direction::Encrypt;
        let cipher = Self { library, context, is_gcm: mode == Mode::Gcm, encrypts };
        // SAFETY: the context and the cipher are valid, the key has the cipher's length; the IV comes with each page.
        let is_ready = unsafe {
            let context = cipher.context.as_ptr();
            (functions.EVP_CipherInit_ex)(context, kind, null_mut(), key.as_ptr(), null(), c_int::from(encrypts)) == 1
                && (functions.EVP_CIPHER_CTX_set_padding)(context, 0) == 1
        };
        if is_ready {
            Ok(cipher)
        } else {
            Err(library.refusal("cipher", &name))
        }
    }

    /// One page, from `input` to `output` of the same length, a multiple of 16. GCM writes `tag` when it encrypts and
    /// checks it when it decrypts; the other modes leave it alone.
    ///
    /// # Errors
    /// Of kind `tag`: the page does not match its tag. Of kind `cipher`: OpenSSL refuses.
    ///
    /// # Panics
    /// If the two lengths differ.
    #[inline]
    pub fn page(&mut self, iv: &Iv, input: &[u8], output: &mut [u8], tag: &mut Tag) -> Result<(), Fault> {
        assert_eq!(input.len(), output.len(), "a page is as long as what becomes of it");
        let length = c_int::try_from(input.len()).map_err(|_| Fault::new("cipher", "a page beyond 2 GiB"))?;
        let functions = self.library.functions();
        let context = self.context.as_ptr();
        let (mut written, mut rest) = (0, 0);
        // SAFETY: the context is ready and an IV is as long as the longest of these ciphers'. Without padding OpenSSL
        // writes at most `length` bytes to `output`; `nothing` would hold a last block, which there must not be.
        let is_done = unsafe {
            let mut done =
                (functions.EVP_CipherInit_ex)(context, null(), null_mut(), null(), iv.as_ptr(), SAME_DIRECTION) == 1
                    && (functions.EVP_CipherUpdate)(context, output.as_mut_ptr(), &mut written, input.as_ptr(), length)
                        == 1;
            if done && self.is_gcm && !self.encrypts {
                done = self.tag_control(SET_TAG, tag);
            }
            let mut nothing = [0u8; 2 * IV_BYTES];
            done = done && (functions.EVP_CipherFinal_ex)(context, nothing.as_mut_ptr(), &mut rest) == 1;
            if done && self.is_gcm && self.encrypts {
                done = self.tag_control(GET_TAG, tag);
            }
            done
        };
        if is_done && written == length && rest == 0 {
            return Ok(());
        }
        Err(self.page_refusal(written == length))
    }

    /// # Safety
    /// The context is a GCM one that has an IV.
    unsafe fn tag_control(&self, control: c_int, tag: &mut Tag) -> bool {
        let functions = self.library.functions();
        // SAFETY: the tag has the given length; SET_TAG only reads it.
        unsafe {
            let at = tag.as_mut_ptr().cast();
            (functions.EVP_CIPHER_CTX_ctrl)(self.context.as_ptr(), control, TAG_BYTES as c_int, at) == 1
        }
    }

    #[cold]
    fn page_refusal(&self, is_whole: bool) -> Fault {
        let is_tag = self.is_gcm && !self.encrypts && is_whole;
        self.library.refusal(if is_tag { "tag" } else { "cipher" }, "a page")
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: made by EVP_CIPHER_CTX_new, and freed once. OpenSSL wipes the key schedule.
        unsafe { (self.library.functions().EVP_CIPHER_CTX_free)(self.context.as_ptr()) }
    }
}

/// HMAC under one key, which is kept from page to page.
pub struct Mac {
    library: Library,
    context: NonNull<c_void>,
}

// SAFETY: as for `Cipher`.
unsafe impl Send for Mac {}

impl Mac {
    /// Keys the HMAC.
    ///
    /// # Errors
    /// Of kind `cipher`: OpenSSL has no such digest, or refuses.
    pub fn new(library: Library, algorithm: Algorithm, key: &[u8]) -> Result<Self, Fault> {
        let name = algorithm.name();
        let Some(digest) = algorithm.digest() else {
            return Err(Fault::new("cipher", format!("{name}: expected an HMAC")));
        };
        let length = c_int::try_from(key.len()).map_err(|_| Fault::new("cipher", "a key beyond 2 GiB"))?;
        let functions = library.functions();
        let openssl_name = CString::new(digest).expect("the names hold no zero");
        // SAFETY: a valid C string.
        let kind = unsafe { (functions.EVP_get_digestbyname)(openssl_name.as_ptr()) };
        if kind.is_null() {
            return Err(library.refusal("cipher", name));
        }
        // SAFETY: takes nothing; null means that memory ran out.
        let context =
            NonNull::new(unsafe { (functions.HMAC_CTX_new)() }).ok_or_else(|| library.refusal("cipher", name))?;
        let mac = Self { library, context };
        // SAFETY: context and digest are valid, the key has the given length.
        let is_ready =
            unsafe { (functions.HMAC_Init_ex)(context.as_ptr(), key.as_ptr(), length, kind, null_mut()) == 1 };
        if is_ready {
            Ok(mac)
        } else {
            Err(library.refusal("cipher", name))
        }
    }

    /// The code of one page, at the head of `code`; returns its length.
    ///
    /// # Errors
    /// Of kind `cipher`: OpenSSL refuses.
    #[inline]
    pub fn page(&mut self, input: &[u8], code: &mut [u8; LONGEST_CODE_BYTES]) -> Result<usize, Fault> {
        let functions = self.library.functions();
        let context = self.context.as_ptr();
        let mut written: c_uint = 0;
        // SAFETY: the context is keyed, a null key and digest mean the ones it has; `code` holds the longest digest.
        let is_done = unsafe {
            (functions.HMAC_Init_ex)(context, null(), 0, null(), null_mut()) == 1
                && (functions.HMAC_Update)(context, input.as_ptr(), input.len()) == 1
                && (functions.HMAC_Final)(context, code.as_mut_ptr(), &mut written) == 1
        };
        if is_done {
            Ok(written as usize)
        } else {
            Err(self.library.refusal("cipher", "the code of a page"))
        }
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: made by HMAC_CTX_new, and freed once.
        unsafe { (self.library.functions().HMAC_CTX_free)(self.context.as_ptr()) }
    }
}

#[cfg(test)]
#[path = "cipher_tests.rs"]
mod tests;

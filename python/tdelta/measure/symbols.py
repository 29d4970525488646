"""What a function is for, by its symbol and the file that holds it: ciphers, hashes, checksums, and the rest.

The table was made from what perf showed on the twins of every engine here (docs/profile.md). It is tried from the top;
the first row that fits is the class. Limits: a name is all that is looked at. What a compiler put into its caller, or a
file does not name, is counted where it was put: a stripped function of OpenSSL's library is `FunctionClass.CRYPTO`, and
one of a database's own file is the database's.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from tdelta.records import FunctionClass

_Row: TypeAlias = tuple[FunctionClass, re.Pattern[str], re.Pattern[str]]


def _row(of: FunctionClass, symbols: str, dso: str = "") -> _Row:
    return of, re.compile(symbols, re.IGNORECASE), re.compile(dso)


_CRYPTO_FILES = (
    r"^lib(crypto|ssl|gcrypt|mbedcrypto|wolfssl|nss|softokn|freebl)|^libaes|httpfs|^(gocryptfs|cryfs|encfs)$"
)
_CLIENT_FILES = r"^_native\.|^(lib)?python|^libno_aes|^libevp_count|\.cpython-.*(numpy|_struct|select|_json)"
_SYSTEM_FILES = (
    r"^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libc\+\+|ld-linux.*|ld|libjemalloc|libtcmalloc)[-.]"
    r"|^\[vdso\]"
)

_TABLE: tuple[_Row, ...] = (
    # tdelta's own loop; its symbols may be named as anything
    _row(FunctionClass.CLIENT, r"", _CLIENT_FILES),
    # checksums ahead of hashes: a page's CRC is there without encryption, too
    _row(
        FunctionClass.CHECKSUM,
        r"crc_?32|crc32c|crc_t10|my_crc|buf_page_is_corrupted|buf_calc|fil_crc|pg_checksum|pgchecksum|adler32"
        r"|ut_crc|page_zip_calc_checksum|walChecksum|^checksum|::checksum|xxh(32|64|3)|comp_crc",
    ),
    # what gives integrity: MACs, hashes, and keys derived by them
    _row(
        FunctionClass.HASH,
        r"^body$|^_*sha_?(1|2|224|256|384|512|3)|sha(1|256|512)_(block|transform|update|final|init)|^SHA(1|224|256|384|512)_"
        r"|^_*HMAC|hmac_|^EVP_(Digest|MAC|MD_)|poly1305|^_*MD5|md5_|keccak|blake2|pbkdf2|PKCS5_|ossl_md5|ossl_sha|sqlcipher_hmac"
        r"|mbedtls_(internal_)?(sha|md)|crypto/(sha|md5|hmac)",
    ),
    _row(
        FunctionClass.CIPHER,
        r"^_*aes|aesni|vaes|vpaes|bsaes|^AES_|rijndael|^_*gcm|_gcm_|ghash|gf_?mult?_?128|clmul.*(gcm|ghash)|CRYPTO_(ctr|cbc|gcm|ccm|xts|cfb|ofb)"
        r"|chacha|salsa20|aegis|ascon|EVP_(Cipher|Encrypt|Decrypt|CIPHER)|ossl_cipher|ossl_gcm|ossl_ccm|ossl_aes|mbedtls_(aes|gcm|cipher|ctr)"
        r"|AES(GCM|StateMBEDTLS|StateSSL)?::|EncryptionState|sqlite3mc|^mcTempXor|(AES|RC4|Aegis|Ascon|ChaCha)\w*Cipher$|^do_crypt|sqlcipher_(page_)?cipher|sqlcipher_openssl_cipher"
        r"|^sqlite3Codec|my_aes|encryption_(crypt|ctx|scheme)|fil_space_(en|de)crypt|fil_(en|de)crypt|log_crypt|crypto/(internal/)?(fips140/)?(aes|cipher)"
        r"|(^|[_:])(en|de)crypt([_(<:]|$|buffer|page|block|bytes)|pg_tde.*crypt|^xts_|_xts_|^cbc_|^ctr_crypt|crypt_(convert|iv)|^kcryptd",
    ),
    # not told which; the shell around ciphers (contexts, providers, memory that is wiped) is here, too
    _row(FunctionClass.CRYPTO, r"", _CRYPTO_FILES),
    _row(FunctionClass.CRYPTO, r"^OPENSSL_|^EVP_|^OSSL_|^ossl_|^CRYPTO_|^RAND_|mbedtls_|drbg|sqlcipher_|openssl"),
    _row(
        FunctionClass.COMPRESSION,
        r"(^|_|::)(lz4|zstd|snappy|brotli|lzma|lzo|miniz)|^ZSTD|^LZ4|^(in|de)flate|compress(?!ed_?size)|pglz",
    ),
    _row(FunctionClass.COMPRESSION, r"", r"^lib(z|zstd|lz4|snappy|lzma|lzo2|bz2|brotli)[-.]"),
    _row(FunctionClass.LIBRARY, r"", _SYSTEM_FILES),
)


def class_of(symbol: str, dso: str, *, is_kernel: bool = False) -> FunctionClass:
    """The class of a function.

    Args:
        symbol: its name; empty where the file does not tell it.
        dso: the file, without folders.
        is_kernel: whether the kernel runs it. Its own ciphers and checksums (an encrypted disk's) are told apart.
    """
    fallback = FunctionClass.KERNEL if is_kernel else FunctionClass.DATABASE
    for of, symbols, files in _TABLE:
        if files.pattern and (is_kernel or not files.search(dso)):
            continue
        if symbols.pattern and not symbols.search(symbol):
            continue
        return FunctionClass.KERNEL if is_kernel and of in _NOT_OF_KERNEL else of
    return fallback


def called(dso: str) -> str:
    """What people call a file: a Python module by its package, without what it was built for."""
    if dso.startswith("[kernel."):
        return "[kernel]"
    module = dso.partition(".cpython-")[0].partition(".abi3")[0]
    return _MODULES.get(module, module)


_MODULES = {"__init__": "apsw", "_sqlite3": "sqlcipher3", "_duckdb": "duckdb", "_native": "tdelta"}
_NOT_OF_KERNEL = (FunctionClass.CRYPTO, FunctionClass.COMPRESSION)

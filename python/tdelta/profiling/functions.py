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

_Row: TypeAlias = tuple[FunctionClass, re.Pattern[str] | None, re.Pattern[str] | None]


def _row(of: FunctionClass, symbols: str = "", files: str = "") -> _Row:
    """A class with the patterns, set off by blanks, one of which the symbol holds, or the file's name."""
    return of, _any(symbols, re.IGNORECASE), _any(files, re.NOFLAG)


def _any(patterns: str, flags: re.RegexFlag) -> re.Pattern[str] | None:
    return _one_of(patterns, flags) if patterns else None


def _one_of(patterns: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile("|".join(patterns.split()), flags)


_TABLE: tuple[_Row, ...] = (
    # tdelta's own processes, whatever their functions are called
    _row(FunctionClass.CLIENT, files=r"^_native\. ^(lib)?python ^libno_aes ^libevp_count"),
    # checksums ahead of hashes: a page has its CRC without encryption, too
    _row(
        FunctionClass.CHECKSUM,
        r"""
        crc_?32 crc_t10 my_crc comp_crc fil_crc ut_crc adler32 xxh(32|64|3)
        buf_page_is_corrupted buf_calc page_zip_calc_checksum
        pg_checksum walChecksum ^checksum ::checksum
        """,
    ),
    # what gives integrity: MACs and hashes; and keys and nonces that are derived by them
    _row(
        FunctionClass.HASH,
        r"""
        ^_*sha_?(1|2|224|256|384|512|3) sha(1|256|512)_(block|transf|update|final|init) ^_*MD5 md5_ ^body$
        ^_*HMAC hmac_ poly1305 pbkdf2 PKCS5_ keccak blake2
        ^EVP_(Digest|MAC|MD_) ossl_md5 ossl_sha mbedtls_(internal_)?(sha|md) crypto/(sha|md5|hmac)
        """,
    ),
    # not chacha_block and chacha_permute, by which SQLite and the kernel make random numbers, encrypted or not
    _row(
        FunctionClass.CIPHER,
        r"""
        ^_*aes aesni vaes vpaes bsaes my_aes softaes ^AES_ rijndael crypto/(internal/)?(fips140/)?(aes|cipher)
        ^_*gcm _gcm_ (^|_)ghash gf_?mult?_?128 ^xts_ _xts_ ^cbc_ ^ctr_crypt CRYPTO_(ctr|cbc|gcm|ccm|xts|cfb|ofb)
        chacha(?!_(block|permute)) salsa20 ^aegis ascon (AES|RC4|Aegis|Ascon|ChaCha)\w*Cipher$
        EVP_(Cipher|Encrypt|Decrypt) ossl_(cipher|gcm|ccm|aes) mbedtls_(aes|gcm|cipher|ctr)
        AES(GCM|StateMBEDTLS|StateSSL)?::
        ^sqlite3mc(AES|RC4|ChaCha|GenerateInitialVector|_softaes|Codec(\.|$)) ^sqlite3Codec ^mcTempXor
        sqlcipher_(page_)?cipher sqlcipher_openssl_cipher
        (^|[_:])(en|de)crypt([_(:]|$|buffer|page|block|bytes) EncryptionState ^do_crypt
        encryption_(crypt|ctx|scheme) fil_(space_)?(en|de)crypt log_crypt pg_tde.*crypt
        ^crypt_(convert|iv) ^kcryptd
        """,
    ),
    # neither, or not told which: the shell around ciphers (contexts, providers, memory that is wiped), and all of
    # OpenSSL's assembly, whose symbols distributions strip
    _row(
        FunctionClass.CRYPTO,
        files=r"^lib(crypto|ssl|gcrypt|mbedcrypto|wolfssl|nss3|softokn|freebl) httpfs ^(gocryptfs|cryfs|encfs)$",
    ),
    _row(FunctionClass.CRYPTO, r"^(OPENSSL|EVP|OSSL|CRYPTO|RAND)_ mbedtls_ drbg ^sqlcipher_ ^sqlite3mc openssl"),
    _row(
        FunctionClass.COMPRESSION,
        r"""
        (^|_|::)(lz4|zstd|snappy|brotli|lzma|lzo|miniz|pglz) ^(in|de)flate
        (^|[_:])(de|un)?compress(_|$|block|page)
        """,
    ),
    _row(FunctionClass.COMPRESSION, files=r"^lib(z|zstd|lz4|snappy|lzma|lzo2|bz2|brotli)[-.]"),
    _row(
        FunctionClass.LIBRARY,
        files=r"""
        ^lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|jemalloc|tcmalloc)[-.] ^ld[-.] ^ld-linux ^\[vdso\]
        """,
    ),
)

_NOT_OF_KERNEL = (FunctionClass.CRYPTO, FunctionClass.COMPRESSION)
_MODULES = {"__init__": "apsw", "_sqlite3": "sqlcipher3", "_duckdb": "duckdb", "_native": "tdelta"}


def class_of(symbol: str, dso: str, *, is_kernel: bool = False) -> FunctionClass:
    """The class of a function.

    Args:
        symbol: its name; empty where the file does not tell it.
        dso: the file, without folders.
        is_kernel: whether the kernel runs it. Its own ciphers and checksums (an encrypted disk's) are told apart.
    """
    name = _without_arguments(symbol)
    for of, symbols, files in _TABLE:
        fits = (
            not is_kernel and files.search(dso) if files is not None else symbols is not None and symbols.search(name)
        )
        if fits:
            return FunctionClass.KERNEL if is_kernel and of in _NOT_OF_KERNEL else of
    return FunctionClass.KERNEL if is_kernel else FunctionClass.DATABASE


def _without_arguments(symbol: str) -> str:
    """A C++ name without the arguments of its templates: a table of hashed strings is no hash."""
    while (shorter := _INNERMOST.sub("", symbol)) != symbol:
        symbol = shorter
    return symbol


_INNERMOST = re.compile(r"<[^<>]*>")


def called(dso: str) -> str:
    """What people call a file: a Python module by its package, without what it was built for."""
    if dso.startswith("[kernel."):
        return "[kernel]"
    module = dso.partition(".cpython-")[0].partition(".abi3")[0]
    return _MODULES.get(module, module)

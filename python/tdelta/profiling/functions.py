"""The purpose of a function, by its symbol and the file that holds it: ciphers, hashes, checksums, and the rest.

The table comes from profiles of every engine (benches/results/engines.md); an engine's own names come from its
profile. It is tried from the top; the first row that fits is the class. Limits: a name is all that is looked at. What
a compiler put into its caller, or a file does not name, is counted where it was put: a stripped function of OpenSSL's
library is `FunctionClass.CRYPTO`, and one of a database's own file is the database's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tdelta.records import FunctionClass

_Row: TypeAlias = tuple[FunctionClass, re.Pattern[str] | None, re.Pattern[str] | None]

_SYMBOLS: Mapping[FunctionClass, str] = {
    # ahead of hashes: a page has its CRC without encryption, too
    FunctionClass.CHECKSUM: r"crc_?32 crc_t10 adler32 xxh(32|64|3) ^checksum",
    # what gives integrity: MACs and hashes; and keys and nonces that are derived by them
    FunctionClass.HASH: r"""
        ^_*sha_?(1|2|224|256|384|512|3) sha(1|256|512)_(block|transf|update|final|init) ^_*MD5 md5_
        ^_*HMAC hmac_ poly1305 pbkdf2 PKCS5_ keccak blake2
        ^EVP_(Digest|MAC|MD_) ossl_md5 ossl_sha mbedtls_(internal_)?(sha|md) crypto/(sha|md5|hmac)
    """,
    # not chacha_block and chacha_permute, by which SQLite and the kernel make random numbers, encrypted or not
    FunctionClass.CIPHER: r"""
        ^_*aes aesni vaes vpaes bsaes softaes ^AES_ rijndael crypto/(internal/)?(fips140/)?(aes|cipher)
        ^_*gcm _gcm_ (^|_)ghash gf_?mult?_?128 ^xts_ _xts_ ^cbc_ ^ctr_crypt CRYPTO_(ctr|cbc|gcm|ccm|xts|cfb|ofb)
        chacha(?!_(block|permute)) salsa20 ^aegis ascon
        EVP_(Cipher|Encrypt|Decrypt) ossl_(cipher|gcm|ccm|aes) mbedtls_(aes|gcm|cipher|ctr)
        (^|[_:])(en|de)crypt([_(:]|$|buffer|page|block|bytes) ^do_crypt
        ^crypt_(convert|iv) ^kcryptd
    """,
    # neither, or not told which: the shell around ciphers (contexts, providers, memory that is wiped)
    FunctionClass.CRYPTO: r"^(OPENSSL|EVP|OSSL|CRYPTO|RAND)_ mbedtls_ drbg openssl",
    FunctionClass.COMPRESSION: r"""
        (^|_|::)(lz4|zstd|snappy|brotli|lzma|lzo|miniz) ^(in|de)flate (^|[_:])(de|un)?compress(_|$|block|page)
    """,
}
"""Parts of symbols of libraries and the kernel, in any case, by their class."""

_CLIENT_FILES = r"^_native\. ^(lib)?python ^libno_aes ^libevp_count"
"""tdelta's own processes, whatever their functions are called."""

_CRYPTO_FILES = r"""
    ^lib(crypto|ssl|gcrypt|mbedcrypto|wolfssl|nss3|softokn|freebl) httpfs ^(gocryptfs|cryfs|encfs)$
"""
"""All of OpenSSL's assembly, whose symbols distributions strip."""

_COMPRESSION_FILES = r"^lib(z|zstd|lz4|snappy|lzma|lzo2|bz2|brotli)[-.]"
_LIBRARY_FILES = r"^lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|jemalloc|tcmalloc)[-.] ^ld[-.] ^ld-linux ^\[vdso\]"
_NOT_OF_KERNEL = (FunctionClass.CRYPTO, FunctionClass.COMPRESSION)
_INNERMOST = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Names:
    """Names in an engine's own code: patterns of symbols by class, and modules with their packages."""

    symbols: Mapping[FunctionClass, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)


class Functions:
    def __init__(self, engines: Iterable[Names] = ()) -> None:
        engines = tuple(engines)
        every = (_SYMBOLS, *(one.symbols for one in engines))

        def named(of: FunctionClass) -> _Row:
            return of, _any(" ".join(one.get(of, "") for one in every), re.IGNORECASE), None

        def held(of: FunctionClass, files: str) -> _Row:
            return of, None, _any(files, re.NOFLAG)

        self._rows = (
            held(FunctionClass.CLIENT, _CLIENT_FILES),
            named(FunctionClass.CHECKSUM),
            named(FunctionClass.HASH),
            named(FunctionClass.CIPHER),
            held(FunctionClass.CRYPTO, _CRYPTO_FILES),
            named(FunctionClass.CRYPTO),
            named(FunctionClass.COMPRESSION),
            held(FunctionClass.COMPRESSION, _COMPRESSION_FILES),
            held(FunctionClass.LIBRARY, _LIBRARY_FILES),
        )
        self._modules = {"_native": "tdelta"} | {key: name for one in engines for key, name in one.modules.items()}

    def class_of(self, symbol: str, dso: str, *, is_kernel: bool = False) -> FunctionClass:
        """The class of a function by symbol, if any, and file; the kernel's ciphers and checksums count apart."""
        name = _without_arguments(symbol)
        for of, symbols, files in self._rows:
            fits = (
                not is_kernel and files.search(dso)
                if files is not None
                else symbols is not None and symbols.search(name)
            )
            if fits:
                return FunctionClass.KERNEL if is_kernel and of in _NOT_OF_KERNEL else of
        return FunctionClass.KERNEL if is_kernel else FunctionClass.DATABASE

    def called(self, dso: str) -> str:
        """The usual name of a file: a Python module by its package, without the tags of its build."""
        if dso.startswith("[kernel."):
            return "[kernel]"
        module = dso.partition(".cpython-")[0].partition(".abi3")[0]
        return self._modules.get(module, module)


def _any(patterns: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile("|".join(patterns.split()), flags)


def _without_arguments(symbol: str) -> str:
    """A C++ name without the arguments of its templates: a table of hashed strings is no hash."""
    while (shorter := _INNERMOST.sub("", symbol)) != symbol:
        symbol = shorter
    return symbol

"""What functions are for. All of these symbols were seen by perf, or are exported by the libraries named."""

from __future__ import annotations

import pytest

from tdelta.engines.registry import profiles
from tdelta.profiling.functions import Functions
from tdelta.records import FunctionClass as C

NAMES = Functions(one.functions for one in profiles())
APSW = "__init__.cpython-311-x86_64-linux-gnu.so"
SQLCIPHER = "_sqlite3.cpython-311-x86_64-linux-gnu.so"
DUCKDB = "_duckdb.cpython-311-x86_64-linux-gnu.so"


@pytest.mark.parametrize(
    ("dso", "symbol", "expected"),
    [
        (APSW, "aesEncryptCBC", C.CIPHER),
        (APSW, "aesGenKeyEncryptInternal.isra.0", C.CIPHER),
        (APSW, "RijndaelDecrypt", C.CIPHER),
        (APSW, "sqleet_chacha20_xor", C.CIPHER),
        (APSW, "sha256_transf", C.HASH),
        (APSW, "body", C.HASH),
        (APSW, "sse2_poly1305_blocks", C.HASH),
        (APSW, "dolbeau_avx2_chacha20_encrypt_bytes.part.0", C.CIPHER),
        (APSW, "aegis256_avx512_impl_encrypt_detached", C.CIPHER),
        (APSW, "DecryptPageAES256Cipher", C.CIPHER),
        (APSW, "AsconGenOtk.isra.0", C.CIPHER),
        (APSW, "sqlite3mcAES256", C.CIPHER),
        (APSW, "sqlite3mcCodec.part.0", C.CIPHER),
        (APSW, "sqlite3mcGenerateInitialVector", C.CIPHER),
        (APSW, "sqlite3mcFileControlPragma.constprop.0", C.CRYPTO),  # a plain twin goes through it, too
        (APSW, "sqlite3mcCodecQueryParameters", C.CRYPTO),
        (APSW, "chacha_block.constprop.0", C.DATABASE),  # SQLite's random numbers
        (APSW, "MD5_Final", C.HASH),
        (APSW, "pbkdf2_sha512.constprop.0", C.HASH),
        (APSW, "walChecksumBytes", C.CHECKSUM),
        (APSW, "sqlite3VdbeExec", C.DATABASE),
        (APSW, "findElementWithHash.constprop.0", C.DATABASE),
        (SQLCIPHER, "sha512_block_data_order_avx2", C.HASH),
        (SQLCIPHER, "aesni_cbc_encrypt", C.CIPHER),
        (SQLCIPHER, "ossl_fnv1a_hash", C.CRYPTO),
        (SQLCIPHER, "ossl_sa_get", C.CRYPTO),
        (SQLCIPHER, "sqlite3BtreeIndexMoveto", C.DATABASE),
        ("libcrypto.so.3", "EVP_CipherUpdate", C.CIPHER),
        ("libcrypto.so.3", "EVP_DecryptUpdate", C.CIPHER),
        ("libcrypto.so.3", "CRYPTO_ctr128_encrypt_ctr32", C.CIPHER),
        ("libcrypto.so.3", "AES_set_encrypt_key", C.CIPHER),
        ("libcrypto.so.3", "SHA512_Update", C.HASH),
        ("libcrypto.so.3", "EVP_DigestUpdate", C.HASH),
        ("libcrypto.so.3", "HMAC_Final", C.HASH),
        ("libcrypto.so.3", "OPENSSL_cleanse", C.CRYPTO),
        ("libcrypto.so.3", "", C.CRYPTO),
        ("httpfs.duckdb_extension", "", C.CRYPTO),
        ("gocryptfs", "", C.CRYPTO),
        (DUCKDB, "duckdb_mbedtls::MbedTlsWrapper::AESStateMBEDTLS::Process", C.CIPHER),
        (DUCKDB, "mbedtls_aes_crypt_ecb", C.CIPHER),
        (DUCKDB, "mbedtls_gcm_update", C.CIPHER),
        (DUCKDB, "mbedtls_internal_sha256_process", C.HASH),
        (DUCKDB, "duckdb::BitpackingScanPartial<long, long, unsigned long>", C.DATABASE),
        (DUCKDB, "duckdb::PerfectAggregateHashTable::AddChunk", C.DATABASE),
        (
            DUCKDB,
            "std::_Hashtable<x, std::allocator<y>, duckdb::StringHash, z<true> >::_M_insert_unique_node",
            C.DATABASE,
        ),
        (DUCKDB, "duckdb::CompressedMaterialization::CompressAggregate", C.DATABASE),
        ("postgres", "pg_checksum_page", C.CHECKSUM),
        ("postgres", "hash_search_with_hash_value", C.DATABASE),
        ("postgres", "_bt_compare", C.DATABASE),
        ("postgres", "", C.DATABASE),
        ("mariadbd", "my_crc32c", C.CHECKSUM),
        ("mariadbd", "crc32c_3way", C.CHECKSUM),
        ("mariadbd", "my_aes_crypt", C.CIPHER),
        ("mariadbd", "encryption_scheme_decrypt", C.CIPHER),
        ("mysqld", "Encryption::decrypt", C.CIPHER),
        ("mysqld", "hardware::crc32_using_pclmul", C.CHECKSUM),
        ("mariadbd", "Prepared_statement::execute", C.DATABASE),
        ("mariadbd", "mysql_insert", C.DATABASE),
        ("libcrypto.so.3", "ERR_clear_error", C.CRYPTO),
        (DUCKDB, "duckdb::EncryptionEngine::DecryptBlock", C.CIPHER),
        (DUCKDB, "duckdb::Checksum", C.CHECKSUM),
        ("libz.so.1.2.13", "adler32_z", C.CHECKSUM),
        ("libz.so.1.2.13", "", C.COMPRESSION),
        ("libzstd.so.1.5.4", "ZSTD_decompressBlock_internal", C.COMPRESSION),
        ("libc.so.6", "__memmove_avx512_unaligned_erms", C.LIBRARY),
        ("[vdso]", "__vdso_clock_gettime", C.LIBRARY),
        ("_native.abi3.so", "", C.CLIENT),
        ("libpython3.11.so.1.0", "_PyEval_EvalFrameDefault", C.CLIENT),
    ],
)
def test_a_function_is_of_its_class(dso: str, symbol: str, expected: C) -> None:
    assert NAMES.class_of(symbol, dso) is expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_copy_to_iter", C.KERNEL),
        ("aesni_xts_enc", C.CIPHER),
        ("crc32c_pcl_intel_update", C.CHECKSUM),
        ("get_random_bytes_user", C.KERNEL),
        ("chacha_block_generic", C.KERNEL),
        ("mpage_process_page_bufs", C.KERNEL),
        ("folio_clear_dirty_for_io", C.KERNEL),
        ("finish_task_switch.isra.0", C.KERNEL),
        ("__schedule", C.KERNEL),
        ("try_to_wake_up", C.KERNEL),
        ("futex_wake", C.KERNEL),
        ("__x64_sys_futex", C.KERNEL),
        ("pick_next_task_fair", C.KERNEL),
        ("dequeue_entities", C.KERNEL),
        ("prepare_to_wait_event", C.KERNEL),
        ("__rseq_handle_notify_resume", C.KERNEL),
        ("_raw_spin_unlock_irqrestore", C.KERNEL),  # whoever lets go of a lock
        ("dd_insert_requests", C.KERNEL),
        ("schedule_work", C.KERNEL),
        ("io_submit_sqes", C.KERNEL),
    ],
)
def test_the_kernels_own_ciphers_and_checksums_are_told_apart_from_the_rest_of_it(symbol: str, expected: C) -> None:
    assert NAMES.class_of(symbol, "[kernel.kallsyms]", is_kernel=True) is expected


def test_a_function_of_the_database_schedules_nothing_whatever_it_is_called() -> None:
    assert NAMES.class_of("schedule", "mariadbd") is C.DATABASE


def test_files_are_called_as_people_know_them() -> None:
    assert [NAMES.called(dso) for dso in (APSW, SQLCIPHER, DUCKDB, "_native.abi3.so", "libcrypto.so.3", "[vdso]")] == [
        *("apsw", "sqlcipher3", "duckdb", "tdelta"),
        *("libcrypto.so.3", "[vdso]"),
    ]


def test_functions_of_an_engine_are_known_by_its_profile() -> None:
    assert Functions().class_of("walChecksumBytes", APSW) is C.DATABASE
    assert Functions().called(APSW) == "__init__"

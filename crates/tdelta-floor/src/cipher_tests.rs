//! Known answers from the standards, and round trips at any page size.

use super::*;
use proptest::prelude::*;

const ENCRYPT: Direction = Direction::Encrypt;
const DECRYPT: Direction = Direction::Decrypt;

fn library() -> Library {
    Library::open(None).expect("these tests call OpenSSL: apt-get install libssl3")
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn block(hex: &str) -> [u8; 16] {
    let mut found = [0; 16];
    let given = bytes(hex);
    found[..given.len()].copy_from_slice(&given);
    found
}

fn run(algorithm: Algorithm, mode: Mode, direction: Direction, key: &[u8], iv: &Iv, input: &[u8]) -> (Vec<u8>, Tag) {
    let mut output = vec![0; input.len()];
    let mut tag = Tag::default();
    Cipher::new(library(), algorithm, mode, direction, key).unwrap().page(iv, input, &mut output, &mut tag).unwrap();
    (output, tag)
}

/// Both ways, twice on the same context, since a database keeps its contexts.
fn assert_known(algorithm: Algorithm, mode: Mode, key: &str, iv: &str, plain: &str, coded: &str) {
    let (key, iv, plain, coded) = (bytes(key), block(iv), bytes(plain), bytes(coded));
    for (direction, input, expected) in [(ENCRYPT, &plain, &coded), (DECRYPT, &coded, &plain)] {
        let mut cipher = Cipher::new(library(), algorithm, mode, direction, &key).unwrap();
        for _ in 0..2 {
            let mut output = vec![0; input.len()];
            cipher.page(&iv, input, &mut output, &mut Tag::default()).unwrap();
            assert_eq!(&output, expected, "{algorithm:?} {mode:?} {direction:?}");
        }
    }
}

// NIST SP 800-38A, appendix F: keys and plaintext of all its examples.
const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                     30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";

#[test]
fn cbc_gives_the_answers_of_sp_800_38a() {
    let iv = "000102030405060708090a0b0c0d0e0f";
    for (algorithm, key, coded) in [
        (
            Algorithm::Aes128,
            KEY_128,
            "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
             73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
        ),
        (
            Algorithm::Aes192,
            KEY_192,
            "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
             571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
        ),
        (
            Algorithm::Aes256,
            KEY_256,
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
             39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    ] {
        assert_known(algorithm, Mode::Cbc, key, iv, PLAIN, coded);
    }
}

#[test]
fn ctr_gives_the_answers_of_sp_800_38a() {
    let counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    for (algorithm, key, coded) in [
        (
            Algorithm::Aes128,
            KEY_128,
            "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
             5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            Algorithm::Aes192,
            KEY_192,
            "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
             1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        ),
        (
            Algorithm::Aes256,
            KEY_256,
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
             2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        ),
    ] {
        assert_known(algorithm, Mode::Ctr, key, counter, PLAIN, coded);
    }
}

#[test]
fn gcm_gives_the_answers_of_its_authors() {
    // McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 3, 9 and 15 (no additional data).
    let key = "feffe9928665731c6d6a8f9467308308";
    let plain = bytes(
        "d9313225f88406e5a55909c5aff5269a 86a7a9531534f7da2e4c303d8a318a72
         1c3c0c95956809532fcf0e2449a6b525 b16aedf5aa0de657ba637b391aafd255",
    );
    let iv = block("cafebabefacedbaddecaf888");
    for (algorithm, key, coded, tag) in [
        (
            Algorithm::Aes128,
            key.to_owned(),
            "42831ec2217774244b7221b784d0d49c e3aa212f2c02a4e035c17e2329aca12e
             21d514b25466931c7d8f6a5aac84aa05 1ba30b396a0aac973d58e091473f5985",
            "4d5c2af327cd64a62cf35abd2ba6fab4",
        ),
        (
            Algorithm::Aes192,
            format!("{key}feffe9928665731c"),
            "3980ca0b3c00e841eb06fac4872a2757 859e1ceaa6efd984628593b40ca1e19c
             7d773d00c144c525ac619d18c84a3f47 18e2448b2fe324d9ccda2710acade256",
            "9924a7c8587336bfb118024db8674a14",
        ),
        (
            Algorithm::Aes256,
            format!("{key}{key}"),
            "522dc1f099567d07f47f37a32a84427d 643a8cdcbfe5c0c97598a2bd2555d1aa
             8cb08e48590dbb3da7b08b1056828838 c5f61e6393ba7a0abcc9f662898015ad",
            "b094dac5d93471bdec1a502270e3cc6c",
        ),
    ] {
        let (key, coded, tag) = (bytes(&key), bytes(coded), block(tag));
        assert_eq!(run(algorithm, Mode::Gcm, ENCRYPT, &key, &iv, &plain), (coded.clone(), tag), "{algorithm:?}");
        let mut output = vec![0; coded.len()];
        let mut decrypter = Cipher::new(library(), algorithm, Mode::Gcm, DECRYPT, &key).unwrap();
        decrypter.page(&iv, &coded, &mut output, &mut tag.clone()).unwrap();
        assert_eq!(output, plain, "{algorithm:?}");
    }
}

#[test]
fn xts_gives_the_answers_of_ieee_1619() {
    // IEEE Std 1619-2007, appendix B: vector 2, and the first 64 bytes of vector 10.
    let key = format!("{}{}", "11".repeat(16), "22".repeat(16));
    let coded = "c454185e6a16936e39334038acef838b fb186fff7480adc4289382ecd6d394f0";
    assert_known(Algorithm::Aes128, Mode::Xts, &key, "3333333333", &"44".repeat(32), coded);
    let key = "2718281828459045235360287471352662497757247093699959574966967627
               3141592653589793238462643383279502884197169399375105820974944592";
    let plain: String = (0..64).map(|byte| format!("{byte:02x}")).collect();
    let coded = "1c3b3a102f770386e4836c99e370cf9b ea00803f5e482357a4ae12d414a3e63b
                 5d31e276f8fe4a8d66b317f9ac683f44 680a86ac35adfc3345befecb4bb188fd";
    assert_known(Algorithm::Aes256, Mode::Xts, key, "ff", &plain, coded);
}

#[test]
fn hmac_gives_the_answers_of_rfc_2202_and_rfc_4231() {
    let cases: [(&[u8], &[u8], [&str; 3]); 2] = [
        (
            &[0x0b; 20],
            b"Hi There",
            [
                "b617318655057264e28bc0b6fb378c8ef146be00",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde
                 daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
            ],
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            [
                "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554
                 9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ],
        ),
    ];
    for (key, data, codes) in cases {
        for (algorithm, expected) in
            [Algorithm::HmacSha1, Algorithm::HmacSha256, Algorithm::HmacSha512].into_iter().zip(codes)
        {
            let mut mac = Mac::new(library(), algorithm, key).unwrap();
            for _ in 0..2 {
                let mut code = [0; LONGEST_CODE_BYTES];
                let length = mac.page(data, &mut code).unwrap();
                assert_eq!(code[..length], bytes(expected), "{algorithm:?}");
            }
        }
    }
}

#[test]
fn gcm_refuses_a_page_or_a_tag_of_which_one_bit_was_flipped() {
    let (key, iv, plain) = ([7; 32], [9; 16], [3; 4096]);
    let (mut coded, mut tag) = run(Algorithm::Aes256, Mode::Gcm, ENCRYPT, &key, &iv, &plain);
    let mut decrypter = Cipher::new(library(), Algorithm::Aes256, Mode::Gcm, DECRYPT, &key).unwrap();
    let mut output = vec![0; plain.len()];
    tag[15] ^= 1;
    assert_eq!(decrypter.page(&iv, &coded, &mut output, &mut tag).unwrap_err().kind, "tag");
    tag[15] ^= 1;
    coded[4095] ^= 1;
    assert_eq!(decrypter.page(&iv, &coded, &mut output, &mut tag).unwrap_err().kind, "tag");
    coded[4095] ^= 1;
    decrypter.page(&iv, &coded, &mut output, &mut tag).unwrap();
    assert_eq!(output, plain);
}

#[test]
fn xts_refuses_a_key_whose_halves_are_equal() {
    let fault = Cipher::new(library(), Algorithm::Aes128, Mode::Xts, ENCRYPT, &[5; 32]).err().unwrap();
    assert_eq!(fault.kind, "cipher");
    assert!(fault.message.starts_with("aes-128-xts: OpenSSL "), "{fault}");
}

#[test]
fn a_key_of_another_length_or_a_digest_for_a_cipher_is_refused_before_openssl_reads_it() {
    let refused = |algorithm, mode, direction, key: &[u8]| {
        Cipher::new(library(), algorithm, mode, direction, key).err().map(|fault| fault.kind)
    };
    assert_eq!(refused(Algorithm::Aes256, Mode::Cbc, ENCRYPT, &[1; 16]), Some("cipher"));
    assert_eq!(refused(Algorithm::Aes128, Mode::Xts, ENCRYPT, &[1; 16]), Some("cipher"));
    assert_eq!(refused(Algorithm::HmacSha1, Mode::Cbc, ENCRYPT, &[1; 32]), Some("cipher"));
    assert_eq!(refused(Algorithm::Aes128, Mode::Cbc, Direction::Authenticate, &[1; 16]), Some("cipher"));
    assert_eq!(Mac::new(library(), Algorithm::Aes128, &[1; 16]).err().map(|fault| fault.kind), Some("cipher"));
}

#[test]
fn half_a_block_is_refused_and_does_not_spoil_the_next_page() {
    let mut cipher = Cipher::new(library(), Algorithm::Aes128, Mode::Cbc, ENCRYPT, &[1; 16]).unwrap();
    let mut tag = Tag::default();
    assert_eq!(cipher.page(&[0; 16], &[0; 24], &mut [0; 24], &mut tag).unwrap_err().kind, "cipher");
    let mut output = [0; 32];
    cipher.page(&[0; 16], &[4; 32], &mut output, &mut tag).unwrap();
    assert_eq!(output[..], run(Algorithm::Aes128, Mode::Cbc, ENCRYPT, &[1; 16], &[0; 16], &[4; 32]).0);
}

#[test]
#[should_panic(expected = "as long as what becomes of it")]
fn an_output_that_is_too_short_is_never_written_to() {
    let mut cipher = Cipher::new(library(), Algorithm::Aes128, Mode::Cbc, ENCRYPT, &[1; 16]).unwrap();
    let _ = cipher.page(&[0; 16], &[0; 32], &mut [0; 16], &mut Tag::default());
}

fn aes() -> impl Strategy<Value = (Algorithm, Mode)> {
    let all = [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256]
        .into_iter()
        .flat_map(|algorithm| [Mode::Cbc, Mode::Ctr, Mode::Gcm, Mode::Xts].map(|mode| (algorithm, mode)))
        .filter(|pair| *pair != (Algorithm::Aes192, Mode::Xts));
    prop::sample::select(all.collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn what_was_encrypted_decrypts_to_itself(
        (algorithm, mode) in aes(),
        key in prop::array::uniform32(any::<u8>()),
        iv in any::<Iv>(),
        plain in (1..300usize).prop_flat_map(|blocks| prop::collection::vec(any::<u8>(), 16 * blocks)),
    ) {
        let key_bytes = Cipher::key_bytes(algorithm, mode);
        let mut long_key = [key, key].concat();
        long_key[63] ^= 1;
        long_key[31] ^= 2; // the halves differ, whatever their length
        let key = &long_key[64 - key_bytes..];
        let (coded, mut tag) = run(algorithm, mode, ENCRYPT, key, &iv, &plain);
        prop_assert_ne!(&coded, &plain);
        let mut output = vec![0; plain.len()];
        let mut decrypter = Cipher::new(library(), algorithm, mode, DECRYPT, key).unwrap();
        decrypter.page(&iv, &coded, &mut output, &mut tag).unwrap();
        prop_assert_eq!(output, plain);
    }

    #[test]
    fn another_iv_gives_another_page((algorithm, mode) in aes(), iv in any::<Iv>(), page in any::<u8>()) {
        let key: Vec<u8> = (0..Cipher::key_bytes(algorithm, mode) as u8).collect();
        let plain = vec![page; 512];
        let mut other = iv;
        other[0] ^= 0x80; // within GCM's twelve bytes
        let first = run(algorithm, mode, ENCRYPT, &key, &iv, &plain);
        prop_assert_ne!(first, run(algorithm, mode, ENCRYPT, &key, &other, &plain));
    }
}

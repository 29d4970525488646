//! The question and its answer: what CPUID says, less the AES instructions.

use std::arch::x86_64::{__cpuid_count, CpuidResult};

/// Leaf 1, ECX: AESNI and PCLMULQDQ (Intel SDM vol. 2A, table 3-10; AMD APM vol. 3, appendix E.3).
const LEAF_1_ECX: u32 = 1 << 25 | 1 << 1;

/// Leaf 7, subleaf 0, ECX: VAES and VPCLMULQDQ.
const LEAF_7_ECX: u32 = 1 << 9 | 1 << 10;

/// The CPU's answer without the hidden bits.
pub fn answer(leaf: u32, subleaf: u32) -> CpuidResult {
    hide(leaf, subleaf, __cpuid_count(leaf, subleaf))
}

/// Clears what is hidden from an answer. Leaf 1 has no subleaves, so whatever was in ECX asks the same.
fn hide(leaf: u32, subleaf: u32, told: CpuidResult) -> CpuidResult {
    let hidden = match (leaf, subleaf) {
        (1, _) => LEAF_1_ECX,
        (7, 0) => LEAF_7_ECX,
        _ => 0,
    };
    CpuidResult { ecx: told.ecx & !hidden, ..told }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: CpuidResult = CpuidResult { eax: u32::MAX, ebx: u32::MAX, ecx: u32::MAX, edx: u32::MAX };

    #[test]
    fn exactly_the_bits_of_openssls_word_are_cleared() {
        // OPENSSL_ia32cap='~0x200000200000000:~0x60000000000': the vector is EDX and ECX of leaf 1, EBX and ECX of leaf 7.
        let (word_0, word_1) = (0x0200_0002_0000_0000_u64, 0x0600_0000_0000_u64);
        assert_eq!(!hide(1, 0, ALL).ecx, (word_0 >> 32) as u32);
        assert_eq!(!hide(7, 0, ALL).ecx, (word_1 >> 32) as u32);
        assert_eq!((word_0 as u32, word_1 as u32), (0, 0));
    }

    #[test]
    fn every_other_register_and_leaf_is_left_as_it_is() {
        for (leaf, subleaf) in [(0, 0), (1, 0), (1, 7), (2, 0), (7, 0), (7, 1), (0x8000_0001, 0)] {
            let told = hide(leaf, subleaf, ALL);
            assert_eq!((told.eax, told.ebx, told.edx), (u32::MAX, u32::MAX, u32::MAX));
            assert_eq!(told.ecx != u32::MAX, leaf == 1 || (leaf, subleaf) == (7, 0), "leaf {leaf:x}, {subleaf}");
        }
    }

    #[test]
    fn an_answer_is_the_cpus_own_less_what_is_hidden() {
        for leaf in [0, 1, 7] {
            assert_eq!(answer(leaf, 0), hide(leaf, 0, __cpuid_count(leaf, 0)));
        }
        assert_eq!(answer(1, 0).ecx & LEAF_1_ECX, 0);
    }
}

//! Finding CPUID instructions in machine code.

use yaxpeax_arch::LengthedInstruction;
use yaxpeax_x86::amd64::{InstDecoder, Opcode};

/// The instruction CPUID.
pub const CPUID: [u8; 2] = [0x0f, 0xa2];

/// The instruction UD2, which is never valid.
pub const UD2: [u8; 2] = [0x0f, 0x0b];

/// The meaning of the two bytes of a CPUID, at one place of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The instruction.
    Instruction,
    /// A part of another instruction: an immediate, a displacement.
    PartOfAnother,
    /// Decoding did not get that far, or the instruction has a prefix.
    Unclear,
}

/// Where the two bytes occur.
pub fn occurrences(code: &[u8]) -> impl Iterator<Item = usize> + '_ {
    code.windows(CPUID.len()).enumerate().filter(|(_, window)| *window == CPUID).map(|(offset, _)| offset)
}

/// The meaning of the two bytes at `offset`. `function` begins with a function's first instruction.
pub fn classify(function: &[u8], offset: usize) -> Finding {
    let decoder = InstDecoder::default();
    let mut at = 0;
    while at < offset {
        let Ok(instruction) = decoder.decode_slice(&function[at..]) else {
            return Finding::Unclear;
        };
        let next = at + instruction.len().to_const() as usize;
        if next > offset {
            let has_prefix = instruction.opcode() == Opcode::CPUID;
            return if has_prefix { Finding::Unclear } else { Finding::PartOfAnother };
        }
        at = next;
    }
    Finding::Instruction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETURN: u8 = 0xc3;

    /// The treatment of every occurrence in a function.
    fn findings(function: &[u8]) -> Vec<(usize, Finding)> {
        occurrences(function).map(|offset| (offset, classify(function, offset))).collect()
    }

    #[test]
    fn an_instruction_is_found_and_a_decoy_within_an_immediate_is_not() {
        let function = [
            0xb8, 0x0f, 0xa2, 0x00, 0x00, // mov eax, 0xa20f
            0x31, 0xc9, // xor ecx, ecx
            0x0f, 0xa2, // cpuid
            RETURN,
        ];
        assert_eq!(findings(&function), [(1, Finding::PartOfAnother), (7, Finding::Instruction)]);
    }

    #[test]
    fn decoys_within_a_displacement_and_across_two_instructions_are_not_taken() {
        let function = [
            0x8b, 0x83, 0x0f, 0xa2, 0x00, 0x00, // mov eax, [rbx + 0xa20f]
            0xb0, 0x0f, // mov al, 0x0f
            0xa2, 1, 2, 3, 4, 5, 6, 7, 8, // mov [0x0807060504030201], al
            RETURN,
        ];
        assert_eq!(findings(&function), [(2, Finding::PartOfAnother), (7, Finding::PartOfAnother)]);
    }

    #[test]
    fn what_the_decoder_does_not_know_leaves_the_rest_unclear() {
        let function = [0x06, 0x0f, 0xa2, RETURN]; // 0x06 is no instruction of 64-bit code
        assert_eq!(findings(&function), [(1, Finding::Unclear)]);
    }

    #[test]
    fn an_instruction_with_a_prefix_is_left_alone() {
        assert_eq!(findings(&[0x66, 0x0f, 0xa2, RETURN]), [(1, Finding::Unclear)]);
    }

    #[test]
    fn instructions_of_every_length_class_are_stepped_over() {
        let function = [
            0xf3, 0x0f, 0x1e, 0xfa, // endbr64
            0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0, // cs nop word [rax + rax]
            0xc4, 0xe2, 0x79, 0xdc, 0xc1, // vaesenc xmm0, xmm0, xmm1
            0x62, 0xf2, 0x7d, 0x48, 0xdc, 0xc1, // vaesenc zmm0, zmm0, zmm1
            0x48, 0xb8, 0x0f, 0xa2, 0x0f, 0xa2, 0x0f, 0xa2, 0x0f, 0xa2, // mov rax, 0xa20fa20fa20fa20f
            0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, // mov rax, fs:[0x28]
            0x0f, 0xa2, // cpuid
            RETURN,
        ];
        let taken: Vec<usize> =
            findings(&function).iter().filter(|(_, found)| *found == Finding::Instruction).map(|(at, _)| *at).collect();
        assert_eq!(taken, [function.len() - 3]);
    }

    /// One instruction that holds `filler` wherever it takes bytes of the compiler's choice, and whether it is CPUID.
    fn instruction(kind: u8, filler: [u8; 8]) -> (Vec<u8>, bool) {
        let [a, b, c, d, ..] = filler;
        match kind % 6 {
            0 => (CPUID.to_vec(), true),
            1 => (vec![0xb8, a, b, c, d], false),                // mov eax, imm32
            2 => ([&[0x48, 0xb8][..], &filler].concat(), false), // mov rax, imm64
            3 => (vec![0x8b, 0x83, a, b, c, d], false),          // mov eax, [rbx + disp32]
            4 => (vec![0x90], false),                            // nop
            _ => (vec![0xe8, a, b, c, d], false),                // call rel32
        }
    }

    proptest! {
        #[test]
        fn exactly_the_instructions_are_found_whatever_surrounds_them(
            kinds in prop::collection::vec(
                (any::<u8>(), prop::array::uniform8(prop::sample::select(vec![0x0f_u8, 0xa2, 0x0b, 0x00]))),
                1..60,
            ),
        ) {
            let (mut function, mut expected) = (Vec::new(), Vec::new());
            for (kind, filler) in kinds {
                let (bytes, is_cpuid) = instruction(kind, filler);
                if is_cpuid {
                    expected.push(function.len());
                }
                function.extend(bytes);
            }
            let found = findings(&function);
            prop_assert!(found.iter().all(|(_, finding)| *finding != Finding::Unclear));
            let taken: Vec<usize> =
                found.iter().filter(|(_, f)| *f == Finding::Instruction).map(|(at, _)| *at).collect();
            prop_assert_eq!(taken, expected);
        }
    }
}

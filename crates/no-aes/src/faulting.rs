//! CPUID faulting: the kernel makes the instruction raise SIGSEGV in every task that asks for it (arch_prctl(2)).

use crate::code::CPUID;
use crate::cpuid::answer;
use std::arch::x86_64::CpuidResult;
use std::ffi::c_int;

/// `ARCH_SET_CPUID` of asm/prctl.h.
const ARCH_SET_CPUID: c_int = 0x1012;

/// Above it, no address of a program is canonical, and to read there would fault.
const END_OF_ADDRESSES: usize = 1 << 47;

fn set(is_allowed: bool) -> bool {
    // SAFETY: takes a number, and fails where CPU or kernel cannot do it. Can be called by a signal handler.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, libc::c_ulong::from(is_allowed)) == 0 }
}

/// Whether CPU and kernel can do it: to allow what is allowed changes nothing, and fails where they cannot.
pub fn is_supported() -> bool {
    set(true)
}

/// Has CPUID raise SIGSEGV in this task, and in every task that it starts.
pub fn forbid() {
    set(false);
}

/// Answers a CPUID that has faulted.
pub fn answer_fault(leaf: u32, subleaf: u32) -> CpuidResult {
    set(true);
    let told = answer(leaf, subleaf);
    set(false);
    told
}

/// Whether a SIGSEGV with this code, at this instruction, is a CPUID that faulted.
///
/// # Safety
/// If the code is `SI_KERNEL`, the CPU has fetched the instruction at this address, as it has in a handler.
pub unsafe fn is_cpuid(code: c_int, instruction: usize) -> bool {
    // A general protection fault comes as SI_KERNEL; a jump to nowhere or a bad pointer as SEGV_*.
    if code != libc::SI_KERNEL || instruction >= END_OF_ADDRESSES {
        return false;
    }
    let bytes = instruction as *const u8;
    // SAFETY: fetched, as the caller says; and an instruction whose first byte is 0F has a second one.
    unsafe { bytes.read() == CPUID[0] && bytes.add(1).read() == CPUID[1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGV_MAPERR: c_int = 1;

    fn recognised(code: c_int, bytes: &[u8]) -> bool {
        // SAFETY: the bytes can be read.
        unsafe { is_cpuid(code, bytes.as_ptr() as usize) }
    }

    #[test]
    fn only_a_cpuid_that_the_kernel_reports_as_a_protection_fault_is_ours() {
        assert!(recognised(libc::SI_KERNEL, &[0x0f, 0xa2]));
        assert!(!recognised(SEGV_MAPERR, &[0x0f, 0xa2]));
        assert!(!recognised(libc::SI_USER, &[0x0f, 0xa2]));
        assert!(!recognised(libc::SI_KERNEL, &[0x0f, 0x0b]));
        assert!(!recognised(libc::SI_KERNEL, &[0xf4])); // hlt: one byte, maybe the last of a page
    }

    #[test]
    fn an_address_that_no_program_can_have_is_not_read() {
        // SAFETY: the address is refused before it is read.
        assert!(!unsafe { is_cpuid(libc::SI_KERNEL, usize::MAX - 1) });
    }

    #[test]
    fn an_answer_lacks_what_is_hidden_whether_or_not_the_machine_can_fault() {
        let told = if is_supported() {
            let told = answer_fault(1, 0);
            set(true); // this thread goes on as it was
            told
        } else {
            answer_fault(1, 0)
        };
        assert_eq!(told, answer(1, 0));
    }
}

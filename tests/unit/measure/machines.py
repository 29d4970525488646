"""A root folder with the kernel files of a machine we do not have here."""

from pathlib import Path

X86_CPUINFO = """\
processor	: 0
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
physical id	: 0
core id		: 0
flags		: fpu vme aes pclmulqdq avx2 avx512f sha_ni vaes vpclmulqdq cpuid_fault

processor	: 1
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
physical id	: 0
core id		: 0
flags		: fpu vme aes pclmulqdq avx2 avx512f sha_ni vaes vpclmulqdq cpuid_fault

processor	: 2
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
physical id	: 1
core id		: 0
flags		: fpu vme aes pclmulqdq avx2 avx512f sha_ni vaes vpclmulqdq cpuid_fault
"""

ARM_CPUINFO = """\
processor	: 0
BogoMIPS	: 243.75
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics
CPU implementer	: 0x41
CPU part	: 0xd0c

processor	: 1
BogoMIPS	: 243.75
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics
CPU implementer	: 0x41
CPU part	: 0xd0c
"""

MEMINFO = """\
MemTotal:       16303104 kB
MemFree:          524288 kB
MemAvailable:    8388608 kB
HugePages_Total:       7
Hugepagesize:       2048 kB
"""

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
28 27 8:17 / /data rw,noatime shared:2 master:3 - xfs /dev/sdb1 rw,attr2
29 28 0:44 / /data/alice\\040b rw,relatime - nfs4 files.example.org:/export/alice rw,vers=4.2
30 28 0:45 / /data/stacked rw,relatime - ext4 /dev/sdc rw
31 30 0:46 / /data/stacked rw,relatime - tmpfs tmpfs rw,size=1024k
truncated line
"""


def machine(root: Path, **files: str) -> Path:
    """Write files, named with ``__`` for the slash, below ``root``."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root

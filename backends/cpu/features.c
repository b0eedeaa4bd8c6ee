/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "isa.h"

#include <errno.h>
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#define OSXSAVE (UINT32_C(1) << 27) /* of leaf 1's ECX */

static uint64_t read_xcr0(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

void cpu_features_read(struct cpu_features *out)
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

    *out = (struct cpu_features){ 0 };
    if (__get_cpuid(0, &eax, &ebx, &ecx, &edx))
        out->is_amd = ebx == signature_AMD_ebx && ecx == signature_AMD_ecx &&
                      edx == signature_AMD_edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        out->leaf1_ecx = ecx;
    if (out->leaf1_ecx & OSXSAVE)
        out->xcr0 = read_xcr0();
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return;
    out->leaf7_ebx = ebx;
    out->leaf7_ecx = ecx;
    out->leaf7_edx = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
        out->leaf7_1_eax = eax;
}
#else
void cpu_features_read(struct cpu_features *out)
{
    *out = (struct cpu_features){ 0 };
#if defined(__aarch64__)
    out->is_arm64 = true;
#if defined(__linux__)
    out->hwcap = getauxval(AT_HWCAP);
    out->hwcap2 = getauxval(AT_HWCAP2);
#endif
#endif
}
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
/* Of Linux's asm/prctl.h, from 5.16 on; and the number of the state component. */
#define REQUEST_PERMISSION 0x1023
#define TILE_DATA          18

int cpu_features_permit_amx(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 ? 0 : errno;
}
#else
int cpu_features_permit_amx(void)
{
    return ENOSYS;
}
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* For LD_PRELOAD: makes a program believe that it has more privileges than its user. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

__attribute__((visibility("default"))) unsigned long getauxval(unsigned long type)
{
    unsigned long (*real)(unsigned long);

    if (type == AT_SECURE)
        return 1;
    *(void **)&real = dlsym(RTLD_NEXT, "getauxval");
    return real(type);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data that Debian's static libraries address as a program does and a shared library must not: each
 * library of the wheel gets copies of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#undef stderr
#undef stdout

__attribute__((visibility("hidden"))) FILE *stderr;
__attribute__((visibility("hidden"))) FILE *stdout;

__attribute__((constructor(101))) static void copy_streams(void)
{
    FILE **error = dlsym(RTLD_NEXT, "stderr"), **out = dlsym(RTLD_NEXT, "stdout");

    stderr = error ? *error : NULL;
    stdout = out ? *out : NULL;
}

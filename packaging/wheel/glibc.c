/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of later versions of glibc than the wheel's, which objects compiled on a newer system
 * name.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern HIDDEN char __libc_single_threaded;
struct mallinfo old_mallinfo(void) __asm__("mallinfo");

/* 2.32: libstdc++ asks whether there is one thread; 0 is "there may be more". */
char __libc_single_threaded = 0;

/* 2.30 */
HIDDEN pid_t gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* 2.33: the counters that `ferry check` reads, which wrap at 4 GiB here. */
HIDDEN struct mallinfo2 mallinfo2(void)
{
    struct mallinfo old = old_mallinfo();

    return (struct mallinfo2){ .hblkhd = (unsigned)old.hblkhd, .uordblks = (unsigned)old.uordblks };
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * What belongs to the program and to no plugin: standard output and the locale. Signals do, too, but
 * compilers inside vendors' drivers take them, and no plugin can help that.
 */

static int output = -1;

void kit_manners_begin(void)
{
    output = memfd_create("output", MFD_CLOEXEC);
    dup2(output >= 0 ? output : STDERR_FILENO, STDOUT_FILENO); /* which has the report */
}

static void expect_silence(void)
{
    char text[100];
    ssize_t n;

    kit_case("standard output, which is the program's");
    fflush(stdout);
    n = output < 0 ? 0 : pread(output, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    kit_fail("something was printed there: \"%s\"; host->log is for that", text);
}

void kit_manners_end(void)
{
    const char *locale = setlocale(LC_ALL, NULL);

    expect_silence();
    kit_case("the program's locale");
    if (strcmp(locale, "C") != 0)
        kit_fail("it has become \"%s\"", locale);
}

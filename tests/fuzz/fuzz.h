/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_FUZZ_H
#define FERRY_FUZZ_H

#include <ferry/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each fuzz-NAME.c defines libFuzzer's entry for one reader, and, linked with replay.c, becomes a
 * test that runs the corpus through it. tests/fuzz/run.sh runs the fuzzer.
 */

extern const char fuzz_name[];

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void fuzz_drop_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* Discards the log. */
static inline void fuzz_quiet(void)
{
    ferry_log_set_handler(fuzz_drop_line, NULL);
}

/* Keeps the compiler from removing the computation. */
static inline void fuzz_use(bool value)
{
    static volatile bool sink;

    sink = value;
    (void)sink;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/plan.h"

/* Every source, one string per line: the beginning of every program, and text_NAME. */
#include "texts.h"

#define LINES(text) text, sizeof(text) / sizeof((text)[0])

static const struct part {
    enum kernel_program program;
    const char *lanes;
    const char *const *lines;
    size_t count;
} parts[] = {
#define PART(program, text, lanes) \
    { PROGRAM_##program, "#undef LANES\n#define LANES " #lanes "\n", LINES(text_##text) },
    KERNEL_TEXTS(PART)
};

/* Appends lines to `out` after the first `n`, and returns their new number. */
static size_t add(const char **out, size_t n, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count && out; i++)
        out[n + i] = lines[i];
    return n + count;
}

size_t kernel_program_lines(enum kernel_program program, const char **out)
{
    size_t n = add(out, 0, LINES(text_front));

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].program == program) {
            n = add(out, n, &parts[i].lanes, 1);
            n = add(out, n, parts[i].lines, parts[i].count);
        }
    return n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/plan.h"

/* Every text, a line a string: what all have in front, and text_NAME. */
#include "texts.h"

static const struct {
    const char *const *lines;
    size_t count;
} texts[PROGRAM_COUNT] = {
#define TEXT_LINE(program, text, lanes) \
    { text_##text, sizeof(text_##text) / sizeof(text_##text[0]) },
    KERNEL_PROGRAMS(TEXT_LINE)
};

const char *const *kernel_program_lines(enum kernel_program program, size_t *out_count)
{
    *out_count = texts[program].count;
    return texts[program].lines;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of all opcodes, sorted by name. */
#include "tests/ptx/program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct opcode_group *const groups[] = {
    &integer_opcodes, &bit_opcodes,     &real_opcodes,        &half_opcodes,
    &compare_opcodes, &convert_opcodes, &approximate_opcodes, &warp_opcodes,
    &matrix_opcodes,
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

#define MOST_OPCODES 1024
static const struct opcode *sorted[MOST_OPCODES];
static size_t count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    const struct opcode *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void sort(void)
{
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < groups[g]->count && count < MOST_OPCODES; i++)
            sorted[count++] = &groups[g]->opcodes[i];
    qsort(sorted, count, sizeof(*sorted), by_name);
}

const struct opcode *opcode_find(const char *name)
{
    const struct opcode key = { name, NULL, NULL }, *wanted = &key, **found;

    pthread_once(&once, sort);
    found = bsearch(&wanted, sorted, count, sizeof(*sorted), by_name);
    return found ? *found : NULL;
}

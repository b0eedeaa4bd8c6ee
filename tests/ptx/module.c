/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries of a parsed module, and the options of a launch as text.
 */
#include "tests/ptx/program.h"

#include <stdlib.h>
#include <string.h>

int ptx_module_target(const struct ptx_module *module)
{
    return module->target;
}

const struct ptx_kernel *ptx_kernel_find(const struct ptx_module *module, const char *name)
{
    for (const struct ptx_kernel *k = module->kernels; k; k = k->next)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

const char *ptx_kernel_name(const struct ptx_kernel *kernel)
{
    return kernel->name;
}

unsigned ptx_kernel_params(const struct ptx_kernel *kernel)
{
    return kernel->param_count;
}

size_t ptx_param_offset(const struct ptx_kernel *kernel, unsigned i)
{
    return kernel->params[i].offset;
}

size_t ptx_param_size(const struct ptx_kernel *kernel, unsigned i)
{
    return kernel->params[i].size;
}

size_t ptx_params_size(const struct ptx_kernel *kernel)
{
    return kernel->param_bytes;
}

uint32_t ptx_kernel_threads(const struct ptx_kernel *kernel)
{
    return kernel->most_threads ? kernel->most_threads : PTX_MOST_THREADS;
}

/* ---- options ---- */

static bool take_word(const char *word, struct ptx_options *out)
{
    static const char *const orders[] = { "ascending", "descending", "shuffled", "interleaved",
                                          "single" };
    size_t length = strcspn(word, "=");

    for (int i = 0; i < 5; i++) {
        if (strlen(orders[i]) != length || strncmp(word, orders[i], length) != 0)
            continue;
        out->order = (enum ptx_order)i;
        out->seed = word[length] ? strtoull(word + length + 1, NULL, 10) : 0;
        return out->order != PTX_SHUFFLED || out->seed;
    }
    if (!strcmp(word, "blocks-descending"))
        out->blocks_descending = true;
    else if (!strcmp(word, "two-blocks"))
        out->blocks_at_once = 2;
    else if (!strcmp(word, "low"))
        out->approximation = PTX_LOW;
    else if (!strcmp(word, "high"))
        out->approximation = PTX_HIGH;
    else if (!strcmp(word, "race"))
        out->checks |= PTX_CHECK_RACES;
    else if (!strcmp(word, "unknown"))
        out->checks |= PTX_CHECK_UNKNOWN;
    else
        return false;
    return true;
}

bool ptx_options_parse(const char *text, struct ptx_options *out)
{
    char word[40];

    *out = (struct ptx_options){ .blocks_at_once = 1 };
    while (*text) {
        size_t length = strcspn(text, ",");

        if (length >= sizeof(word))
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (length && !take_word(word, out))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

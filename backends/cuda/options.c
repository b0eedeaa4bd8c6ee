/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const ferry_plugin_option cuda_options[CUDA_OPTIONS] = {
    { "device_order", "cuda",
      "how devices are numbered: as the CUDA runtime does (CUDA_DEVICE_ORDER), or by PCI address",
      "cuda|pci", FERRY_OPTION_ENUM, 0 },
    { "ordered_alloc", "on",
      "memory from a cudaMallocAsync pool where the device has one; off: ferry's own pool",
      "on|off", FERRY_OPTION_ENUM, 0 },
    { "unified", "auto",
      "whether a device that shares the host's memory is used that way: an integrated one, if it "
      "keeps the host's caches; on: also one that sees the host's pages beside memory of its own",
      "auto|off|on", FERRY_OPTION_ENUM, 0 },
};

/* Which of its words the option has, from 0; ECONF for any other. */
static int read_choice(size_t index, unsigned *out)
{
    const ferry_plugin_option *option = &cuda_options[index];
    const char *text = cuda_host->option(option->name), *word = option->values;

    *out = 0;
    if (!text)
        return 0;
    for (;;) {
        size_t length = strcspn(word, "|");

        if (strlen(text) == length && !strncmp(text, word, length))
            return 0;
        if (!word[length])
            break;
        word += length + 1;
        ++*out;
    }
    return cuda_host->error(FERRY_ECONF, "option.%s = %.64s: expected %s", option->name, text,
                            option->values);
}

/* "512", "64KiB", "1G": as plugins.conf writes sizes, which ferry has checked. */
static uint64_t read_size(const char *text)
{
    static const char units[] = "KMGT";
    const char *unit;
    char *end;
    unsigned long long value;

    if (!text)
        return UINT64_MAX;
    errno = 0;
    value = strtoull(text, &end, 10);
    end += strspn(end, " ");
    unit = *end ? strchr(units, *end) : NULL;
    if (errno || end == text)
        return UINT64_MAX;
    return unit ? (uint64_t)value << (10 * (unit - units + 1)) : value;
}

int cuda_settings_read(struct cuda_settings *out)
{
    struct cuda_settings set = { 0 };
    unsigned order, off = 0, unified = 0;
    int err = read_choice(0, &order);

    if (!err)
        err = read_choice(1, &off);
    if (!err)
        err = read_choice(2, &unified);
    if (err)
        return err;
    set.pci_order = order != 0;
    set.ordered_alloc = !off;
    set.unified = (enum cuda_unified)unified;
    set.pool_limit = read_size(cuda_host->option("pool_limit"));
    *out = set;
    return 0;
}

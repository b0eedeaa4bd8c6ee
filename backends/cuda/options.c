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
    { "unified", "auto", "whether a device that shares the host's memory is used that way",
      "auto|off", FERRY_OPTION_ENUM, 0 },
};

/* Whether the option has its second word; ECONF for any other but the first. */
static int read_switch(size_t index, bool *out_second)
{
    const ferry_plugin_option *option = &cuda_options[index];
    const char *text = cuda_host->option(option->name);
    size_t first = strcspn(option->values, "|");

    *out_second = text && !strcmp(text, option->values + first + 1);
    if (!text || *out_second || (strlen(text) == first && !strncmp(text, option->values, first)))
        return 0;
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
    bool off = false, never = false;
    int err = read_switch(0, &set.pci_order);

    if (!err)
        err = read_switch(1, &off);
    if (!err)
        err = read_switch(2, &never);
    if (err)
        return err;
    set.ordered_alloc = !off;
    set.unified = !never;
    set.pool_limit = read_size(cuda_host->option("pool_limit"));
    *out = set;
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* How a value is read into sim_settings; the table that users see is made of the same lines. */
enum form { COUNT, DEVICES, BYTES, RATE, MICROSECONDS, SWITCH, CLOCK, UNIFIED, ARITHMETIC, KINDS };

/* name, default, form, type, words, member, description */
#define OPTIONS(X)                                                                               \
    X("devices", "1", DEVICES, INT, NULL, devices, "how many devices there are, 1 to 16")        \
    X("memory", "1GiB", BYTES, SIZE, NULL, memory, "memory of each device")                      \
    X("clock", "real", CLOCK, ENUM, "real|manual|sync", clock,                                   \
      "when work completes: on a thread, when a test steps it, or before the call returns")      \
    X("latency", "0", MICROSECONDS, INT, NULL, latency_ns, "microseconds before a copy starts")  \
    X("bandwidth", "0", RATE, STRING, NULL, bandwidth, "bytes a second of a copy; 0: no limit")  \
    X("op_latency", "0", MICROSECONDS, INT, NULL, op_latency_ns,                                 \
      "microseconds that an operation or a memset takes")                                        \
    X("peer", "on", SWITCH, ENUM, "on|off", peer, "whether devices copy to each other directly") \
    X("unified", "off", UNIFIED, ENUM, "on|off|odd", unified,                                    \
      "whether host memory can be imported, its view protected while unmapped; odd: by 1, 3, …") \
    X("map", "on", SWITCH, ENUM, "on|off", map,                                                  \
      "off: imported memory is the host's and the device's at once, without map and unmap")      \
    X("ops", "all", ARITHMETIC, ENUM, "all|arithmetic|minimal", ops,                             \
      "all it can; no prepared operations; or axpy of F32 alone: ferry does the rest")           \
    X("without", "none", KINDS, STRING, NULL, without,                                           \
      "kinds of operations that it lacks: \"convolution, inner product\"")                       \
    X("fail_alloc", "0", COUNT, INT, NULL, fail_alloc,                                           \
      "which allocation fails, even when it is tried again; 0: none")                            \
    X("fail_memcpy", "0", COUNT, INT, NULL, fail_memcpy, "which copy fails; 0: none")            \
    X("fail_op", "0", COUNT, INT, NULL, fail_op, "which arithmetic operation fails; 0: none")    \
    X("fail_create", "0", COUNT, INT, NULL, fail_create,                                         \
      "which operation cannot be prepared; 0: none")                                             \
    X("fail_prepare", "0", COUNT, INT, NULL, fail_prepare,                                       \
      "which packing of constants fails; 0: none")                                               \
    X("fail_run", "0", COUNT, INT, NULL, fail_run, "which run of an operation fails; 0: none")

#define PUBLIC(name, value, form, type, words, member, text) \
    { name, value, text, words, FERRY_OPTION_##type, 0 },
const ferry_plugin_option sim_options[SIM_OPTIONS] = { OPTIONS(PUBLIC) };

static const struct {
    enum form form;
    size_t offset;
} readers[SIM_OPTIONS] = {
#define READER(name, value, form, type, words, member, text) \
    { form, offsetof(struct sim_settings, member) },
    OPTIONS(READER)
};

#define ONE(name, value, form, type, words, member, text) +1
_Static_assert(0 OPTIONS(ONE) == SIM_OPTIONS, "SIM_OPTIONS counts the table");

static bool read_count(const char *text, uint64_t most, uint64_t *out, const char **end)
{
    char *stop;
    unsigned long long value;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &stop, 10);
    if (errno || value > most)
        return false;
    *out = value;
    *end = stop;
    return true;
}

static unsigned unit_shift(const char **text)
{
    static const char units[] = "KMGT";
    const char *at = **text ? strchr(units, **text) : NULL;

    if (!at)
        return 0;
    *text += (*text)[1] == 'i' && (*text)[2] == 'B' ? 3 : 1;
    return 10u * (unsigned)(at - units + 1);
}

/* "512", "64KiB", "1G", "8GiB/s" where a rate is meant */
static bool read_bytes(const char *text, bool rate, uint64_t *out)
{
    uint64_t value;
    const char *end;
    unsigned shift;

    if (!read_count(text, UINT64_MAX, &value, &end))
        return false;
    while (*end == ' ')
        end++;
    shift = unit_shift(&end);
    if (rate && !strcmp(end, "/s"))
        end += 2;
    if (*end || value > (UINT64_C(1) << 48) >> shift)
        return false;
    *out = value << shift;
    return true;
}

/* Which of the words, which are separated by '|'. */
static bool read_word(const char *text, const char *words, unsigned *out)
{
    size_t length = strlen(text);

    for (unsigned i = 0; *words; i++) {
        size_t part = strcspn(words, "|");

        if (part == length && !strncmp(words, text, length)) {
            *out = i;
            return true;
        }
        words += part + (words[part] == '|');
    }
    return false;
}

/* Names of kinds between commas; or "none". */
static bool read_kinds(const char *text, uint64_t *out)
{
    uint64_t kinds = 0;

    if (!strcmp(text, "none"))
        text = "";
    while (*text) {
        size_t length = strcspn(text, ","), end = length;
        uint32_t kind;

        while (end > 0 && text[end - 1] == ' ')
            end--;
        kind = kernel_kind_named(text, end);
        if (!kind)
            return false;
        kinds |= UINT64_C(1) << (kind - FERRY_OP_CONVOLUTION);
        text += length;
        text += strspn(text, ", ");
    }
    *out = kinds;
    return true;
}

static bool read_number(const char *text, enum form form, void *member)
{
    const char *end = text;
    uint64_t value;

    if (!read_count(text, form == MICROSECONDS ? UINT64_C(1) << 40 : UINT64_MAX, &value, &end) ||
        *end)
        return false;
    if (form == COUNT) {
        *(uint64_t *)member = value;
    } else if (form == MICROSECONDS) {
        *(int64_t *)member = (int64_t)value * 1000;
    } else {
        if (value < 1 || value > SIM_MAX_DEVICES)
            return false;
        *(uint32_t *)member = (uint32_t)value;
    }
    return true;
}

static bool read_value(const char *text, enum form form, const char *words, void *member)
{
    unsigned word = 0;

    if (form == BYTES)
        return read_bytes(text, false, member) && *(uint64_t *)member > 0;
    if (form == RATE)
        return read_bytes(text, true, member);
    if (form == KINDS)
        return read_kinds(text, member);
    if (!words)
        return read_number(text, form, member);
    if (!read_word(text, words, &word))
        return false;
    if (form == CLOCK)
        *(enum sim_clock *)member = (enum sim_clock)word;
    else if (form == UNIFIED)
        *(enum sim_unified *)member = (enum sim_unified)word;
    else if (form == ARITHMETIC)
        *(enum sim_ops *)member = (enum sim_ops)word;
    else
        *(bool *)member = word == 0;
    return true;
}

int sim_settings_read(const ferry_host *host, struct sim_settings *out, struct sim_why *why)
{
    struct sim_settings settings = { 0 };

    for (uint32_t i = 0; i < SIM_OPTIONS; i++) {
        const ferry_plugin_option *option = &sim_options[i];
        const char *text = host->option(option->name);
        char *member = (char *)&settings + readers[i].offset;

        if (!text)
            text = option->default_value;
        if (!read_value(text, readers[i].form, option->values, member))
            return sim_why_set(why, FERRY_ECONF, "option.%s = %.64s: expected %s", option->name,
                               text, option->values ? option->values : option->description);
    }
    *out = settings;
    return 0;
}

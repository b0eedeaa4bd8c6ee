/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

#include <ferry/op_types.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The form of a value in sim_settings; the public table of options is generated from the same
 * lines.
 */
enum form { COUNT, DEVICES, BYTES, LIMIT, RATE, MICROSECONDS, SWITCH, WORD, KINDS };

/* Several devices have to fit into the addresses of a 32-bit process. */
#if UINTPTR_MAX > UINT32_MAX
#define MEMORY      (UINT64_C(1) << 30)
#define MEMORY_TEXT "1GiB"
#else
#define MEMORY      (UINT64_C(128) << 20)
#define MEMORY_TEXT "128MiB"
#endif

/* X(name, default, form, type, words, member, description) */
#define OPTIONS(X)                                                                                 \
    X("devices", "1", DEVICES, INT, NULL, devices, "number of devices, 1 to 16")                   \
    X("memory", MEMORY_TEXT, BYTES, SIZE, NULL, memory, "memory of each device")                   \
    X("offset_alignment", "0", LIMIT, SIZE, NULL, offset_alignment,                                \
      "alignment of offsets in arithmetic, in bytes; 0: that of an element")                       \
    X("max_binding", "0", LIMIT, SIZE, NULL, max_binding,                                          \
      "most bytes that arithmetic can address from a reference; 0: the whole block")               \
    X("clock", "real", WORD, ENUM, "real|manual|sync", clock,                                      \
      "when commands run: on a thread, when a test steps them, or before the call returns")        \
    X("latency", "0", MICROSECONDS, INT, NULL, latency_ns, "microseconds before a copy starts")    \
    X("bandwidth", "0", RATE, STRING, NULL, bandwidth, "bytes per second of a copy; 0: unlimited") \
    X("op_latency", "0", MICROSECONDS, INT, NULL, op_latency_ns,                                   \
      "duration of an operation or a memset in microseconds")                                      \
    X("peer", "on", SWITCH, BOOL, NULL, peer, "whether devices can copy to each other directly")   \
    X("unified", "off", WORD, ENUM, "on|off|odd", unified,                                         \
      "whether host memory can be imported; the host's view is inaccessible while unmapped; odd: " \
      "only by devices 1, 3, …")                                                                   \
    X("map", "on", SWITCH, BOOL, NULL, map,                                                        \
      "off: host and device access imported memory at the same time, without map and unmap")       \
    X("ops", "all", WORD, ENUM, "all|arithmetic|minimal", ops,                                     \
      "all operations; no prepared operations; or only axpy of F32: the host computes the rest")   \
    X("without", "none", KINDS, STRING, NULL, without,                                             \
      "kinds of operations that are not offered: \"convolution, inner product\"")                  \
    X("slow", "none", KINDS, STRING, NULL, slow,                                                   \
      "kinds of operations that the plugin reports as slower than the host")                       \
    X("graph", "off", WORD, ENUM, "off|on|pieces|holes|fail|none|wide", graph,                     \
      "segments that are claimed: all, pairs, every other operation; faults of compile: it "       \
      "fails, gives none, wants too wide a workspace")                                             \
    X("lists", "off", SWITCH, BOOL, NULL, lists,                                                   \
      "whether repeated operations are recorded as a list and replayed")                           \
    X("fail_alloc", "0", COUNT, INT, NULL, fail_alloc,                                             \
      "number of the allocation that fails, even when retried; 0: none")                           \
    X("fail_memcpy", "0", COUNT, INT, NULL, fail_memcpy, "number of the copy that fails; 0: none") \
    X("fail_op", "0", COUNT, INT, NULL, fail_op,                                                   \
      "number of the arithmetic operation that fails; 0: none")                                    \
    X("fail_create", "0", COUNT, INT, NULL, fail_create,                                           \
      "number of the operation whose preparation fails; 0: none")                                  \
    X("fail_prepare", "0", COUNT, INT, NULL, fail_prepare,                                         \
      "number of the packing of constants that fails; 0: none")                                    \
    X("fail_run", "0", COUNT, INT, NULL, fail_run,                                                 \
      "number of the run of an operation that fails; 0: none")                                     \
    X("lose_run", "0", COUNT, INT, NULL, lose_run,                                                 \
      "number of the run of an operation that loses the device; 0: none")

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
_Static_assert(0 OPTIONS(ONE) == SIM_OPTIONS, "SIM_OPTIONS is the length of the table");

/* The defaults of the table that are not 0. */
static const struct sim_settings defaults = {
    .devices = 1,
    .unified = SIM_UNIFIED_NONE,
    .memory = MEMORY,
    .peer = true,
    .map = true,
};

/* ---- options of ferry's types --------------------------------------------------------------- */

static int read_number(const ferry_host *host, const char *name, enum form form, void *member)
{
    int64_t value = form == COUNT          ? *(int64_t *)member
                    : form == MICROSECONDS ? *(int64_t *)member / 1000
                                           : *(uint32_t *)member;
    int err = form == COUNT          ? host->option_integer(name, 0, INT64_MAX, &value)
              : form == MICROSECONDS ? host->option_integer(name, 0, INT64_C(1) << 40, &value)
                                     : host->option_integer(name, 1, SIM_MAX_DEVICES, &value);

    if (err)
        return err;
    if (form == COUNT)
        *(uint64_t *)member = (uint64_t)value;
    else if (form == MICROSECONDS)
        *(int64_t *)member = value * 1000;
    else
        *(uint32_t *)member = (uint32_t)value;
    return 0;
}

static int read_switch(const ferry_host *host, const char *name, bool *out)
{
    uint32_t on = *out;
    int err = host->option_boolean(name, &on);

    *out = on;
    return err;
}

/* ---- options with a syntax of their own ----------------------------------------------------- */

/* Parses bytes per second: "512", "64KiB", "8GiB/s". */
static bool read_rate(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    const char *unit;
    uint64_t value;
    unsigned shift = 0;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    end += strspn(end, " ");
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10u * (unsigned)(unit - units + 1);
        end += end[1] == 'i' && end[2] == 'B' ? 3 : 1;
    }
    if (errno || (*end && strcmp(end, "/s") != 0) || value > (UINT64_C(1) << 48) >> shift)
        return false;
    *out = value << shift;
    return true;
}

/* Parses names of kinds separated by commas, or "none". */
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

static int read_text(const ferry_host *host, const ferry_plugin_option *option, enum form form,
                     void *member)
{
    const char *text = host->option(option->name);

    if (!text || (form == RATE ? read_rate(text, member) : read_kinds(text, member)))
        return 0;
    return host->error(FERRY_ECONF, "option.%s = %.64s: expected %s", option->name, text,
                       option->description);
}

static int read_one(const ferry_host *host, const ferry_plugin_option *option, enum form form,
                    void *member)
{
    switch (form) {
    case BYTES:
        return host->option_size(option->name, 1, UINT64_C(1) << 48, member);
    case LIMIT:
        return host->option_size(option->name, 0, UINT64_C(1) << 48, member);
    case SWITCH:
        return read_switch(host, option->name, member);
    case WORD:
        return host->option_enum(option->name, option->values, member);
    case RATE:
    case KINDS:
        return read_text(host, option, form, member);
    default:
        return read_number(host, option->name, form, member);
    }
}

int sim_settings_read(const ferry_host *host, struct sim_settings *out)
{
    struct sim_settings settings = defaults;

    for (uint32_t i = 0; i < SIM_OPTIONS; i++) {
        char *member = (char *)&settings + readers[i].offset;
        int err = read_one(host, &sim_options[i], readers[i].form, member);

        if (err)
            return err;
    }
    *out = settings;
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include "elf.h"
#include "through.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The file as the loader sees it, and the properties of its table. */

/* ---- the file ------------------------------------------------------------------------------- */

/* The loader has checked the note without running code of the plugin. */
static void loader_takes_it(void)
{
    const ferry_runtime_candidate_info *c;
    ferry_runtime *rt;

    kit_case("the result of ferry's loader");
    rt = through_open();
    c = through_candidate(rt);
    if (c->ok) {
        ferry_runtime_close(rt);
        return;
    }
    kit_refused_by_loader();
    kit_fail("%s: %s%s%s", c->stage, c->reason, c->hint[0] ? "; " : "", c->hint);
}

/* Whether the name is that of libferrykernels, which needs no other library of ferry. */
static bool is_of_kernels(const char *name)
{
    return strncmp(name, "ferry_kernels_", 14) == 0;
}

static void look_at_symbol(void *arg, const char *name, bool defined)
{
    unsigned *found = arg;

    if (!defined && strncmp(name, "ferry_", 6) == 0 && !is_of_kernels(name))
        kit_fail("it imports %s from libferry; every service is in the ferry_host table", name);
    if (!defined)
        return;
    if (strcmp(name, "ferry_plugin") == 0)
        *found |= 1;
    else if (strcmp(name, "ferry_plugin_open") == 0)
        *found |= 2;
    else if (strncmp(name, "__", 2) != 0 && strcmp(name, "_init") != 0 &&
             strcmp(name, "_fini") != 0 && strcmp(name, "_edata") != 0 && strcmp(name, "_end") != 0)
        kit_fail("it exports %s; only two symbols are allowed: build with -fvisibility=hidden",
                 name);
}

static void symbols(void)
{
    unsigned found = 0;

    kit_case("the dynamic symbols");
    if (!elf_symbols(kit.target->path, look_at_symbol, &found))
        return;
    if (!(found & 1))
        kit_fail("it exports no ferry_plugin; FERRY_PLUGIN(.name = \"...\") defines it");
    if (!(found & 2))
        kit_fail("it exports no ferry_plugin_open; define it with default visibility");
}

/* libferry belongs to the program, whose version of it may differ. */
static void look_at_needed(void *arg, const char *name)
{
    (void)arg;
    if (strncmp(name, "libferry.so", 11) == 0 || strncmp(name, "libferryio.so", 13) == 0 ||
        strncmp(name, "libferrynet.so", 14) == 0)
        kit_fail("it is linked with %s; every service is in the ferry_host table, so leave -lferry "
                 "out",
                 name);
}

static void libraries(void)
{
    kit_case("the libraries that it needs");
    elf_needed(kit.target->path, look_at_needed, NULL);
}

static bool name_is_well_formed(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return name[0] >= 'a' && name[0] <= 'z' && n == strlen(name);
}

static bool ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static void note(void)
{
    const ferry_plugin_descriptor *d = kit.note;
    const char *file = strrchr(kit.target->path, '/');

    kit_case("the note");
    if (d->magic != FERRY_PLUGIN_MAGIC)
        kit_fail("magic is 0x%x", d->magic);
    if (d->abi_major != FERRY_ABI_MAJOR)
        kit_fail("abi_major is %u, this ferry's is %u", d->abi_major, FERRY_ABI_MAJOR);
    if (d->min_host_minor > FERRY_ABI_MINOR)
        kit_fail("min_host_minor is %u, this ferry's minor is %u", d->min_host_minor,
                 FERRY_ABI_MINOR);
    if (!ends(d->name, sizeof(d->name)) || !ends(d->version, sizeof(d->version)) ||
        !ends(d->vendor, sizeof(d->vendor)))
        kit_fail("name, version or vendor does not end within its array");
    if (!name_is_well_formed(d->name))
        kit_fail("the name \"%s\" is not of the form [a-z][a-z0-9_-]*", d->name);
    if (!d->version[0])
        kit_fail("version is empty; FERRY_PLUGIN(.name = ..., .version = \"1.0\", ...)");
    if (file && strncmp(file, "/ferry_", 7) == 0 &&
        (strncmp(file + 7, d->name, strlen(d->name)) != 0 ||
         strcmp(file + 7 + strlen(d->name), ".so") != 0))
        kit_fail("the note has the name \"%s\", but the file is %s; it should be ferry_%s.so",
                 d->name, file + 1, d->name);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void groups_of_entries(void)
{
    const ferry_plugin_ops *o = &kit.ops;
    int events = !!o->event_record + !!o->event_query + !!o->event_synchronize +
                 !!o->event_destroy + !!o->queue_wait;

    kit_case("the table");
    if (!o->host_alloc != !o->host_free)
        kit_fail("host_alloc and host_free require each other");
    if (!o->import_host != !o->unimport_host)
        kit_fail("import_host and unimport_host require each other");
    if (!o->map != !o->unmap)
        kit_fail("map and unmap require each other");
    if (o->map && !o->import_host)
        kit_fail("map requires import_host");
    if (!o->peer_access != !o->peer_copy)
        kit_fail("peer_access and peer_copy require each other");
    if ((o->queue_create || o->queue_wrap) && !o->queue_destroy)
        kit_fail("queue_create and queue_wrap require queue_destroy");
    if (events != 0 && events != 5)
        kit_fail("event_record, event_query, event_synchronize, event_destroy and queue_wait "
                 "require each other");
}

static bool is_word_of(const char *value, const char *words)
{
    size_t n = strlen(value);

    for (; *words; words += strcspn(words, "|"), words += *words == '|')
        if (strcspn(words, "|") == n && strncmp(words, value, n) == 0)
            return true;
    return false;
}

/* A smaller limit is useless for kernels, and the check would have to use smaller sizes. */
#define LEAST_BINDING (UINT64_C(16) << 20)

static const char *const type_names[] = { "string", "int", "real", "bool", "size", "enum" };

/* Whether ferry can parse it as a value of that type; users copy defaults other than "". */
static bool fits(const ferry_plugin_option *o)
{
    static const char words[] = "yes|no|true|false|on|off|1|0";
    const char *text = o->default_value;
    char *end = NULL;

    switch (o->type) {
    case FERRY_OPTION_INT:
        return (strtoll(text, &end, 0), !*end);
    case FERRY_OPTION_REAL:
    case FERRY_OPTION_SIZE: /* with a unit, and a suffix that the plugin defines */
        return (strtod(text, &end), end != text && (o->type == FERRY_OPTION_SIZE || !*end));
    case FERRY_OPTION_BOOL:
        return is_word_of(text, words);
    case FERRY_OPTION_ENUM:
        return is_word_of(text, o->values);
    default:
        return true;
    }
}

static void one_option(const ferry_plugin_option *o, uint32_t index)
{
    kit_case("option %u", index);
    if (!o->name || !o->name[0] || strpbrk(o->name, " =.;#[]"))
        kit_fail("its name is empty, or cannot be written in plugins.conf");
    kit_case("option \"%s\"", o->name);
    if (!o->default_value)
        kit_fail("default_value is NULL; \"\" if there is none");
    if (!o->description || !o->description[0] || strchr(o->description, '\n'))
        kit_fail("description should be one line; `ferry plugins -v` shows it");
    if (o->type > FERRY_OPTION_ENUM)
        kit_fail("type is %u; FERRY_OPTION_STRING to FERRY_OPTION_ENUM are 0 to 5", o->type);
    if (o->type == FERRY_OPTION_ENUM && (!o->values || !o->values[0]))
        kit_fail("an enum without values");
    if (o->default_value[0] && !fits(o))
        kit_fail("the default \"%s\" is not a value of its type, %s", o->default_value,
                 o->type == FERRY_OPTION_ENUM ? o->values : type_names[o->type]);
}

static void options(void)
{
    const char *base = (const char *)kit.ops.options;

    kit_case("the option table");
    if (kit.ops.option_count && !base)
        kit_fail("option_count is %u but options is NULL", kit.ops.option_count);
    if (kit.ops.option_count && kit.ops.option_size < offsetof(ferry_plugin_option, reserved))
        kit_fail("option_size is %u; it is sizeof(ferry_plugin_option)", kit.ops.option_size);
    for (uint32_t i = 0; i < kit.ops.option_count; i++) {
        const ferry_plugin_option *o = (const void *)(base + (size_t)i * kit.ops.option_size);

        one_option(o, i);
        for (uint32_t k = 0; k < i; k++) {
            const ferry_plugin_option *other =
                (const void *)(base + (size_t)k * kit.ops.option_size);

            if (strcmp(o->name, other->name) == 0)
                kit_fail("the name occurs twice");
        }
    }
}

/* ---- the devices ---------------------------------------------------------------------------- */

static void one_properties(void *dev, uint32_t index)
{
    struct {
        ferry_plugin_properties p;
        unsigned char guard[64];
    } out;

    memset(out.guard, 0xee, sizeof(out.guard));
    kit_properties(dev, index, &out.p);
    for (size_t i = 0; i < sizeof(out.guard); i++)
        if (out.guard[i] != 0xee)
            kit_fail("it wrote past struct_size");
    if (out.p.struct_size != sizeof(out.p))
        kit_fail("struct_size, which only ferry sets, became %u", out.p.struct_size);
    if (!ends(out.p.description, sizeof(out.p.description)) ||
        !ends(out.p.uuid, sizeof(out.p.uuid)) || !ends(out.p.pci, sizeof(out.p.pci)))
        kit_fail("description, uuid or pci does not end within its array");
    if (out.p.memory_total && out.p.max_alloc > out.p.memory_total)
        kit_fail("max_alloc %" PRIu64 " is more than memory_total %" PRIu64, out.p.max_alloc,
                 out.p.memory_total);
    if (out.p.host_alignment & (out.p.host_alignment - 1))
        kit_fail("host_alignment %" PRIu64 " is not a power of two", out.p.host_alignment);
    if (out.p.offset_alignment & (out.p.offset_alignment - 1) || out.p.offset_alignment > 65536)
        kit_fail("offset_alignment %" PRIu64 " is not a power of two, or exceeds 65536",
                 out.p.offset_alignment);
    if (out.p.max_binding && out.p.max_binding < LEAST_BINDING)
        kit_fail("max_binding %" PRIu64 " is less than 16 MiB", out.p.max_binding);
}

/*
 * Checks supports_convert for the dtypes for which supports returns 1; a target dtype may be newer
 * than the plugin.
 */
static void pairs_of_dtypes(void)
{
    static const uint32_t unknown[] = {
        FERRY_DTYPE_COUNT, FERRY_DTYPE_COUNT + 1, 41, 64, 255, 256, 1000, UINT32_MAX
    };
    size_t targets = FERRY_DTYPE_COUNT + sizeof(unknown) / sizeof(unknown[0]);

    kit_case("supports_convert");
    for (uint32_t from = 0; from < FERRY_DTYPE_COUNT && kit.ops.supports_convert; from++)
        for (uint32_t i = 0; i < targets && kit_supports(FERRY_OP_CONVERT, from); i++) {
            bool known = i < FERRY_DTYPE_COUNT;
            uint32_t to = known ? i : unknown[i - FERRY_DTYPE_COUNT];
            int answer = kit.ops.supports_convert(kit.dev, from, to);

            if (answer != 0 && (answer != 1 || !known))
                kit_fail("%s to dtype %u: %d; %s", kit_dtype_name(from), to, answer,
                         known ? "it must be 1 or 0" : "unknown dtypes must give 0");
        }
}

static void answers_of_the_device(void)
{
    uint64_t available = 0, total = 0;

    kit_case("supports");
    for (uint32_t op = 0; op < FERRY_OP_COUNT + 4 && kit.ops.supports; op++)
        for (uint32_t t = 0; t < FERRY_DTYPE_COUNT + 2; t++) {
            int answer = kit.ops.supports(kit.dev, op, t);
            bool known = op < FERRY_OP_COUNT && t < FERRY_DTYPE_COUNT;

            if (answer != 0 && (answer != 1 || !known))
                kit_fail("op %u, dtype %u: %d; %s", op, t, answer,
                         known ? "it must be 1 or 0" : "unknown dtypes must give 0");
        }
    if (kit.ops.supports && kit.ops.supports(kit.dev, FERRY_OP_AXPY, FERRY_F32) != 1)
        kit_fail("axpy of F32 is mandatory, but supports returned 0");
    pairs_of_dtypes();
    kit_case("memory_info");
    if (kit.ops.memory_info) {
        int code = kit.ops.memory_info(kit.dev, &available, &total);

        if (code)
            kit_refused(code, "memory_info");
        else if (available > total)
            kit_fail("%" PRIu64 " bytes are free, of %" PRIu64, available, total);
    }
    kit_case("trim");
    if (kit.ops.trim)
        kit_ok(kit.ops.trim(kit.dev), "it");
}

void group_descriptor(void)
{
    struct kit_footprint loaded, counted;
    int libraries_before = kit_libraries();
    bool alone;

    loader_takes_it();
    symbols();
    libraries();
    kit_load();
    kit_footprint_with_memory(&loaded);
    kit_open_plugin();
    note();
    groups_of_entries();
    options();
    for (uint32_t i = 0; i < kit.devices; i++) {
        kit_case("properties of device %u, not open", i);
        one_properties(NULL, i);
    }
    kit_counts_without_threads();
    kit_counts_once();
    kit_footprint_with_memory(&counted);
    alone = kit_libraries() <= libraries_before + 1;
    if (kit.target->device < kit.devices) {
        kit_open_target();
        kit_counts_without_context(&loaded, &counted, alone);
        kit_case("properties of device %u, open", kit.target->device);
        one_properties(kit.dev, kit.target->device);
        answers_of_the_device();
    }
    kit_remark("\"%s\" %s, ABI %u.%u, %u option%s, %u device%s", kit.note->name, kit.note->version,
               kit.note->abi_major, kit.note->abi_minor, kit.ops.option_count,
               kit.ops.option_count == 1 ? "" : "s", kit.devices, kit.devices == 1 ? "" : "s");
}

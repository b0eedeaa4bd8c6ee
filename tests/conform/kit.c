/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"
#include "host-options.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct kit kit;

static struct kit_account *account;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;

/* ---- results -------------------------------------------------------------------------------- */

void kit_case(const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&lock);
    va_start(args, fmt);
    vsnprintf(account->running, sizeof(account->running), fmt, args);
    va_end(args);
    pthread_mutex_unlock(&lock);
}

/* Joins a message into one line: the plugin's may have several. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

/*
 * Ends the process immediately: other threads may hang in the plugin, and its state is invalid. The
 * first thread that gets here reports. A child that the group has forked only exits.
 */
static _Noreturn void end(int result, const char *before, const char *fmt, va_list args)
{
    size_t n = strlen(before);

    if (getpid() != owner)
        _exit(1);
    pthread_mutex_lock(&lock);
    memcpy(account->detail, before, n);
    vsnprintf(account->detail + n, sizeof(account->detail) - n, fmt, args);
    one_line(account->detail);
    account->result = result;
    _exit(0);
}

void kit_fail(const char *fmt, ...)
{
    char before[sizeof(account->running) + 2] = "";
    va_list args;

    if (account->running[0])
        snprintf(before, sizeof(before), "%.253s: ", account->running);
    va_start(args, fmt);
    end(CONFORM_FAIL, before, fmt, args);
}

void kit_not_offered(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    end(CONFORM_NOT_OFFERED, "", fmt, args);
}

void kit_remark(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(account->detail, sizeof(account->detail), fmt, args);
    va_end(args);
    one_line(account->detail);
}

void kit_skipped(const char *fmt, ...)
{
    size_t n = strlen(account->skipped), room = sizeof(account->skipped) - n;
    char why[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    one_line(why);
    if (room > sizeof(account->running) + sizeof(why))
        snprintf(account->skipped + n, room, "%.253s: %s\n", account->running, why);
}

const char *kit_code_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
#define NAME(name, value, text) { value, "FERRY_" #name },
        FERRY_STATUS_LIST(NAME)
#undef NAME
    };
    static _Thread_local char other[32];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].code == code)
            return names[i].name;
    snprintf(other, sizeof(other), "%d, which is not a code of ferry", code);
    return other;
}

/* ---- the host table ------------------------------------------------------------------------- */

static _Thread_local char told[512];
static _Thread_local bool options_allowed;

static int host_error(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(told, sizeof(told), fmt, args);
    va_end(args);
    return code;
}

static void host_log(int level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

static const char *host_option(const char *key)
{
    if (!options_allowed)
        kit_fail("host->option(\"%s\") was called from a wrong entry: only ferry_plugin_open, "
                 "device_count, properties, device_open and adopt may call it, on the calling "
                 "thread",
                 key);
    for (size_t i = 0; i < kit.target->option_count; i++)
        if (strcmp(kit.target->options[i].key, key) == 0)
            return kit.target->options[i].value;
    return NULL;
}

HOST_OPTIONS(host_option, host_error)

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
    HOST_OPTIONS_ENTRIES,
    .scratch = kit_scratch,
};

void kit_options_allowed(bool allowed)
{
    options_allowed = allowed;
}

const char *kit_told(void)
{
    return told;
}

void kit_ok(int code, const char *entry)
{
    if (code == 0)
        return;
    kit_fail("%s returned %s (%s)", entry, kit_code_name(code),
             told[0] ? told : "without calling host->error");
}

int kit_refused(int code, const char *entry)
{
    if (code == 0)
        kit_fail("%s returned 0 for an impossible request", entry);
    if (code > 0 || code < -17)
        kit_fail("%s returned %s", entry, kit_code_name(code));
    if (!told[0] && code != FERRY_EUNSUPPORTED)
        kit_fail("%s returned %s without calling host->error", entry, kit_code_name(code));
    told[0] = '\0';
    return code;
}

/* ---- the plugin ----------------------------------------------------------------------------- */

typedef int open_fn(const ferry_host *, const ferry_plugin_ops **);

void kit_load(void)
{
    kit_case("dlopen");
    if (!kit.library)
        kit.library = dlopen(kit.target->path, RTLD_NOW | RTLD_LOCAL);
    if (!kit.library)
        kit_fail("%s", dlerror());
}

static open_fn *find_symbols(void)
{
    open_fn *entry = NULL;

    kit_load();
    kit.note = dlsym(kit.library, "ferry_plugin");
    if (!kit.note)
        kit_fail("it exports no ferry_plugin; FERRY_PLUGIN(.name = \"...\") defines it");
    *(void **)&entry = dlsym(kit.library, "ferry_plugin_open");
    if (!entry)
        kit_fail("it exports no ferry_plugin_open");
    return entry;
}

static const char *missing_entry(const ferry_plugin_ops *o)
{
    return !o->device_count   ? "device_count"
           : !o->device_open  ? "device_open"
           : !o->device_close ? "device_close"
           : !o->alloc        ? "alloc"
           : !o->free         ? "free"
           : !o->memcpy       ? "memcpy"
           : !o->memset       ? "memset"
           : !o->axpy         ? "axpy"
           : !o->synchronize  ? "synchronize"
                              : NULL;
}

/*
 * An option that the plugin does not have is the user's mistake; the core's keys are valid for any
 * plugin.
 */
static void check_options_known(void)
{
    for (size_t i = 0; i < kit.target->option_count; i++) {
        const char *key = kit.target->options[i].key;
        bool known = !key[0] || !strcmp(key, "pool_limit") || !strcmp(key, "budget");

        for (uint32_t k = 0; kit.ops.options && k < kit.ops.option_count && !known; k++) {
            const ferry_plugin_option *option =
                (const void *)((const char *)kit.ops.options + k * (size_t)kit.ops.option_size);

            known = option->name && !strcmp(option->name, key);
        }
        if (!known)
            kit_fail("--set %s: its table has no such option", key);
    }
}

void kit_open_plugin(void)
{
    open_fn *entry = find_symbols();
    const char *missing;
    uint32_t size;

    kit_case("ferry_plugin_open");
    options_allowed = true;
    kit_ok(entry(&host, &kit.table), "it");
    if (!kit.table)
        kit_fail("it returned 0 and stored no table");
    size = kit.table->struct_size;
    if (size < offsetof(ferry_plugin_ops, properties))
        kit_fail("the table's struct_size is %u, less than the size of the mandatory entries (%zu)",
                 size, offsetof(ferry_plugin_ops, properties));
    memcpy(&kit.ops, kit.table, size < sizeof(kit.ops) ? size : sizeof(kit.ops));
    missing = missing_entry(&kit.ops);
    if (missing)
        kit_fail("the mandatory entry %s is NULL", missing);
    kit_case("options");
    check_options_known();
    kit_case("device_count");
    kit_ok(kit.ops.device_count(kit.ops.plugin, &kit.devices), "it");
    options_allowed = false;
    account->devices = (int)kit.devices;
}

void kit_refused_by_loader(void)
{
    account->refused = true;
}

void *kit_open_device(uint32_t index)
{
    void *dev = NULL;

    options_allowed = true;
    kit_ok(kit.ops.device_open(kit.ops.plugin, index, &dev), "device_open");
    options_allowed = false;
    return dev;
}

void kit_properties(void *dev, uint32_t index, ferry_plugin_properties *out)
{
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    out->flags = kit.ops.properties ? 0 : FERRY_DEVICE_POINTERS;
    if (!kit.ops.properties)
        return;
    options_allowed = true;
    kit_ok(kit.ops.properties(kit.ops.plugin, index, dev, out), "properties");
    options_allowed = false;
}

void kit_open_target(void)
{
    if (kit.target->device >= kit.devices)
        kit_fail("device %u does not exist: the plugin finds %u here", kit.target->device,
                 kit.devices);
    kit_case("device_open(%u)", kit.target->device);
    kit.dev = kit_open_device(kit.target->device);
    kit_properties(kit.dev, kit.target->device, &kit.properties);
    kit_manners_opened();
}

void kit_open(void)
{
    kit_open_plugin();
    kit_open_target();
}

bool kit_is(uint32_t flag)
{
    return (kit.properties.flags & flag) != 0;
}

bool kit_synchronous(void)
{
    return !kit.ops.event_record;
}

bool kit_supports(uint32_t op, uint32_t dtype)
{
    return !kit.ops.supports || kit.ops.supports(kit.dev, op, dtype) == 1;
}

bool kit_counters(ferry_plugin_counters *out)
{
    struct {
        ferry_plugin_counters counters;
        unsigned char guard[64];
    } room;

    kit_scratch_end();
    memset(&room, 0, sizeof(room));
    memset(room.guard, 0xee, sizeof(room.guard));
    room.counters.struct_size = sizeof(room.counters);
    *out = room.counters;
    if (!kit.ops.counters)
        return false;
    kit_ok(kit.ops.counters(kit.dev, &room.counters), "counters");
    for (size_t i = 0; i < sizeof(room.guard); i++)
        if (room.guard[i] != 0xee)
            kit_fail("counters wrote past struct_size");
    *out = room.counters;
    return true;
}

void kit_wait(void *queue)
{
    void *event = NULL;

    kit_scratch_end();
    if (kit_synchronous())
        return;
    kit_ok(kit.ops.event_record(kit.dev, queue, &event), "event_record");
    kit_ok(kit.ops.event_synchronize(kit.dev, event), "event_synchronize");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
}

/* ---- the child of run.c --------------------------------------------------------------------- */

int kit_program(void (*body)(void))
{
    pid_t child;
    int status = 0;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        owner = getpid();
        body();
        exit(0);
    }
    if (child < 0)
        kit_fail("the check itself cannot fork: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (account->result >= 0) /* it has failed the group */
        _exit(0);
    return status;
}

void kit_run(const struct conform_target *target, void (*group)(void), struct kit_account *shared,
             int errors)
{
    kit.target = target;
    account = shared;
    owner = getpid();
    kit_manners_begin(errors);
    group();
    kit_manners_end();
    account->result = CONFORM_PASS;
    _exit(0);
}

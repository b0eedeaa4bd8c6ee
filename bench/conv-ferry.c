/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "conv.h"

#include <ferry/op_plugin.h>
#include <ferry/plugin.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads the plugin's binary directly and calls its table, with a host structure defined here. */

static int threads_wanted;
static const char *set_text;

static int host_error(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);
static int host_error(int code, const char *fmt, ...)
{
    (void)fmt;
    return code;
}

static void host_log(int level, const char *fmt, ...) FERRY_PRINTF(2, 3);
static void host_log(int level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

static const char *host_option(const char *key)
{
    return strcmp(key, "isa") == 0 ? set_text : NULL;
}

static int host_option_integer(const char *key, int64_t least, int64_t most, int64_t *out)
{
    (void)least;
    (void)most;
    if (strcmp(key, "threads") == 0)
        *out = threads_wanted;
    return 0;
}

/* Enumerations keep the plugin's defaults. */
static int host_option_enum(const char *key, const char *words, uint32_t *out)
{
    (void)key;
    (void)words;
    (void)out;
    return 0;
}

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
    .option_integer = host_option_integer,
    .option_enum = host_option_enum,
};

static const ferry_plugin_ops *load(void)
{
    static const ferry_plugin_ops *ops;
    const char *folder = getenv("FERRY_PLUGIN_PATH");
    int (*open)(const ferry_host *, const ferry_plugin_ops **);
    char path[4096];
    void *library;

    if (ops)
        return ops;
    snprintf(path, sizeof(path), "%s/ferry_cpu.so", folder ? folder : ".");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
    *(void **)&open = dlsym(library, "ferry_plugin_open");
    return open && open(&host, &ops) == 0 ? ops : NULL;
}

struct prepared {
    void *device, *op;
    const ferry_op_table *table;
    ferry_cref in[3];
    ferry_ref out[1], packed, workspace;
};

static void run(void *state)
{
    struct prepared *p = state;
    const ferry_op_run_args args = { .struct_size = sizeof(args),
                                     .in = p->in,
                                     .out = p->out,
                                     .packed = p->packed,
                                     .workspace = p->workspace };

    p->table->run(p->device, NULL, p->op, &args);
}

static void give_back(const struct prepared *p, const void *block)
{
    if (block)
        load()->free(p->device, NULL, (void *)(uintptr_t)block);
}

static void destroy(void *state)
{
    struct prepared *p = state;

    p->table->destroy(p->device, p->op);
    for (int i = 0; i < 3; i++)
        give_back(p, p->in[i].handle);
    give_back(p, p->out[0].handle);
    give_back(p, p->packed.handle);
    give_back(p, p->workspace.handle);
    load()->device_close(p->device);
    free(p);
}

/* A block from the plugin's allocator, as programs get them; it is host memory. */
static void *floats(const struct prepared *p, uint64_t bytes)
{
    void *block = NULL;
    uint32_t flags;
    float *f;

    if (!bytes || load()->alloc(p->device, NULL, bytes, 0, &block, &flags))
        return NULL;
    f = block;
    for (uint64_t i = 0; i < bytes / sizeof(*f); i++)
        f[i] = (float)(i % 17) * 0.01f;
    return block;
}

static int prepare(const struct conv_shape *s, struct prepared *p)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    ferry_cref constants[3];
    ferry_op_desc op;

    conv_describe(s, &op);
    if (p->table->query(p->device, &op, &answer) != 0 || answer.epilogue != 1 ||
        p->table->create(p->device, &op, &p->op) != 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        uint64_t count = 1;

        for (uint32_t a = 0; a < op.in[i].rank; a++)
            count *= (uint64_t)op.in[i].shape[a];
        constants[i] = p->in[i] = (ferry_cref){ floats(p, count * sizeof(float)), 0 };
    }
    p->out[0].handle =
        floats(p, (uint64_t)(s->outputs * conv_out(s) * conv_out(s)) * sizeof(float));
    p->packed.handle = floats(p, answer.packed_bytes);
    p->workspace.handle = floats(p, answer.workspace_bytes);
    return p->table->prepare(p->device, NULL, p->op, constants, p->packed);
}

int conv_ferry(const struct conv_shape *s, const char *set, int threads, struct conv *out,
               const char **why)
{
    const ferry_plugin_ops *ops = load();
    struct prepared *p = calloc(1, sizeof(*p));
    const void *table = NULL;

    *why = "the plugin was not found in FERRY_PLUGIN_PATH";
    set_text = set;
    threads_wanted = threads;
    if (ops && p && ops->device_open(ops->plugin, 0, &p->device) == 0 &&
        ops->extension(p->device, FERRY_OP_EXTENSION, &table) == 0) {
        p->table = table;
        *why = "the plugin does not support it";
        if (prepare(s, p) == 0) {
            *out = (struct conv){ run, destroy, p, NULL, 0 };
            return 0;
        }
    }
    free(p);
    return -1;
}

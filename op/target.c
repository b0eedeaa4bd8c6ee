/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/target.h"

#include "op/host.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdatomic.h>
#include <stddef.h>

/* The plugin whose device computes operations that other devices do not support. */
static const char host_plugin[] = "cpu";

/*
 * Checks that the table has the entries of every minor version, and begin, end and forget, and
 * chains and run_chains, either all or not at all.
 */
static bool is_whole(const ferry_op_table *t, bool lists, bool chains)
{
    if ((lists && (!t->begin || !t->end || !t->forget)) ||
        (chains && (!t->chains || !t->run_chains)))
        return false;
    return t->struct_size >= offsetof(ferry_op_table, begin) && t->query && t->create &&
           t->prepare && t->run && t->destroy;
}

static bool has_lists(const ferry_op_table *t)
{
    return t->struct_size >= offsetof(ferry_op_table, forget) + sizeof t->forget &&
           (t->begin || t->end || t->forget);
}

static bool has_chains(const ferry_op_table *t)
{
    return t->struct_size >= offsetof(ferry_op_table, run_chains) + sizeof t->run_chains &&
           (t->chains || t->run_chains);
}

/*
 * The limit of temporary memory: half of the largest block, since an entry's workspace follows in
 * the same block.
 */
static uint64_t temporary_of(ferry_device *dev)
{
    uint64_t most = ferry_device_get_properties(dev)->max_binding / 2;

    return most && most < FERRY__TEMPORARY_MAX ? most : FERRY__TEMPORARY_MAX;
}

int ferry__target_own(ferry_device *dev, struct ferry__target *out)
{
    const void *table;
    void *ctx;
    int err = ferry_device_extension(dev, FERRY_OP_EXTENSION, &table, &ctx);

    if (err)
        return err;
    if (!is_whole(table, has_lists(table), has_chains(table)))
        return ferry_error_set(FERRY_EPLUGIN, "%s: its table \"%s\" lacks an entry",
                               ferry_device_name(dev), FERRY_OP_EXTENSION);
    *out = (struct ferry__target){ .table = table, .ctx = ctx, .device = dev };
    out->lists = has_lists(table);
    out->chains = has_chains(table) && !out->lists;
    out->alignment = ferry_device_get_properties(dev)->offset_alignment;
    out->temporary = temporary_of(dev);
    out->largest = ferry_device_get_properties(dev)->max_binding;
    return 0;
}

void ferry__target_kernels(struct ferry__target *out)
{
    *out = (struct ferry__target){ .table = &ferry__host_table,
                                   .temporary = FERRY__TEMPORARY_MAX,
                                   .host = true };
}

/* Keeps the device open as long as the target: a memory of 0 bytes retains it. */
static int keep_host(struct ferry__target *target, ferry_device *dev)
{
    target->host = true;
    return ferry_memory_create(dev, 0, &target->keeper);
}

/* The arguments of a table's create. */
struct creation {
    const ferry_op_table *table;
    const ferry_op_desc *op;
    void **out;
};

static int call_create(void *ctx, void *arg)
{
    struct creation *c = arg;

    return c->table->create(ctx, c->op, c->out);
}

int ferry__target_create(const struct ferry__target *target, const ferry_op_desc *op, void **out)
{
    struct creation c = { target->table, op, out };

    if (!target->device)
        return call_create(target->ctx, &c);
    return ferry_device_call(target->device, ferry_op_kind_name(op->kind), call_create, &c);
}

/* Warns, once per process, that the host is slow without the cpu plugin. */
static int without_plugin(const char *why, struct ferry__target *out)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_told))
        ferry_log_write(FERRY_LOG_WARN,
                        "%s: operations that devices leave to the host run on libferrynet's own "
                        "kernels, many times slower",
                        why);
    ferry__target_kernels(out);
    return 0;
}

int ferry__target_host(ferry_device *dev, struct ferry__target *out)
{
    ferry_device *host;
    int err = ferry_device_sibling(dev, host_plugin, &host);

    if (err == FERRY_ENODEV)
        return without_plugin(ferry_last_error(), out);
    if (err)
        return err;
    if (!ferry_device_get_properties(host)->host_memory)
        return without_plugin("cpu: its memory is not the host's", out);
    err = ferry__target_own(host, out);
    if (err == FERRY_EUNSUPPORTED)
        return without_plugin("cpu: it has no prepared operations", out);
    return err ? err : keep_host(out, host);
}

void ferry__target_release_host(struct ferry__target *target)
{
    ferry_memory_release(target->keeper);
    target->keeper = NULL;
}

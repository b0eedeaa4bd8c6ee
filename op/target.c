/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/target.h"

#include "op/oracle.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <pthread.h>

/* The plugin whose device computes for those that cannot. */
static const char host_plugin[] = "cpu";

/* What all operations of the host tier share while there is one. */
static struct {
    pthread_mutex_t lock;
    unsigned users;
    ferry_runtime *runtime;
    struct ferry__target target;
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_whole(const ferry_op_table *t)
{
    return t->struct_size >= sizeof *t && t->query && t->create && t->prepare && t->run &&
           t->destroy;
}

/* Half of the largest block: an entry's own workspace lies behind it. */
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
    if (!is_whole(table))
        return ferry_error_set(FERRY_EPLUGIN, "%s: its table \"%s\" lacks an entry",
                               ferry_device_name(dev), FERRY_OP_EXTENSION);
    *out = (struct ferry__target){ .table = table, .ctx = ctx, .device = dev };
    out->alignment = ferry_device_get_properties(dev)->offset_alignment;
    out->temporary = temporary_of(dev);
    out->largest = ferry_device_get_properties(dev)->max_binding;
    return 0;
}

void ferry__target_oracle(struct ferry__target *out)
{
    *out = (struct ferry__target){ .table = &ferry__oracle,
                                   .temporary = FERRY__TEMPORARY_MAX,
                                   .host = true };
}

/* The arguments of a table's create. */
struct creation {
    const ferry_op_table *table;
    const ferry_op *op;
    void **out;
};

static int call_create(void *ctx, void *arg)
{
    struct creation *c = arg;

    return c->table->create(ctx, c->op, c->out);
}

int ferry__target_create(const struct ferry__target *target, const ferry_op *op, void **out)
{
    struct creation c = { target->table, op, out };

    if (!target->device)
        return call_create(target->ctx, &c);
    return ferry_device_call(target->device, ferry_op_kind_name(op->kind), call_create, &c);
}

static int open_plugin(void)
{
    ferry_device *dev;
    int err = ferry_runtime_device(host.runtime, host_plugin, &dev);

    if (err)
        return err;
    return ferry_device_get_properties(dev)->host_memory ? ferry__target_own(dev, &host.target)
                                                         : FERRY_EUNSUPPORTED;
}

/*
 * Without a cpu plugin, or with one that has no operations: the oracle, which is slow. A plugin that
 * only lacked memory is there for whoever asks again.
 */
static int open_host(void)
{
    int err = ferry_runtime_open(NULL, &host.runtime);

    ferry__target_oracle(&host.target);
    if (err) {
        host.runtime = NULL;
        return err == FERRY_ENOMEM ? err : 0;
    }
    err = open_plugin();
    if (err)
        ferry__target_oracle(&host.target);
    if (err == FERRY_ENOMEM) {
        ferry_runtime_close(host.runtime);
        host.runtime = NULL;
        return err;
    }
    host.target.host = true;
    return 0;
}

int ferry__target_host(struct ferry__target *out)
{
    int err = 0;

    pthread_mutex_lock(&host.lock);
    if (!host.users)
        err = open_host();
    if (!err) {
        host.users++;
        *out = host.target;
    }
    pthread_mutex_unlock(&host.lock);
    return err;
}

void ferry__target_release_host(const struct ferry__target *target)
{
    if (!target->host)
        return;
    pthread_mutex_lock(&host.lock);
    if (!--host.users) {
        ferry_runtime_close(host.runtime);
        host.runtime = NULL;
    }
    pthread_mutex_unlock(&host.lock);
}

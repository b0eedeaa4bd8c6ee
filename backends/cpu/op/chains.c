/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains of runs: each thread computes the operations of some images by itself. */
#include "op.h"

#include <stdatomic.h>
#include <unistd.h>

/* The caches that are assumed where the system does not report them. */
#define OWN_BYTES    ((uint64_t)512 << 10)
#define SHARED_BYTES ((uint64_t)8 << 20)
/*
 * The most that is expected of a shared cache: the processors of a server share it with other
 * processors, and some systems report the sum of all such caches.
 */
#define SHARED_MOST ((uint64_t)16 << 20)

static uint64_t own_bytes(void)
{
    long bytes = 0;

#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (uint64_t)bytes : OWN_BYTES;
}

static uint64_t shared_bytes(void)
{
    long bytes = 0;

#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE) / 2;
#endif
    if (bytes <= 0)
        return SHARED_BYTES;
    return (uint64_t)bytes < SHARED_MOST ? (uint64_t)bytes : SHARED_MOST;
}

int cpu_chains(void *dev, ferry_op_chains *out)
{
    const struct cpu_device *d = dev;
    unsigned threads = workers_threads(d->workers), limit = workers_get_limit();

    out->count = limit && limit < threads ? limit : threads;
    out->own_bytes = own_bytes();
    out->shared_bytes = shared_bytes();
    return 0;
}

struct chains {
    ferry_op_chain_fn chain;
    void *arg;
    _Atomic int err;
};

static void run_one(void *arg, int64_t index, unsigned slot)
{
    struct chains *c = arg;
    unsigned limit = workers_get_limit();
    int err;

    (void)slot;
    workers_limit(1);
    err = c->chain(c->arg, (uint32_t)index);
    workers_limit(limit);
    if (err)
        atomic_store(&c->err, err);
}

int cpu_run_chains(void *dev, void *queue, uint32_t n, ferry_op_chain_fn chain, void *arg)
{
    const struct cpu_device *d = dev;
    struct chains c = { .chain = chain, .arg = arg };

    (void)queue;
    workers_tasks(d->workers, n, run_one, &c);
    return atomic_load(&c.err);
}

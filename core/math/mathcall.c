/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/math/mathcall.h"

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/plugin/host.h"
#include "core/device/pool.h"
#include "core/device/section.h"
#include "core/device/trace.h"

#include <ferry/blob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_floating(ferry_dtype t)
{
    return t == FERRY_F32 || t == FERRY_F64 || t == FERRY_F16 || t == FERRY_BF16;
}

int ferry__math_check(ferry_queue *q, const char *name, ferry_dtype dtype, int64_t n, bool floating)
{
    if (!q)
        return ferry__error(FERRY_EINVAL, "%s: NULL queue", name);
    if (!ferry_dtype_size(dtype))
        return ferry__error(FERRY_EINVAL, "%s: %s: %d is not a dtype", q->device->name, name,
                            (int)dtype);
    if (floating && !is_floating(dtype))
        return ferry__error(FERRY_EUNSUPPORTED, "%s: %s: no arithmetic on %s", q->device->name,
                            name, ferry_dtype_name(dtype));
    if (n < 0 || n > INT64_MAX / 8)
        return ferry__error(FERRY_EINVAL, "%s: %s: a size of %" PRId64, q->device->name, name, n);
    return ferry__device_usable(q->device);
}

ferry_ref ferry__ref_plus(ferry_ref ref, uint64_t bytes)
{
    ref.offset += bytes;
    return ref;
}

ferry_cref ferry__cref_plus(ferry_cref ref, uint64_t bytes)
{
    ref.offset += bytes;
    return ref;
}

ferry_ref ferry__ref_of(ferry_cref ref)
{
    ferry_ref out;

    out.handle = (void *)(uintptr_t)ref.handle;
    out.offset = ref.offset;
    return out;
}

_Static_assert(FERRY_DTYPE_COUNT <= 16, "two bits a dtype, in a word of 32");

bool ferry__math_offered(ferry_device *dev, uint32_t op, ferry_dtype dtype)
{
    uint32_t bit = UINT32_C(1) << dtype, asked = bit << 16;
    uint32_t known = atomic_load_explicit(&dev->refused[op], memory_order_relaxed);

    if (known & asked)
        return !(known & bit);
    if (!(dev->plugin->given & FERRY__GIVEN_OP(op)) ||
        dev->ops->supports(dev->dev, op, dtype) <= 0) {
        ferry__math_refuse(dev, op, dtype);
        return false;
    }
    if (dev->offset_alignment == 1)
        atomic_fetch_or_explicit(&dev->refused[op], asked, memory_order_relaxed);
    return true;
}

void ferry__math_refuse(ferry_device *dev, uint32_t op, ferry_dtype dtype)
{
    (void)ferry__host_take_error(); /* of the entry, whose place the host takes */
    atomic_fetch_or_explicit(&dev->refused[op], (UINT32_C(1) << dtype) * 0x10001u,
                             memory_order_relaxed);
}

/*
 * The maximum that a vendor's library may allocate at its first call: handle, workspace and code.
 */
#define ROOM (UINT64_C(64) << 20)

bool ferry__math_again(ferry_queue *q, int answer)
{
    struct ferry__section_pause pause;

    if (answer != FERRY_ENOMEM)
        return false;
    if (ferry__section_pause(q, &pause)) {
        ferry__pool_relieve(q->device->pool, ROOM);
        ferry__section_resume(q, &pause);
    } else {
        ferry__pool_relieve(q->device->pool, 0);
    }
    return true;
}

int ferry__math_fail(ferry_device *dev, const char *name, ferry_dtype dtype, int64_t n, int code)
{
    char operation[64];

    snprintf(operation, sizeof operation, "%s of %s, %" PRId64 " elements", name,
             ferry_dtype_name(dtype), n);
    return ferry__device_fail(dev, operation, UINT64_MAX, code);
}

/* ---- the detour ---- */

static int fetch(ferry_queue *q, const char *name, struct ferry__operand *o)
{
    ferry_ref host = { NULL, 0 };
    double start = ferry__trace_now();
    int err;

    if (ferry__device_is(q->device, FERRY_DEVICE_HOST_MEMORY)) {
        o->host = (char *)o->ref.handle + o->ref.offset;
        return 0;
    }
    o->host = (size_t)o->bytes == o->bytes ? malloc((size_t)o->bytes) : NULL;
    if (!o->host)
        return ferry__error(FERRY_ENOMEM, "%s: no host memory for %" PRIu64 " bytes of a fallback",
                            q->device->name, o->bytes);
    host.handle = o->host;
    if (!o->in)
        return 0;
    err = ferry__queue_memcpy(q, FERRY_MEMCPY_D2H, host, ferry_ref_const(o->ref), o->bytes);
    if (!err)
        ferry__trace_copy(
            &(struct ferry__trace_copy){ "d2h", name, o->bytes, FERRY__COMPUTE, true }, q, start);
    return err;
}

static int send_back(ferry_queue *q, const char *name, const struct ferry__operand *o)
{
    ferry_cref host = { NULL, 0 };
    double start = ferry__trace_now();
    int err;

    if (!o->out || ferry__device_is(q->device, FERRY_DEVICE_HOST_MEMORY))
        return 0;
    host.handle = o->host;
    err = ferry__queue_memcpy(q, FERRY_MEMCPY_H2D, o->ref, host, o->bytes);
    if (!err)
        ferry__trace_copy(
            &(struct ferry__trace_copy){ "h2d", name, o->bytes, FERRY__COMPUTE, true }, q, start);
    return err;
}

/* Checks that a fallback is allowed: the option strict forbids it. */
static int may_detour(ferry_device *dev, const char *name, ferry_dtype dtype,
                      const struct ferry__operand *operands, unsigned count)
{
    for (unsigned i = 0; i < count && dev->strict; i++)
        if (!ferry__math_reaches(dev, ferry_ref_const(operands[i].ref)))
            return ferry__error(FERRY_EUNSUPPORTED,
                                "%s: %s of %s: an operand begins at byte %" PRIu64
                                ", which is not a multiple of %" PRIu64
                                ", and FERRY_STRICT forbids the fallback on the host",
                                dev->name, name, ferry_dtype_name(dtype), operands[i].ref.offset,
                                dev->offset_alignment);
    if (dev->strict)
        return ferry__error(
            FERRY_EUNSUPPORTED,
            "%s: %s of %s: the plugin %s does not offer it, and FERRY_STRICT forbids "
            "the fallback on the host",
            dev->name, name, ferry_dtype_name(dtype), dev->plugin->name);
    return 0;
}

/* Copies the operands to the host, computes, and copies the results back; waits after each step. */
static int go_round(ferry_queue *q, const char *name, struct ferry__operand *operands,
                    unsigned count,
                    int (*compute)(const void *arg, struct ferry__operand *operands),
                    const void *arg)
{
    unsigned i;
    int err = 0;

    for (i = 0; i < count && !err; i++)
        err = fetch(q, name, &operands[i]);
    if (!err)
        err = ferry__section_wait(q);
    if (!err)
        err = compute(arg, operands);
    for (i = 0; i < count && !err; i++)
        err = send_back(q, name, &operands[i]);
    if (!err)
        err = ferry__section_wait(q); /* the caller is about to free the host's buffers */
    else
        ferry__queue_settle(q->device, q->handle); /* copies may still be running */
    return err;
}

int ferry__math_detour(ferry_queue *q, const char *name, ferry_dtype dtype,
                       struct ferry__operand *operands, unsigned count,
                       int (*compute)(const void *arg, struct ferry__operand *operands),
                       const void *arg)
{
    double start = ferry__trace_now();
    uint64_t bytes = 0;
    bool nested;
    unsigned i;
    int err = may_detour(q->device, name, dtype, operands, count);

    if (!err)
        err = ferry__section_enter(q, &nested);
    if (err)
        return err;
    for (i = 0; i < count; i++) {
        operands[i].host = NULL;
        bytes += operands[i].bytes;
    }
    err = go_round(q, name, operands, count, compute, arg);
    ferry__section_leave(q, nested);
    if (!ferry__device_is(q->device, FERRY_DEVICE_HOST_MEMORY))
        for (i = 0; i < count; i++)
            free(operands[i].host);
    if (err)
        return err;
    ferry__count(&q->device->stats.fallbacks, 1);
    ferry__trace_event("fallback", name, bytes, q->device, start);
    return 0;
}

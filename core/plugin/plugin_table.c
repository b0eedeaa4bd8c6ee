/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/plugin_table.h"

#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/*
 * One default per optional entry, so that no caller tests for NULL afterwards. Defaults of
 * whole features return FERRY_EUNSUPPORTED; the core tests the plugin's `given` bits before it
 * calls them. Defaults of arithmetic return it, too; math.c then computes on the host.
 */

static int no_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin, (void)index, (void)dev;
    out->flags = FERRY_DEVICE_POINTERS;
    return 0;
}

static int supports_unknown(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev, (void)op, (void)dtype;
    return 1;
}

static int supports_convert_unknown(void *dev, uint32_t x_dtype, uint32_t y_dtype)
{
    (void)dev;
    (void)x_dtype;
    (void)y_dtype;
    return 1;
}

static int no_memory_info(void *dev, uint64_t *out_free, uint64_t *out_total)
{
    (void)dev, (void)out_free, (void)out_total;
    return FERRY_EUNSUPPORTED;
}

static int no_counters(void *dev, ferry_plugin_counters *out)
{
    (void)dev, (void)out;
    return FERRY_EUNSUPPORTED;
}

static int nothing_to_trim(void *dev)
{
    (void)dev;
    return 0;
}

static int ordinary_host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                               uint32_t *out_flags)
{
    uint64_t rounded = (bytes + 63) & ~UINT64_C(63);
    void *p;

    (void)dev, (void)flags;
    if (rounded < bytes || rounded > SIZE_MAX)
        return FERRY_ENOMEM;
    p = aligned_alloc(64, (size_t)rounded);
    if (!p)
        return FERRY_ENOMEM;
    *out_ptr = p;
    *out_flags = 0;
    return 0;
}

static int ordinary_host_free(void *dev, void *ptr)
{
    (void)dev;
    free(ptr);
    return 0;
}

static int no_import(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    (void)dev, (void)ptr, (void)bytes, (void)flags, (void)out_handle;
    return FERRY_EUNSUPPORTED;
}

static int no_unimport(void *dev, void *handle)
{
    (void)dev, (void)handle;
    return FERRY_EUNSUPPORTED;
}

static int map_without_ceremony(void *dev, void *queue, void *handle, uint64_t bytes,
                                uint32_t access)
{
    (void)dev, (void)queue, (void)handle, (void)bytes, (void)access;
    return 0;
}

static int unmap_without_ceremony(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue, (void)handle;
    return 0;
}

static int no_peer(void *dst_dev, void *src_dev)
{
    (void)dst_dev, (void)src_dev;
    return 0;
}

static int no_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                        uint64_t bytes)
{
    (void)dst_dev, (void)queue, (void)dst, (void)src_dev, (void)src, (void)bytes;
    return FERRY_EUNSUPPORTED;
}

static int no_queue_create(void *dev, uint32_t flags, void **out_queue)
{
    (void)dev, (void)flags, (void)out_queue;
    return FERRY_EUNSUPPORTED;
}

static int no_queue_destroy(void *dev, void *queue)
{
    (void)dev, (void)queue;
    return 0;
}

static int no_queue_wrap(void *dev, void *native, void **out_queue)
{
    (void)dev, (void)native, (void)out_queue;
    return FERRY_EUNSUPPORTED;
}

static int no_queue_native(void *dev, void *queue, const char *what, void *out, uint64_t size)
{
    (void)dev, (void)queue, (void)what, (void)out, (void)size;
    return FERRY_EUNSUPPORTED;
}

/* Default of a synchronous plugin, whose work is complete when an entry returns. */
static int nothing_pending(void *dev, void *queue)
{
    (void)dev, (void)queue;
    return 0;
}

static int event_done_at_once(void *dev, void *queue, void **out_event)
{
    (void)dev, (void)queue;
    *out_event = NULL;
    return 0;
}

static int event_is_done(void *dev, void *event)
{
    (void)dev, (void)event;
    return 1;
}

static int event_needs_nothing(void *dev, void *event)
{
    (void)dev, (void)event;
    return 0;
}

static int wait_for_nothing(void *dev, void *queue, void *event)
{
    (void)dev, (void)queue, (void)event;
    return 0;
}

static int no_native(void *dev, const char *what, void *out, uint64_t size)
{
    (void)dev, (void)what, (void)out, (void)size;
    return FERRY_EUNSUPPORTED;
}

static int no_adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
                    void **out_dev, uint32_t *out_index)
{
    (void)plugin, (void)names, (void)values, (void)n, (void)out_dev, (void)out_index;
    return FERRY_EUNSUPPORTED;
}

static int no_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)alpha, (void)x;
    return FERRY_EUNSUPPORTED;
}

static int no_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)x, (void)y;
    return FERRY_EUNSUPPORTED;
}

static int no_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                      uint32_t y_dtype, ferry_ref y)
{
    (void)dev, (void)queue, (void)n, (void)x_dtype, (void)x, (void)y_dtype, (void)y;
    return FERRY_EUNSUPPORTED;
}

static int no_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
                  ferry_ref result)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)x, (void)y, (void)result;
    return FERRY_EUNSUPPORTED;
}

static int no_sum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result)
{
    (void)dev, (void)queue, (void)dtype, (void)n, (void)x, (void)result;
    return FERRY_EUNSUPPORTED;
}

static int no_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
                   double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
                   ferry_ref y, int64_t incy)
{
    (void)dev, (void)queue, (void)dtype, (void)trans, (void)m, (void)n, (void)alpha, (void)a;
    (void)lda, (void)x, (void)incx, (void)beta, (void)y, (void)incy;
    return FERRY_EUNSUPPORTED;
}

static int no_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                   int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                   ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    (void)dev, (void)queue, (void)dtype, (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k;
    (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return FERRY_EUNSUPPORTED;
}

static int no_extension(void *dev, const char *name, const void **out_table)
{
    (void)dev, (void)name, (void)out_table;
    return FERRY_EUNSUPPORTED;
}

static int owns_unknown(void *dev, const void *handle)
{
    (void)dev, (void)handle;
    return FERRY_EUNSUPPORTED;
}

/* ---- adopting a table ---- */

/* The name of the first mandatory entry that is missing; NULL if all are present. */
static const char *missing_mandatory(const ferry_plugin_ops *o)
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
 * The names of a group of entries of which the plugin has only a part; NULL if there is no such
 * group.
 */
static const char *half_a_group(const ferry_plugin_ops *o)
{
    int events = !!o->event_record + !!o->event_query + !!o->event_synchronize +
                 !!o->event_destroy + !!o->queue_wait;

    return !o->host_alloc != !o->host_free        ? "host_alloc and host_free"
           : !o->import_host != !o->unimport_host ? "import_host and unimport_host"
           : !o->map != !o->unmap                 ? "map and unmap"
           : !o->peer_access != !o->peer_copy     ? "peer_access and peer_copy"
           : o->queue_create && !o->queue_destroy ? "queue_create and queue_destroy"
           : o->queue_wrap && !o->queue_destroy   ? "queue_wrap and queue_destroy"
           : events != 0 && events != 5
               ? "event_record, event_query, event_synchronize, event_destroy and queue_wait"
               : NULL;
}

static uint64_t what_is_given(const ferry_plugin_ops *o)
{
    return (o->event_record ? FERRY__GIVEN_EVENTS : 0) |
           (o->queue_create ? FERRY__GIVEN_QUEUES : 0) | (o->host_alloc ? FERRY__GIVEN_HOST : 0) |
           (o->import_host ? FERRY__GIVEN_IMPORT : 0) | (o->map ? FERRY__GIVEN_MAP : 0) |
           (o->peer_copy ? FERRY__GIVEN_PEER : 0) |
           (o->queue_synchronize ? FERRY__GIVEN_SETTLE : 0) | FERRY__GIVEN_OP(FERRY_OP_AXPY) |
           (o->scal ? FERRY__GIVEN_OP(FERRY_OP_SCAL) : 0) |
           (o->copy ? FERRY__GIVEN_OP(FERRY_OP_COPY) : 0) |
           (o->fill ? FERRY__GIVEN_OP(FERRY_OP_FILL) : 0) |
           (o->convert ? FERRY__GIVEN_OP(FERRY_OP_CONVERT) : 0) |
           (o->dot ? FERRY__GIVEN_OP(FERRY_OP_DOT) : 0) |
           (o->asum ? FERRY__GIVEN_OP(FERRY_OP_ASUM) : 0) |
           (o->sumsq ? FERRY__GIVEN_OP(FERRY_OP_SUMSQ) : 0) |
           (o->gemv ? FERRY__GIVEN_OP(FERRY_OP_GEMV) : 0) |
           (o->gemm ? FERRY__GIVEN_OP(FERRY_OP_GEMM) : 0);
}

#define DEFAULT(entry, function) ((entry) = (entry) ? (entry) : (function))

static void fill_features(ferry_plugin_ops *o)
{
    DEFAULT(o->properties, no_properties);
    DEFAULT(o->supports, supports_unknown);
    DEFAULT(o->supports_convert, supports_convert_unknown);
    DEFAULT(o->memory_info, no_memory_info);
    DEFAULT(o->counters, no_counters);
    DEFAULT(o->trim, nothing_to_trim);
    DEFAULT(o->host_alloc, ordinary_host_alloc);
    DEFAULT(o->host_free, ordinary_host_free);
    DEFAULT(o->import_host, no_import);
    DEFAULT(o->unimport_host, no_unimport);
    DEFAULT(o->map, map_without_ceremony);
    DEFAULT(o->unmap, unmap_without_ceremony);
    DEFAULT(o->peer_access, no_peer);
    DEFAULT(o->peer_copy, no_peer_copy);
    DEFAULT(o->queue_create, no_queue_create);
    DEFAULT(o->queue_destroy, no_queue_destroy);
    DEFAULT(o->queue_synchronize, nothing_pending);
    DEFAULT(o->queue_wrap, no_queue_wrap);
    DEFAULT(o->queue_native, no_queue_native);
    DEFAULT(o->event_record, event_done_at_once);
    DEFAULT(o->event_query, event_is_done);
    DEFAULT(o->event_synchronize, event_needs_nothing);
    DEFAULT(o->event_destroy, event_needs_nothing);
    DEFAULT(o->queue_wait, wait_for_nothing);
    DEFAULT(o->native, no_native);
    DEFAULT(o->adopt, no_adopt);
    DEFAULT(o->extension, no_extension);
    DEFAULT(o->owns, owns_unknown);
}

static void fill_arithmetic(ferry_plugin_ops *o)
{
    DEFAULT(o->scal, no_scal);
    DEFAULT(o->copy, no_copy);
    DEFAULT(o->fill, no_scal); /* fill has the signature of scal: dtype, n, a scalar, one
                                * reference */
    DEFAULT(o->convert, no_convert);
    DEFAULT(o->dot, no_dot);
    DEFAULT(o->asum, no_sum);
    DEFAULT(o->sumsq, no_sum);
    DEFAULT(o->gemv, no_gemv);
    DEFAULT(o->gemm, no_gemm);
}

int ferry__plugin_table_adopt(const ferry_plugin_ops *theirs, ferry_plugin_ops *out,
                              uint64_t *out_given)
{
    size_t size = theirs->struct_size < sizeof *out ? theirs->struct_size : sizeof *out;
    const char *wrong;

    if (size < sizeof out->struct_size)
        return ferry__error(FERRY_EABI, "its table's struct_size is %zu", size);
    memset(out, 0, sizeof *out);
    memcpy(out, theirs, size);
    out->struct_size = sizeof *out;
    wrong = missing_mandatory(out);
    if (wrong)
        return ferry__error(FERRY_EABI, "the mandatory entry %s is missing from its table", wrong);
    wrong = half_a_group(out);
    if (wrong)
        return ferry__error(FERRY_EABI, "its table has only part of %s", wrong);
    *out_given = what_is_given(out);
    fill_features(out);
    fill_arithmetic(out);
    return 0;
}

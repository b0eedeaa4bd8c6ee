/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/blob.h"

#include "core/base/status.h"
#include "core/math/hostmath.h"

#include <inttypes.h>

/* ---- accessors ---- */

static int no_blob(void)
{
    return ferry__error(FERRY_EINVAL, "an accessor of a NULL blob");
}

/* Accesses the host's or the home's copy if the access needs no lock; false otherwise. */
static bool access_at_once(ferry_memory *m, const ferry_device *where, unsigned access,
                           ferry_ref *out)
{
    if (!where && ferry__memory_host_at_once(m, access)) {
        *out = (ferry_ref){ m->host, 0 };
        return true;
    }
    if (where == m->home && ferry__memory_device_at_once(m, access)) {
        *out = m->home_ref;
        return true;
    }
    return false;
}

/* Accesses the memory, and adds the blob's offset to the reference. */
static int access_half(const ferry_blob *b, enum ferry__which which, ferry_device *where,
                       unsigned access, ferry_queue *q, ferry_ref *out)
{
    ferry_memory *m = ferry__blob_memory(b, which);
    unsigned wanted = access & ~FERRY_NOWAIT;
    ferry_ref ref;
    int err;

    if (!m) /* diff's memory could not be allocated */
        return ferry_last_error_code();
    if (wanted == FERRY_WRITE)
        access |= ferry__blob_access(b, which, FERRY_WRITE);
    if (q || !wanted || wanted > (FERRY_READ | FERRY_WRITE) ||
        !access_at_once(m, where, wanted, &ref)) {
        err = ferry_memory_access(m, where, access, q, &ref);
        if (err)
            return err;
    }
    if (where)
        ref.offset += b->half[which].offset;
    else
        ref.handle = (char *)ref.handle + b->half[which].offset;
    *out = ref;
    return 0;
}

int ferry_blob_access(ferry_blob *b, unsigned which, ferry_device *where, unsigned access,
                      ferry_queue *q, ferry_ref *out)
{
    if (!b || !out)
        return ferry__error(FERRY_EINVAL, "ferry_blob_access: NULL argument");
    if (which != FERRY_DATA && which != FERRY_DIFF)
        return ferry__error(FERRY_EINVAL, "ferry_blob_access: %u is neither data nor diff", which);
    return access_half(b, which == FERRY_DIFF ? FERRY__DIFF : FERRY__DATA, where, access, q, out);
}

static void *host_slow(const ferry_blob *b, enum ferry__which which, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    if (b)
        access_half(b, which, NULL, access, NULL, &ref);
    else
        no_blob();
    return ref.handle;
}

static ferry_ref device_slow(const ferry_blob *b, enum ferry__which which, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    if (b)
        access_half(b, which, ferry__blob_home(b), access, NULL, &ref);
    else
        no_blob();
    return ref;
}

/*
 * The short path, for an access that needs no lock: it calls no function, so that it needs no stack
 * frame. An access that is settled for writing is settled for overwriting too, since nothing is
 * copied either way.
 */
static inline void *host(const ferry_blob *b, enum ferry__which which, unsigned access)
{
    const struct ferry__half *h;
    ferry_memory *m;

    if (__builtin_expect(!b, 0))
        return host_slow(b, which, access);
    h = &b->half[which];
    m = atomic_load_explicit(&((struct ferry__half *)h)->memory, memory_order_acquire);
    if (__builtin_expect(m && ferry__memory_host_at_once(m, access), 1))
        return (char *)m->host + h->offset;
    return host_slow(b, which, access);
}

static inline ferry_ref device(const ferry_blob *b, enum ferry__which which, unsigned access)
{
    const struct ferry__half *h;
    ferry_memory *m;

    if (__builtin_expect(!b, 0))
        return device_slow(b, which, access);
    h = &b->half[which];
    m = atomic_load_explicit(&((struct ferry__half *)h)->memory, memory_order_acquire);
    if (__builtin_expect(m && (which == FERRY__DATA || m->home == ferry__blob_home(b)) &&
                             ferry__memory_device_at_once(m, access),
                         1)) {
        ferry_ref ref = m->home_ref;

        ref.offset += h->offset;
        return ref;
    }
    return device_slow(b, which, access);
}

#define MUTABLE (FERRY_READ | FERRY_WRITE)

const void *ferry_blob_host_data(const ferry_blob *b)
{
    return host(b, FERRY__DATA, FERRY_READ);
}

void *ferry_blob_mutable_host_data(ferry_blob *b)
{
    return host(b, FERRY__DATA, MUTABLE);
}

void *ferry_blob_overwrite_host_data(ferry_blob *b)
{
    return host(b, FERRY__DATA, FERRY_WRITE);
}

ferry_cref ferry_blob_device_data(const ferry_blob *b)
{
    return ferry_ref_const(device(b, FERRY__DATA, FERRY_READ));
}

ferry_ref ferry_blob_mutable_device_data(ferry_blob *b)
{
    return device(b, FERRY__DATA, MUTABLE);
}

ferry_ref ferry_blob_overwrite_device_data(ferry_blob *b)
{
    return device(b, FERRY__DATA, FERRY_WRITE);
}

const void *ferry_blob_host_diff(const ferry_blob *b)
{
    return host(b, FERRY__DIFF, FERRY_READ);
}

void *ferry_blob_mutable_host_diff(ferry_blob *b)
{
    return host(b, FERRY__DIFF, MUTABLE);
}

void *ferry_blob_overwrite_host_diff(ferry_blob *b)
{
    return host(b, FERRY__DIFF, FERRY_WRITE);
}

ferry_cref ferry_blob_device_diff(const ferry_blob *b)
{
    return ferry_ref_const(device(b, FERRY__DIFF, FERRY_READ));
}

ferry_ref ferry_blob_mutable_device_diff(ferry_blob *b)
{
    return device(b, FERRY__DIFF, MUTABLE);
}

ferry_ref ferry_blob_overwrite_device_diff(ferry_blob *b)
{
    return device(b, FERRY__DIFF, FERRY_WRITE);
}

/* ---- one element ---- */

static int element_at(const ferry_blob *b, enum ferry__which which, int n, const int64_t *index,
                      double *out)
{
    int64_t at;
    ferry_ref x;
    int err;

    if (!b || !out)
        return ferry__error(FERRY_EINVAL, "element: NULL argument");
    if (b->shape.count == 0)
        return ferry__error(FERRY_EINVAL, "element: the blob has none");
    at = ferry_blob_offset(b, index, n);
    if (at < 0)
        return (int)at;
    err = access_half(b, which, NULL, FERRY_READ, NULL, &x);
    if (!err)
        *out = ferry__host_load((ferry_dtype)b->dtype, x.handle, at);
    return err;
}

int ferry_blob_data_at(const ferry_blob *b, const int64_t *index, int n, double *out)
{
    return element_at(b, FERRY__DATA, n, index, out);
}

int ferry_blob_diff_at(const ferry_blob *b, const int64_t *index, int n, double *out)
{
    return element_at(b, FERRY__DIFF, n, index, out);
}

/* ---- the shape, on the device ---- */

/*
 * Copies the dims into a memory of their own. They are written once; a reshape releases the memory.
 */
static int make_dims(const ferry_blob *b, ferry_memory **out)
{
    ferry_device *home = ferry__blob_home(b);
    int32_t *dims;
    int i, err = 0;

    for (i = 0; i < b->shape.rank; i++)
        if (ferry__shape_dim(&b->shape, i) > INT32_MAX)
            return ferry__error(FERRY_EOVERFLOW,
                                "dim %d is %" PRId64 ", which does not fit an int32", i,
                                ferry__shape_dim(&b->shape, i));
    err = ferry_memory_create(home, (size_t)b->shape.rank * sizeof *dims, out);
    if (err)
        return err;
    dims = ferry_memory_overwrite_host_data(*out);
    if (!dims) {
        ferry_memory_release(*out);
        return ferry_last_error_code();
    }
    for (i = 0; i < b->shape.rank; i++)
        dims[i] = (int32_t)ferry__shape_dim(&b->shape, i);
    return 0;
}

ferry_cref ferry_blob_device_shape(const ferry_blob *b)
{
    ferry_memory *m, *expected = NULL;
    ferry_cref none = { NULL, 0 };
    ferry_ref ref = { NULL, 0 };

    if (!b) {
        no_blob();
        return none;
    }
    m = ((ferry_blob *)b)->dims;
    if (!m) {
        if (make_dims(b, &m))
            return none;
        if (!atomic_compare_exchange_strong(&((ferry_blob *)b)->dims, &expected, m)) {
            ferry_memory_release(m);
            m = expected;
        }
    }
    if (m->home == ferry__blob_home(b))
        return ferry_memory_device_data(m);
    ferry_memory_access(m, ferry__blob_home(b), FERRY_READ, NULL, &ref); /* the home has changed */
    return ferry_ref_const(ref);
}

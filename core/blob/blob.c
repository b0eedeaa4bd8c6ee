/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/blob.h"

#include "core/base/fresh.h"
#include "core/base/status.h"
#include "core/device/section.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

int ferry_blob_create(ferry_device *home, ferry_dtype dtype, const int64_t *dims, int rank,
                      ferry_blob **out)
{
    ferry_memory *data;
    ferry_blob *b;
    int err;

    if (!home || !out)
        return ferry__error(FERRY_EINVAL, "ferry_blob_create: NULL argument");
    if (!ferry_dtype_size(dtype))
        return ferry__error(FERRY_EINVAL, "ferry_blob_create: %d is not a dtype", (int)dtype);
    b = ferry__fresh(sizeof *b);
    if (!b)
        return ferry__error(FERRY_ENOMEM, "no memory for a blob");
    b->dtype = (uint8_t)dtype;
    b->half[FERRY__DATA].limit = b->half[FERRY__DIFF].limit = SIZE_MAX;
    err = ferry__shape_set(&b->shape, rank, dims, ferry__dtype_size(dtype));
    if (err) {
        ferry__error(err, "ferry_blob_create: %s", ferry_last_error());
        goto err_free_blob;
    }
    err = ferry_memory_create(home, ferry__blob_bytes(b), &data);
    if (err)
        goto err_clear_shape;
    atomic_init(&b->half[FERRY__DATA].memory, data);
    *out = b;
    return 0;

err_clear_shape:
    ferry__shape_clear(&b->shape);
err_free_blob:
    free(b);
    return err;
}

void ferry_blob_destroy(ferry_blob *b)
{
    if (!b)
        return;
    ferry__memory_leave(b->half[FERRY__DATA].memory, &b->half[FERRY__DATA]);
    ferry__memory_leave(b->half[FERRY__DIFF].memory, &b->half[FERRY__DIFF]);
    ferry_memory_release(b->dims);
    ferry__shape_clear(&b->shape);
    free(b->name);
    free(b);
}

/* ---- the two halves ---- */

static const char *const suffixes[] = { "", ".diff" };

/* Creates diff's memory at its first use; several readers may do so at the same time. */
ferry_memory *ferry__blob_make_diff(ferry_blob *b)
{
    ferry_memory *data = b->half[FERRY__DATA].memory, *made, *expected = NULL;

    if (ferry_memory_create(ferry__blob_home(b), data->size, &made))
        return NULL;
    ferry__memory_set_used(made, &b->half[FERRY__DIFF], ferry__blob_bytes(b));
    if (b->name && ferry__memory_set_name(made, b->name, suffixes[FERRY__DIFF])) {
        ferry_memory_release(made);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&b->half[FERRY__DIFF].memory, &expected, made)) {
        ferry_memory_release(made);
        return expected;
    }
    return made;
}

unsigned ferry__blob_access(const ferry_blob *b, enum ferry__which which, unsigned access)
{
    const struct ferry__half *h = &b->half[which];

    if (access != FERRY_WRITE || ferry__memory_covers(h->memory, h->offset, ferry__blob_bytes(b)))
        return access;
    return FERRY_READ | FERRY_WRITE;
}

ferry_memory *ferry_blob_data_memory(const ferry_blob *b)
{
    if (b)
        return ferry__blob_memory(b, FERRY__DATA);
    ferry__error(FERRY_EINVAL, "ferry_blob_data_memory: NULL blob");
    return NULL;
}

ferry_memory *ferry_blob_diff_memory(const ferry_blob *b)
{
    if (b)
        return ferry__blob_memory(b, FERRY__DIFF);
    ferry__error(FERRY_EINVAL, "ferry_blob_diff_memory: NULL blob");
    return NULL;
}

/* ---- reshape ---- */

/* The bytes that a half can use in its memory. */
static size_t capacity_of(const struct ferry__half *h, ferry_memory *m)
{
    return h->limit < SIZE_MAX ? h->limit : ferry__memory_room(m) - h->offset;
}

/*
 * A half that has to grow gets a new memory. A half that is large enough, and a diff that was never
 * used, are left unchanged.
 */
static int grow(const ferry_blob *b, enum ferry__which which, size_t bytes, ferry_memory **out)
{
    const struct ferry__half *h = &b->half[which];
    ferry_memory *m = h->memory;
    size_t capacity;
    int err;

    *out = NULL;
    if (!m)
        return 0;
    capacity = capacity_of(h, m);
    if (bytes <= capacity)
        return 0;
    if (b->slice)
        return ferry__error(FERRY_ESHAPE, "a slice of %zu bytes cannot grow to %zu", capacity,
                            bytes);
    err = ferry_memory_create(ferry__blob_home(b), bytes, out);
    if (!err && b->name)
        err = ferry__memory_set_name(*out, b->name, suffixes[which]);
    if (err) {
        ferry_memory_release(*out);
        *out = NULL;
    }
    return err;
}

/* Commits: cannot fail. */
static void settle_half(struct ferry__half *h, ferry_memory *grown, size_t bytes)
{
    ferry_memory *before = h->memory;

    if (grown) {
        h->memory = grown;
        h->offset = 0;
        h->limit = SIZE_MAX;
        ferry__memory_leave(before, h);
    } else if (before && h->offset == 0 && h->limit == SIZE_MAX) {
        ferry__memory_set_used(before, h, bytes);
    }
}

int ferry__reshape_plan(const ferry_blob *b, int rank, const int64_t *dims,
                        struct ferry__reshape *out)
{
    size_t size = ferry_dtype_size((ferry_dtype)b->dtype);
    int err = ferry__shape_set(&out->shape, rank, dims, size);

    if (err)
        return err;
    out->bytes = (size_t)out->shape.count * size;
    err = grow(b, FERRY__DATA, out->bytes, &out->grown[FERRY__DATA]);
    if (err)
        goto err_clear_shape;
    err = grow(b, FERRY__DIFF, out->bytes, &out->grown[FERRY__DIFF]);
    if (err)
        goto err_release_data;
    return 0;

err_release_data:
    ferry_memory_release(out->grown[FERRY__DATA]);
err_clear_shape:
    ferry__shape_clear(&out->shape);
    return err;
}

void ferry__reshape_commit(ferry_blob *b, struct ferry__reshape *plan)
{
    if (b->dims && !ferry__shape_equal(&plan->shape, &b->shape))
        ferry_memory_release(atomic_exchange(&b->dims, NULL));
    ferry__shape_move(&b->shape, &plan->shape);
    settle_half(&b->half[FERRY__DATA], plan->grown[FERRY__DATA], plan->bytes);
    settle_half(&b->half[FERRY__DIFF], plan->grown[FERRY__DIFF], plan->bytes);
}

void ferry__reshape_abandon(struct ferry__reshape *plan)
{
    ferry_memory_release(plan->grown[FERRY__DATA]);
    ferry_memory_release(plan->grown[FERRY__DIFF]);
    ferry__shape_clear(&plan->shape);
}

/* Whether `bytes` bytes of a half may be in use without a check of its copies. */
static inline bool fits(const struct ferry__half *h, const ferry_memory *m, size_t bytes)
{
    return !h->offset && h->limit == SIZE_MAX && ferry__memory_fits_alone(m, bytes);
}

/*
 * Changes the number of elements within the capacity of memories that no other blob shares: nothing
 * is allocated or locked.
 */
static inline __attribute__((always_inline)) bool resize_alone(ferry_blob *b, int64_t count)
{
    ferry_memory *data = b->half[FERRY__DATA].memory, *diff = b->half[FERRY__DIFF].memory;
    int64_t bytes;

    if (b->dims || __builtin_mul_overflow(count, (int64_t)ferry__dtype_size(b->dtype), &bytes) ||
        !fits(&b->half[FERRY__DATA], data, (size_t)bytes) ||
        (diff && !fits(&b->half[FERRY__DIFF], diff, (size_t)bytes)))
        return false;
    ferry__memory_use_alone(data, (size_t)bytes);
    if (diff)
        ferry__memory_use_alone(diff, (size_t)bytes);
    b->shape.count = count;
    return true;
}

/*
 * Reshapes without the lock, if the rank stays and the memories are large enough; false otherwise.
 */
static bool reshape_alone(ferry_blob *b, int rank, const int64_t *dims)
{
    int64_t count = 1;

    if (!b->shape.shaped || rank != b->shape.rank || !dims)
        return false;
    for (int i = 0; i < rank; i++)
        if (dims[i] <= 0 || __builtin_mul_overflow(count, dims[i], &count))
            return false;
    if (!resize_alone(b, count))
        return false;
    memmove(rank > FERRY__SHAPE_INLINE ? b->shape.many : b->shape.few, dims,
            (size_t)rank * sizeof dims[0]);
    return true;
}

/* As reshape_alone for four axes, the most frequent rank, without a loop. */
static inline bool reshape_four(ferry_blob *b, const int64_t *dims)
{
    const int64_t n = dims[0], c = dims[1], h = dims[2], w = dims[3];
    int64_t *to = b->shape.few, outer, inner, count;

    if (n <= 0 || c <= 0 || h <= 0 || w <= 0 || __builtin_mul_overflow(n, c, &outer) ||
        __builtin_mul_overflow(h, w, &inner) || __builtin_mul_overflow(outer, inner, &count) ||
        !resize_alone(b, count))
        return false;
    to[0] = n;
    to[1] = c;
    to[2] = h;
    to[3] = w;
    return true;
}

/* Reshapes after allocating larger memories where necessary. */
static int reshape_planned(ferry_blob *b, int rank, const int64_t *dims, bool *out_grew)
{
    struct ferry__reshape plan;
    int err = ferry__section_refuse("a reshape");

    if (err)
        return err;
    err = ferry__reshape_plan(b, rank, dims, &plan);
    if (err)
        return ferry__error(err, "ferry_blob_reshape%s%s: %s", b->name ? " of " : "",
                            b->name ? b->name : "", ferry_last_error());
    *out_grew = plan.grown[FERRY__DATA] || plan.grown[FERRY__DIFF];
    ferry__reshape_commit(b, &plan);
    return 0;
}

static __attribute__((noinline)) int reshape(ferry_blob *b, int rank, const int64_t *dims,
                                             bool *out_grew)
{
    bool grew = false;
    int err = 0;

    if (!b)
        return ferry__error(FERRY_EINVAL, "ferry_blob_reshape: NULL blob");
    if (!ferry__shape_is(&b->shape, rank, dims) && !reshape_alone(b, rank, dims))
        err = reshape_planned(b, rank, dims, &grew);
    if (!err && out_grew)
        *out_grew = grew;
    return err;
}

int ferry_blob_reshape(ferry_blob *b, const int64_t *dims, int rank, bool *out_grew)
{
    if (!b || rank != 4 || b->shape.rank != 4 || !dims || !b->shape.shaped ||
        (!ferry__shape_is_four(&b->shape, dims) && !reshape_four(b, dims)))
        return reshape(b, rank, dims, out_grew);
    if (out_grew)
        *out_grew = false;
    return 0;
}

int ferry_blob_reshape4(ferry_blob *b, int64_t n, int64_t c, int64_t h, int64_t w)
{
    const int64_t dims[] = { n, c, h, w };

    return ferry_blob_reshape(b, dims, 4, NULL);
}

int ferry_blob_reshape_like(ferry_blob *b, const ferry_blob *other)
{
    if (!b || !other)
        return ferry__error(FERRY_EINVAL, "ferry_blob_reshape_like: NULL blob");
    return ferry_blob_reshape(b, ferry__shape_dims(&other->shape),
                              other->shape.shaped ? other->shape.rank : FERRY_UNSHAPED, NULL);
}

/* ---- properties ---- */

static int no_shape(const char *what)
{
    return ferry__error(FERRY_EINVAL, "%s: NULL blob", what);
}

int ferry_blob_rank(const ferry_blob *b)
{
    return b ? b->shape.rank : no_shape("ferry_blob_rank");
}

int64_t ferry_blob_dim(const ferry_blob *b, int axis)
{
    int at = b ? ferry__shape_canonical(&b->shape, axis) : no_shape("ferry_blob_dim");

    return at < 0 ? at : ferry__shape_dim(&b->shape, at);
}

const int64_t *ferry_blob_shape(const ferry_blob *b)
{
    return b ? ferry__shape_dims(&b->shape) : NULL;
}

int64_t ferry_blob_element_count(const ferry_blob *b)
{
    return b ? b->shape.count : no_shape("ferry_blob_element_count");
}

int64_t ferry_blob_element_count_range(const ferry_blob *b, int start, int end)
{
    return b ? ferry__shape_count(&b->shape, start, end)
             : no_shape("ferry_blob_element_count_range");
}

int64_t ferry_blob_capacity(const ferry_blob *b)
{
    const struct ferry__half *h;
    size_t bytes;

    if (!b)
        return no_shape("ferry_blob_capacity");
    h = &b->half[FERRY__DATA];
    bytes = capacity_of(h, h->memory);
    return (int64_t)(bytes / ferry_dtype_size((ferry_dtype)b->dtype));
}

int ferry_blob_canonical_axis(const ferry_blob *b, int axis)
{
    return b ? ferry__shape_canonical(&b->shape, axis) : no_shape("ferry_blob_canonical_axis");
}

int ferry_blob_shape_string(const ferry_blob *b, char *buf, size_t size)
{
    if (!b || !buf)
        return no_shape("ferry_blob_shape_string");
    return ferry__shape_string(&b->shape, buf, size);
}

int64_t ferry_blob_offset(const ferry_blob *b, const int64_t *index, int n)
{
    return b ? ferry__shape_offset(&b->shape, n, index) : no_shape("ferry_blob_offset");
}

int64_t ferry_blob_offset4(const ferry_blob *b, int64_t n, int64_t c, int64_t h, int64_t w)
{
    const int64_t index[] = { n, c, h, w };

    return b ? ferry__shape_offset4(&b->shape, index) : no_shape("ferry_blob_offset4");
}

int64_t ferry_blob_legacy_dim(const ferry_blob *b, int axis)
{
    return b ? ferry__shape_legacy(&b->shape, axis) : no_shape("ferry_blob_legacy_dim");
}

int64_t ferry_blob_num(const ferry_blob *b)
{
    return ferry_blob_legacy_dim(b, 0);
}

int64_t ferry_blob_channels(const ferry_blob *b)
{
    return ferry_blob_legacy_dim(b, 1);
}

int64_t ferry_blob_height(const ferry_blob *b)
{
    return ferry_blob_legacy_dim(b, 2);
}

int64_t ferry_blob_width(const ferry_blob *b)
{
    return ferry_blob_legacy_dim(b, 3);
}

ferry_dtype ferry_blob_dtype(const ferry_blob *b)
{
    return b ? (ferry_dtype)b->dtype : FERRY_F32;
}

ferry_device *ferry_blob_home(const ferry_blob *b)
{
    return b ? ferry__blob_home(b) : NULL;
}

bool ferry_blob_shape_equals(const ferry_blob *a, const ferry_blob *b)
{
    return a && b ? ferry__shape_equal(&a->shape, &b->shape) : no_shape("ferry_blob_shape_equals");
}

int ferry_blob_set_name(ferry_blob *b, const char *name)
{
    char *copy = NULL;
    int which, err = 0;

    if (!b)
        return no_shape("ferry_blob_set_name");
    if (name && name[0]) {
        copy = strdup(name);
        if (!copy)
            return ferry__error(FERRY_ENOMEM, "no memory for the name %s", name);
    }
    for (which = FERRY__DATA; which <= FERRY__DIFF && !err; which++)
        if (b->half[which].memory && !b->slice)
            err = ferry__memory_set_name(b->half[which].memory, copy, suffixes[which]);
    if (err) {
        free(copy);
        return err;
    }
    free(b->name);
    b->name = copy;
    return 0;
}

const char *ferry_blob_name(const ferry_blob *b)
{
    return b && b->name ? b->name : "";
}

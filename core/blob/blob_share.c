/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/blob.h"

#include "core/base/fresh.h"
#include "core/base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- sharing ---- */

/* Moves the half that is not shared to the other blob's home, because a blob has one home. */
static int follow(ferry_blob *b, enum ferry__which which, ferry_device *home)
{
    ferry_memory *m = b->half[which].memory;

    return m && m->home != home ? ferry__memory_to(m, home) : 0;
}

static void take_theirs(struct ferry__half *half, const struct ferry__half *from,
                        ferry_memory *theirs)
{
    ferry_memory *before = half->memory;

    half->offset = from->offset;
    half->limit = from->limit;
    if (before == theirs)
        return;
    half->memory = ferry_memory_retain(theirs);
    ferry__memory_leave(before, half);
}

static int share(ferry_blob *b, const ferry_blob *other, enum ferry__which which)
{
    enum ferry__which rest = which == FERRY__DATA ? FERRY__DIFF : FERRY__DATA;
    ferry_device *before;
    ferry_memory *theirs;
    size_t end;
    int err;

    if (!b || !other)
        return ferry__error(FERRY_EINVAL, "share: NULL blob");
    if (b->dtype != other->dtype || b->shape.count != other->shape.count)
        return ferry__error(FERRY_ESHAPE,
                            "share: %" PRId64 " elements of %s where there are %" PRId64 " of %s",
                            other->shape.count, ferry_dtype_name((ferry_dtype)other->dtype),
                            b->shape.count, ferry_dtype_name((ferry_dtype)b->dtype));
    if (b->slice)
        return ferry__error(FERRY_EPERM, "share: a slice keeps its parent's memory");
    theirs = ferry__blob_memory(other, which);
    if (!theirs)
        return ferry_last_error_code();
    before = ferry__device_retain(ferry__blob_home(b));
    err = follow(b, rest, ferry__blob_home(other));
    if (!err) {
        end = ferry__blob_end(other, which);
        err = ferry__memory_share(theirs, &other->half[which], end, &b->half[which], end);
        if (err)
            follow(b, rest, before);
    }
    if (!err)
        take_theirs(&b->half[which], &other->half[which], theirs);
    if (!err && before != ferry__blob_home(b))
        ferry_memory_release(atomic_exchange(&b->dims, NULL));
    ferry__device_release(before);
    return err;
}

int ferry_blob_share_data(ferry_blob *b, const ferry_blob *other)
{
    return share(b, other, FERRY__DATA);
}

int ferry_blob_share_diff(ferry_blob *b, const ferry_blob *other)
{
    return share(b, other, FERRY__DIFF);
}

/* ---- moving ---- */

int ferry_blob_move_to(ferry_blob *b, ferry_device *device)
{
    ferry_memory *data, *diff;
    ferry_device *before;
    int err;

    if (!b || !device)
        return ferry__error(FERRY_EINVAL, "ferry_blob_move_to: NULL argument");
    data = b->half[FERRY__DATA].memory;
    diff = b->half[FERRY__DIFF].memory;
    before = data->home;
    if (before == device && (!diff || diff->home == device))
        return 0;
    ferry__device_retain(before);
    err = ferry__memory_to(data, device);
    if (!err && diff) {
        err = ferry__memory_to(diff, device);
        if (err)
            ferry__memory_to(data, before);
    }
    ferry__device_release(before);
    if (!err)
        ferry_memory_release(atomic_exchange(&b->dims, NULL));
    return err;
}

/* ---- slices ---- */

/* Takes a part of the parent's half, and records it as a user of the parent's memory. */
static int take_part(ferry_blob *slice, const ferry_blob *parent, enum ferry__which which,
                     size_t offset, size_t bytes)
{
    const struct ferry__half *from = &parent->half[which];
    struct ferry__half *to = &slice->half[which];
    int err;

    to->offset = from->offset + offset;
    to->limit = bytes;
    err = ferry__memory_share(from->memory, from, ferry__blob_end(parent, which), to,
                              to->offset + to->limit);
    if (err)
        return err;
    atomic_init(&to->memory, ferry_memory_retain(from->memory));
    ferry__memory_set_sliced(to->memory);
    return 0;
}

static int check_range(const ferry_blob *parent, int64_t start, int64_t count)
{
    if (!parent->shape.shaped || parent->shape.rank == 0)
        return ferry__error(FERRY_EINVAL, "slice: the parent has no axis 0");
    if (start < 0 || count < 0 || start > ferry__shape_dim(&parent->shape, 0) ||
        count > ferry__shape_dim(&parent->shape, 0) - start)
        return ferry__error(FERRY_EINVAL,
                            "slice: %" PRId64 " entries from %" PRId64 " on, of %" PRId64, count,
                            start, ferry__shape_dim(&parent->shape, 0));
    return 0;
}

int ferry_blob_slice(const ferry_blob *parent, int64_t start, int64_t count, ferry_blob **out)
{
    int64_t dims[FERRY_MAX_AXES];
    size_t entry;
    ferry_blob *b;
    int err;

    if (!parent || !out)
        return ferry__error(FERRY_EINVAL, "ferry_blob_slice: NULL argument");
    err = check_range(parent, start, count);
    if (err)
        return err;
    if (!ferry__blob_memory(parent, FERRY__DIFF))
        return ferry_last_error_code();
    b = ferry__fresh(sizeof *b);
    if (!b)
        return ferry__error(FERRY_ENOMEM, "no memory for a slice");
    memcpy(dims, ferry__shape_dims(&parent->shape), (size_t)parent->shape.rank * sizeof dims[0]);
    dims[0] = count;
    entry = (size_t)ferry__shape_count(&parent->shape, 1, parent->shape.rank) *
            ferry_dtype_size((ferry_dtype)parent->dtype);
    err = ferry__shape_set(&b->shape, parent->shape.rank, dims,
                           ferry_dtype_size((ferry_dtype)parent->dtype));
    if (!err)
        err = take_part(b, parent, FERRY__DATA, (size_t)start * entry, (size_t)count * entry);
    if (!err)
        err = take_part(b, parent, FERRY__DIFF, (size_t)start * entry, (size_t)count * entry);
    if (err) {
        ferry_blob_destroy(b);
        return err;
    }
    b->dtype = parent->dtype;
    b->slice = true;
    *out = b;
    return 0;
}

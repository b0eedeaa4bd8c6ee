/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a blob, for blob.c, blob_math.c and blob_share.c. None of them reads a head state.
 */
#ifndef FERRY_CORE_BLOB_H
#define FERRY_CORE_BLOB_H

#include "core/coherence/memory.h"
#include "core/base/dtype.h"
#include "core/blob/shape.h"

#include <ferry/blob.h>

/* A memory, and the range of it that the blob uses. */
struct ferry__half {
    _Atomic(ferry_memory *) memory; /* diff: NULL until it is first used */
    size_t offset;                  /* bytes */
    size_t limit;                   /* bytes from there on; SIZE_MAX: the memory's own capacity */
};

enum ferry__which { FERRY__DATA = 0, FERRY__DIFF = 1 };

struct ferry_blob {
    struct ferry__half half[2];
    struct ferry__shape shape;
    _Atomic(ferry_memory *) dims; /* of ferry_blob_device_shape; NULL until first requested */
    char *name;
    uint8_t dtype;
    bool slice;
};

/*
 * The blob's device: the home of its data. Diff's memory can have another home, for example if
 * another blob shares it; it is accessed on the blob's device all the same.
 */
static inline ferry_device *ferry__blob_home(const ferry_blob *b)
{
    const ferry_memory *data =
        atomic_load_explicit(&((ferry_blob *)b)->half[FERRY__DATA].memory, memory_order_acquire);

    return data->home;
}

/* The size of each half in bytes. */
static inline size_t ferry__blob_bytes(const ferry_blob *b)
{
    return (size_t)b->shape.count * ferry__dtype_size(b->dtype);
}

/*
 * The end of a half in its memory. A slice ends at the end of its range, even if its shape is
 * smaller.
 */
static inline size_t ferry__blob_end(const ferry_blob *b, enum ferry__which which)
{
    const struct ferry__half *h = &b->half[which];

    return h->offset + (h->limit < SIZE_MAX ? h->limit : ferry__blob_bytes(b));
}

/* A prepared reshape. Committing it cannot fail; abandoning it changes nothing. */
struct ferry__reshape {
    struct ferry__shape shape;
    size_t bytes;
    ferry_memory *grown[2]; /* replacements for halves that are too small, else NULL */
};

int ferry__reshape_plan(const ferry_blob *b, int rank, const int64_t *dims,
                        struct ferry__reshape *out);
void ferry__reshape_commit(ferry_blob *b, struct ferry__reshape *plan);
void ferry__reshape_abandon(struct ferry__reshape *plan);

/* Makes diff's memory, at its first use. NULL, with the error recorded, on failure. */
ferry_memory *ferry__blob_make_diff(ferry_blob *b);

/* The memory of a half. NULL, with the error recorded, if diff's could not be made. */
static inline ferry_memory *ferry__blob_memory(const ferry_blob *b, enum ferry__which which)
{
    ferry_memory *m =
        atomic_load_explicit(&((ferry_blob *)b)->half[which].memory, memory_order_acquire);

    return m ? m : ferry__blob_make_diff((ferry_blob *)b);
}

/* Adds READ to a FERRY_WRITE access if other bytes of the memory are in use too. */
unsigned ferry__blob_access(const ferry_blob *b, enum ferry__which which, unsigned access);

#endif

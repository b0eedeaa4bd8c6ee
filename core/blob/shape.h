/* SPDX-License-Identifier: BSD-2-Clause */
/* Dims, counts and offsets. Knows no storage. */
#ifndef FERRY_CORE_SHAPE_H
#define FERRY_CORE_SHAPE_H

#include <ferry/blob.h>

/* Axes that need no allocation of their own. */
#define FERRY__SHAPE_INLINE 4

struct ferry__shape {
    int32_t rank;
    bool shaped; /* false: Blob(), count 0 */
    int64_t count;
    union { /* read by ferry__shape_dims */
        int64_t few[FERRY__SHAPE_INLINE];
        int64_t *many; /* allocated */
    };
};

static inline const int64_t *ferry__shape_dims(const struct ferry__shape *s)
{
    return s->rank <= FERRY__SHAPE_INLINE ? s->few : s->many;
}

static inline int64_t ferry__shape_dim(const struct ferry__shape *s, int axis)
{
    return s->rank <= FERRY__SHAPE_INLINE ? s->few[axis] : s->many[axis];
}

/* Whether the shape has just those dims already. */
static inline bool ferry__shape_is(const struct ferry__shape *s, int rank, const int64_t *dims)
{
    int i;

    if (!s->shaped || rank != s->rank || (rank && !dims))
        return false;
    for (i = 0; i < rank; i++)
        if (dims[i] != ferry__shape_dim(s, i))
            return false;
    return true;
}

/* The same of a shape of four axes. */
static inline bool ferry__shape_is_four(const struct ferry__shape *s, const int64_t *dims)
{
    return dims[0] == s->few[0] && dims[1] == s->few[1] && dims[2] == s->few[2] &&
           dims[3] == s->few[3];
}

/*
 * Takes on `rank` dims (FERRY_UNSHAPED: none), of elements of `size` bytes. FERRY_EINVAL,
 * FERRY_EOVERFLOW, FERRY_ENOMEM.
 */
int ferry__shape_set(struct ferry__shape *s, int rank, const int64_t *dims, size_t size);
void ferry__shape_clear(struct ferry__shape *s);
/* Moves `from` into `to`, whose own dims are given up. */
void ferry__shape_move(struct ferry__shape *to, struct ferry__shape *from);

int ferry__shape_canonical(const struct ferry__shape *s, int axis);
int64_t ferry__shape_count(const struct ferry__shape *s, int start, int end);
int64_t ferry__shape_legacy(const struct ferry__shape *s, int axis);
int64_t ferry__shape_offset(const struct ferry__shape *s, int n, const int64_t *index);
int64_t ferry__shape_offset4(const struct ferry__shape *s, const int64_t index[4]);
bool ferry__shape_equal(const struct ferry__shape *a, const struct ferry__shape *b);
int ferry__shape_string(const struct ferry__shape *s, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The shape of a blob: dims, counts and offsets. It has no storage for elements. */
#ifndef FERRY_CORE_SHAPE_H
#define FERRY_CORE_SHAPE_H

#include <ferry/blob.h>

/* The highest rank whose dims are stored without an allocation. */
#define FERRY__SHAPE_INLINE 4

struct ferry__shape {
    int32_t rank;
    bool shaped; /* false: a default-constructed blob, without elements */
    int64_t count;
    union { /* the dims, which ferry__shape_dims returns */
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

/* Whether the shape already has these dims. */
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

/* As ferry__shape_is, for four axes. */
static inline bool ferry__shape_is_four(const struct ferry__shape *s, const int64_t *dims)
{
    return dims[0] == s->few[0] && dims[1] == s->few[1] && dims[2] == s->few[2] &&
           dims[3] == s->few[3];
}

/*
 * Sets `rank` dims (FERRY_UNSHAPED: none), for elements of `size` bytes. FERRY_EINVAL,
 * FERRY_EOVERFLOW, FERRY_ENOMEM.
 */
int ferry__shape_set(struct ferry__shape *s, int rank, const int64_t *dims, size_t size);
void ferry__shape_clear(struct ferry__shape *s);
/* Moves `from` into `to` and frees the former dims of `to`. */
void ferry__shape_move(struct ferry__shape *to, struct ferry__shape *from);

int ferry__shape_canonical(const struct ferry__shape *s, int axis);
int64_t ferry__shape_count(const struct ferry__shape *s, int start, int end);
int64_t ferry__shape_legacy(const struct ferry__shape *s, int axis);
int64_t ferry__shape_offset(const struct ferry__shape *s, int n, const int64_t *index);
int64_t ferry__shape_offset4(const struct ferry__shape *s, const int64_t index[4]);
bool ferry__shape_equal(const struct ferry__shape *a, const struct ferry__shape *b);
int ferry__shape_string(const struct ferry__shape *s, char *buf, size_t size);

#endif

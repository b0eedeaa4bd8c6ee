/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_ORACLE_H
#define FERRY_TEST_ORACLE_H

#include <ferry/ferry.h>
#include <stdbool.h>

/*
 * The expected contents of each blob: plain arrays, shared where blobs share. The oracle models
 * neither copies nor queues nor time. It models that contents can be lost, and that contents that
 * depend on failed work may turn out to be lost.
 */

#define OBJECTS 10
#define ROOM    48 /* elements of the largest memory */
#define AXES    4
#define DATA    0u
#define DIFF    1u
#define LARGEST 100 /* of any value: every dtype in use represents it exactly */

/*
 * Random numbers that are the same on every machine, or given: first the script's numbers, then
 * ones, and for values a new one each time.
 */
struct dice {
    uint64_t state;
    const unsigned char *script; /* NULL: random */
    unsigned at, length;
};

struct dice dice_for(uint64_t seed, uint64_t step);
unsigned roll(struct dice *d, unsigned n); /* 0 … n − 1 */
bool one_in(struct dice *d, unsigned n);

enum state {
    SAFE,  /* a read succeeds and returns the values */
    SHAKY, /* or it fails, and may succeed elsewhere or later */
    LOST   /* it fails with FERRY_ELOST until all elements are written again */
};

/* The certainty of an element's value. */
enum doubt { SURE, OR_ZERO, ANY };

/* The contents of one memory. */
struct store {
    unsigned users; /* halves */
    int64_t room;   /* elements */
    enum state state;
    bool may_be_lost; /* SHAKY, and no other copy is certain to be valid */
    bool tail_may_be_lost; /* the only copy beyond the reach of blobs may be on a lost device */
    int64_t tail_reach; /* LOST, if perhaps only the tail is: the reach of blobs when a read failed;
                         * fewer elements may still be read. Otherwise 0 */
    bool failed; /* some work on it was made to fail: the first access to that copy returns its code
                  */
    bool idle;   /* after ferry_memory_allow_eviction */
    double value[ROOM];
    unsigned char doubt[ROOM];
};

struct half {
    struct store *store;   /* NULL: not used so far */
    int64_t offset, limit; /* in elements; a negative limit: no limit */
};

/* A blob and its expected state. */
struct obj {
    ferry_blob *blob; /* NULL: it does not exist */
    ferry_dtype dtype;
    int rank; /* FERRY_UNSHAPED: no shape */
    int64_t shape[AXES], count;
    struct half half[2];
    bool slice;
};

/* A store of zeros without a user; NULL if out of memory. */
struct store *store_create(int64_t room);
/* Releases the half's store and uses the other. */
void half_set(struct half *h, struct store *s, int64_t offset, int64_t limit);
/* The elements of the store that its blobs can reach with their current shapes. */
int64_t store_reach(const struct store *s, const struct obj *objects);
/* A read has failed: the contents are LOST, or only their tail is. */
void store_lost(struct store *s, const struct obj *objects);
/*
 * A LOST store was read by a blob without elements, which loses no contents: a copy is created
 * elsewhere, and is the only one when the blob grows back, unless the lost one is still taken for
 * valid.
 */
void store_read_empty(struct store *s);
/* Whether a LOST store reaches fewer elements than the failed read did: its tail is not read. */
bool store_lacks_tail(const struct store *s, const struct obj *objects);

/* Whether a write of the whole half writes all of the store that is in use. */
bool half_covers(const struct obj *o, unsigned half, const struct obj *objects);
int64_t half_room(const struct obj *o, unsigned half);

/* Element i of the half. */
double value_of(const struct obj *o, unsigned half, int64_t i);
enum doubt doubt_of(const struct obj *o, unsigned half, int64_t i);
void set_value(struct obj *o, unsigned half, int64_t i, double value);
void set_doubt(struct obj *o, unsigned half, int64_t i, enum doubt doubt);
bool is_right(const struct obj *o, unsigned half, int64_t i, double seen);

/* After a write: elements beyond the reach of all blobs may not have been copied. */
void store_written(struct store *s, const struct obj *objects);
/* Makes the store zeros, as if it had never been written. */
void store_forget(struct store *s);
/* Records that all of the store was written. */
void store_renewed(struct store *s);

int64_t count_of(int rank, const int64_t *shape);
void set_shape(struct obj *o, int rank, const int64_t *shape);

#endif

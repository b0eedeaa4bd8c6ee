/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_SCENARIOS_H
#define FERRY_TEST_SCENARIOS_H

#include "world.h"

/*
 * One call of each kind on blobs, memories and queues, with two devices of the current world: the
 * objects of the call, and its effects. test-faults makes every call that a scenario makes fail.
 */

#define SC_COUNT 8 /* elements of `b` and of `other` */

/* The objects of a scenario, created for each run. */
struct scene {
    ferry_blob *b, *other; /* 1 … 8, diff 10 … 80; other: 101 … 108, diff 201 … 208 */
    ferry_queue *own[2];   /* of the home, and of the other device */
    ferry_event *event;    /* on the other device, done */
    float *block;          /* 64-byte aligned, 8 times 7 */
    ferry_memory *lent;    /* of the home, 8 times 7 */
    ferry_ref lent_at;
    int deleted;
    /* the result of the call; freed with the rest */
    ferry_blob *blob_made;
    ferry_queue *queue_made;
    ferry_event *event_made;
};

/* The effect of the call on the half that it accesses. */
enum effect {
    SC_SAME,
    SC_FILLED,
    SC_SCALED,
    SC_UPDATED,
    SC_COPIED,
    SC_DIFF_COPIED,
    SC_ZEROS,
    SC_ADOPTED,
    SC_WRITTEN
};
#define SC_FILL 9

struct scenario {
    const char *name;
    int (*run)(struct scene *s);
    enum effect effect; /* on b's data; SC_WRITTEN: the program writes them */
    bool may_move;      /* a refusal may leave further copies valid: several halves are read */
};

extern const struct scenario scenarios[];
extern const unsigned nscenarios;

/* The place of b's data before the call. */
enum whereabouts {
    SC_HOST,
    SC_DEV0,
    SC_DEV1,
    SC_HOST_DEV0,
    SC_DEV0_DEV1,
    SC_PENDING,
    SC_WHEREABOUTS
};

/* Creates a scene; a failure fails the case. */
void scene_set(struct scene *s, enum whereabouts where);
/* Destroys all of it. */
void scene_clear(struct scene *s);

#endif

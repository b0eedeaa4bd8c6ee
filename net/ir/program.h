/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a stretch of layers runs, for one set of shapes: the operations that the layers emitted, fused,
 * laid out, prepared, and their contents given memory. Made once, then only run.
 */
#ifndef FERRY_NET_IR_PROGRAM_H
#define FERRY_NET_IR_PROGRAM_H

#include "net/model/state.h"

#include "op/repeat.h"

/* Contents that items hand on: a blob with its aliases, a layer's scratch, or what is put in between. */
struct ferry__value {
    ferry_blob *blob; /* NULL: the program's own */
    int index;        /* the net's blob; −1: none */
    bool pinned;      /* readable from outside, row-major, in the blob's memory */
    bool seen;        /* somebody outside looks at it */
    bool own;         /* in the blob's memory */
    bool plain;       /* something that uses it takes it row-major only */
    bool last;        /* channels last */
    uint32_t dtype;
    int rank;
    int64_t shape[FERRY_OP_AXES], count;
    int64_t stride[FERRY_OP_AXES]; /* elements, once it is laid */
    int within;                    /* the value that it is a slice of; −1: none */
    int64_t start;                 /* of a slice, elements from that one's first */
    int first, end;                /* items that use it; end < first: none does */
    ferry_device *device;          /* who uses it; NULL: the host */
    uint64_t part, offset;         /* which block of its device's arena, and bytes in it */
};

/* Where an operand is. */
struct ferry__use {
    int value;        /* −1: a blob that is not planned */
    ferry_blob *blob; /* then: this one */
    bool diff;
    int64_t start; /* elements; of a value in its row-major order until it is laid */
};

/* A constant that an affine function of each channel goes into: see fold.c. */
struct ferry__fold;

/* A segment that a plugin runs as a whole: net/segment. */
struct ferry__claim;

/* One thing to do. */
struct ferry__item {
    ferry_layer *layer;
    bool call;    /* the layer's forward or backward; else an operation */
    bool back;    /* of the backward pass */
    bool loss;    /* a call that adds up the loss of tops before a later layer overwrites them */
    bool dropped; /* another one does it */
    bool claimed; /* then: a segment */
    bool border;  /* a copy from one order of axes to another */
    int number;   /* of the layer's operations */
    ferry_op_desc op; /* row-major until it is laid */
    struct ferry__use in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    struct ferry__claim *claim; /* a call that runs this segment; NULL: it is another item */
    const int *border_values;   /* then: the values that it reads, and behind them those it writes */
    int n_reads, n_writes;
    struct ferry__fold *fold;
    ferry_operation_tier tier;
    bool left; /* to the host, though the device has the operation: see reach.c */
    uint32_t steps;
    uint8_t order[FERRY_OP_AXES];
    ferry_operation *prepared;
};

struct ferry__program {
    ferry_net *net;
    int first_layer, last_layer;
    int64_t *shapes; /* of the layers' bottoms and tops: what it is for */
    int n_shapes;
    struct ferry__item *items;
    int n_items, room_items;
    struct ferry__item *back; /* of the backward pass, in the order in which they run */
    int n_back;
    struct ferry__value *values;
    int n_values, room_values;
    int *of_blob; /* while it is collected: the value of each of the net's blobs; −1: none yet */
    int layer_values; /* likewise: how many there were before the layer that is added */
    uint64_t used;    /* the net's clock when it was chosen last */
    struct ferry__repeats repeats; /* of forward passes */
    struct ferry__claim *claims;   /* its segments */
    void (*end_claims)(struct ferry__program *); /* NULL: there have been none */
};

/* Frees a program; NULL is ignored. */
void ferry__program_end(struct ferry__program *p);

/* A value at the end, all zero. NULL: no memory. */
struct ferry__value *ferry__program_append(struct ferry__program *p);
/* A value of the program's own, like another one; its index, or FERRY_ENOMEM. */
int ferry__program_value_like(struct ferry__program *p, int value);
/* A zero item before item `at`; the items from `at` on move up by one. NULL: no memory. */
struct ferry__item *ferry__program_insert(struct ferry__program *p, int at);

/* Whether an item uses a value; whether it writes it. */
bool ferry__item_uses(const struct ferry__program *p, const struct ferry__item *item, int value);
bool ferry__item_writes(const struct ferry__program *p, const struct ferry__item *item, int value);
/* Whether an operand is all of its value, in its order. */
bool ferry__is_whole(const struct ferry__program *p, const ferry_operand *o,
                     const struct ferry__use *use);
/* How far into its memory a value begins, in elements, through all the values that it is a slice of. */
int64_t ferry__value_start(const struct ferry__program *p, int value);

#endif

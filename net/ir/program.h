/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program of consecutive layers for one set of shapes: the operations that the layers emitted,
 * fused, laid out and prepared, with memory for their values. Made once, then run many times.
 */
#ifndef FERRY_NET_IR_PROGRAM_H
#define FERRY_NET_IR_PROGRAM_H

#include "net/model/state.h"

#include "op/chain.h"
#include "op/repeat.h"

#include <ferry/op_desc.h>
#include <ferry/op_tier.h>

struct ferry_operation;

/*
 * The contents that items pass on: those of a blob with its aliases, of a layer's scratch blob, or
 * of an inserted intermediate.
 */
struct ferry__value {
    ferry_blob *blob; /* NULL: an intermediate of the program */
    int index;        /* the net's blob; −1: not a blob */
    bool pinned;      /* visible outside of the program: row-major, in the blob's memory */
    bool seen;        /* read outside of the program */
    bool own;         /* stored in the blob's memory */
    bool plain;       /* an item that uses it requires row-major order */
    bool last;        /* channels-last order */
    bool merged;      /* its last writer was merged into an operation that writes another value */
    uint32_t dtype;
    int rank;
    int64_t shape[FERRY_OP_AXES], count;
    int64_t stride[FERRY_OP_AXES]; /* in elements, once strides are assigned */
    int within;                    /* the value that it is a slice of; −1: none */
    int64_t start;                 /* for a slice: its offset in that value, in elements */
    int first, end;                /* no item before `first` or after `end` uses it, once
                                    * computed; end < first: unused */
    int written;                   /* the last item that writes it, once computed; −1: none */
    bool divided;                  /* other values are slices of it */
    ferry_device *device;          /* the device that uses it; NULL: the host */
    int division;  /* 1 + the division that alone uses it; 0: none. It then has the images of a
                    * chain's sub-batch, at `offset` in the chain's part of the division's block */
    uint64_t part, offset;         /* the block of its device's arena, and the offset in bytes */
};

/* The location of an operand. */
struct ferry__use {
    int value;        /* −1: a blob that is not planned */
    ferry_blob *blob; /* that blob */
    bool diff;
    int64_t start; /* offset in elements; for a value in its row-major order until strides are
                    * assigned */
};

/* A constant that per-channel affine functions are folded into: see fold.c. */
struct ferry__fold;

/* The constants of a product with integers: see integers.c. */
struct ferry__integers;

/* A segment that a plugin runs as a whole: net/segment. */
struct ferry__claim;

/* One step of a program. */
struct ferry__item {
    ferry_layer *layer;
    bool call;        /* a call of the layer's own forward or backward function; otherwise an
                       * operation */
    bool back;        /* part of the backward pass */
    bool loss;        /* a call that adds the loss of tops before a later layer overwrites them */
    bool in_parts;    /* of backward: for passes over a part of the net only */
    bool whole;       /* of backward: for passes over the whole net only */
    bool dropped;     /* removed: another item computes it */
    bool claimed;     /* dropped because a segment computes it */
    bool border;      /* a copy between two orders of axes */
    int number;       /* the index among the layer's operations */
    ferry_op_desc op; /* with row-major operands until strides are assigned */
    struct ferry__use in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    struct ferry__claim *claim; /* the segment that this call runs; NULL: none */
    const int
        *border_values; /* for a segment: the values that it reads, then those that it writes */
    int n_reads, n_writes;
    struct ferry__fold *fold;
    struct ferry__integers *integers; /* NULL: not a product with integers */
    ferry_operation_tier tier;
    bool left; /* computed on the host although the device supports the operation: see reach.c */
    uint32_t steps;
    uint8_t order[FERRY_OP_AXES];
    int division; /* 1 + the division that it belongs to; 0: none. `op` then has the images of the
                   * largest sub-batches */
    struct ferry_operation *prepared;
    int next; /* of a complete program: the next item of the layer in this pass; −1: none */
    struct ferry_operation *fewer; /* for sub-batches with one image less; NULL: there are none */
};

/* Consecutive items that chains run by sub-batches of the images: see divide.c. */
struct ferry__division {
    int first, last;
    int block;            /* the value with the division's own values, for all chains; −1: none */
    uint64_t chain_bytes; /* the bytes of a chain in it */
    struct ferry__chains chains;
};

/* A blob that a layer would keep for backward, and the blob with its contents that is used. */
struct ferry__kept {
    const ferry_layer *layer;
    const ferry_blob *own;
    ferry_blob *instead;
};

/* An item to be inserted before item `at`. */
struct ferry__insertion {
    int at;
    struct ferry__item item;
};

struct ferry__program {
    ferry_net *net;
    int first_layer, last_layer;
    int64_t *shapes; /* the shapes of the layers' bottoms and tops for which the program was made */
    int n_shapes;
    struct ferry__item *items;
    int n_items, room_items;
    struct ferry__insertion *insertions;
    int n_insertions, room_insertions;
    struct ferry__item *back; /* items of the backward pass, in the order of execution */
    int n_back;
    int *first_item[2]; /* of a complete program: the first item of each of its layers in `items`
                         * and in `back`; −1: none */
    struct ferry__kept *kept; /* for a net that runs backward: see train.c */
    int n_kept;
    bool whole; /* in-place results of a net that runs backward are not visible */
    struct ferry__value *values;
    int n_values, room_values;
    int *of_blob;         /* during the passes: the value of each of the net's blobs; −1: none */
    ferry_blob **written; /* during fuse: the blobs that items write and that have no value, in the
                           * order of addresses */
    int n_written;
    int layer_values; /* during collect: the number of values before the current layer */
    uint64_t used;    /* the value of the net's `clock` when it was last selected */
    struct ferry__division *divisions;
    int n_divisions;
    struct ferry__run *runs; /* room for the runs of a division, and for their uses */
    ferry_memory_use *uses;
    size_t n_runs, n_uses;
    struct ferry__repeats repeats;               /* the recorded command lists of forward passes */
    struct ferry__claim *claims;                 /* its segments */
    void (*end_claims)(struct ferry__program *); /* frees the claims; NULL: there are none */
};

/* Frees a program; NULL is ignored. */
void ferry__program_end(struct ferry__program *p);

/* Appends a value, all zeros. NULL: no memory. */
struct ferry__value *ferry__program_append(struct ferry__program *p);
/* Appends an intermediate with the shape of another value; returns its index, or FERRY_ENOMEM. */
int ferry__program_value_like(struct ferry__program *p, int value);
/* Appends a zeroed item. NULL: no memory. */
struct ferry__item *ferry__program_append_item(struct ferry__program *p);
/*
 * Adds a zeroed item that ferry__program_insert_all inserts before item `at`, behind those added
 * for the same place; `at` does not decrease from call to call. Valid until the next call. NULL: no
 * memory.
 */
struct ferry__item *ferry__program_insert(struct ferry__program *p, int at);
/* Inserts these items, in one pass. FERRY_ENOMEM. */
int ferry__program_insert_all(struct ferry__program *p);

/*
 * Passes that search the users of a value leave it as it is if they are farther apart than this
 * number of items. Otherwise the time would grow with the square of the number of items.
 */
#define FERRY__REACH 1024

/*
 * Sets `first`, `end` and `written` of each value from the items, calls included; uses through
 * slices do not count. Needs `of_blob`.
 */
void ferry__program_find_users(struct ferry__program *p);

/* The value that contains a value and is not a slice itself. */
int ferry__value_root(const struct ferry__program *p, int value);

/* Whether an item uses a value; and whether it writes the value. */
bool ferry__item_uses(const struct ferry__program *p, const struct ferry__item *item, int value);
bool ferry__item_writes(const struct ferry__program *p, const struct ferry__item *item, int value);
/* Whether an item is an operation of the pass, in a pass over the whole net. */
bool ferry__item_runs(const struct ferry__item *item);
/* Whether an operation reads a value. */
bool ferry__item_reads(const struct ferry__item *item, int value);
/* Whether an operand covers its whole value, in the value's order; and whether it is data too. */
bool ferry__covers(const struct ferry__program *p, const ferry_operand *o,
                   const struct ferry__use *use);
bool ferry__is_whole(const struct ferry__program *p, const ferry_operand *o,
                     const struct ferry__use *use);
/* The offset of a value in its memory, in elements, through all values that it is a slice of. */
int64_t ferry__value_start(const struct ferry__program *p, int value);

#endif

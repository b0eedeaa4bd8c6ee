/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a stretch of layers runs, for one set of shapes: the operations that the layers emitted, fused,
 * laid out, prepared, and their contents given memory. Made once, then only run.
 */
#ifndef FERRY_NET_IR_PROGRAM_H
#define FERRY_NET_IR_PROGRAM_H

#include "net/model/state.h"

#include "op/segment.h"

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

/* One thing to do. */
struct ferry__item {
    ferry_layer *layer;
    bool call;    /* the layer's forward or backward; else an operation */
    bool back;    /* of the backward pass */
    bool loss;    /* a call that adds up the loss of tops before a later layer overwrites them */
    bool dropped; /* another one does it */
    bool border;  /* a copy from one order of axes to another */
    int number;   /* of the layer's operations */
    ferry_op_desc op; /* row-major until it is laid */
    struct ferry__use in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
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
};

/* Layers that follow one another; shapes within are known before the first of them runs. */
struct ferry__stage {
    int first, last;
    struct ferry__program *kept[FERRY__NET_KEPT];
    struct ferry__program *now; /* NULL: to be chosen */
};

/* ---- program.c ---- */

/* Cuts the net into stages. FERRY_ENOMEM. */
int ferry__stages_make(ferry_net *net);
/* Forgets every program: they are for another device. */
void ferry__stages_forget(ferry_net *net);
/* Forgets programs, and stages with them. */
void ferry__stages_end(ferry_net *net);
/* The stage of a layer; NULL: there are none yet. */
struct ferry__stage *ferry__stage_of(const ferry_net *net, int layer);
/* Has the stage of a layer choose again. */
void ferry__stage_spoil(ferry_net *net, int layer);
/* Has a stage begin at a layer. Its programs, which are for more layers, are forgotten. */
void ferry__stage_cut(ferry_net *net, int layer);
/* The stage's program for the shapes of now; made if there is none. */
int ferry__stage_choose(ferry_net *net, struct ferry__stage *stage);

/* ---- collect.c ---- */

/* Fills in items and values from what the layers emitted. */
int ferry__program_collect(struct ferry__program *p);
/* A value of the program's own, like another one; its index, or FERRY_ENOMEM. */
int ferry__program_value_like(struct ferry__program *p, int value);
/* Room for an item before item `at`, which is as all behind it one further then. NULL: no memory. */
struct ferry__item *ferry__program_insert(struct ferry__program *p, int at);

/* Whether an item uses a value; whether it writes it. */
bool ferry__item_uses(const struct ferry__program *p, const struct ferry__item *item, int value);
bool ferry__item_writes(const struct ferry__program *p, const struct ferry__item *item, int value);
/* Whether an operand is all of its value, in its order. */
bool ferry__is_whole(const struct ferry__program *p, const ferry_operand *o,
                     const struct ferry__use *use);

/* ---- run.c ---- */

/*
 * An error of the layer whose operation a segment failed at, where that is one of them, else of `layer`
 * (NULL: of nobody that is known). Operations of many layers go together, so it is not always the latest.
 */
int ferry__segment_failed(const struct ferry__segment *s, const ferry_layer *layer, int err);

/* Takes an operation into a segment, or calls its layer. */
int ferry__item_run(struct ferry__segment *s, const struct ferry__program *p,
                    const struct ferry__item *item);

/*
 * What operations write in parts (Concat's top, the diff of Slice's bottom) they read, too: takes back
 * what failed there in an earlier pass. Of a net without a plan; of layers first … last.
 */
int ferry__parts_begin(const struct ferry__program *p, const struct ferry__item *items, int n_items,
                       int first, int last);

/* ---- backward.c ---- */

/* The items of the backward pass; none where the net is not run backward. */
int ferry__program_differentiate(struct ferry__program *p);

/* ---- running.c ---- */

/*
 * Sets aside what the parameters of layers first … last hold that a forward pass writes, and gives it back
 * to them behind one that failed with `err`, which is returned with its message.
 */
int ferry__running_save(ferry_net *net, int first, int last);
int ferry__running_restore(ferry_net *net, int first, int last, int err);

/* ---- debug.c ---- */

/*
 * Caffe's lines about layers first … last, or last … first backward, where nothing is submitted any more;
 * and about all parameters, behind a backward pass. What measuring fails with.
 */
int ferry__debug_forward(const ferry_net *net, int first, int last);
int ferry__debug_backward(const ferry_net *net, int last, int first);
int ferry__debug_params(const ferry_net *net);

/* ---- fuse.c ---- */

/* Joins operations where that costs nothing, and says how each will be run. */
int ferry__program_fuse(struct ferry__program *p);
/* How an item's operation would be run. */
int ferry__item_query(struct ferry__item *item, const ferry_op_desc *op, ferry_operation_plan *out);

/* ---- reach.c ---- */

/* How far into the memory that it is in a value begins, in elements, for what it is a slice of. */
int64_t ferry__value_start(const struct ferry__program *p, int value);
/* Whether the kernels of whoever runs an item may begin where its operands then do. */
bool ferry__item_reaches(const struct ferry__program *p, const struct ferry__item *item,
                         const int64_t *in_start, const int64_t *out_start);
/* Asks how an item will be run. */
int ferry__item_settle(const struct ferry__program *p, struct ferry__item *item);
/* Makes its operation, as that has been settled and laid. */
int ferry__item_prepare(const struct ferry__program *p, struct ferry__item *item);

/* ---- fold.c ---- */

/* Takes item `by` into `item`, whose output it changes by an affine function; 1, 0, FERRY_ENOMEM. */
int ferry__fold_try(struct ferry__program *p, struct ferry__item *item,
                    const struct ferry__item *by);
/* Takes item `by`, which makes the input of `item` by an affine function, into it; 1, 0, FERRY_ENOMEM. */
int ferry__fold_before(struct ferry__program *p, struct ferry__item *item,
                       const struct ferry__item *by);
/* Makes the constants anew whose sources were written: fold_weights.c. */
int ferry__fold_refresh(struct ferry__fold *fold);
/* Has all of them made anew at their next refresh: sources are others. */
void ferry__folds_forget(ferry_net *net);
void ferry__folds_end(ferry_net *net);

/* ---- layout.c, slice.c ---- */

/* Channels last where that is liked, copies at borders, concatenations in place; final operands. */
int ferry__program_lay(struct ferry__program *p);
/* Strides of a value by itself. */
void ferry__value_lay(struct ferry__value *v);
/* An item's operation as its values lie. 1, or 0: it cannot be said with strides. */
int ferry__item_lay(const struct ferry__program *p, const struct ferry__item *item,
                    ferry_op_desc *op, int64_t *in_start, int64_t *out_start);
/* Has values that are copied into a part of another one lie there. */
int ferry__program_slice(struct ferry__program *p);

/* ---- arena.c ---- */

/* Gives each value memory; those that never live together share. */
int ferry__program_plan(struct ferry__program *p);
/* The memory of the arena in which a value is, NULL if there is none. */
ferry_memory *ferry__arena_of(const ferry_net *net, const struct ferry__value *v);
/* Arenas hold nothing that outlives a forward pass: takes back what failed in the last one. */
int ferry__arenas_begin(ferry_net *net);
void ferry__arenas_end(ferry_net *net);

#endif

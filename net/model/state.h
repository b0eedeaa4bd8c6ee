/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A net as its files share it: blobs, layers, and the operations that layers emitted.
 */
#ifndef FERRY_NET_MODEL_STATE_H
#define FERRY_NET_MODEL_STATE_H

#include "net/model/names.h"
#include "common/arena.h"

#include "op/run.h"

#include <ferry/net.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A blob of the net. What is laid over or fused away has a shape and no contents. */
struct ferry__net_blob {
    const char *name;
    ferry_blob *blob;
    int maker;      /* the layer that makes it first */
    int alias;      /* the blob whose contents it shares, or −1 */
    bool input;     /* the top of an Input layer */
    bool output;    /* nobody consumes it */
    bool watched;   /* its shape may change without its maker's reshape: an input, or of data */
    bool backward;  /* its diff is wanted */
    bool kept;      /* the options name it */
    bool gone;      /* planned or fused away: it has a shape and no contents */
    int64_t *shape; /* what it had when its consumers were reshaped last */
    int rank;       /* −1: never */
};

/* A blob of parameters of a layer; `owner` may be an earlier layer, whose it is. */
struct ferry__net_param {
    ferry_blob *blob;
    const char *name; /* by which layers share it; "" if none */
    int owner, owner_index;
    double lr_mult, decay_mult;
    bool strict;
    bool unfilled;             /* until somebody reads it: what is loaded need not be filled */
    const ferry_proto *filler; /* NULL: `value` */
    double value;
    uint64_t drawn;      /* where its random numbers begin */
    bool written, saved; /* by forward passes; what it held before the latest one is in `before` */
    ferry_blob *before;  /* NULL: none yet */
};

/* A blob of a layer's own. */
struct ferry__net_scratch {
    ferry_blob *blob;
    bool keep;
};

/* An operation as a layer emitted it. */
struct ferry__net_op {
    ferry_op_desc op;
    ferry_layer_operand in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

struct ferry__net_ops {
    struct ferry__net_op *at;
    int count, room;
};

/* What measured passes took, and what was copied. */
struct ferry__net_spent {
    double ms, flops;
    uint64_t moved;
};

struct ferry_layer {
    ferry_net *net;
    int index;
    const ferry_layer_type *type;
    const ferry_proto *message;
    const char *name;
    void *state;
    bool set_up; /* setup was called: destroy has to be */
    int n_bottoms, n_tops;
    int *bottoms, *tops; /* indices of the net's blobs */
    int *alias;          /* bottoms that tops share, or −1 */
    double *loss_weights;
    double early_loss; /* this pass's loss of the tops that a later layer overwrites */
    bool *propagate;
    struct ferry__net_param *params;
    int n_params, room_params;
    struct ferry__net_scratch *scratch;
    int n_scratch;
    struct ferry__net_ops forward, backward;
    bool needs_backward;
    bool forced;         /* all of its parameters' diffs are wanted: force_backward */
    const char *refused; /* why a diff that is wanted cannot be had; NULL: it can, or none is */
    uint64_t prepared;   /* the sum of its parameters' versions when it prepared; 0: it has to */
    bool alone;          /* no segment takes its operations: one with them did not compile */
    bool fresh;          /* reshape has to be called whatever the bottoms' shapes */
    ferry_device *device;
    struct ferry__net_spent spent[2]; /* of the measured passes forward, backward */
};

struct ferry__program;
struct ferry__fold;

/* Sets of shapes for which a net is kept prepared. */
#define FERRY__NET_KEPT 8

/* Layers that follow one another; shapes within are known before the first of them runs. */
struct ferry__stage {
    int first, last;
    struct ferry__program *kept[FERRY__NET_KEPT];
    struct ferry__program *now; /* NULL: to be chosen */
};

/* Where contents lie that one device's operations hand on (NULL: the host's), or a part of that. */
struct ferry__arena {
    ferry_device *device;
    uint64_t part; /* 0, 1, … where a block has a largest size */
    ferry_memory *memory;
};

/* The most runs and memories that go under one event. */
#define FERRY__NET_RUNS 64
#define FERRY__NET_USES 256

struct ferry_net {
    ferry_device *device;
    ferry_proto *proto; /* upgraded, as it was read */
    struct ferry__mem_arena arena;
    char *name;
    char *writes_to; /* the real path of the folder in which layers may write; NULL: nowhere */
    ferry_phase phase;
    char *segments;  /* the folder of compiled segments; NULL: they are not saved */
    bool measured;                   /* each layer is waited for, and counted */
    bool debug;                      /* each layer's means are said: debug_info */
    uint64_t passes[2];              /* forward, backward */
    bool backward;                   /* its layers will be run backward */
    bool keep_all, plan, fuse, only; /* as the options and the phase have it */
    struct ferry__place *place;      /* NULL: everything on the device */
    uint64_t seed, drawn;            /* of random numbers: the key, and how many were used */
    int rank, ranks;                 /* of the nets that are trained together */
    int (*on_layer)(void *arg, int layer); /* ferry__training_on_layer; NULL: none */
    void *on_layer_arg;
    struct ferry__net_blob *blobs;
    int n_blobs;
    ferry_layer *layers;
    int n_layers;
    struct ferry__names blob_names, layer_names; /* the first one of each name */
    int *watched, n_watched;                     /* blobs whose shape may change by itself */
    int *inputs, *outputs, n_inputs, n_outputs;
    struct ferry__stage *stages;
    int stage_count;
    struct ferry__fold *folds;
    struct ferry__arena *arenas;
    int n_arenas;
    uint64_t clock;             /* counts choices of programs */
    ferry_net_load_line *lines; /* of the latest load */
    ferry_net_load_report report;
    struct ferry__run *runs; /* FERRY__NET_RUNS of them: what is about to be submitted */
    ferry_memory_use *uses;  /* FERRY__NET_USES */
    pthread_mutex_t filling; /* nets of several threads may take this one's parameters at once */
    bool unfilled;           /* some parameters may be; of `filling` */
    bool writes;             /* its forward passes write parameters */
};

/* ---- layer.c ---- */

/* The blob that an operand names. NULL: there is none. */
ferry_blob *ferry__layer_blob(const ferry_layer *layer, const ferry_layer_operand *operand);

/* Whether a later layer in place writes the memory of a top. */
bool ferry__layer_top_is_overwritten(const ferry_layer *layer, int top);

/* Forgets the operations that reshape emitted; prepared ones stay in the cache. */
void ferry__layer_forget(ferry_layer *layer);

/* An error of `layer`, around what was recorded. */
int ferry__layer_failed(const ferry_layer *layer, int err);

/* The same of setup or reshape: with the shapes of its bottoms and blobs, which it may be about. */
int ferry__layer_misfit(const ferry_layer *layer, int err);

/* ---- stages.c ---- */

/* Cuts the net into stages. FERRY_ENOMEM. */
int ferry__stages_make(ferry_net *net);
/* The stage of a layer; NULL: there are none yet. */
struct ferry__stage *ferry__stage_of(const ferry_net *net, int layer);
/* Has the stage of a layer choose again. */
void ferry__stage_spoil(ferry_net *net, int layer);

/* ---- shapes.c ---- */

/* Reshapes what has to be of layers first … last. */
int ferry__net_reshape(ferry_net *net, int first, int last);

/* Whether the inputs have the shapes that the latest reshape saw. */
bool ferry__net_is_shaped(const ferry_net *net);

/* ---- net.c ---- */

/* A blob's index by its name; −1: there is none. */
int ferry__net_find_blob(const ferry_net *net, const char *name);

/* A layer's index by its name; −1: there is none. */
int ferry__net_find_layer(const ferry_net *net, const char *name);

/* The blob whose contents a blob has: itself, or the last of its aliases. */
static inline int ferry__net_root(const ferry_net *net, int blob)
{
    while (net->blobs[blob].alias >= 0)
        blob = net->blobs[blob].alias;
    return blob;
}

/* ---- writes.c ---- */

/* Lets layers write in a folder; NULL: nowhere. FERRY_EIO where it is not a directory. */
int ferry__net_allow_write(ferry_net *net, const char *folder);

/* ---- build.c ---- */

struct ferry__graph;

/* Layers, blobs, setup, the first reshape, and Caffe's lines about them. */
int ferry__net_build(ferry_net *net, const struct ferry__graph *graph);

/* ---- needs.c ---- */

/* Who needs backward, in Caffe's words; FERRY_EFORMAT for a propagate_down that does not fit. */
int ferry__net_needs(ferry_net *net);

/*
 * Goes on with a number that is another whenever the contents of one of the blobs may be: by which
 * memory it has, and how often that was written. NULL is no blob.
 */
static inline uint64_t ferry__contents(uint64_t so_far, const ferry_blob *b)
{
    const ferry_memory *m = b ? ferry_blob_data_memory(b) : NULL;
    uint64_t n = (so_far ^ (uintptr_t)m) * UINT64_C(0x9e3779b97f4a7c15);

    n = (n ^ (n >> 29) ^ ferry_memory_version(m)) * UINT64_C(0x9e3779b97f4a7c15);
    return n ^ (n >> 32);
}

/* params.c: fills parameters that were neither filled nor loaded yet. */
int ferry__params_fill(ferry_net *net);

/* params.c: what `param` messages say of the blob that was just declared; shares it by name. */
int ferry__param_settle(ferry_layer *layer, int index);

/* ---- fill.c ---- */

/* How a blob of parameters is filled; random numbers are those of the seed from `offset` on. */
struct ferry__filling {
    const ferry_proto *filler; /* a FillerParameter */
    uint64_t seed, offset;
    const char *what; /* names the blob in messages */
};

int ferry__fill(const struct ferry__filling *f, ferry_blob *b);

#endif

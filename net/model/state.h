/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures of a net: blobs, layers, and the operations that layers emitted. */
#ifndef FERRY_NET_MODEL_STATE_H
#define FERRY_NET_MODEL_STATE_H

#include "net/model/names.h"
#include "common/arena.h"

#include <ferry/net.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A blob of the net. A blob that was planned or fused away has a shape and no contents. */
struct ferry__net_blob {
    const char *name;
    ferry_blob *blob;
    int producer;   /* the index of the first layer that produces it */
    int alias;      /* the blob whose contents it shares, or −1 */
    int in_place;   /* the last layer in place that writes the contents that it owns; −1: none */
    bool input;     /* it is a top of an Input layer */
    bool output;    /* no layer consumes it */
    bool watched;   /* its shape may change without a reshape of its producer: an input, or
                     * data-dependent */
    bool backward;  /* its diff is needed */
    bool kept;      /* named in the options */
    bool gone;      /* the range of its contents is known; for blobs with an alias, see ranges.h */
    bool has_range; /* the range comes from a file of weights */
    bool of_file;   /* a file of weights had the range */
    float least, most;
    int64_t *shape; /* its shape when its consumers were last reshaped */
    int rank;       /* −1: the consumers were never reshaped */
};

/* Values as their file has them, narrower than F32 (narrow.h). */
struct ferry__narrow {
    ferry_blob *values;     /* F16, BF16, or I8 with magnitudes; NULL: none */
    ferry_blob *magnitudes; /* F32, one for each index of axis 0 (common/rows.h), or NULL */
};

/* A parameter of a layer; `owner` is an earlier layer if the parameter is shared. */
struct ferry__net_param {
    ferry_blob *blob;
    const char *name; /* the name by which layers share it; "" if none */
    int owner, owner_index;
    double lr_mult, decay_mult;
    bool strict;
    bool shared;               /* another layer, or parameter, shares it */
    bool unfilled;             /* it is filled at the first access: a parameter that is loaded
                                * need not be filled */
    const ferry_proto *filler; /* NULL: constant `value` */
    double value;
    uint64_t drawn;      /* the position of its random numbers in the sequence */
    bool written, saved; /* written by forward passes; `before` has the contents from before the
                          * latest one */
    ferry_blob *before;  /* NULL: not allocated yet */
    struct ferry__narrow narrow; /* its values as their file has them, if they stay so */
    uint64_t narrow_version;     /* the version of `blob` that they belong to */
};

/* A scratch blob of a layer. */
struct ferry__net_scratch {
    ferry_blob *blob;
    bool keep;
};

struct ferry__net_op; /* emitted.h */

/* The operations that a layer emitted for a pass. */
struct ferry__net_ops {
    struct ferry__net_op *at;
    int count, room;
};

/* Time and work of measured passes, and bytes copied in them. */
struct ferry__net_spent {
    double ms, device_ms, flops, accessed;
    uint64_t moved;
};

struct ferry_layer {
    ferry_net *net;
    int index;
    const ferry_layer_type *type;
    const ferry_proto *message;
    const char *name;
    int next_same; /* another layer with its name; −1: the last of the list, or no other. The list
                    * begins at the first of them */
    void *state;
    bool set_up; /* setup was called, so that destroy must be called */
    int n_bottoms, n_tops;
    int *bottoms, *tops; /* indices of the net's blobs */
    int *alias;          /* for each top: the bottom that it shares, or −1 */
    double *loss_weights;
    double early_loss; /* the loss in this pass of the tops that a later layer overwrites */
    bool *propagate;
    struct ferry__net_param *params;
    int n_params, room_params;
    struct ferry__net_scratch *scratch;
    int n_scratch;
    struct ferry__net_ops forward, backward;
    bool needs_backward;
    bool forced;         /* force_backward: the diffs of all its parameters are needed */
    const char *refused; /* the reason why a needed diff cannot be computed; NULL: there is no such
                          * diff */
    uint64_t prepared;   /* the sum of its parameters' versions when prepare last ran; 0: prepare
                          * must run */
    bool alone;          /* segments exclude this layer, because one with its operations did not
                          * compile */
    bool fresh;          /* reshape must run even if the bottoms' shapes are unchanged */
    bool float_only;     /* the layer is computed in F32 where others are quantized */
    ferry_device *device;
    struct ferry__net_spent spent[2]; /* of measured passes: forward and backward */
    struct ferry__fold *folds;        /* of its operations, for all programs */
    struct ferry__integers *integers; /* the constants of its products with integers */
};

struct ferry__program;
struct ferry__fold;
struct ferry__integers;
struct ferry__fake;
struct ferry__run;

/* The number of sets of shapes for which a net keeps programs. */
#define FERRY__NET_KEPT 8

/* A stage: consecutive layers whose shapes are all known before the first of them runs. */
struct ferry__stage {
    int first, last;
    struct ferry__program *kept[FERRY__NET_KEPT];
    struct ferry__program *now; /* the selected program; NULL: none */
};

/*
 * An arena: memory for the values of one device's operations (device NULL: the host's), or one
 * block of it.
 */
struct ferry__arena {
    ferry_device *device;
    uint64_t part; /* the number of the block, if the size of blocks is limited */
    ferry_memory *memory;
};

/* The maximum number of runs and memories that share one event. */
#define FERRY__NET_RUNS 64
#define FERRY__NET_USES 256

struct ferry_net {
    ferry_device *device;
    ferry_proto *proto; /* the net's text, upgraded */
    struct ferry__mem_arena arena;
    char *name;
    char *writes_to; /* the real path of the folder that layers may write to; NULL: none */
    ferry_phase phase;
    char *segments;                  /* the folder of compiled segments; NULL: not saved */
    bool measured;                   /* each layer runs and is measured separately */
    bool on_device;                  /* `measured` uses the device's clock */
    bool traced;                     /* each layer is a slice of the trace */
    bool debug;                      /* debug_info: the mean of each layer is logged */
    uint64_t passes[2];              /* number of forward and backward passes */
    bool backward;                   /* the net can run backward */
    bool in_parts;                   /* a pass has run a part of it: in-place results are visible */
    bool keep_all, plan, fuse, only; /* from the options and the phase */
    bool plan_training;              /* forward and backward share planned memory */
    bool recompute;                  /* with plan_training: backward computes cheap values again */
    bool forwarded;                  /* with plan_training: the arenas have the results of a forward
                                      * pass that backward has not used */
    bool reread;                     /* weights may be read from their file again */
    bool lazy;                       /* parameters may have origins (op/origin.h) */
    bool renew;                      /* a parameter got a narrow form: programs are made anew */
    bool starved;                    /* a pass ran out of memory: the next one shrinks blobs */
    bool shaping;                    /* a layer's reshape runs, which reads no values */
    bool quantize;                   /* programs use the ranges of blobs */
    uint32_t math;                   /* FERRY_MATH_… of convolutions and inner products */
    struct ferry__fake *fake;        /* the classes of fake quantisation (fake.h); NULL: none */
    bool outdated;                   /* the ranges changed, so that existing programs do not fit */
    struct ferry__place *place;      /* NULL: all layers run on the net's device */
    uint64_t seed, drawn;            /* the seed of random numbers, and how many were drawn */
    int rank, ranks;                 /* this net's rank among the nets that are trained together */
    int (*on_layer)(void *arg, int layer); /* ferry__training_on_layer; NULL: none */
    void *on_layer_arg;
    struct ferry__net_blob *blobs;
    int n_blobs;
    ferry_layer *layers;
    int n_layers;
    int in_place; /* the number of layers for which the blobs' `in_place` is known; 0: unknown */
    struct ferry__names blob_names, layer_names; /* the first blob or layer of each name */
    struct ferry__names param_names;             /* the layer of the first parameter of each name */
    int *watched, n_watched;                     /* blobs whose shape may change without a
                                                  * reshape */
    int *inputs, *outputs, n_inputs, n_outputs;
    struct ferry__stage *stages;
    int stage_count;
    struct ferry__arena *arenas;
    int n_arenas;
    uint64_t clock;             /* counts selections of programs */
    ferry_net_load_line *lines; /* the report of the latest load */
    ferry_net_load_report report;
    struct ferry__run *runs; /* FERRY__NET_RUNS of them: the runs to be submitted next */
    ferry_memory_use *uses;  /* FERRY__NET_USES of them */
    pthread_mutex_t filling; /* guards the filling of parameters: nets of several threads may access
                              * them at once */
    bool unfilled;           /* some parameters are not filled; protected by `filling` */
    bool writes;             /* its forward passes write parameters */
};

/* ---- layer.c ---- */

/* The blob of an operand; NULL if it does not exist. */
ferry_blob *ferry__layer_blob(const ferry_layer *layer, const ferry_layer_operand *operand);

/* Whether a later layer in place writes the memory of a top. */
bool ferry__layer_top_is_overwritten(const ferry_layer *layer, int top);

/* Drops the operations that reshape emitted; prepared ones stay in the cache. */
void ferry__layer_forget(ferry_layer *layer);

/* Adds the layer's name to the recorded error. */
int ferry__layer_failed(const ferry_layer *layer, int err);

/*
 * As ferry__layer_failed, for setup or reshape: also adds the shapes of bottoms and parameters,
 * which may be the cause.
 */
int ferry__layer_misfit(const ferry_layer *layer, int err);

/* ---- stages.c ---- */

/* Splits the net into stages. FERRY_ENOMEM. */
int ferry__stages_make(ferry_net *net);
/* The stage of a layer; NULL: stages do not exist yet. */
struct ferry__stage *ferry__stage_of(const ferry_net *net, int layer);
/* Invalidates the selected program of a layer's stage. */
void ferry__stage_spoil(ferry_net *net, int layer);

/* ---- shapes.c ---- */

/* Reshapes the layers among first … last that require it. */
int ferry__net_reshape(ferry_net *net, int first, int last);

/*
 * Gives the blobs that layers first … last compute, and their scratch, memory for the present
 * shapes alone where earlier shapes have left them more. Contents are lost, but not those of
 * scratch that is kept from one pass to the next.
 */
int ferry__net_shrink(ferry_net *net, int first, int last);

/* Whether the inputs still have the shapes of the latest reshape. */
bool ferry__net_is_shaped(const ferry_net *net);

/* ---- net.c ---- */

/* A blob's index by its name; −1 if there is none. */
int ferry__net_find_blob(const ferry_net *net, const char *name);

/* A layer's index by its name; −1 if there is none. */
int ferry__net_find_layer(const ferry_net *net, const char *name);

/* The blob that owns a blob's contents: the blob itself, or the last of its aliases. */
static inline int ferry__net_root(const ferry_net *net, int blob)
{
    while (net->blobs[blob].alias >= 0)
        blob = net->blobs[blob].alias;
    return blob;
}

/* ---- writes.c ---- */

/* Sets the folder that layers may write to; NULL: none. FERRY_EIO if it is not a directory. */
int ferry__net_allow_write(ferry_net *net, const char *folder);

/* ---- build.c ---- */

struct ferry__graph;

/* Creates layers and blobs, runs setup and the first reshape, and logs Caffe's lines about them. */
int ferry__net_build(ferry_net *net, const struct ferry__graph *graph);

/* ---- needs.c ---- */

/*
 * Decides which layers run backward and logs it in Caffe's words; FERRY_EFORMAT for an invalid
 * propagate_down.
 */
int ferry__net_needs(ferry_net *net);

/*
 * Adds a blob to a version number. The number changes when the contents of one of its blobs may
 * have changed: it combines the identity of each memory and its write count. NULL is ignored.
 */
static inline uint64_t ferry__contents(uint64_t so_far, const ferry_blob *b)
{
    const ferry_memory *m = b ? ferry_blob_data_memory(b) : NULL;
    uint64_t n = (so_far ^ (uintptr_t)m) * UINT64_C(0x9e3779b97f4a7c15);

    n = (n ^ (n >> 29) ^ ferry_memory_version(m)) * UINT64_C(0x9e3779b97f4a7c15);
    return n ^ (n >> 32);
}

/* params.c: fills parameters that were not yet filled or loaded. */
int ferry__params_fill(ferry_net *net);

/*
 * params.c: applies the `param` messages to the parameter that was just declared, and shares it by
 * name.
 */
int ferry__param_apply(ferry_layer *layer, int index);

/* ---- fill.c ---- */

/* How a parameter is filled; random numbers come from the seed's sequence, starting at `offset`. */
struct ferry__filling {
    const ferry_proto *filler; /* a FillerParameter */
    uint64_t seed, offset;
    const char *what; /* the blob's name in messages */
};

int ferry__fill(const struct ferry__filling *f, ferry_blob *b);

#endif

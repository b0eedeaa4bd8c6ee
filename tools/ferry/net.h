/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_NET_H
#define FERRY_TOOL_NET_H

#include "tool.h"

#include <ferry/io.h>
#include "pictures.h"

#include <ferry/net.h>

/*
 * Functions that the commands for nets share: the options for opening a net, loading files into its
 * blobs, and its outputs.
 */

/* A list of strings, from an option that may be given more than once. */
struct net_list {
    const char **at;
    size_t count;
};

/*
 * Takes every "NAME VALUE" and "NAME=VALUE" out of argv and stores the values in *out, which the
 * caller frees; -1, after reporting it, if a value is missing or memory is short.
 */
int net_take_all(const struct tool_command *self, const char *name, int *argc, char **argv,
                 struct net_list *out);

/* The options for opening a net. */
struct net_request {
    const struct tool_command *self;
    const char *prototxt, *weights;    /* weights: files separated by commas, or NULL */
    const char *text;                  /* the net's text instead of the file's, or NULL */
    const char *phase, *level, *place; /* NULL: not given */
    const char *keep;                  /* blobs to keep, separated by commas, or "all"; or NULL */
    const char *max_bytes;             /* the limit for decoding, or NULL */
    const char *allow_write;           /* the folder that layers may write to, or NULL */
    const char *segments;              /* the folder of compiled segments, or NULL */
    const char *layers;                /* a shared object of layer types, or NULL */
    bool weights_partial;              /* accepts weights without a layer of this net */
    bool no_fuse, no_plan, backward, plan_training, recompute;
    bool reread;   /* does not store weights beside their packed forms */
    bool in_float; /* computes in F32 in spite of known ranges */
    const char *precision; /* f32, bf16, or NULL */
    struct net_list stages;
    const struct net_list *inputs; /* its inputs, which may replace data layers; or NULL */
};

/* Sets *out by --precision, unless `given` is NULL. Returns an exit status. */
int net_precision(const struct tool_command *self, const char *given, ferry_precision *out);
/*
 * Calls ferry_io_set_max_bytes with the value of --max-bytes; NULL: not given. Returns an exit
 * status.
 */
int net_max_bytes(const struct tool_command *self, const char *text);

/* Opens the runtime, the selected device, and the net with its weights. Returns an exit status. */
int net_open(const struct net_request *r, ferry_runtime **out_rt, ferry_net **out);

/* Opens a net on a device without loading WEIGHTS. Returns an exit status. */
int net_open_on(const struct net_request *r, ferry_device *dev, ferry_net **out);

/*
 * The input of that name, borrowed from the net. NULL, after an error of `option` ("--input"): the
 * net lacks the name, or a layer computes it.
 */
ferry_blob *net_input(ferry_net *net, const char *name, const char *option);

/*
 * Loads files into inputs: "NAME=FILE", an array or a picture, or a file whose arrays have the
 * inputs' names.
 */
int net_feed(ferry_net *net, const struct net_list *inputs, const struct net_pictures *pictures);

/* Loads diffs of blobs, whose shapes must match: "NAME=FILE", or a file of arrays. */
int net_feed_diffs(ferry_net *net, const struct net_list *diffs);

/* Reshapes an input to that many items; its other axes are unchanged. Returns a ferry error. */
int net_set_items(ferry_blob *input, int64_t items);

/* Whether every input of the net has values; otherwise reports the inputs. */
int net_is_fed(ferry_net *net);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_NET_H
#define FERRY_TOOL_NET_H

#include "tool.h"

#include <ferry/io.h>
#include "pictures.h"

#include <ferry/net.h>

/*
 * What the commands about nets share: options that say how a net is opened, files that go into its
 * blobs, and its outputs.
 */

/* A list of strings, of options that may be given more than once. */
struct net_list {
    const char **at;
    size_t count;
};

/*
 * Takes every "NAME VALUE" and "NAME=VALUE" out of argv and puts the values into *out, which the caller
 * frees; -1 where a value is missing or there is no memory, which has been said.
 */
int net_take_all(const struct tool_command *self, const char *name, int *argc, char **argv,
                 struct net_list *out);

/* How a net is opened, from the command line. */
struct net_request {
    const struct tool_command *self;
    const char *prototxt, *weights;    /* weights: files with commas between them, or NULL */
    const char *phase, *level, *place; /* NULL: not given */
    const char *keep;                  /* blobs to be read, with commas between them, or "all" */
    const char *max_bytes;             /* of what is decoded, or NULL */
    const char *allow_write;           /* the folder in which layers may write, or NULL */
    const char *layers;                /* a shared object of layer types, or NULL */
    bool weights_partial; /* weights of which nothing is this net's are no error */
    bool no_fuse, no_plan, backward;
    struct net_list stages;
    const struct net_list
        *inputs; /* what goes into it, or NULL: data layers may have to give way */
};

/* Sets ferry_io_set_max_bytes from the text of --max-bytes, NULL: not given. An exit status. */
int net_max_bytes(const struct tool_command *self, const char *text);

/* Opens the runtime, the selected device, and the net with its weights. An exit status. */
int net_open(const struct net_request *r, ferry_runtime **out_rt, ferry_net **out);

/* The input of that name, borrowed from the net; NULL, which has been said, where a layer computes it. */
ferry_blob *net_input(ferry_net *net, const char *name);

/*
 * Puts files into inputs: "NAME=FILE", an array or a picture, or a file whose arrays are named after
 * them.
 */
int net_feed(ferry_net *net, const struct net_list *inputs, const struct net_pictures *pictures);

/* The same for diffs, of blobs that have their shapes: "NAME=FILE", or a file of arrays. */
int net_feed_diffs(ferry_net *net, const struct net_list *diffs);

/* Whether every input of the net has been fed; else says which there are. */
int net_is_fed(ferry_net *net);

#endif

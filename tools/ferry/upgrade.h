/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_UPGRADE_H
#define FERRY_TOOL_UPGRADE_H

#include "net.h"
#include "target.h"

#include <ferry/proto.h>

/* Applies the options of `ferry upgrade` that change a net in the current form. */

/* The text of a message, which the caller frees. Returns a ferry error. */
int upgrade_print(const ferry_proto *p, char **out);

/*
 * Sets the shapes of inputs: "N,C,H,W" for the only one, or "NAME=N,C,H,W". Returns an exit status.
 */
int upgrade_dims(const struct tool_command *self, ferry_proto *net, const struct net_list *dims);

/*
 * Cuts a net at a layer: `first` and `rest` are two trees of the net of the file `path`. `first`
 * keeps the layers before it; `rest` keeps the others and gets Input layers with the shapes that
 * the blobs have in phase TEST. Warns of blobs of the second part that are not outputs of the
 * first. Returns an exit status.
 */
int upgrade_split(const struct tool_command *self, const char *path, const char *layer,
                  ferry_proto *first, ferry_proto *rest);

/* ---- folding -------------------------------------------------------------------------------- */

/* A layer into which others are folded: the affine function of its output channels. */
struct upgrade_folded;

/* The weights of a net, and the file of its folded weights. */
struct upgrade_fold {
    const char *weights, *out; /* the paths of the files */
    ferry_io *io;
    struct upgrade_folded *into; /* the layers that absorb others */
    char **gone;                 /* names of the layers that are removed */
    size_t into_count, gone_count;
    struct target target;
    bool open; /* the target is open */
};

/*
 * Folds the layers of the net into those before them: changes the net and computes the factors from
 * the weights. Returns an exit status.
 */
int upgrade_fold_net(struct upgrade_fold *f, ferry_proto *net);

/*
 * Writes the folded weights to a temporary file; with `net`, a caffemodel of that net. Returns an
 * exit status.
 */
int upgrade_fold_write(const struct tool_command *self, struct upgrade_fold *f,
                       const ferry_proto *net);

/*
 * With `status` TOOL_OK, renames the weights to their path; otherwise removes them. Frees its
 * resources. Returns `status`, or TOOL_FAILURE after reporting its own error.
 */
int upgrade_fold_close(struct upgrade_fold *f, int status);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_UPGRADE_H
#define FERRY_TOOL_UPGRADE_H

#include "net.h"

#include <ferry/proto.h>

/* The options of `ferry upgrade` that change a net in the current form. */

/* The text of a message, which the caller frees. Returns a ferry error. */
int upgrade_print(const ferry_proto *p, char **out);

/* Sets the shapes of inputs: "N,C,H,W" of the only one, or "NAME=N,C,H,W". An exit status. */
int upgrade_dims(const struct tool_command *self, ferry_proto *net, const struct net_list *dims);

/*
 * Cuts a net at a layer: `first` and `rest` are two trees of the net of the file `path`. `first`
 * keeps the layers before it; `rest` keeps the others and gets Input layers with the shapes that
 * the blobs have in phase TEST. Warns of blobs of the second part that are not outputs of the
 * first. An exit status.
 */
int upgrade_split(const struct tool_command *self, const char *path, const char *layer,
                  ferry_proto *first, ferry_proto *rest);

#endif

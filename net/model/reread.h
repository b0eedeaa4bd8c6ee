/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weights that are not stored beside their packed forms, but read again from their file
 * (`reread_weights` of ferry_net_options).
 */
#ifndef FERRY_NET_MODEL_REREAD_H
#define FERRY_NET_MODEL_REREAD_H

#include "net/model/state.h"

#include <ferry/io.h>

struct ferry__reread;

/*
 * Whether the first parameter of a layer can be read again from an entry of an open file. Only
 * weights of products can: code that folds other parameters reads them without their origin.
 */
bool ferry__reread_fits(const ferry_net *net, const ferry_io *io, const ferry_io_entry *entry,
                        const ferry_layer *layer);

/* Shares an open file among weights. The caller is its first user. NULL: no memory. */
struct ferry__reread *ferry__reread_open(ferry_io *io, const char *path);
/* Removes a user; the last one closes the file. NULL is accepted. */
void ferry__reread_leave(struct ferry__reread *file);

/*
 * Gives a parameter the values of an entry, which are read when they are needed. FERRY_ENOMEM, the
 * errors of ferry_memory_adopt; the parameter is then as before.
 */
int ferry__reread_bind(struct ferry__reread *file, const ferry_io_entry *entry, ferry_blob *blob);

/* Reads the parameters of a net that are not stored, which then stay. FERRY_EIO, FERRY_ENOMEM. */
int ferry__reread_keep(const ferry_net *net);

#endif

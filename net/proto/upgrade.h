/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of ferry_proto_upgrade; long ones have a file of their own. Each takes a NetParameter
 * and returns 0 or an error; *compatible becomes false if a part could not be converted, which was
 * noted. The log lines are Caffe's.
 */
#ifndef FERRY_NET_PROTO_UPGRADE_H
#define FERRY_NET_PROTO_UPGRADE_H

#include "net/proto/tree.h"

bool ferry__upgrade_needs_v0(const ferry_proto *net);
/* Folds padding layers into the layers after them; none remain. */
int ferry__upgrade_padding(ferry_proto *net);
int ferry__upgrade_v0(ferry_proto *net, bool *compatible);

bool ferry__upgrade_needs_v1(const ferry_proto *net);
int ferry__upgrade_v1(ferry_proto *net);

/* The layer types of V1: pairs of V1's name and today's name; the first is "NONE". */
extern const char *const ferry__upgrade_v1_types[][2];
extern const size_t ferry__upgrade_v1_type_count;

/* The fields of a V1 layer whose values belong to the params of a layer, and their names there. */
#define FERRY__UPGRADE_SPREADS 4
extern const char *const ferry__upgrade_spreads[FERRY__UPGRADE_SPREADS][2];

bool ferry__upgrade_needs_data(const ferry_proto *net);
int ferry__upgrade_data(ferry_proto *net);

/* Checks the argument of a function of proto_edit.h: a net in the current form. */
int ferry__edit_check(const ferry_proto *net, const char *function);

/* Whether a layer of the net, of any phase, has that value of `field`: "name" or "top". */
bool ferry__edit_has_layer(const ferry_proto *net, const char *field, const char *value);

/*
 * Removes the ranges of blobs and the names of F32 layers that the net no longer has. FERRY_ENOMEM:
 * all are still there.
 */
int ferry__edit_prune(ferry_proto *net);

/* Whether the layer is an Input layer. */
bool ferry__edit_is_input(const ferry_proto *layer);

#endif

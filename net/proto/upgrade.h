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

bool ferry__upgrade_needs_data(const ferry_proto *net);
int ferry__upgrade_data(ferry_proto *net);

#endif

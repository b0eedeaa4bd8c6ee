/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of ferry_proto_upgrade, one a file where they are long. Each takes a NetParameter and
 * returns 0 or an error; *compatible becomes false where something could not be brought over, which
 * has been noted. Lines are Caffe's.
 */
#ifndef FERRY_NET_PROTO_UPGRADE_H
#define FERRY_NET_PROTO_UPGRADE_H

#include "net/proto/tree.h"

bool ferry__upgrade_needs_v0(const ferry_proto *net);
/* Padding layers alone; none is left. */
int ferry__upgrade_padding(ferry_proto *net);
int ferry__upgrade_v0(ferry_proto *net, bool *compatible);

bool ferry__upgrade_needs_v1(const ferry_proto *net);
int ferry__upgrade_v1(ferry_proto *net);

bool ferry__upgrade_needs_data(const ferry_proto *net);
int ferry__upgrade_data(ferry_proto *net);

#endif

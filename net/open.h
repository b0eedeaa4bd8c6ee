/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a net for a solver. */
#ifndef FERRY_NET_OPEN_H
#define FERRY_NET_OPEN_H

#include "net/model/state.h"

/* As ferry_net_open, in the text's state with the NetState `over` over it; NULL: without one. */
int ferry__net_open(ferry_device *dev, const char *prototxt, const ferry_net_options *options,
                    const ferry_proto *over, ferry_net **out);

#endif

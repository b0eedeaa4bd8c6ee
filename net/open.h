/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a net for the solver. */
#ifndef FERRY_NET_OPEN_H
#define FERRY_NET_OPEN_H

#include <ferry/net.h>

/* As ferry_net_open; the fields of the NetState `over` (may be NULL) replace those of the text. */
int ferry__net_open(ferry_device *dev, const char *prototxt, const ferry_net_options *options,
                    const ferry_proto *over, ferry_net **out);

#endif

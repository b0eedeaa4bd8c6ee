/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a net for the solver, and the checks of options that both have. */
#ifndef FERRY_NET_OPEN_H
#define FERRY_NET_OPEN_H

#include <ferry/net.h>

/* As ferry_net_open; the fields of the NetState `over` (may be NULL) replace those of the text. */
int ferry__net_open(ferry_device *dev, const char *prototxt, const ferry_net_options *options,
                    const ferry_proto *over, ferry_net **out);

/* FERRY_EINVAL if `strings` is NULL with a count, or contains NULL; the message names both. */
int ferry__check_strings(const char *function, const char *name, const char *const *strings,
                         size_t count);

/* FERRY_EINVAL, with both sizes, if the struct_size of a function's options is below `least`. */
int ferry__check_size(const char *function, size_t size, size_t least);

#endif

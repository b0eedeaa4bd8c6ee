/* SPDX-License-Identifier: BSD-2-Clause */
/* The device that a layer runs on, by pattern: "conv*=opencl:0, type:Pooling=cpu, *=sim:1". */
#ifndef FERRY_NET_MODEL_PLACE_H
#define FERRY_NET_MODEL_PLACE_H

#include <ferry/runtime.h>

struct ferry__place;

/*
 * Parses a placement and opens the devices that it names, in dev's runtime, and keeps them open.
 * FERRY_EINVAL with the invalid entry; the errors of opening a device.
 */
int ferry__place_open(ferry_device *dev, const char *text, struct ferry__place **out);
/* NULL is accepted. */
void ferry__place_close(struct ferry__place *place);

/* The device of a layer: that of the first matching entry; NULL if none matches. */
ferry_device *ferry__place_of(const struct ferry__place *place, const char *name, const char *type);

/* Warns of entries that were not the first match of any layer. NULL is accepted. */
void ferry__place_warn(const struct ferry__place *place);

#endif

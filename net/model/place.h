/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which device a layer runs on: "conv*=opencl:0, type:Pooling=cpu, *=sim:1".
 */
#ifndef FERRY_NET_MODEL_PLACE_H
#define FERRY_NET_MODEL_PLACE_H

#include <ferry/runtime.h>

struct ferry__place;

/*
 * Reads a placement and opens the devices that it names, of dev's runtime, which it keeps open. FERRY_EINVAL with the entry that is wrong,
 * what opening a device fails with.
 */
int ferry__place_open(ferry_device *dev, const char *text, struct ferry__place **out);
/* NULL is accepted. */
void ferry__place_close(struct ferry__place *place);

/* The device of a layer: that of the first entry that matches, else NULL. */
ferry_device *ferry__place_of(const struct ferry__place *place, const char *name, const char *type);

/* Warns of entries that no layer was asked about matched first. NULL is accepted. */
void ferry__place_tell(const struct ferry__place *place);

#endif

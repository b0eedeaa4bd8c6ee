/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What both directions of DLPack need: its names for our element types and devices.
 */
#ifndef FERRY_IO_DLPACK_H
#define FERRY_IO_DLPACK_H

#include "dlpack_abi.h"

#include <ferry/blob.h>

/* The element type, of one lane. */
struct dl_dtype ferry__dl_dtype(ferry_dtype dtype);

/* Our dtype for it; FERRY_EUNSUPPORTED, in the name of `function`, where there is none. */
int ferry__dl_dtype_of(struct dl_dtype type, const char *function, ferry_dtype *out);

/* What DLPack calls a device of ours (NULL: the host); FERRY_EUNSUPPORTED where it has no name. */
int ferry__dl_device(ferry_device *dev, const char *function, struct dl_device *out);

#endif

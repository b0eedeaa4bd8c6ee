/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by both directions of DLPack: its names for ferry's element types and devices. */
#ifndef FERRY_IO_DLPACK_H
#define FERRY_IO_DLPACK_H

#include "dlpack_abi.h"

#include <ferry/blob.h>

/* The element type, with one lane. */
struct dl_dtype ferry__dl_dtype(ferry_dtype dtype);

/*
 * The ferry dtype of a DLPack type; FERRY_EUNSUPPORTED, with a message that begins with `function`,
 * if there is none.
 */
int ferry__dl_dtype_of(struct dl_dtype type, const char *function, ferry_dtype *out);

/* The DLPack device of a ferry device (NULL: the host); FERRY_EUNSUPPORTED if there is none. */
int ferry__dl_device(ferry_device *dev, const char *function, struct dl_device *out);

#endif

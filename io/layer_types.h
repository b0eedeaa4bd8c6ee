/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layer types of Caffe's former formats, by the names that it uses today.
 */
#ifndef FERRY_IO_LAYER_TYPES_H
#define FERRY_IO_LAYER_TYPES_H

#include <stdint.h>

/* V1LayerParameter.LayerType; "" for a value that is none. */
const char *ferry__layer_type_v1(uint64_t value);

/* V0LayerParameter.type ("conv"); the argument itself if it is none of them. */
const char *ferry__layer_type_v0(const char *type);

#endif

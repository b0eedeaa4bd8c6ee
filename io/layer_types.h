/* SPDX-License-Identifier: BSD-2-Clause */
/* Layer types of Caffe's old formats, converted to today's names. */
#ifndef FERRY_IO_LAYER_TYPES_H
#define FERRY_IO_LAYER_TYPES_H

#include <stdint.h>

/* The name of a V1LayerParameter.LayerType; "" for an invalid value. */
const char *ferry__layer_type_v1(uint64_t value);

/* The name of a V0LayerParameter.type ("conv"); the argument itself if it is unknown. */
const char *ferry__layer_type_v0(const char *type);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Detection of other programs' protobuf messages, which only their fields distinguish. */
#ifndef FERRY_IO_FOREIGN_PROTO_H
#define FERRY_IO_FOREIGN_PROTO_H

#include "file_map.h"

/* FERRY_EFORMAT for messages of ONNX, Core ML, TensorFlow and Caffe2; 0 for others. */
int ferry__foreign_by_fields(const struct ferry__io_file *file);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other programs' messages of protobuf, which have nothing but their fields to be known by.
 */
#ifndef FERRY_IO_FOREIGN_PROTO_H
#define FERRY_IO_FOREIGN_PROTO_H

#include "file_map.h"

/* FERRY_EFORMAT for ONNX's, Core ML's, TensorFlow's and Caffe2's; 0 if it is none of them. */
int ferry__foreign_by_fields(const struct ferry__io_file *file);

#endif

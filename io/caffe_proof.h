/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects Caffe's messages. The protobuf format does not name the message's type, and a few
 * arbitrary bytes are often a valid message, so that the fields decide.
 */
#ifndef FERRY_IO_CAFFE_PROOF_H
#define FERRY_IO_CAFFE_PROOF_H

#include "wire.h"

#include <ferry/io.h>

/*
 * Whether the message that `wire` is about to walk over has the fields that only this format has: a
 * net needs a layer with valid fields, a state a blob in its history, a vector or a BlobProto a
 * shape and values. Damage in later fields is reported when the file is read.
 */
bool ferry__caffe_is_sure(const struct ferry__wire *wire, ferry_io_format format);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a message is surely one of Caffe's: protobuf says of nobody whose it is, and a few bytes of
 * anything are a message of somebody's.
 */
#ifndef FERRY_IO_CAFFE_PROOF_H
#define FERRY_IO_CAFFE_PROOF_H

#include "wire.h"

#include <ferry/io.h>

/*
 * Whether what `wire` is about to walk over has what only that format has: a net a layer whose fields fit, a
 * state a blob in its history, a vector and a BlobProto a shape and values. Damage behind that is
 * the business of whoever reads it.
 */
bool ferry__caffe_is_sure(const struct ferry__wire *wire, ferry_io_format format);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io.h
 * All of libferryio: files of blobs (Caffe's, NumPy's, safetensors and HDF5 read and written,
 * PyTorch's read), BlobProto, and DLPack.
 */
#ifndef FERRY_IO_H
#define FERRY_IO_H

#include <ferry/blobproto.h>
#include <ferry/dlpack.h>
#include <ferry/io_file.h>
#include <ferry/io_reader.h>
#include <ferry/io_writer.h>

#endif

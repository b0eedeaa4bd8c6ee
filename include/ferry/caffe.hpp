/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file caffe.hpp
 * Caffe's own C++ names on ferry: caffe::Blob, SyncedMemory, Layer, Net, and Caffe's mode. C++11, headers alone; link
 * libferrynet, libferryio and libferry.
 *
 * A program that was written against Caffe's headers is compiled with another include path
 * (`pkg-config --cflags --libs ferrycaffe`), under which <caffe/caffe.hpp>, <caffe/blob.hpp> and the others
 * are these. A new one includes <ferry/caffe.hpp>.
 *
 * Where Caffe ends the process, a caffe::Error is thrown, with ferry's code and its line. The
 * object keeps its previous state, as with the C functions. CPU is the device "cpu"; GPU is the
 * device that ferry selects (FERRY_BACKEND, plugins.conf), CUDA's or another: results agree within
 * rounding.
 *
 * Threads: as of the C objects underneath (ferry/memory.h, ferry/net.h). The mode is the thread's own, as in
 * Caffe; a blob's shape is remembered when it is asked for, so that one blob's const functions, too, want one
 * thread at a time.
 *
 * Not here: protobuf's messages but BlobShape and BlobProto, layers written in C++ (see ferry/layer.h),
 * solvers (ferry/solver.h), nets of doubles, util/math_functions.hpp, and Boost: caffe::shared_ptr is std's.
 */
#ifndef FERRY_CAFFE_HPP
#define FERRY_CAFFE_HPP

#include <ferry/compat/caffe/caffe.hpp>

#endif

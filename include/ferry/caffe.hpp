/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file caffe.hpp
 * Caffe's own C++ surface on ferry: blobs, single layers and layers that a program writes, nets,
 * solvers, fillers, messages, and the functions of caffe/util. It requires C++11 and consists of
 * headers only; programs link libferrynet, libferryio and libferry.
 *
 * A program that was written against Caffe's headers is compiled with another include path
 * (`pkg-config --cflags --libs ferrycaffe`), under which <caffe/caffe.hpp>, <caffe/blob.hpp> and
 * the others are these. A new one includes <ferry/caffe.hpp>, and <ferry/compat/caffe/…> for what
 * that leaves out: the classes of single layer types (layers/), db.hpp, hdf5.hpp,
 * insert_splits.hpp, signal_handler.h.
 *
 * Macros of the program's build, the same for all of its files:
 *   FERRY_CAFFE_BOOST   caffe::shared_ptr and random distributions are Boost's, as in Caffe;
 *                       otherwise they are std's
 *   FERRY_CAFFE_GLOG    CHECK and LOG are glog's, and end the process; otherwise they are defined
 *                       here, and throw
 *   FERRY_CAFFE_PROTO   the header that protoc generated from the program's caffe.proto; without
 *                       this macro compat/caffe/messages.hpp looks for such a header, and otherwise
 *                       uses ferry's own classes of the same names and accessors, without protobuf
 *   USE_OPENCV, USE_HDF5, USE_LMDB, USE_LEVELDB, CPU_ONLY   as in Caffe
 *
 * Where Caffe ends the process, a caffe::Error is thrown, with ferry's code and its line. The
 * object keeps its previous state, as with the C functions. CPU is the device "cpu"; GPU is the
 * device that ferry selects (FERRY_BACKEND, plugins.conf), CUDA's or another: results agree within
 * rounding.
 *
 * Layers, nets and solvers compute in float. Those of double convert on the way in and out
 * (net.hpp, ferry_layer.hpp); blobs of double, and functions of caffe/util on doubles, are double.
 *
 * Random numbers begin with Caffe::set_random_seed, as in Caffe: two runs with one seed are equal.
 * Fillers, caffe_rng_… and DataTransformer use Caffe's own numbers (with FERRY_CAFFE_BOOST, those
 * of that version of Boost). Nets and layers do not: each draws a seed for its fillers and its
 * dropout.
 *
 * Threads: the rules are those of the C objects underneath (ferry/memory.h, ferry/net.h). Each
 * thread has its own mode, as in Caffe. A blob caches its shape when it is requested, so that even
 * const functions of one blob must be called by one thread at a time.
 *
 * These are missing: kernels (caffe_gpu_… beyond BLAS, CUDA's macros), NCCL, PythonLayer, the parts
 * of SGDSolver::ApplyUpdate as functions of their own (Normalize, Regularize, ComputeUpdateValue,
 * ClipGradients), and im2col as a function.
 */
#ifndef FERRY_CAFFE_HPP
#define FERRY_CAFFE_HPP

#include <ferry/compat/caffe/caffe.hpp>

#endif

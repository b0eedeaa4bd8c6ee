/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/parallel.hpp
 * ferry trains on several devices with functions of its own (ferry_comm of ferry/comm.h,
 * ferry/mpi.h); Caffe's class NCCL is not available. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_PARALLEL_HPP
#define FERRY_COMPAT_CAFFE_PARALLEL_HPP

#include <ferry/compat/caffe/solver.hpp>

#endif

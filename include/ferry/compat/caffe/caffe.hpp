/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/caffe.hpp
 * All of Caffe's classes and functions except the single layer classes (caffe/layers). See
 * ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_CAFFE_HPP
#define FERRY_COMPAT_CAFFE_CAFFE_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/filler.hpp>
#include <ferry/compat/caffe/layer.hpp>
#include <ferry/compat/caffe/messages.hpp>
#include <ferry/compat/caffe/net.hpp>
#include <ferry/compat/caffe/parallel.hpp>
#include <ferry/compat/caffe/solver.hpp>
#include <ferry/compat/caffe/syncedmem.hpp>
#include <ferry/compat/caffe/util/benchmark.hpp>
#include <ferry/compat/caffe/util/io.hpp>
#include <ferry/compat/caffe/util/upgrade_proto.hpp>

#endif

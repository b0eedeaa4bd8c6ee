/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/caffe.hpp What Caffe's caffe/caffe.hpp includes, as far as it is here. See ferry/caffe.hpp. */
#ifndef FERRY_COMPAT_CAFFE_CAFFE_HPP
#define FERRY_COMPAT_CAFFE_CAFFE_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/compat/caffe/common.hpp>
#include <ferry/compat/caffe/layer.hpp>
#include <ferry/compat/caffe/net.hpp>
#include <ferry/compat/caffe/proto/caffe.pb.h>
#include <ferry/compat/caffe/syncedmem.hpp>
#include <ferry/compat/caffe/util/io.hpp>

#endif

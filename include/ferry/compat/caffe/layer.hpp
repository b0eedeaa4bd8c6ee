/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layer.hpp
 * Layers: Caffe's base class, the classes that ferry computes, and the registry of types. See
 * ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>
#include <ferry/compat/caffe/layer_base.hpp>
#include <ferry/compat/caffe/layer_factory.hpp>
#include <ferry/compat/caffe/util/math_functions.hpp>

#endif

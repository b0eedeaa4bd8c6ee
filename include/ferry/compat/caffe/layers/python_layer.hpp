/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layers/python_layer.hpp
 * PythonLayer. See ferry/caffe.hpp, compat/caffe/ferry_layer.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYERS_PYTHON_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYERS_PYTHON_LAYER_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>

namespace caffe
{

/** A layer that a class in Python computes. The type exists in programs in which ferry.caffe is
 * imported; in others SetUp throws Error. */
FERRY_CAFFE_LAYER(Python);

} // namespace caffe

#endif

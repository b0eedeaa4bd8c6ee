/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/solver.hpp
 * Solvers: the base class, Caffe's six, and the registry. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_SOLVER_HPP
#define FERRY_COMPAT_CAFFE_SOLVER_HPP

#include <ferry/compat/caffe/sgd_solvers.hpp>
#include <ferry/compat/caffe/solver_base.hpp>
#include <ferry/compat/caffe/solver_factory.hpp>
#include <ferry/compat/caffe/util/benchmark.hpp>

#endif

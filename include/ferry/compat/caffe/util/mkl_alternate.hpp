/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/mkl_alternate.hpp
 * CBLAS's constants for transposition, arguments of caffe_cpu_gemm; the program's own if it
 * includes <cblas.h> first. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_MKL_ALTERNATE_HPP
#define FERRY_COMPAT_CAFFE_UTIL_MKL_ALTERNATE_HPP

#include <ferry/types.h>

#if !defined CBLAS_H && !defined CBLAS_ENUM_DEFINED_H && !defined __MKL_CBLAS_H__
enum CBLAS_TRANSPOSE { CblasNoTrans = FERRY_NO_TRANS, CblasTrans = FERRY_TRANS };
#endif

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/mkl_alternate.hpp
 * CBLAS's names for transposition, which caffe_cpu_gemm takes; the program's own where it includes <cblas.h>, which
 * it does first. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_MKL_ALTERNATE_HPP
#define FERRY_COMPAT_CAFFE_UTIL_MKL_ALTERNATE_HPP

#include <ferry/types.h>

#if !defined CBLAS_H && !defined CBLAS_ENUM_DEFINED_H && !defined __MKL_CBLAS_H__
enum CBLAS_TRANSPOSE { CblasNoTrans = FERRY_NO_TRANS, CblasTrans = FERRY_TRANS };
#endif

#endif

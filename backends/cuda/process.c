/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the process: the host's services, set by ferry_plugin_open, and the entries of the
 * driver and of cuBLAS, filled in by driver.c and blas.c.
 */
#include "cuda.h"

const ferry_host *cuda_host;
struct cuda_driver cuda_driver;
struct cuda_blas_table cuda_blas;

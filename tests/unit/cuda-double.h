/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_CUDA_DOUBLE_H
#define FERRY_TEST_CUDA_DOUBLE_H

#include "tests/doubles/control.h"

/* The library of that name, "libcudart", that this process has loaded; NULL if it is not loaded. */
void *cuda_library(const char *name);

/*
 * The control table of the doubles; NULL with the real libraries, or before the plugin is loaded.
 */
const struct cuda_double_control *cuda_double_find(void);

#endif

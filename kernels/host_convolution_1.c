/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/host_text.h"

#define HOST_PREFIX host_
#define LANES       1
#include "kernels/convolution.k"

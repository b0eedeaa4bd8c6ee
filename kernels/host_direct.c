/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/host_text.h"

#define HOST_PREFIX host_
#include "kernels/direct.k"
#include "kernels/slide.k"

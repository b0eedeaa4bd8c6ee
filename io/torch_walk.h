/* SPDX-License-Identifier: BSD-2-Clause */
/* The contents of PyTorch's pickle: tensors, named by the dictionaries around them, and strings. */
#ifndef FERRY_IO_TORCH_WALK_H
#define FERRY_IO_TORCH_WALK_H

#include "torch_archive.h"

/* Adds the contents to a->io. */
int ferry__torch_walk(struct ferry__torch *a, const struct ferry__pickle *root);

#endif

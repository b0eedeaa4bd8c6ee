/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What PyTorch's pickle holds: tensors by the names of the dictionaries around them, and strings.
 */
#ifndef FERRY_IO_TORCH_WALK_H
#define FERRY_IO_TORCH_WALK_H

#include "torch_archive.h"

/* Adds all of it to a->io. */
int ferry__torch_walk(struct ferry__torch *a, const struct ferry__pickle *root);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One tensor of PyTorch's archive.
 */
#ifndef FERRY_IO_TORCH_TENSOR_H
#define FERRY_IO_TORCH_TENSOR_H

#include "torch_archive.h"

/*
 * Adds what a call of _rebuild_tensor_v2 or _v3 makes. Where ferry cannot have its values it is marked; what
 * no PyTorch would write is FERRY_EFORMAT. Of two of one name the second is called "name#2".
 */
int ferry__torch_add_tensor(struct ferry__torch *a, const char *path,
                            const struct ferry__pickle *call);

/* What ferry has no values of is listed all the same, of no elements: `what` is "module name", `why` lives for ever. */
int ferry__torch_add_unreadable(struct ferry__torch *a, const char *path, const char *what,
                                const char *why);

#endif

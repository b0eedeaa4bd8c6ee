/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds single tensors of PyTorch's archive. */
#ifndef FERRY_IO_TORCH_TENSOR_H
#define FERRY_IO_TORCH_TENSOR_H

#include "torch_archive.h"

/*
 * Adds the result of a call of _rebuild_tensor_v2 or _v3. If ferry cannot read its values the array
 * is marked; FERRY_EFORMAT for a call that PyTorch would not write. The second of two arrays with
 * the same name becomes "name#2".
 */
int ferry__torch_add_tensor(struct ferry__torch *a, const char *path,
                            const struct ferry__pickle *call);

/*
 * Lists a tensor whose values ferry cannot read, without elements: `what` is "module name", `why`
 * is a static string.
 */
int ferry__torch_add_unreadable(struct ferry__torch *a, const char *path, const char *what,
                                const char *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CUDA_DOUBLE_MODULE_H
#define FERRY_CUDA_DOUBLE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define MODULE_BUFFERS 6

/* A kernel: six pointers and a structure of that many bytes; called once per group. */
struct module_kernel {
    const char *name;
    void (*run)(int64_t group, uint8_t *const *buffers, const void *numbers);
    size_t size;
};

/* Finds a kernel by name; NULL for an unknown name. */
const struct module_kernel *module_kernel(const char *name);
/* The block size that kernels were compiled for. */
extern const unsigned module_block;

#endif

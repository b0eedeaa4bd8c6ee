/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ACME_LAUNCH_H
#define ACME_LAUNCH_H

#include <stdint.h>

/*
 * The simulated compiler and launches of a vendor. Its device is like one of OpenCL: a kernel runs
 * in groups of ACME_GROUP items, and groups run at once, on threads of the host. Delete
 * acme_launch.[ch]: yours compiles the text from ferry_kernels_text at run time, or at build time
 * the files of pkg-config's `sourcedir`, as acme_launch.c does with the C compiler.
 */

#define ACME_VEC   8 /* lanes of a vector */
#define ACME_GROUP 4 /* items of a group */

typedef struct acme_kernel acme_kernel;

/* The fingerprint of the texts that were compiled. */
uint32_t acme_kernels_fingerprint(void);

/* NULL if the device lacks the kernel. */
const acme_kernel *acme_kernel_find(const char *name);

/* Runs all groups. Blocking. */
int acme_launch(const acme_kernel *kernel, long groups, void *const *buffers, const void *args);

#endif

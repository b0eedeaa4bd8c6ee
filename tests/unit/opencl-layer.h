/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A layer between the plugin and the ICD loader: with it a driver does what drivers are known to do and
 * PoCL does not. It has no effect until a test asks for one.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#include <stdbool.h>

struct ocl_layer {
    bool gpu; /* devices are GPUs that share the host's memory */
    bool
        copies_at_map; /* what lies under CL_MEM_USE_HOST_PTR is a copy, made at each map and unmap */
    bool places;       /* CL_MEM_ALLOC_HOST_PTR begins `shift` bytes after a page's begin */
    unsigned shift;
    bool gathers;       /* commands start when somebody flushes or waits */
    bool lags;          /* clFinish comes back before events say that they are done */
    bool forgets;       /* what the host writes to what is mapped to be read is lost at its unmap */
    bool ends;          /* exit() ends the driver; who calls it afterwards ends the program */
    unsigned copies;    /* made by maps and unmaps */
    unsigned unmapping; /* unmaps that nobody has waited for on their queue */
    char built_with[512]; /* options of the latest build */
};

extern struct ocl_layer ocl_layer;

#endif

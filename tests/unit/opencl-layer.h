/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A layer between the plugin and the ICD loader: with it a driver shows known behaviour of other
 * drivers that PoCL lacks. It has no effect unless a test requests it.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#include <stdbool.h>

struct ocl_layer {
    bool gpu; /* devices are GPUs that share the host's memory */
    bool
        copies_at_map; /* memory of CL_MEM_USE_HOST_PTR is copied at each map and unmap */
    bool places;       /* CL_MEM_ALLOC_HOST_PTR begins `shift` bytes after the beginning of a page
                        */
    unsigned shift;
    bool gathers;       /* commands start at a flush or a wait */
    bool lags;          /* clFinish returns before events are complete */
    bool forgets;       /* writes by the host to memory mapped for reading are lost at its unmap */
    bool dots;          /* devices report cl_khr_integer_dot_product, which PoCL 3.1 lacks */
    bool ends;          /* exit() ends the driver; a later call ends the program */
    unsigned copies;    /* made by maps and unmaps */
    unsigned unmapping; /* unmaps that were not waited for on their queue */
    char built_with[512]; /* options of the latest build */
};

extern struct ocl_layer ocl_layer;

#endif

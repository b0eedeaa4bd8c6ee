/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels of kernels/ on a device: built in by nvcc, or compiled at run time by libnvrtc and
 * stored on disk.
 */
#ifndef FERRY_CUDA_KERNELS_H
#define FERRY_CUDA_KERNELS_H

#include "cuda.h"

#include "backends/cuda/target.h"
#include "kernels/plan.h"
#include "kernels/store.h"

/* ---- nvcc's output (built.c) ---- */

/* A fatbin with every kernel; NULL if the build had no nvcc. */
const void *cuda_built(void);

/* ---- libnvrtc (nvrtc.c) ---- */

/* Loads it, once per process. FERRY_EUNSUPPORTED, with the reason, if it is missing. */
int cuda_nvrtc_load(void);

/* The output of libnvrtc for a device of that compute capability, 90 for 9.0. */
struct cuda_form {
    int version[2]; /* libnvrtc's */
    int arch;       /* the device's, or the newest before it that libnvrtc supports */
    bool ptx;       /* PTX, which the driver compiles, if `arch` is not the device's */
};
int cuda_nvrtc_form(int capability, struct cuda_form *out);

/* An image of the program, which the caller frees. */
int cuda_nvrtc_compile(enum kernel_program program, const struct cuda_form *form, void **out_image,
                       size_t *out_bytes);

/* ---- modules (module.c) ---- */

#define CUDA_FOLDER_ROOM (STORE_PATH - 32) /* the rest is for the name of a file */

/* A device's modules; `lock` guards them and is held during a compilation. */
struct cuda_modules {
    pthread_mutex_t lock;
    enum cuda_source source;       /* the value of option.kernels */
    int capability;                /* 90 for 9.0 */
    int built_err;                 /* the reason why the built-in image is not used */
    char folder[CUDA_FOLDER_ROOM]; /* for images from libnvrtc; "": they are not stored */
    CUmodule built, program[PROGRAM_COUNT];
    CUfunction vector[KERNEL_COUNT]; /* kernels of the program VECTOR, once requested */
    bool without_vector;             /* there are none, and that was logged */
    struct kernel_target target;
};

/*
 * With the context current, when the device is opened. Missing parts are reported when they are
 * needed.
 */
int cuda_modules_create(const struct cuda_device *dev, enum cuda_source source,
                        struct cuda_modules **out);
void cuda_modules_destroy(struct cuda_modules *modules);

/*
 * With the context current: whether there are kernels. FERRY_EUNSUPPORTED, with the reason, if not.
 */
int cuda_modules_check(struct cuda_modules *modules);
/* With the context current: a kernel, which is compiled if it was not before. */
int cuda_modules_function(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);
/*
 * The same for vector arithmetic, for which cuBLAS and the host are alternatives: a failed
 * compilation is not retried. FERRY_EUNSUPPORTED: use the alternative.
 */
int cuda_modules_vector(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);

/* ---- launches (launch.c) ---- */

/* With the context current: launches with BUFFERS pointers and the launch's numbers unchanged. */
int cuda_launch(CUstream stream, CUfunction function, const struct kernel_launch *l,
                void *const base[BUFFERS], const union kernel_args *numbers);

#endif

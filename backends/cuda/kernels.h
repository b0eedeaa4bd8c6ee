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

/* The fatbin with every kernel; NULL if nvcc was not available to the build. */
const void *cuda_built(void);

/* ---- libnvrtc (nvrtc.c) ---- */

/* Loads libnvrtc, once per process. FERRY_EUNSUPPORTED, with the reason, if it is missing. */
int cuda_nvrtc_load(void);

/* The form of libnvrtc's output for a device of that compute capability, 90 for 9.0. */
struct cuda_form {
    int version[2]; /* the version of libnvrtc */
    int arch;       /* the device's architecture, or the newest one before it that libnvrtc
                     * supports */
    bool ptx;       /* the output is PTX, which the driver compiles, because `arch` is not the
                     * device's */
};
int cuda_nvrtc_form(int capability, struct cuda_form *out);

/* Compiles a program to an image, which the caller frees. */
int cuda_nvrtc_compile(enum kernel_program program, const struct cuda_form *form, void **out_image,
                       size_t *out_bytes);

/* ---- modules (module.c) ---- */

#define CUDA_FOLDER_ROOM (STORE_PATH - 32) /* leaves the rest of a path for a file's name */

/* A device's modules; `lock` guards them and is held during a compilation. */
struct cuda_modules {
    pthread_mutex_t lock;
    enum cuda_source source;       /* the value of option.kernels */
    int capability;                /* 90 for 9.0 */
    int built_err;                 /* the reason why the built-in image is not used */
    char folder[CUDA_FOLDER_ROOM]; /* for images from libnvrtc; "": they are not stored */
    CUmodule built, program[PROGRAM_COUNT];
    CUfunction vector[KERNEL_COUNT]; /* kernels of the program VECTOR, once requested */
    bool without_vector;             /* there are no such kernels, and this was logged */
    struct kernel_target target;
};

/*
 * Creates the structure when the device is opened, with the context current. Missing parts are
 * reported when they are needed.
 */
int cuda_modules_create(const struct cuda_device *dev, const struct cuda_settings *set,
                        struct cuda_modules **out);
void cuda_modules_destroy(struct cuda_modules *modules);

/*
 * Whether kernels are available. FERRY_EUNSUPPORTED, with the reason, if not. Called with the
 * context current.
 */
int cuda_modules_check(struct cuda_modules *modules);
/* Returns a kernel, and compiles it if necessary. Called with the context current. */
int cuda_modules_function(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);
/*
 * As cuda_modules_function, for BLAS-1 entries, for which cuBLAS and the host are alternatives: a
 * failed compilation is not retried. FERRY_EUNSUPPORTED: the caller uses the alternative.
 */
int cuda_modules_vector(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);

/* ---- launches (launch.c) ---- */

/*
 * Launches a kernel with BUFFERS pointers and the launch's arguments. Called with the context
 * current.
 */
int cuda_launch(CUstream stream, CUfunction function, const struct kernel_launch *l,
                void *const base[BUFFERS], const union kernel_args *numbers);

#endif

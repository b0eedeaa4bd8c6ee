/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels of kernels/ on a device: built in by nvcc, or compiled here by libnvrtc and kept on
 * disk.
 */
#ifndef FERRY_CUDA_KERNELS_H
#define FERRY_CUDA_KERNELS_H

#include "cuda.h"

#include "backends/cuda/target.h"
#include "kernels/plan.h"

/* ---- what nvcc has made (built.c) ---- */

/* A fatbin with every kernel; NULL where there was no nvcc. */
const void *cuda_built(void);

/* ---- libnvrtc (nvrtc.c) ---- */

/* Opens it, once a process. FERRY_EUNSUPPORTED, and why, where it is not there. */
int cuda_nvrtc_load(void);

/* What it makes for a device of that compute capability, as 90 for 9.0. */
struct cuda_form {
    int version[2]; /* libnvrtc's */
    int arch;       /* the device's, or the newest before it that libnvrtc knows */
    bool ptx;       /* for the driver to finish, where it is not the device's */
};
int cuda_nvrtc_form(int capability, struct cuda_form *out);

/* An image of the program, the caller's to free. */
int cuda_nvrtc_compile(enum kernel_program program, const struct cuda_form *form, void **out_image,
                       size_t *out_bytes);

/* ---- modules (module.c) ---- */

#define CUDA_FOLDER_ROOM 4096

/* A device's modules; `lock` guards them, and is held while one is compiled. */
struct cuda_modules {
    pthread_mutex_t lock;
    enum cuda_source source;       /* as option.kernels has it */
    int capability;                /* as 90 for 9.0 */
    int built_err;                 /* why what was built in is not taken */
    char folder[CUDA_FOLDER_ROOM]; /* for what libnvrtc makes; "": nothing is kept */
    CUmodule built, program[PROGRAM_COUNT];
    CUfunction vector[KERNEL_COUNT]; /* of the program VECTOR, once they were asked for */
    bool without_vector;             /* there are none, and that has been said */
    struct kernel_target target;
};

/* With the context current, while the device is opened. What is missing is said when it is asked for. */
int cuda_modules_create(const struct cuda_device *dev, enum cuda_source source,
                        struct cuda_modules **out);
void cuda_modules_destroy(struct cuda_modules *modules);

/* With the context current: whether there are kernels. FERRY_EUNSUPPORTED, and why there are none. */
int cuda_modules_check(struct cuda_modules *modules);
/* With the context current: a kernel, compiled now if it was not before. */
int cuda_modules_function(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);
/*
 * The same for plain arithmetic, which cuBLAS and the host can do as well: what does not compile is not tried
 * again. FERRY_EUNSUPPORTED: do without.
 */
int cuda_modules_vector(struct cuda_modules *modules, uint32_t kernel, CUfunction *out);

/* ---- launches (launch.c) ---- */

/* With the context current: BUFFERS pointers, and the launch's numbers as they are to be. */
int cuda_launch(CUstream stream, CUfunction function, const struct kernel_launch *l,
                void *const base[BUFFERS], const union kernel_args *numbers);

#endif

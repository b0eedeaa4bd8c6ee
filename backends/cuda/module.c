/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules: kernels that the driver has loaded. The built-in image is one module with all kernels;
 * libnvrtc compiles one module per program, when one of its kernels is first requested, and stores
 * it on disk.
 */
#define _GNU_SOURCE
#include "kernels.h"

#include "common/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_ROOM  160

/* ---- creation ------------------------------------------------------------------------------- */

static int ask(const struct cuda_device *dev, int *out_capability, int *out_processors)
{
    int major = 0, minor = 0;
    int err = cuda_attribute(cudaDevAttrComputeCapabilityMajor, dev->ordinal, &major);

    if (!err)
        err = cuda_attribute(cudaDevAttrComputeCapabilityMinor, dev->ordinal, &minor);
    if (!err)
        err = cuda_attribute(cudaDevAttrMultiProcessorCount, dev->ordinal, out_processors);
    *out_capability = 10 * major + minor;
    return err;
}

/*
 * Finds the folder for images; "" if they are not stored. Called while the device is opened, the
 * only time when ferry provides the folder.
 */
static void find_folder(struct cuda_modules *m)
{
    if (!cuda_host->cache_folder(m->folder, sizeof(m->folder)))
        return;
    m->folder[0] = '\0';
    cuda_host->log(FERRY_LOG_DEBUG, "compiled kernels are not kept: there is no folder for them");
}

/* Tensor cores compute F16 from capability 7.5 on, and BF16 from 8.0 on (mma of the PTX ISA). */
static void use_tensor_cores(struct cuda_modules *m)
{
    const char *converted = m->capability < 75 ? "F16 and BF16" : "BF16";

    m->target.f16 = m->capability >= 75;
    m->target.bf16 = m->capability >= 80;
    if (!m->target.bf16)
        cuda_host->log(FERRY_LOG_WARN,
                       "option.f16 = tensor: the tensor cores of compute capability %d.%d do not "
                       "compute products of %s, which are converted to F32",
                       m->capability / 10, m->capability % 10, converted);
}

int cuda_modules_create(const struct cuda_device *dev, const struct cuda_settings *set,
                        struct cuda_modules **out)
{
    enum cuda_source source = set->kernels;
    int capability, processors = 0, err = ask(dev, &capability, &processors);
    struct cuda_modules *m;

    if (err)
        return err;
    m = calloc(1, sizeof(*m));
    if (!m)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for a device");
    pthread_mutex_init(&m->lock, NULL);
    m->source = source;
    if (source == CUDA_KERNELS_COMPILE || (source == CUDA_KERNELS_AUTO && !cuda_built()))
        find_folder(m);
    m->capability = capability;
    m->target = (struct kernel_target){ .vec = CUDA_VEC,
                                        .group = CUDA_GROUP,
                                        .busy = 16 * (uint32_t)processors,
                                        .has_f64 = true };
    m->without_vector = source == CUDA_KERNELS_OFF;
    if (set->tensor)
        use_tensor_cores(m);
    *out = m;
    return 0;
}

void cuda_modules_destroy(struct cuda_modules *m)
{
    if (!m)
        return;
    if (m->built)
        (void)cuda_driver.module_unload(m->built);
    for (int i = 0; i < PROGRAM_COUNT; i++)
        if (m->program[i])
            (void)cuda_driver.module_unload(m->program[i]);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- the built-in image --------------------------------------------------------------------- */

/*
 * Whether the failure is not an error: the image is for other devices, or its PTX version is newer
 * than the driver.
 */
static bool is_for_others(CUresult failed)
{
    return failed == CUDA_ERROR_NO_BINARY_FOR_GPU || failed == CUDA_ERROR_INVALID_IMAGE ||
           failed == CUDA_ERROR_INVALID_PTX || failed == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           failed == CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
}

/* Loads the built-in image, once. FERRY_EUNSUPPORTED: libnvrtc has to compile. (locked) */
static int load_built(struct cuda_modules *m)
{
    CUresult failed;

    if (m->built || m->built_err)
        return m->built_err;
    if (!cuda_built() || m->source != CUDA_KERNELS_AUTO)
        return m->built_err = FERRY_EUNSUPPORTED;
    failed = cuda_driver.module_load(&m->built, cuda_built());
    if (!failed)
        return 0;
    m->built = NULL;
    if (!is_for_others(failed))
        return cuda_fail_driver(CALL(cuModuleLoadData), failed);
    cuda_host->log(FERRY_LOG_DEBUG, "the built-in kernels do not support this device");
    return m->built_err = FERRY_EUNSUPPORTED;
}

int cuda_modules_check(struct cuda_modules *m)
{
    int err;

    if (m->source == CUDA_KERNELS_OFF)
        return cuda_host->error(FERRY_EUNSUPPORTED, "option.kernels = off");
    pthread_mutex_lock(&m->lock);
    err = load_built(m);
    pthread_mutex_unlock(&m->lock);
    return err == FERRY_EUNSUPPORTED ? cuda_nvrtc_load() : err;
}

/* ---- compiled images ------------------------------------------------------------------------ */

/* The key of an image: libnvrtc's version, the architecture, the source, and the options. */
static bool make_key(enum kernel_program program, const struct cuda_form *form, char *key)
{
    size_t count = kernel_program_lines(program, NULL);
    const char **lines = malloc(count * sizeof(*lines));
    uint64_t source = FERRY__HASH;

    if (!lines)
        return false;
    (void)kernel_program_lines(program, lines);
    for (size_t i = 0; i < count; i++)
        source = ferry__hash(source, lines[i], strlen(lines[i]));
    free(lines);
    snprintf(key, KEY_ROOM, "nvrtc %d.%d|%s_%d|%d|%d|%zu|%016" PRIx64, form->version[0],
             form->version[1], form->ptx ? "compute" : "sm", form->arch, CUDA_VEC, CUDA_GROUP,
             count, source);
    return true;
}

/* The name of the program's file. */
static void find_file(const struct cuda_modules *m, const char *key, char *path)
{
    snprintf(path, STORE_PATH, "%s/%016" PRIx64, m->folder,
             ferry__hash(FERRY__HASH, key, strlen(key)));
}

static bool load_stored(const char *path, const char *key, CUmodule *out)
{
    struct stored stored;
    const char *why = store_read(path, key, &stored);

    if (!why && cuda_driver.module_load(out, stored.binary)) {
        *out = NULL;
        why = "the driver does not accept it";
    }
    free(stored.file);
    if (!why || *why)
        cuda_host->log(FERRY_LOG_DEBUG, "%s: %s", path, why ? why : "taken");
    return !why;
}

static int compile(enum kernel_program program, const struct cuda_form *form, const char *path,
                   const char *key, CUmodule *out)
{
    void *image = NULL;
    size_t bytes = 0;
    CUresult failed;
    int err = cuda_nvrtc_compile(program, form, &image, &bytes);

    if (err)
        return err;
    failed = cuda_driver.module_load(out, image);
    if (failed) {
        *out = NULL;
        err = cuda_fail_driver(CALL(cuModuleLoadData), failed);
    } else if (path && !store_write(path, key, image, bytes)) {
        cuda_host->log(FERRY_LOG_DEBUG, "%s: cannot be written", path);
    }
    free(image);
    return err;
}

/* Loads a program. (locked) */
static int load_program(struct cuda_modules *m, enum kernel_program program)
{
    char key[KEY_ROOM], path[STORE_PATH];
    struct cuda_form form;
    bool kept = m->folder[0] != '\0';
    int err;

    if (m->program[program])
        return 0;
    err = cuda_nvrtc_form(m->capability, &form);
    if (err)
        return err;
    if (!make_key(program, &form, key))
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for the source of the kernels");
    find_file(m, key, path);
    if (kept && load_stored(path, key, &m->program[program]))
        return 0;
    return compile(program, &form, kept ? path : NULL, key, &m->program[program]);
}

int cuda_modules_function(struct cuda_modules *m, uint32_t kernel, CUfunction *out)
{
    enum kernel_program program = kernel_program_of(kernel);
    CUresult failed;
    int err;

    pthread_mutex_lock(&m->lock);
    err = load_built(m);
    if (err == FERRY_EUNSUPPORTED)
        err = load_program(m, program);
    pthread_mutex_unlock(&m->lock);
    if (err)
        return err;
    failed = cuda_driver.module_function(out, m->built ? m->built : m->program[program],
                                         kernel_function(kernel));
    return failed ? cuda_fail_driver(CALL(cuModuleGetFunction), failed) : 0;
}

/*
 * Whether the failure is permanent: memory may be available later, and a lost device needs no
 * decision. (locked)
 */
static bool is_for_good(int err)
{
    return err && err != FERRY_ENOMEM && err != FERRY_ELOST;
}

int cuda_modules_vector(struct cuda_modules *m, uint32_t kernel, CUfunction *out)
{
    int err;

    pthread_mutex_lock(&m->lock);
    *out = m->vector[kernel];
    err = m->without_vector ? FERRY_EUNSUPPORTED : 0;
    pthread_mutex_unlock(&m->lock);
    if (err || *out)
        return err;
    err = cuda_modules_check(m);
    if (!err)
        err = cuda_modules_function(m, kernel, out);
    pthread_mutex_lock(&m->lock);
    if (!err)
        m->vector[kernel] = *out;
    if (is_for_good(err) && !m->without_vector)
        cuda_host->log(FERRY_LOG_DEBUG, "sums, conversions and fills do not use kernels");
    m->without_vector |= is_for_good(err);
    pthread_mutex_unlock(&m->lock);
    return is_for_good(err) ? FERRY_EUNSUPPORTED : err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libnvrtc compiles kernels if the build had no nvcc. It has tens of megabytes, so it is loaded
 * when the first program is requested. The few functions that are used are declared here, because
 * its header need not be installed.
 */
#define _GNU_SOURCE
#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *nvrtc_program;

#define NVRTC_ENTRIES(X)                                                            \
    X(version, nvrtcVersion, int *, int *)                                          \
    X(arch_count, nvrtcGetNumSupportedArchs, int *)                                 \
    X(archs, nvrtcGetSupportedArchs, int *)                                         \
    X(create, nvrtcCreateProgram, nvrtc_program *, const char *, const char *, int, \
      const char *const *, const char *const *)                                     \
    X(compile, nvrtcCompileProgram, nvrtc_program, int, const char *const *)        \
    X(log_size, nvrtcGetProgramLogSize, nvrtc_program, size_t *)                    \
    X(log, nvrtcGetProgramLog, nvrtc_program, char *)                               \
    X(cubin_size, nvrtcGetCUBINSize, nvrtc_program, size_t *)                       \
    X(cubin, nvrtcGetCUBIN, nvrtc_program, char *)                                  \
    X(ptx_size, nvrtcGetPTXSize, nvrtc_program, size_t *)                           \
    X(ptx, nvrtcGetPTX, nvrtc_program, char *)                                      \
    X(destroy, nvrtcDestroyProgram, nvrtc_program *)

static struct {
#define MEMBER(member, function, ...) int (*member)(__VA_ARGS__);
    NVRTC_ENTRIES(MEMBER)
#undef MEMBER
    const char *(*error)(int);
} nvrtc;

#define MOST_ARCHS 64
#define LOG_SHOWN  400 /* the number of bytes of the compiler's log in an error */

/* ---- loading -------------------------------------------------------------------------------- */

/*
 * The library's name. That of CUDA 11 has the minor version in which its interface became stable.
 */
static void library_name(char *out, size_t size)
{
    int major = CUDART_VERSION / 1000;

    if (major == 11)
        snprintf(out, size, "libnvrtc.so.11.2");
    else
        snprintf(out, size, "libnvrtc.so.%d", major);
}

static int load(void)
{
    char name[32];
    void *library;

    library_name(name, sizeof(name));
    library = cuda_library_open(name, CUDA_PACKAGE);
    if (!library)
        return cuda_host->error(FERRY_EUNSUPPORTED,
                                "there are no built-in kernels for this device, and %s", dlerror());
#define LOAD(member, function, ...)                                                \
    *(void **)(void *)&nvrtc.member = dlsym(library, #function);                   \
    if (!nvrtc.member) {                                                           \
        dlclose(library);                                                          \
        return cuda_host->error(FERRY_EUNSUPPORTED, "%s has no " #function, name); \
    }
    NVRTC_ENTRIES(LOAD)
    LOAD(error, nvrtcGetErrorString, )
#undef LOAD
    return 0;
}

int cuda_nvrtc_load(void)
{
    static struct cuda_once once = CUDA_ONCE;

    return cuda_load_once(&once, load);
}

static int fail(const char *call, int result)
{
    return cuda_host->error(result == 1 ? FERRY_ENOMEM : FERRY_EDEVICE, "%s: %s", call,
                            nvrtc.error(result));
}

/* ---- the architecture ----------------------------------------------------------------------- */

/*
 * Selects the device's own architecture if it is supported; else the newest one before it, whose
 * PTX later devices run.
 */
static void choose(int capability, const int *archs, int count, struct cuda_form *out)
{
    out->arch = 0;
    for (int i = 0; i < count; i++)
        if (archs[i] <= capability && archs[i] > out->arch)
            out->arch = archs[i];
    out->ptx = out->arch != capability;
}

int cuda_nvrtc_form(int capability, struct cuda_form *out)
{
    int archs[MOST_ARCHS], count = 0, result, err = cuda_nvrtc_load();

    if (err)
        return err;
    result = nvrtc.version(&out->version[0], &out->version[1]);
    if (!result)
        result = nvrtc.arch_count(&count);
    if (!result && count <= MOST_ARCHS)
        result = nvrtc.archs(archs);
    if (result || count > MOST_ARCHS)
        return fail("nvrtcGetSupportedArchs", result);
    choose(capability, archs, count, out);
    if (!out->arch)
        return cuda_host->error(FERRY_EUNSUPPORTED,
                                "libnvrtc %d.%d does not support compute capability %d.%d",
                                out->version[0], out->version[1], capability / 10, capability % 10);
    return 0;
}

/* ---- compiling ------------------------------------------------------------------------------ */

/* The program's lines as one string; NULL if memory is short. */
static char *text_of(enum kernel_program program)
{
    size_t count = kernel_program_lines(program, NULL), bytes = 1;
    const char **lines = malloc(count * sizeof(*lines));
    char *text = NULL, *at;

    if (!lines)
        return NULL;
    (void)kernel_program_lines(program, lines);
    for (size_t i = 0; i < count; i++)
        bytes += strlen(lines[i]);
    at = text = malloc(bytes);
    for (size_t i = 0; i < count && text; i++)
        at = stpcpy(at, lines[i]);
    free(lines);
    return text;
}

static int say_log(nvrtc_program p, int result)
{
    char *log = NULL;
    size_t bytes = 0;
    int err;

    if (!nvrtc.log_size(p, &bytes) && bytes)
        log = malloc(bytes);
    if (log && nvrtc.log(p, log))
        *log = '\0';
    err = cuda_host->error(FERRY_EDEVICE, "nvrtcCompileProgram: %s: %.*s", nvrtc.error(result),
                           LOG_SHOWN, log ? log : "");
    free(log);
    return err;
}

static int compile(nvrtc_program p, const struct cuda_form *form)
{
    char arch[40], vec[16], group[16];
    const char *options[] = { arch, vec, group };
    int result;

    snprintf(arch, sizeof(arch), "--gpu-architecture=%s_%d", form->ptx ? "compute" : "sm",
             form->arch);
    snprintf(vec, sizeof(vec), "-DVEC=%d", CUDA_VEC);
    snprintf(group, sizeof(group), "-DGROUP=%d", CUDA_GROUP);
    result = nvrtc.compile(p, (int)(sizeof(options) / sizeof(options[0])), options);
    return result ? say_log(p, result) : 0;
}

static int fetch(nvrtc_program p, bool ptx, void **out_image, size_t *out_bytes)
{
    size_t bytes = 0;
    int result = ptx ? nvrtc.ptx_size(p, &bytes) : nvrtc.cubin_size(p, &bytes);
    void *image;

    if (result)
        return fail(ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", result);
    image = malloc(bytes);
    if (!image)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for %zu bytes of a program",
                                bytes);
    result = ptx ? nvrtc.ptx(p, image) : nvrtc.cubin(p, image);
    if (result) {
        free(image);
        return fail(ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", result);
    }
    *out_image = image;
    *out_bytes = bytes;
    return 0;
}

int cuda_nvrtc_compile(enum kernel_program program, const struct cuda_form *form, void **out_image,
                       size_t *out_bytes)
{
    char *text = text_of(program);
    nvrtc_program p = NULL;
    int result, err;

    if (!text)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for the source of the kernels");
    result = nvrtc.create(&p, text, "ferry.cu", 0, NULL, NULL);
    err = result ? fail("nvrtcCreateProgram", result) : compile(p, form);
    if (!err)
        err = fetch(p, form->ptx, out_image, out_bytes);
    if (p)
        (void)nvrtc.destroy(&p);
    free(text);
    return err;
}

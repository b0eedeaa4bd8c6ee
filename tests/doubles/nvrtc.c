/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The double of libnvrtc: it accepts the options and the source like the real one, and makes an
 * image with the names of the source's kernels, which the double of the driver finds. Its calls are
 * declared here: the vendor's header need not be installed.
 */
#define _GNU_SOURCE
#include "double.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_IMAGE 8192

typedef enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6
} nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

nvrtcResult nvrtcVersion(int *major, int *minor);
nvrtcResult nvrtcGetNumSupportedArchs(int *out);
nvrtcResult nvrtcGetSupportedArchs(int *out);
const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int headers,
                               const char *const *header_texts, const char *const *header_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p);
nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *out);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *out);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *out);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *out);
nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *out);

struct _nvrtcProgram {
    char *text;
    bool compiled, ptx;
    int arch;
    char image[MOST_IMAGE];
    size_t size;
};

static const int archs[] = { 75, 80, 86, 89, 90, 100 };
#define ARCHS ((int)(sizeof(archs) / sizeof(archs[0])))

/* Sets an error: no device is involved, neither a context nor the driver. */
static nvrtcResult refuse(const char *what)
{
    ferry_cuda_double_misuse(what);
    return NVRTC_ERROR_INVALID_PROGRAM;
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = CUDART_VERSION / 1000;
    *minor = CUDART_VERSION % 1000 / 10;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *out)
{
    *out = ARCHS;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *out)
{
    memcpy(out, archs, sizeof(archs));
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS                 ? "NVRTC_SUCCESS"
           : result == NVRTC_ERROR_OUT_OF_MEMORY   ? "NVRTC_ERROR_OUT_OF_MEMORY"
           : result == NVRTC_ERROR_INVALID_INPUT   ? "NVRTC_ERROR_INVALID_INPUT"
           : result == NVRTC_ERROR_INVALID_PROGRAM ? "NVRTC_ERROR_INVALID_PROGRAM"
           : result == NVRTC_ERROR_INVALID_OPTION  ? "NVRTC_ERROR_INVALID_OPTION"
           : result == NVRTC_ERROR_COMPILATION     ? "NVRTC_ERROR_COMPILATION"
                                                   : "NVRTC_ERROR_INTERNAL_ERROR";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int headers,
                               const char *const *header_texts, const char *const *header_names)
{
    nvrtcProgram p;

    (void)name, (void)header_texts, (void)header_names;
    if (headers || strstr(text, "\n#include \""))
        return refuse("nvrtcCreateProgram: a source that includes files");
    p = calloc(1, sizeof(*p));
    if (p)
        p->text = strdup(text);
    if (!p || !p->text) {
        free(p);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *out = p;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p)
{
    if (!p || !*p)
        return refuse("nvrtcDestroyProgram: no program");
    free((*p)->text);
    free(*p);
    *p = NULL;
    return NVRTC_SUCCESS;
}

/* ---- compiling ------------------------------------------------------------------------------ */

static bool is_arch(const char *number)
{
    for (int i = 0; i < ARCHS; i++)
        if (archs[i] == atoi(number))
            return true;
    return false;
}

/* Applies an option, and returns whether the real library supports it. */
static bool take_option(nvrtcProgram p, const char *option)
{
    if (!strncmp(option, "-D", 2))
        return strchr(option, '=') != NULL;
    p->ptx = !strncmp(option, "--gpu-architecture=compute_", 27);
    if (!p->ptx && strncmp(option, "--gpu-architecture=sm_", 22) != 0)
        return false;
    option += p->ptx ? 27 : 22;
    p->arch = atoi(option);
    return is_arch(option);
}

static void add(nvrtcProgram p, const char *bytes, size_t n)
{
    if (p->size + n > MOST_IMAGE)
        return;
    memcpy(p->image + p->size, bytes, n);
    p->size += n;
}

/*
 * Adds every KERNEL(name, …) of the source, and KERNEL(PASTE(name, LANES), …) for each number of
 * lanes.
 */
static void add_names(nvrtcProgram p)
{
    static const char key[] = "\nKERNEL(", paste[] = "PASTE(";
    char name[64];

    for (const char *at = strstr(p->text, key); at; at = strstr(at + 1, key)) {
        const char *first = at + sizeof(key) - 1;
        bool pasted = !strncmp(first, paste, sizeof(paste) - 1);
        int length;

        first += pasted ? sizeof(paste) - 1 : 0;
        length = (int)strcspn(first, ",)");
        for (int lanes = 1; lanes <= (pasted ? 4 : 1); lanes++) {
            int n = pasted ? snprintf(name, sizeof(name), "%.*s%d", length, first, lanes)
                           : snprintf(name, sizeof(name), "%.*s", length, first);

            add(p, name, (size_t)n + 1);
        }
    }
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options)
{
    Elf64_Ehdr elf = { .e_ident = { 0x7f, 'E', 'L', 'F' } };
    char ptx[48];
    int failed = ferry_cuda_double_note("nvrtcCompileProgram");

    if (!p)
        return refuse("nvrtcCompileProgram: no program");
    if (failed)
        return (nvrtcResult)failed;
    for (int i = 0; i < count; i++)
        if (!take_option(p, options[i]))
            return NVRTC_ERROR_INVALID_OPTION;
    elf.e_flags = (Elf64_Word)p->arch;
    snprintf(ptx, sizeof(ptx), ".version 8.0\n.target sm_%d\n", p->arch);
    if (p->ptx)
        add(p, ptx, strlen(ptx));
    else
        add(p, (const char *)&elf, sizeof(elf));
    add_names(p);
    if (p->ptx) {
        for (size_t i = 0; i < p->size; i++)
            if (!p->image[i])
                p->image[i] = '\n';
        add(p, "", 1);
    } else {
        elf.e_shoff = p->size;
        memcpy(p->image, &elf, sizeof(elf));
    }
    p->compiled = true;
    return NVRTC_SUCCESS;
}

/* ---- results -------------------------------------------------------------------------------- */

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *out)
{
    (void)p;
    *out = 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out)
{
    (void)p;
    *out = '\0';
    return NVRTC_SUCCESS;
}

/*
 * A cubin exists only for a real architecture, and otherwise has 0 bytes; PTX always exists, here
 * for a virtual one. A request before a compilation is an error of use.
 */
static nvrtcResult size_of(nvrtcProgram p, bool ptx, size_t *out)
{
    if (!p || !p->compiled)
        return refuse(ptx ? "nvrtcGetPTX: nothing was compiled"
                          : "nvrtcGetCUBIN: nothing was compiled");
    if (ptx && !p->ptx)
        return refuse("nvrtcGetPTX: there is none");
    *out = p->ptx == ptx ? p->size : 0;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *out)
{
    return size_of(p, false, out);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *out)
{
    return size_of(p, true, out);
}

static nvrtcResult give(nvrtcProgram p, bool ptx, char *out)
{
    size_t size;
    nvrtcResult result = size_of(p, ptx, &size);

    if (result == NVRTC_SUCCESS && !size)
        return refuse("nvrtcGetCUBIN: there is none");
    if (result == NVRTC_SUCCESS)
        memcpy(out, p->image, size);
    return result;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *out)
{
    return give(p, false, out);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *out)
{
    return give(p, true, out);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "openvino.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifndef OV_LIBRARY
#define OV_LIBRARY "libopenvino_c.so"
#endif

const ferry_host *ov_host;

static struct {
    pthread_mutex_t lock;
    bool open;
    struct ov_api api;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

int ov_check(const struct ov_api *api, int status, int code, const char *what)
{
    const char *message = status ? api->ov_get_last_err_msg() : NULL;

    if (!status)
        return 0;
    return ov_host->error(code, "%s: %.400s", what, message && *message ? message : "failed");
}

static int look_up(void *library, struct ov_api *api)
{
    void *at;

#define OV_LOOK_UP(name, result, arguments)                                                    \
    at = dlsym(library, #name);                                                                \
    if (!at)                                                                                   \
        return ov_host->error(FERRY_ENODEV, "the library of OpenVINO has no function " #name); \
    memcpy(&api->name, &at, sizeof at);
    OV_FUNCTIONS(OV_LOOK_UP)
#undef OV_LOOK_UP
    return 0;
}

/* Finds the number of F32. Numbers 4 and 5 are F32 and F64, or in older versions F16 and F32. */
static int find_f32(struct ov_api *api)
{
    int64_t one = 1;
    ov_shape shape = { 1, &one };
    ov_tensor *tensor;
    size_t bytes = 0;
    int status = api->ov_tensor_create(4, shape, &tensor);

    if (!status) {
        status = api->ov_tensor_get_byte_size(tensor, &bytes);
        api->ov_tensor_free(tensor);
    }
    api->f32 = bytes == sizeof(float) ? 4 : 5;
    return ov_check(api, status, FERRY_ENODEV, "a tensor");
}

static int open_library(struct ov_api *api)
{
    const char *path = ov_host->option("library");
    void *library = dlopen(path ? path : OV_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ov_version version = { NULL, NULL };
    int err;

    if (!library)
        return ov_host->error(FERRY_ENODEV, "%s; option.library is its path", dlerror());
    err = look_up(library, api);
    if (!err)
        err = find_f32(api);
    if (!err)
        err = ov_check(api, api->ov_get_openvino_version(&version), FERRY_ENODEV, "version");
    if (err) {
        dlclose(library);
        return err;
    }
    snprintf(api->version, sizeof api->version, "%s", version.build);
    api->ov_version_free(&version);
    return 0;
}

int ov_open(const struct ov_api **out)
{
    int err = 0;

    pthread_mutex_lock(&shared.lock);
    if (!shared.open)
        err = open_library(&shared.api);
    shared.open = shared.open || !err;
    pthread_mutex_unlock(&shared.lock);
    *out = &shared.api;
    return err;
}

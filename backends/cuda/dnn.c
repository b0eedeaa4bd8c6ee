/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads cuDNN, which has hundreds of megabytes in parts that it loads itself when it needs them. It
 * is opened with the first device. Each queue has a handle of its own, created at its first
 * convolution.
 */
#include "dnn.h"

#include <dlfcn.h>

#define SONAME "libcudnn.so.9"

struct cuda_dnn_table cuda_dnn;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NOT_TRIED, LOADED, ABSENT } state;

static bool load(void)
{
    void *library = cuda_library_open(SONAME, "cudnn");

    if (!library) {
        cuda_host->log(FERRY_LOG_DEBUG, "kernels compute convolutions: %s", dlerror());
        return false;
    }
#define LOAD(member, function, ...)                                   \
    *(void **)(void *)&cuda_dnn.member = dlsym(library, #function);   \
    if (!cuda_dnn.member) {                                           \
        cuda_host->log(FERRY_LOG_DEBUG, SONAME " has no " #function); \
        dlclose(library);                                             \
        return false;                                                 \
    }
    DNN_ENTRIES(LOAD)
    LOAD(error, cudnnGetErrorString, )
#undef LOAD
    return true;
}

bool cuda_dnn_load(void)
{
    bool loaded;

    pthread_mutex_lock(&load_lock);
    if (state == NOT_TRIED)
        state = load() ? LOADED : ABSENT;
    loaded = state == LOADED;
    pthread_mutex_unlock(&load_lock);
    return loaded;
}

/* ---- failures ---- */

/*
 * Translates a status. cuDNN loads its parts on demand: if one cannot be loaded, cuDNN counts as
 * missing.
 */
static int code_of(int status)
{
    if (status == DNN_NO_PART || status == DNN_PART_OF_ANOTHER_VERSION)
        return FERRY_EUNSUPPORTED;
    if (status == DNN_NO_MEMORY || status == DNN_NO_HOST_MEMORY)
        return FERRY_ENOMEM;
    return DNN_CATEGORY(status) == DNN_BAD_PARAM       ? FERRY_EINVAL
           : DNN_CATEGORY(status) == DNN_NOT_SUPPORTED ? FERRY_EUNSUPPORTED
                                                       : FERRY_EDEVICE;
}

/*
 * Reports an error of cuDNN. If the status may mean a lost device, the stream is queried, because
 * cuDNN has a runtime of its own.
 */
int cuda_fail_dnn(const char *call, int status, cudaStream_t stream)
{
    cudaError_t behind = cudaSuccess;

    if (DNN_CATEGORY(status) == DNN_INTERNAL || DNN_CATEGORY(status) == DNN_EXECUTION ||
        status == DNN_NOT_INITIALIZED)
        behind = cudaStreamQuery(stream);
    cuda_forget(behind);
    if (!cuda_is_lost(behind))
        return cuda_host->error(code_of(status), "%s: %s", call, cuda_dnn.error(status));
    return cuda_host->error(FERRY_ELOST, "%s: %s, after %s (%s)", call, cuda_dnn.error(status),
                            cudaGetErrorName(behind), cudaGetErrorString(behind));
}

/* ---- handles ---- */

/* An amount of free memory that suffices for a handle and its code. */
#define PLENTY ((size_t)256 << 20)

/*
 * Reports an error of cudnnCreate, which like cublasCreate returns NOT_INITIALIZED if memory is
 * short. Otherwise this status means that cuDNN does not fit the driver or the device.
 */
static int fail_handle(int status, cudaStream_t stream)
{
    size_t left = 0, total = 0;

    if (status != DNN_NOT_INITIALIZED || !cuda_memory_left(&left, &total))
        return cuda_fail_dnn("cudnnCreate", status, stream);
    return cuda_host->error(left < PLENTY ? FERRY_ENOMEM : FERRY_EUNSUPPORTED,
                            "cudnnCreate: %s; %zu of %zu bytes of memory are free",
                            cuda_dnn.error(status), left, total);
}

int cuda_dnn_handle(struct cuda_queue *queue, void **out)
{
    void *handle;
    int status = DNN_SUCCESS;

    if (!queue->dnn) {
        status = cuda_dnn.create(&handle);
        if (status)
            return fail_handle(status, queue->stream);
        status = cuda_dnn.set_stream(handle, queue->stream);
        if (status) {
            int err = cuda_fail_dnn("cudnnSetStream", status, queue->stream);

            (void)cuda_dnn.destroy(handle);
            return err;
        }
        queue->dnn = handle;
    }
    *out = queue->dnn;
    return 0;
}

void cuda_dnn_release(void *handle)
{
    if (handle)
        (void)cuda_dnn.destroy(handle);
}

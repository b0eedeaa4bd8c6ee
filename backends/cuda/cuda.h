/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the files of the CUDA plugin share.
 *
 * Every call of the runtime that needs a device is between cuda_enter and cuda_leave, which make
 * the device's context current and restore the caller's. cudaSetDevice is never called, so that no
 * context is created except the one that device_open retains.
 */
#ifndef FERRY_CUDA_H
#define FERRY_CUDA_H

#include <ferry/plugin.h>
#include <ferry/profile_plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#ifdef CUDA_NAMES /* another vendor's header with CUDA's names, for the plugin hip */
#include CUDA_NAMES
#else
#include "nvidia.h"
#endif

#define CUDA_MAX_DEVICES  64u
#define CUDA_SPARE_EVENTS 64u
#ifdef CUDA_HAS_DNN
#define CUDA_OPTIONS 7u
#else
#define CUDA_OPTIONS 5u
#endif

/* ---- the vendor's libraries (process.c) ---- */

#define CUDA_TEXT_OF(number) #number
#define CUDA_TEXT(number)    CUDA_TEXT_OF(number)

/* The folder of cuBLAS and libnvrtc within NVIDIA's packages for Python. */
#define CUDA_PACKAGE "cu" CUDA_TEXT(CUBLAS_VER_MAJOR)

/*
 * Opens the library `name` where the dynamic linker finds it; a relocatable build then tries
 * nvidia/`folder`/lib in the folder above the plugin's, where pip installs NVIDIA's packages. NULL
 * after a failure, with the reason in dlerror().
 */
void *cuda_library_open(const char *name, const char *folder);

/* A library that is loaded once; after a failure the next call tries again. */
struct cuda_once {
    pthread_mutex_t lock;
    bool done;
};
#define CUDA_ONCE { PTHREAD_MUTEX_INITIALIZER, false }
/* Returns 0, or the error of `load`, which runs with the lock held. */
int cuda_load_once(struct cuda_once *once, int (*load)(void));

/* ---- the driver's own calls (driver.c; HIP: runtime.c) ---- */

/* X(name of the member, name of the driver's function) */
#define CUDA_DRIVER_ENTRIES(X)                         \
    X(ctx_get_current, cuCtxGetCurrent)                \
    X(ctx_set_current, cuCtxSetCurrent)                \
    X(device_get, cuDeviceGet)                         \
    X(primary_retain, cuDevicePrimaryCtxRetain)        \
    X(primary_release, cuDevicePrimaryCtxRelease)      \
    X(primary_state, cuDevicePrimaryCtxGetState)       \
    X(stream_get_ctx, cuStreamGetCtx)                  \
    X(capture_mode, cuThreadExchangeStreamCaptureMode) \
    X(memset_d16, cuMemsetD16Async)                    \
    X(memset_d32, cuMemsetD32Async)                    \
    X(module_load, cuModuleLoadData)                   \
    X(module_unload, cuModuleUnload)                   \
    X(module_function, cuModuleGetFunction)            \
    X(launch, cuLaunchKernel)                          \
    X(error_name, cuGetErrorName)

#define CUDA_MEMBER(member, function) __typeof__(function) *member;
struct cuda_driver {
    CUDA_DRIVER_ENTRIES(CUDA_MEMBER)
};

/* ---- cuBLAS (cublas.c; HIP: rocblas.c) ---- */

/* Entries that are functions of the library. */
#define CUDA_BLAS_SAME(X)                     \
    X(create, cublasCreate)                   \
    X(destroy, cublasDestroy)                 \
    X(set_stream, cublasSetStream)            \
    X(set_pointer_mode, cublasSetPointerMode) \
    X(set_math_mode, cublasSetMathMode)       \
    X(saxpy, cublasSaxpy)                     \
    X(daxpy, cublasDaxpy)                     \
    X(axpy_ex, cublasAxpyEx)                  \
    X(sscal, cublasSscal)                     \
    X(dscal, cublasDscal)                     \
    X(scal_ex, cublasScalEx)                  \
    X(sdot, cublasSdot)                       \
    X(ddot, cublasDdot)                       \
    X(sasum, cublasSasum)                     \
    X(dasum, cublasDasum)                     \
    X(sgemv, cublasSgemv)                     \
    X(dgemv, cublasDgemv)                     \
    X(sgemm, cublasSgemm)                     \
    X(dgemm, cublasDgemm)
/* Those that have other arguments in rocBLAS. */
#define CUDA_BLAS_MIXED(X)   \
    X(gemm_ex, cublasGemmEx) \
    X(gemm_strided, cublasGemmStridedBatchedEx)
#define CUDA_BLAS_ENTRIES(X) CUDA_BLAS_SAME(X) CUDA_BLAS_MIXED(X)

struct cuda_blas_table {
    CUDA_BLAS_ENTRIES(CUDA_MEMBER)
};

/* ---- objects ---- */

/* A queue: a stream, and the buffers that its reductions need. */
struct cuda_queue {
    cudaStream_t stream;
    bool owned;        /* the plugin created the stream */
    atomic_bool known; /* the program has got the stream's handle, so that it can capture the
                        * stream */
    cublasHandle_t blas;
    void *dnn;             /* the handle of cuDNN, dnn.h */
    void *sums;            /* for reductions by kernels, on the device; NULL until first needed */
    float *scratch, *room; /* for reductions by cuBLAS; NULL until first needed */
    struct cuda_queue *next;
};

/* An allocation or import, with its handle. */
struct cuda_block {
    void *handle;
    uint64_t bytes;
    void *registered; /* for an import: the host memory that was registered for it */
};

/* A block whose free is deferred, because the stream that frees it was being captured. */
struct cuda_late {
    struct cuda_late *next;
    void *handle;
};

struct cuda_blocks {
    struct cuda_block *at; /* a hash table; its capacity `room` is a power of two */
    size_t room, count;
};

/* Whether another device can be accessed; asked again after that device is reopened. */
struct cuda_way {
    uint64_t serial; /* the serial number of the device that was asked about; 0: none */
    bool open;
};

struct cuda_device {
    uint64_t serial; /* the device's number among all devices ever opened, from 1 */
    uint32_t index;
    int ordinal; /* the runtime's number of the device */
    CUdevice cu;
    CUcontext context;
    bool primary;          /* the context is the primary one, which the plugin retains */
    bool unified;          /* the device shares physical memory with the host */
    bool host_page_tables; /* the device accesses all host memory, registered or not */
    bool plain;            /* host blocks are ordinary memory, since pinned memory would not be
                            * cached */
    cudaMemPool_t pool;    /* NULL: cudaMalloc is used */
    uint64_t memory_total;
    struct cuda_modules *modules; /* kernels.h */
    bool dnn;                     /* cuDNN is available and enabled */
    bool dnn_depthwise;           /* cuDNN is also used for depthwise convolutions */
    struct cuda_queue
        chooser; /* for the cuDNN handle that selects algorithms; it has no stream of its own */
    struct cuda_queue main, *queues; /* main: the default queue; queues: the others */
    pthread_mutex_t lock;            /* guards the members below, and `queues` */
    struct cuda_blocks blocks, imports;
    _Atomic(struct cuda_late *) late; /* freed blocks that are in no table and whose memory is not
                                       * freed yet */
    struct {
        atomic_bool use;
        struct cuda_list *first;
        struct cuda_queue recorder;             /* its stream is created for the first recording */
        _Atomic(struct cuda_queue *) recording; /* the queue whose runs are recorded; NULL: none */
    } lists;                                    /* used by list.c */
    struct cuda_base *base;                     /* for profile.c; NULL until a section begins */
    struct cuda_section *left; /* for profile.c: sections that were destroyed while the context
                                * could not be made current */
    cudaEvent_t spare[CUDA_SPARE_EVENTS];
    unsigned spares;
    struct cuda_way peers[CUDA_MAX_DEVICES]; /* indexed by ordinal */
    struct {
        _Atomic uint64_t live_bytes, live_host_blocks, live_maps, live_queues, live_events;
        _Atomic uint64_t copies[3], bytes[3], maps, unmaps, memsets, ops;
    } counters;
};

/* ---- the process (process.c, context.c, options.c) ---- */

extern const ferry_host *cuda_host;
extern struct cuda_driver cuda_driver;
extern struct cuda_blas_table cuda_blas;
extern const ferry_plugin_option cuda_options[CUDA_OPTIONS];

/* The values of option.unified, in the order of the option's words. */
enum cuda_unified { CUDA_UNIFIED_AUTO, CUDA_UNIFIED_OFF, CUDA_UNIFIED_ON };

/* The values of option.kernels. */
enum cuda_source { CUDA_KERNELS_AUTO, CUDA_KERNELS_COMPILE, CUDA_KERNELS_OFF };

/* The values of option.cudnn. */
enum cuda_dnn_use { CUDA_DNN_AUTO, CUDA_DNN_OFF, CUDA_DNN_ALL };

struct cuda_settings {
    bool pci_order, ordered_alloc, graphs;
    bool tensor; /* tensor cores compute products of halves */
    enum cuda_unified unified;
    enum cuda_source kernels;
    enum cuda_dnn_use dnn;
    uint64_t pool_limit; /* UINT64_MAX: the option is not set */
};
int cuda_settings_read(struct cuda_settings *out);

/* The runtime's ordinals of the devices, in ferry's order. */
int cuda_ordinals(int *out, uint32_t *out_count);

/* ---- device properties, without a context (properties.c) --- */

int cuda_find_ordinal(uint32_t index, int *out);
int cuda_attribute(enum cudaDeviceAttr which, int ordinal, int *out);
int cuda_pinned_is_cached(int ordinal, bool *out);
int cuda_properties_of(int ordinal, const struct cuda_settings *set, ferry_plugin_properties *out);

/* ---- errors (error.c): each function reports the vendor's name and returns ferry's code  */

/*
 * Removes the error that a call of ferry's has just left for cudaGetLastError; an earlier error of
 * the program's own call is kept. Called with the context current.
 */
void cuda_forget(cudaError_t error);
/* The free and the total memory in bytes, for a message. */
bool cuda_memory_left(size_t *out_left, size_t *out_total);

int cuda_fail(const char *call, cudaError_t error);
int cuda_fail_driver(const char *call, CUresult error);
/*
 * Reports an error of cuBLAS. Called with the context current. cuBLAS has a runtime of its own and
 * its statuses are vague: if one may mean a lost device, the stream is queried.
 */
int cuda_fail_blas(const char *call, cublasStatus_t status, cudaStream_t stream);
/* Reports an error of cublasCreate, which returns NOT_INITIALIZED if memory is short. */
int cuda_fail_handle(cublasStatus_t status, cudaStream_t stream);
bool cuda_is_lost(cudaError_t error);

/*
 * ---- differences of CUDA and HIP (driver.c, cublas.c, nvidia.c; HIP: runtime.c, rocblas.c)
 */

/* Finds the driver's functions, once. */
int cuda_driver_load(void);
/* Finds those of cuBLAS or rocBLAS, once. */
int cuda_blas_load(void);
/* A hint for the user; an empty string for a code without a hint. */
const char *cuda_hint_of(int code, cudaError_t error);
/* Reports why there is no device; causes that a user can fix have messages of their own. */
int cuda_fail_count(cudaError_t error);
/* The device's description and its identifier among all. */
void cuda_describe(const struct cudaDeviceProp *prop, int ordinal, ferry_plugin_properties *out);

/* The memory that a pointer belongs to. */
struct cuda_place {
    bool on_device, on_host; /* neither: memory that the runtime does not know */
    int ordinal;             /* the device's, if `on_device` */
    void *device_pointer;    /* how a device accesses it; NULL: it does not */
};
/* An error only if the runtime fails; left for cuda_forget. Called with the context current. */
cudaError_t cuda_place_of(const void *pointer, struct cuda_place *out);

/* ---- the current context (context.c) ---- */

struct cuda_scope {
    CUcontext before;
    CUstreamCaptureMode mode; /* the thread's capture mode */
    bool changed;
};
/*
 * Makes the context of a device current, until cuda_leave. ferry's work on its streams is not part
 * of the program's captures on other streams: between the two calls the thread may make calls that
 * are "potentially unsafe" for those captures without invalidating them
 * (cudaThreadExchangeStreamCaptureMode).
 */
int cuda_enter(struct cuda_device *dev, struct cuda_scope *scope);
/*
 * FERRY_EINVAL if the program is capturing the stream, which would record the work instead of
 * executing it. Called with the context current.
 */
int cuda_refuse_capture(cudaStream_t stream);
int cuda_refuse_queue(const struct cuda_queue *queue);
/* Checks for a capture, and makes the context current to submit work to a queue. */
int cuda_enter_on(struct cuda_device *dev, void *queue, struct cuda_scope *scope);
void cuda_leave(struct cuda_scope *scope);
/* Restores the caller's context, and reports the error of the call in between, if it failed. */
int cuda_end(struct cuda_scope *scope, const char *call, cudaError_t error);

/* ---- within ---- */

/* The queue of a handle of the ABI. */
static inline struct cuda_queue *cuda_queue_of(struct cuda_device *dev, void *handle)
{
    return handle ? handle : &dev->main;
}
/* Frees the objects of a queue before its stream is destroyed. Called with the context current. */
void cuda_queue_release(struct cuda_device *dev, struct cuda_queue *queue);
/* Makes the program's stream a queue; `dev` has its context. */
int cuda_stream_refuse(cudaStream_t stream); /* Refuses streams that cannot be a queue; needs no
                                              * context. */
int cuda_stream_check(struct cuda_device *dev, cudaStream_t stream);

/* The cuBLAS handle of a queue, created at the first call. Called with the context current. */
int cuda_blas_handle(struct cuda_queue *queue, cublasPointerMode_t mode, cublasHandle_t *out);
/*
 * The state around a call of cuBLAS with host scalars: the context, the queue's handle, and the
 * call's error. FERRY_EUNSUPPORTED if cuBLAS does not support the dtype.
 */
struct cuda_blas_call {
    struct cuda_device *dev;
    struct cuda_scope scope;
    cublasHandle_t handle;
    cudaStream_t stream;
};
int cuda_blas_begin(void *device, void *queue, uint32_t dtype, struct cuda_blas_call *out);
int cuda_blas_end(struct cuda_blas_call *call, const char *name, cublasStatus_t status);

/*
 * Sums by a kernel (launch.c). Called with the context current. FERRY_EUNSUPPORTED if there are no
 * kernels; this does not change later.
 */
int cuda_vector_sum(struct cuda_device *dev, struct cuda_queue *queue, uint32_t op, uint32_t dtype,
                    int64_t n, const void *x, const void *y, void *result);
int cuda_vector_fill(struct cuda_device *dev, const struct cuda_queue *queue, uint64_t size,
                     uint64_t bits, int64_t n, void *y);
/* Whether there is a kernel for conversions. */
bool cuda_converts(struct cuda_device *dev);

/* Frees the deferred blocks that can be freed now. Called with the context current. */
void cuda_free_late(struct cuda_device *dev);
void cuda_late_clear(struct cuda_device *dev);

bool cuda_blocks_add(struct cuda_blocks *blocks, struct cuda_block block);
bool cuda_blocks_take(struct cuda_blocks *blocks, const void *handle, struct cuda_block *out);
void cuda_blocks_clear(struct cuda_blocks *blocks);

/* The size of an element in bytes; 0 for an invalid dtype. */
static inline uint64_t cuda_element_size(uint32_t dtype)
{
    static const uint8_t sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };

    return dtype < FERRY_DTYPE_COUNT ? sizes[dtype] : 0;
}
static inline void *cuda_at(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset;
}
static inline const void *cuda_at_const(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset;
}

/* ---- profile.c ---- */

extern const ferry_profile_table cuda_profile;
/*
 * Ends profiling when the device is closed. `alive`: the context is current; otherwise it is lost.
 */
void cuda_profile_end(struct cuda_device *dev, bool alive);

/* ---- the entries ---- */

int cuda_device_count(void *plugin, uint32_t *out);
int cuda_device_open(void *plugin, uint32_t index, void **out_dev);
void cuda_device_close(void *dev);
int cuda_adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
               void **out_dev, uint32_t *out_index);
int cuda_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
int cuda_supports(void *dev, uint32_t op, uint32_t dtype);
int cuda_memory_info(void *dev, uint64_t *out_free, uint64_t *out_total);
int cuda_counters(void *dev, ferry_plugin_counters *out);
int cuda_trim(void *dev);
int cuda_native(void *dev, const char *what, void *out, uint64_t size);
int cuda_synchronize(void *dev);
int cuda_extension(void *dev, const char *name, const void **out_table);

int cuda_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
               uint32_t *out_flags);
int cuda_free(void *dev, void *queue, void *handle);
int cuda_owns(void *dev, const void *handle);
int cuda_host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr, uint32_t *out_flags);
int cuda_host_free(void *dev, void *ptr);
int cuda_import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
int cuda_unimport_host(void *dev, void *handle);
int cuda_map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
int cuda_unmap(void *dev, void *queue, void *handle);

int cuda_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes);
int cuda_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
int cuda_peer_access(void *dst_dev, void *src_dev);
int cuda_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                   uint64_t bytes);

int cuda_queue_create(void *dev, uint32_t flags, void **out_queue);
int cuda_queue_destroy(void *dev, void *queue);
int cuda_queue_synchronize(void *dev, void *queue);
int cuda_queue_wrap(void *dev, void *native, void **out_queue);
int cuda_queue_native(void *dev, void *queue, const char *what, void *out, uint64_t size);
int cuda_event_record(void *dev, void *queue, void **out_event);
int cuda_event_query(void *dev, void *event);
int cuda_event_synchronize(void *dev, void *event);
int cuda_event_destroy(void *dev, void *event);
int cuda_queue_wait(void *dev, void *queue, void *event);

int cuda_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
              ferry_ref y);
int cuda_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
int cuda_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
int cuda_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
int cuda_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                 uint32_t y_dtype, ferry_ref y);
int cuda_supports_convert(void *dev, uint32_t x_dtype, uint32_t y_dtype);
int cuda_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
             ferry_ref result);
int cuda_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int cuda_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int cuda_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
              double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
              ferry_ref y, int64_t incy);
int cuda_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
              int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
              int64_t ldb, double beta, ferry_ref c, int64_t ldc);

#endif

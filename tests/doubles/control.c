/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "double.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CALLS 96

struct settings settings = { .devices = 1 };
bool held;
unsigned waiting;
uint64_t staged_bytes, direct_bytes, indirect_bytes;
unsigned live_pools;

static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static _Thread_local cudaError_t last_error;

static struct {
    struct {
        const char *name;
        unsigned calls;
    } call[MOST_CALLS];
    unsigned calls, orders;
    struct planned {
        char name[48];
        unsigned left;
        int code;
    } now, later;
    bool tolerant;
    unsigned misuses, handles;
    char text[512];
} state;

/* ---- the lock ---- */

void lock(void)
{
    pthread_mutex_lock(&big_lock);
}

void unlock(void)
{
    pthread_mutex_unlock(&big_lock);
}

void wait_for_change(void)
{
    pthread_cond_wait(&changed, &big_lock);
}

void announce(void)
{
    pthread_cond_broadcast(&changed);
}

/* ---- settings ---- */

/* The environment's variable CUDA_DOUBLE_NAME or HIP_DOUBLE_NAME. */
static const char *variable(const char *name, const char *otherwise)
{
    char whole[40];
    const char *value;

    snprintf(whole, sizeof(whole), DOUBLE_VARIABLE "%s", name);
    value = getenv(whole);

    return value && *value ? value : otherwise;
}

static void plan(struct planned *p, const char *call, unsigned n, int code)
{
    snprintf(p->name, sizeof(p->name), "%s", call);
    p->left = n;
    p->code = code;
}

static void plan_from_environment(void)
{
    static bool done;
    const char *text = variable("FAIL", NULL);
    char name[48];
    unsigned n;
    int code = cudaErrorMemoryAllocation;

    if (!done && text && sscanf(text, "%47[^:]:%u:%d", name, &n, &code) >= 2)
        plan(&state.now, name, n, code);
    done = true;
}

void settings_read(void)
{
    const char *unified = variable("UNIFIED", "0");

    settings.devices = atoi(variable("DEVICES", DOUBLE_DEVICES));
    if (settings.devices > MOST_DEVICES)
        settings.devices = MOST_DEVICES;
    settings.memory = strtoull(variable("MEMORY", "1073741824"), NULL, 10);
    snprintf(settings.driver, sizeof(settings.driver), "%s", variable("DRIVER", "ok"));
    settings.pools = *variable("POOLS", "1") != '0';
    settings.tegra = !strcmp(unified, "tegra");
    settings.capability = atoi(variable("CAPABILITY", settings.tegra ? "53" : "90"));
    snprintf(settings.arch, sizeof(settings.arch), "%s", variable("ARCH", "gfx90a"));
    settings.integrated = settings.tegra || !strcmp(unified, "integrated");
    settings.page_tables = !strcmp(unified, "page-tables");
    settings.peers = *variable("PEERS", "1") != '0';
    settings.keeps_not_ready = !strcmp(variable("NOT_READY", ""), "kept");
    settings.late = (unsigned)atoi(variable("LATE", "0"));
    plan_from_environment();
}

/* ---- calls and their injected failures ---- */

static bool is_order(const char *call)
{
    static const char *const names[] = { "cudaMalloc",          "cudaMallocFromPoolAsync",
                                         "cudaHostAlloc",       "cudaMemcpyAsync",
                                         "cudaMemcpyPeerAsync", "cudaMemsetAsync",
                                         "cuMemsetD16Async",    "cuMemsetD32Async",
                                         "cudaEventRecord",     "cudaEventCreateWithFlags",
                                         "cudaStreamWaitEvent", "cuLaunchKernel" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i], call))
            return true;
    return false;
}

static void count(const char *call)
{
    unsigned i = 0;

    while (i < MOST_CALLS && state.call[i].name && strcmp(state.call[i].name, call) != 0)
        i++;
    if (i < MOST_CALLS) {
        state.call[i].name = call;
        state.call[i].calls++;
    }
    state.calls++;
    state.orders += is_order(call);
}

static cudaError_t due(struct planned *p, const char *call)
{
    bool any = !p->name[0] || (!strcmp(p->name, "*") && is_order(call));

    if (!p->left || (!any && strcmp(p->name, call) != 0))
        return cudaSuccess;
    return --p->left ? cudaSuccess : (cudaError_t)p->code;
}

cudaError_t enter(const char *call)
{
    count(call);
    return due(&state.now, call);
}

cudaError_t fails_later(const char *call)
{
    return due(&state.later, call);
}

cudaError_t leave(cudaError_t error)
{
    unlock();
    if (error != cudaSuccess && (error != cudaErrorNotReady || settings.keeps_not_ready))
        last_error = error;
    return error;
}

cudaError_t leave_apart(cudaError_t error)
{
    unlock();
    return error;
}

cudaError_t misuse(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(state.text, sizeof(state.text), fmt, args);
    va_end(args);
    state.misuses++;
    if (!state.tolerant) {
        fprintf(stderr, DOUBLE_NAME " (double): misuse: %s\n", state.text);
        abort();
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

/* ---- names of the errors that the doubles produce or tests inject -- */

#define ERRORS(X)                                                                                  \
    X(cudaSuccess, "no error")                                                                     \
    X(cudaErrorInvalidValue, "invalid argument")                                                   \
    X(cudaErrorMemoryAllocation, "out of memory")                                                  \
    X(cudaErrorInitializationError, "initialization error")                                        \
    X(cudaErrorCudartUnloading, "driver shutting down")                                            \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")            \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                     \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                            \
    X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                            \
    X(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices")    \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                   \
    X(cudaErrorSymbolNotFound, "named symbol not found")                                           \
    X(cudaErrorNotReady, "device not ready")                                                       \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                         \
    X(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                         \
    X(cudaErrorHostMemoryAlreadyRegistered,                                                        \
      "part or all of the requested memory range is already mapped")                               \
    X(cudaErrorHostMemoryNotRegistered,                                                            \
      "pointer does not correspond to a registered memory region")                                 \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                        \
    X(cudaErrorNotSupported, "operation not supported")                                            \
    X(cudaErrorStubLibrary, "CUDA driver is a stub library")                                       \
    X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")       \
    X(cudaErrorStreamCaptureInvalidated,                                                           \
      "operation failed due to a previous error during capture")                                   \
    X(cudaErrorStreamCaptureImplicit,                                                              \
      "operation would make the legacy stream depend on a capturing blocking stream")              \
    X(cudaErrorStreamCaptureWrongThread,                                                           \
      "attempt to terminate a thread-local capture sequence from another thread")                  \
    X(cudaErrorSystemNotReady, "system not yet initialized")                                       \
    X(cudaErrorSystemDriverMismatch,                                                               \
      "system has unsupported display driver / cuda driver combination")                           \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
#define NAME_OF(value)    #value
#define NAME(value, text) \
    if (error == value)   \
        return NAME_OF(value);
    ERRORS(NAME)
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
#define TEXT(value, text) \
    if (error == value)   \
        return text;
    ERRORS(TEXT)
    return "unrecognized error code";
}

/* ---- the table ---- */

static void control_fail(const char *call, unsigned n, int code)
{
    lock();
    plan(&state.now, call, n, code);
    unlock();
}

static void control_fail_later(const char *call, unsigned n, int code)
{
    lock();
    plan(&state.later, call, n, code);
    unlock();
}

static unsigned control_calls(const char *call)
{
    unsigned calls = !*call ? state.calls : !strcmp(call, "*") ? state.orders : 0;

    lock();
    for (unsigned i = 0; *call && i < MOST_CALLS && state.call[i].name; i++)
        if (!strcmp(state.call[i].name, call))
            calls = state.call[i].calls;
    unlock();
    return calls;
}

static void control_hold(int on)
{
    lock();
    held = on;
    announce();
    unlock();
}

static void control_hold_stream(void *handle, int on)
{
    struct stream *stream = handle;

    lock();
    stream->held = on;
    announce();
    unlock();
}

static int control_contexts(int ordinal)
{
    struct device *device = device_at(ordinal);

    return device && device->primary.references > 0;
}

static void control_tolerate(int on)
{
    state.tolerant = on;
    state.misuses = 0;
    state.text[0] = '\0';
}

static unsigned control_misuses(void)
{
    return state.misuses;
}

static const char *control_misuse(void)
{
    return state.text;
}

static uint64_t control_live_bytes(int ordinal)
{
    struct device *device = device_at(ordinal);

    return device ? device->used : 0;
}

unsigned count_blocks(const struct device *device);

static unsigned control_live_blocks(int ordinal)
{
    unsigned blocks;

    lock();
    blocks = count_blocks(device_at(ordinal));
    unlock();
    return blocks;
}

static unsigned control_live_pinned(void)
{
    unsigned blocks;

    lock();
    blocks = count_blocks(NULL);
    unlock();
    return blocks;
}

static unsigned control_live_streams(void)
{
    unsigned live = 0;

    lock();
    for (struct stream *stream = streams; stream; stream = stream->next)
        live += stream->context->main != stream;
    unlock();
    return live;
}

static unsigned control_live_events(void)
{
    return live_events;
}

static unsigned control_live_graphs(void)
{
    return live_graphs;
}

static unsigned control_live_handles(void)
{
    return state.handles;
}

static uint64_t control_staged(void)
{
    return staged_bytes;
}

static uint64_t control_direct(void)
{
    return direct_bytes;
}

static uint64_t control_indirect(void)
{
    return indirect_bytes;
}

static uint64_t control_threshold(int ordinal)
{
    struct device *device = device_at(ordinal);

    return device ? device->threshold : 0;
}

static unsigned control_live_pools(void)
{
    return live_pools;
}

extern const struct cuda_double_control ferry_cuda_double;
__attribute__((visibility("default"))) const struct cuda_double_control ferry_cuda_double = {
    .fail = control_fail,
    .fail_later = control_fail_later,
    .calls = control_calls,
    .hold = control_hold,
    .hold_stream = control_hold_stream,
    .contexts = control_contexts,
    .tolerate = control_tolerate,
    .misuses = control_misuses,
    .misuse = control_misuse,
    .live_bytes = control_live_bytes,
    .live_blocks = control_live_blocks,
    .live_pinned = control_live_pinned,
    .live_streams = control_live_streams,
    .live_events = control_live_events,
    .live_handles = control_live_handles,
    .live_graphs = control_live_graphs,
    .staged_bytes = control_staged,
    .direct_bytes = control_direct,
    .indirect_bytes = control_indirect,
    .threshold = control_threshold,
    .live_pools = control_live_pools,
};

void ferry_cuda_double_misuse(const char *text)
{
    lock();
    (void)misuse("%s", text);
    unlock();
}

int ferry_cuda_double_note(const char *call)
{
    int code;

    lock();
    code = (int)enter(call);
    unlock();
    return code;
}

void ferry_cuda_double_handle(void *context, int change)
{
    lock();
    if (context)
        ((struct context *)context)->handles += change;
    state.handles += (unsigned)change;
    unlock();
}

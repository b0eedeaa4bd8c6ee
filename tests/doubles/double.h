/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the files of the doubles share. One lock guards everything; a stream is a
 * thread that runs its commands in order, without the lock.
 */
#ifndef FERRY_CUDA_DOUBLE_H
#define FERRY_CUDA_DOUBLE_H

#define __CUDA_DEPRECATED
#include "control.h"

#ifdef CUDA_NAMES /* HIP's functions under CUDA's names: backends/hip/names.h */
#include CUDA_NAMES
#else
#include <cuda.h>
#include <cuda_runtime_api.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_DEVICES 8

/* How the double of HIP differs. */
#ifdef CUDA_NAMES
#define DOUBLE_NAME                "hip"
#define DOUBLE_VARIABLE            "HIP_DOUBLE_"
#define DOUBLE_DEVICES             "0" /* no test sees devices that it does not ask for */
#define DOUBLE_IS_HIP   true
#else
#define CUDA_WORD                  unsigned
#define DOUBLE_NAME                "cuda"
#define DOUBLE_VARIABLE            "CUDA_DOUBLE_"
#define DOUBLE_DEVICES             "1"
#define DOUBLE_IS_HIP   false
#endif

struct device;
struct stream;

struct context {
    struct device *device;
    unsigned references; /* of the primary one; 0: it does not exist */
    cudaError_t sticky;  /* the error that ended it */
    struct stream *main; /* the legacy default stream */
    int handles;         /* handles of cuBLAS and cuDNN created while it was current */
};

struct device {
    int ordinal;
    struct context primary;
    unsigned char *base, *cursor; /* its address range, without access permission */
    uint64_t used, memory;
    uint64_t threshold;
    unsigned peers; /* mask of devices that it can reach */
};

struct pool {
    struct device *device;
    unsigned access; /* mask of further devices with access */
    unsigned live;
};

/* A block of a device, or a range of pinned host memory. */
struct block {
    unsigned char *address;
    size_t size;
    unsigned char *bytes;   /* the storage; for host memory, the address */
    unsigned char *written; /* 1 for each byte with a defined value; NULL: not tracked */
    struct device *device;  /* NULL: host memory */
    struct pool *pool;
    unsigned users; /* commands that use it and are not done */
    uint64_t serial;
    bool ready;     /* its stream has reached the allocation */
    bool freed;     /* no new command may use it */
    bool orphan;    /* freed while in use; the last user frees it */
    bool allocated; /* of host memory: allocated by cudaHostAlloc, not registered */
};

/* One recording of an event: a thread that waits for it does not wait for later ones. */
struct mark {
    bool done;
    int64_t at;          /* nanoseconds: when it was done */
    unsigned references; /* held by the event, while it is the latest, and by each command */
};

#define MOST_USES 6
struct command {
    struct command *next;
    int (*run)(void *argument); /* NULL: no function; returns a cudaError_t */
    void *argument;             /* freed with the command */
    struct block *uses[MOST_USES];
    unsigned used;
    struct mark *mark, *await; /* the mark to complete, or to wait for */
    struct block *release;     /* a block of a pool to free */
    struct block *prepare;     /* a block of a pool that is valid from then on */
    cudaError_t fails;
    const char *call;
    size_t argument_size;
};

/*
 * The capture of a stream: its mode, and whether it was invalidated. If a thread in relaxed mode
 * began the capture, it is a library's own, and the double records work in it. Any other capture
 * belongs to the program.
 */
struct capture {
    enum cudaStreamCaptureMode mode;
    pthread_t by;
    bool spoilt, takes_work;
    struct command *head, **tail; /* the graph so far */
};

struct stream {
    struct stream *next;
    struct context *context;
    struct command *head, **tail;
    uint64_t submitted, done;
    bool quit, captured, held;
    struct capture capture;
    pthread_t thread;
};

struct event {
    struct context *context;
    struct mark *latest; /* NULL: never recorded */
    bool timing;
};

/* ---- control.c ---- */

struct settings {
    int devices;
    uint64_t memory;
    int capability; /* 90 for 9.0 */
    char driver[16];
    char arch[16];  /* HIP's, of "gfx90a" */
    bool pools, integrated, tegra, page_tables, peers; /* `tegra`: an early integrated device */
    bool keeps_not_ready;                              /* cudaErrorNotReady is kept like a failure
                                                        */
    unsigned late;                                     /* microseconds */
};
extern struct settings settings;
extern bool held;
extern unsigned waiting; /* number of blocked callers */
extern uint64_t staged_bytes, direct_bytes, indirect_bytes;
extern unsigned live_pools;

void settings_read(void);
void lock(void);
void unlock(void);
void wait_for_change(void);
void announce(void);

/* Counts a call and returns its injected error. (locked) */
cudaError_t enter(const char *call);
/* The error with which the command of the current call has to end when it runs. (locked) */
cudaError_t fails_later(const char *call);
/*
 * Reports an error of use, which ends the program unless tolerated. Returns cudaErrorInvalidValue.
 */
cudaError_t misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Leaves a runtime call: unlocks, and records the error for cudaGetLastError. */
cudaError_t leave(cudaError_t error);
/*
 * As leave, for cuBLAS, which is linked with a runtime of its own: cudaGetLastError of the plugin's
 * runtime does not return its errors.
 */
cudaError_t leave_apart(cudaError_t error);

/* ---- context.c ---- */

extern _Thread_local struct context *bound; /* the thread's current context; NULL: none yet */
struct device *device_at(int ordinal);
/* Whether this process is a child of the one that initialised CUDA. (locked) */
bool forked(void);
/* A reference to a device's primary context, and the end of the last one. (locked) */
void context_retain(struct device *device);
void context_destroy(struct context *context);
/*
 * The current context; a call that would create one is an error of use. If the context has ended
 * with an error, that error is returned, but objects are still freed. (locked)
 */
cudaError_t current(const char *call, struct context **out);
/* The start of a runtime call that needs a context: takes the lock, sets `context` and `error`. */
#define BEGIN(call)                       \
    struct context *context = NULL;       \
    cudaError_t error;                    \
    lock();                               \
    error = enter(#call);                 \
    if (error == cudaSuccess)             \
        error = current(#call, &context); \
    if (error != cudaSuccess)             \
    return leave(error)

/* ---- driver.c, which HIP replaces by hip.c ---- */

CUresult memset_d16(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream);
CUresult memset_d32(CUdeviceptr dst, CUDA_WORD value, size_t n, CUstream stream);
CUresult module_load(CUmodule *out, const void *image);
CUresult module_unload(CUmodule handle);
CUresult module_function(CUfunction *out, CUmodule handle, const char *name);
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream stream, void **params, void **extra);

/* ---- arena.c; all locked ---- */

struct block *block_new(struct device *device, size_t size);
void block_delete(struct block *block);
/* Discards the blocks of a pool, in a context that has ended. */
void forget_pool(const struct pool *pool);
struct block *block_find(const void *address);
/* The live block, of a device or the host, that contains an address. */
struct block *block_at(const void *address);
/* Whether the address is in a device block whose free was submitted and has not run yet. */
bool is_leaving(const void *address);
/* Whether the range contains a block or a part of one. */
bool block_within(const void *address, size_t size);
struct block *host_add(void *address, size_t size, bool allocated);
struct block *host_find(const void *address, size_t size);
/*
 * The storage of `size` bytes at an address of a device's memory, for a command to use later; NULL,
 * after an error of use, if the device may not access it.
 */
unsigned char *resolve(const char *call, struct command *command, struct device *device,
                       const void *address, size_t size);
/* The bytes of `written` for a device's address; NULL: not tracked. */
unsigned char *written_at(const void *address);
/* Whether the address belongs to a device. */
bool is_device_address(const void *address);
void use(struct command *command, struct block *block);

/* ---- stream.c; all locked ---- */

struct command *command_new(const char *call, size_t argument_size);
void command_delete(struct command *command);
cudaError_t stream_of(const char *call, struct context *context, cudaStream_t handle,
                      struct stream **out);
void submit(struct stream *stream, struct command *command);
void drain(struct stream *stream);
void drain_context(struct context *context);
struct stream *stream_new(struct context *context);
void stream_delete(struct stream *stream);
extern struct stream *streams;
extern unsigned live_events;
bool is_stream(const void *handle);

/* ---- capture.c; all locked ---- */

/*
 * For calls that are "potentially unsafe" while a stream is captured: returns an error if the
 * calling thread must not make them, which also invalidates the capture.
 */
cudaError_t capture_minds(void);
/* For calls that wait for a whole context, which invalidates captures in it. */
cudaError_t capture_ends(const struct context *context);
CUresult capture_exchange(CUstreamCaptureMode *mode);

/* ---- graph.c; locked ---- */

struct graph;
/* Whether that call's work is recorded in the graph of the stream's capture. */
bool capture_takes(const struct stream *stream, const char *call);
/* The captured work; NULL if the capture is invalid, or if memory is short. */
struct graph *graph_of_capture(struct stream *stream);
extern unsigned live_graphs;

/* ---- for the double of cuBLAS, which is a separate shared object - */

struct ferry_cuda_double_operand {
    const void *address;
    size_t size; /* bytes; 0: not accessed */
    unsigned char *bytes;
};

/* A context to compare with, or NULL for the current one. */
__attribute__((visibility("default"))) int ferry_cuda_double_enter(const char *call,
                                                                   void **context);
/*
 * Submits work to a stream of that context: a copy of the argument is run later, with the storage
 * of the operands filled in at the offsets `places`.
 */
__attribute__((visibility("default"))) int
ferry_cuda_double_submit(const char *call, void *context, cudaStream_t stream, int (*run)(void *),
                         const void *argument, size_t size,
                         const struct ferry_cuda_double_operand *operands, const size_t *places,
                         unsigned count);
__attribute__((visibility("default"))) void ferry_cuda_double_wait(cudaStream_t stream,
                                                                   void *context);
/* Starts a call that needs no context, as libnvrtc's do; returns its injected error. */
__attribute__((visibility("default"))) int ferry_cuda_double_note(const char *call);
__attribute__((visibility("default"))) void ferry_cuda_double_misuse(const char *text);
/* Counts objects of a context; NULL: objects without one, such as descriptors. */
__attribute__((visibility("default"))) void ferry_cuda_double_handle(void *context, int change);
__attribute__((visibility("default"))) int ferry_cuda_double_is_device(const void *address);

#endif

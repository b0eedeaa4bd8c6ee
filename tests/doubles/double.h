/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the doubles share. One lock guards everything; a stream is a thread that runs
 * its commands in order, without the lock.
 */
#ifndef FERRY_CUDA_DOUBLE_H
#define FERRY_CUDA_DOUBLE_H

#define __CUDA_DEPRECATED
#include "control.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_DEVICES 8

struct device;
struct stream;

struct context {
    struct device *device;
    unsigned references; /* of the primary one; 0: it does not exist */
    cudaError_t sticky;  /* what has ended it */
    struct stream *main; /* the legacy default stream */
    int handles;         /* of cuBLAS and cuDNN, made while it was current */
};

struct device {
    int ordinal;
    struct context primary;
    unsigned char *base, *cursor; /* its addresses, which nobody can touch */
    uint64_t used, memory;
    uint64_t threshold;
    unsigned peers; /* mask of devices that it may reach */
};

struct pool {
    struct device *device;
    unsigned access; /* mask of devices, besides its own */
    unsigned live;
};

/* A block of a device, or a range of pinned host memory. */
struct block {
    unsigned char *address;
    size_t size;
    unsigned char *bytes;  /* what is really there; of host memory, the address */
    unsigned char *written; /* 1 for each byte that has a defined value; NULL: it is not tracked */
    struct device *device; /* NULL: host */
    struct pool *pool;
    unsigned users; /* commands that name it and are not done */
    bool ready;     /* its allocation has been reached by its stream */
    bool freed;     /* nothing may name it any more */
    bool orphan;    /* freed while it had users, the last of which takes it along */
    bool allocated; /* of host memory: by cudaHostAlloc, not registered */
};

/* One recording of an event: who waits for it waits for no later one. */
struct mark {
    bool done;
    unsigned references; /* the event's, while it is its latest; each command's */
};

#define MOST_USES 6
struct command {
    struct command *next;
    int (*run)(void *argument); /* NULL: nothing to run; else a cudaError_t */
    void *argument;             /* freed with the command */
    struct block *uses[MOST_USES];
    unsigned used;
    struct mark *mark, *await; /* to complete, or to wait for */
    struct block *release;     /* a block of a pool to free */
    struct block *prepare;     /* a block of a pool that is there from now on */
    cudaError_t fails;
    const char *call;
};

/* Of a stream that is captured: as it was begun, and whether something has spoilt it. */
struct capture {
    enum cudaStreamCaptureMode mode;
    pthread_t by;
    bool spoilt;
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
};

/* ---- control.c ---- */

struct settings {
    int devices;
    uint64_t memory;
    int capability; /* 90 for 9.0 */
    char driver[16];
    bool pools, integrated, tegra, page_tables, peers; /* `tegra`: an integrated one of old */
    bool keeps_not_ready;                              /* as if it were a failure */
    unsigned late;                                     /* microseconds */
};
extern struct settings settings;
extern bool held;
extern unsigned waiting; /* callers that block */
extern uint64_t staged_bytes, direct_bytes, indirect_bytes;
extern unsigned live_pools;

void settings_read(void);
void lock(void);
void unlock(void);
void wait_for_change(void);
void announce(void);

/* Counts a call and says whether it is to fail. (locked) */
cudaError_t enter(const char *call);
/* Whether the command of the call that was just entered is to fail when it runs. (locked) */
cudaError_t fails_later(const char *call);
/* An error of use; ends the program unless tolerated. Returns cudaErrorInvalidValue. */
cudaError_t misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Leaves a runtime call: unlocks, and notes the error for cudaGetLastError. */
cudaError_t leave(cudaError_t error);
/*
 * The same for cuBLAS, whose runtime is linked into it and keeps its errors to itself:
 * cudaGetLastError of the plugin's runtime knows nothing of them.
 */
cudaError_t leave_apart(cudaError_t error);

/* ---- context.c ---- */

struct device *device_at(int ordinal);
/*
 * The current context; one that nobody asked for is an error of use. Where it has ended in a failure
 * that is the answer, and what is given back is taken all the same. (locked)
 */
cudaError_t current(const char *call, struct context **out);
/* How a call of the runtime that needs a context begins: locked, with `context` and `error`. */
#define BEGIN(call)                       \
    struct context *context = NULL;       \
    cudaError_t error;                    \
    lock();                               \
    error = enter(#call);                 \
    if (error == cudaSuccess)             \
        error = current(#call, &context); \
    if (error != cudaSuccess)             \
    return leave(error)
void *driver_entry(const char *name);

/* ---- arena.c; all locked ---- */

struct block *block_new(struct device *device, size_t size);
void block_delete(struct block *block);
/* Blocks that a pool leaves behind, in a context that has ended. */
void forget_pool(const struct pool *pool);
struct block *block_find(const void *address);
/* The live block, of a device or the host, that an address lies in. */
struct block *block_at(const void *address);
/* Whether it lies in a block of a device whose free has been submitted, and not reached. */
bool is_leaving(const void *address);
/* Whether a block, or a part of one, lies within the range. */
bool block_within(const void *address, size_t size);
struct block *host_add(void *address, size_t size, bool allocated);
struct block *host_find(const void *address, size_t size);
/*
 * What is at an address of a device's memory, `size` bytes of it, for a command to use later; NULL,
 * and an error of use, if it is none that the device may touch.
 */
unsigned char *resolve(const char *call, struct command *command, struct device *device,
                       const void *address, size_t size);
/* The bytes of `written` of a device's address; NULL: they are not tracked. */
unsigned char *written_at(const void *address);
/* Whether the address is one of any device's. */
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
 * For calls that are "potentially unsafe" while a stream is captured: whether the calling thread may do them. If not, the
 * capture that forbids it is spoilt.
 */
cudaError_t capture_minds(void);
/* For calls that wait for all of a context, which spoils what is captured there. */
cudaError_t capture_ends(const struct context *context);
CUresult capture_exchange(CUstreamCaptureMode *mode);

/* ---- for the double of cuBLAS, which is another shared object ---- */

struct ferry_cuda_double_operand {
    const void *address;
    size_t size; /* bytes; 0: not touched */
    unsigned char *bytes;
};

/* A context to compare with, or NULL: the one that is current. */
__attribute__((visibility("default"))) int ferry_cuda_double_enter(const char *call,
                                                                   void **context);
/*
 * Work on a stream of that context: a copy of the argument is run later, its pointers at `places`
 * filled in with what is behind the operands.
 */
__attribute__((visibility("default"))) int
ferry_cuda_double_submit(const char *call, void *context, cudaStream_t stream, int (*run)(void *),
                         const void *argument, size_t size,
                         const struct ferry_cuda_double_operand *operands, const size_t *places,
                         unsigned count);
__attribute__((visibility("default"))) void ferry_cuda_double_wait(cudaStream_t stream,
                                                                   void *context);
/* A call that needs no context, as libnvrtc's; the code that it is to fail with. */
__attribute__((visibility("default"))) int ferry_cuda_double_note(const char *call);
__attribute__((visibility("default"))) void ferry_cuda_double_misuse(const char *text);
/* Of a context; NULL: an object that has none, as a descriptor. */
__attribute__((visibility("default"))) void ferry_cuda_double_handle(void *context, int change);
__attribute__((visibility("default"))) int ferry_cuda_double_is_device(const void *address);

#endif

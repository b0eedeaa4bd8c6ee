/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the sim plugin share.
 *
 * One lock guards all devices, because events and peer copies cross them; no command runs under it,
 * and nothing is logged or reported under it. Functions marked (locked) want it held.
 */
#ifndef FERRY_SIM_H
#define FERRY_SIM_H

#include <ferry/op_plugin.h>
#include <ferry/plugin.h>
#include "control.h"
#include "kernels/plan.h"

#include <pthread.h>
#include <stdbool.h>

#define SIM_MAX_DEVICES 16u

struct sim_device;
struct sim_queue;
struct sim_list;

/* ---- errors (shared.c) ---- */

/* Why an entry fails: kept here under the lock, told to the host without it. */
struct sim_why {
    int code;
    char text[256];
};

/* Records it and returns `code`. */
int sim_why_set(struct sim_why *why, int code, const char *fmt, ...) FERRY_PRINTF(3, 4);
/* Tells the host, if there is anything to tell; returns the code. */
int sim_why_tell(const struct sim_why *why);

/* ---- options.c ---- */

enum sim_clock { SIM_CLOCK_REAL, SIM_CLOCK_MANUAL, SIM_CLOCK_SYNC };
enum sim_ops { SIM_OPS_ALL, SIM_OPS_ARITHMETIC, SIM_OPS_MINIMAL };
enum sim_unified { SIM_UNIFIED_ALL, SIM_UNIFIED_NONE, SIM_UNIFIED_ODD };

struct sim_settings {
    uint32_t devices;
    uint32_t clock;   /* enum sim_clock */
    uint32_t unified; /* enum sim_unified */
    uint32_t ops;     /* enum sim_ops */
    bool peer, map;
    bool lists;
    uint64_t without, slow; /* kinds of operations: bit 0 is number 32 */
    uint64_t memory;    /* bytes */
    uint64_t offset_alignment, max_binding; /* bytes; 0: none */
    uint64_t bandwidth;                     /* bytes a second; 0: unlimited */
    int64_t latency_ns, op_latency_ns;
    uint64_t fail_alloc, fail_memcpy, fail_op; /* which call fails; 0: none */
    uint64_t fail_create, fail_prepare, fail_run;
    uint64_t lose_run; /* at which run of an operation the device is lost; 0: at none */
};

#define SIM_OPTIONS 22u

extern const ferry_plugin_option sim_options[SIM_OPTIONS];

/* Reads them all from the host, which allows it in some entries only. FERRY_ECONF, and the host knows. */
int sim_settings_read(const ferry_host *host, struct sim_settings *out);

/* ---- arena.c: a device's address space ---- */

/* A live handle, and the bytes behind it. */
struct sim_block {
    uintptr_t base; /* the handle */
    uint64_t bytes;
    unsigned char *real;   /* where the bytes are; heap memory, or a view of `host` */
    uint64_t pending;      /* commands that use it and have not completed */
    struct sim_host *host; /* imported: the host block that it is a part of */
    unsigned char *host_view;
    uint32_t mapped; /* FERRY_READ | FERRY_WRITE, or 0 */
    uint64_t mapped_bytes;
    bool stuck; /* an unmap has failed: it is still mapped when its import ends */
};

struct sim_freed {
    uintptr_t base;
    uint64_t bytes;
};

struct sim_arena {
    uintptr_t start, end, next; /* the reserved range; where to look for room first */
    struct sim_block **blocks;  /* by address */
    size_t count, room;
    struct sim_freed *freed; /* the latest ones, a ring */
    uint64_t frees;
};

int sim_arena_open(struct sim_arena *arena, uint64_t memory, struct sim_why *why);
/* Forgets the blocks; they are the caller's. */
void sim_arena_close(struct sim_arena *arena);
/* Gives `block`, whose size is known, a handle. (locked) FERRY_ENOMEM. */
int sim_arena_add(struct sim_arena *arena, struct sim_block *block, struct sim_why *why);
void sim_arena_remove(struct sim_arena *arena, struct sim_block *block); /* (locked) */
/* The live block of that handle, which has to be its start. (locked) FERRY_EINVAL. */
int sim_arena_find(struct sim_device *dev, const void *handle, struct sim_block **out,
                   struct sim_why *why);
/* The live block that a pointer points into; NULL if none. (locked) */
const struct sim_block *sim_arena_at(const struct sim_arena *arena, const void *pointer);
/*
 * Where the bytes of a reference are, once it is known that they lie inside a live block and that
 * the host has not mapped it against that access. (locked) FERRY_EINVAL.
 */
int sim_arena_resolve(struct sim_device *dev, ferry_cref ref, uint64_t bytes, uint32_t access,
                      struct sim_block **out_block, unsigned char **out_real, struct sim_why *why);
/* What kernels want of a reference besides: offset_alignment and max_binding. FERRY_EINVAL. */
int sim_arena_bind(const struct sim_device *dev, ferry_cref ref, uint64_t bytes,
                   struct sim_why *why);

/* ---- hostmem.c: host memory of the device's making ---- */

struct sim_host {
    struct sim_host *next;
    unsigned char *view;   /* the host's pointer */
    unsigned char *device; /* the device's view of the same pages; NULL: not shared */
    uint64_t bytes, span;
    struct sim_block *import;
};

void sim_host_release(struct sim_host *host);

/* ---- hostrange.c: ranges of it ---- */

#define SIM_PAGE UINT64_C(4096)

uint64_t sim_whole_pages(uint64_t bytes);
/* The block that those bytes are part of; NULL: it is none of the device's. (locked) */
struct sim_host *sim_host_find(struct sim_device *dev, const void *ptr, uint64_t bytes);
/* Whether the host's side of a copy can be touched now. (locked) FERRY_EINVAL. */
int sim_host_check(struct sim_device *dev, const void *ptr, uint64_t bytes, uint32_t access,
                   struct sim_why *why);

/* ---- clock.c ---- */

int64_t sim_now(void); /* in nanoseconds */

/* ---- queue.c: commands and their order ---- */

enum sim_kind { SIM_COPY, SIM_SET, SIM_OP, SIM_RUN, SIM_MARK, SIM_WAIT };
enum sim_engine { SIM_NO_ENGINE, SIM_TO_DEVICE, SIM_TO_HOST, SIM_WITHIN, SIM_COMPUTE, SIM_ENGINES };

/* An arithmetic operation with its operands resolved. */
struct sim_op {
    uint32_t op, dtype, dtype2; /* dtype2: what convert makes */
    bool trans_a, trans_b;
    int64_t n, m, k; /* vectors: n; gemv: m × n; gemm: m × n × k */
    int64_t lda, ldb, ldc, incx, incy;
    double alpha, beta;
    const unsigned char *x, *a; /* gemv: a·x; gemm: a·x */
    unsigned char *y;
};

/* A prepared operation, or the packing of its constants, with its buffers resolved. */
struct sim_run {
    const struct kernel_plan *plan;
    bool packs;
    unsigned char *buffer[FROM_COUNT];
    uint64_t bytes[FERRY_OP_OUTPUTS]; /* of the outputs; of `packed`: the first */
    uint64_t seed, offset;
    double scalars[UPDATE_SCALARS];
};

/* The most blocks that a command uses. */
#define SIM_USES (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS + 2)

struct sim_failure {
    uint64_t serial; /* 0: none */
    struct sim_why why;
};

struct sim_event {
    struct sim_device *dev;
    struct sim_queue *queue;   /* valid until done */
    struct sim_queue *waiting; /* a heap: those whose head waits for it */
    struct sim_failure failure;
    int64_t finish; /* modelled time of completion */
    uint32_t refs;  /* its handle, its mark, and the waits for it */
    uint32_t slot;
    bool done;
};

struct sim_command {
    struct sim_command *next;
    uint64_t seq;
    enum sim_kind kind;
    enum sim_engine engine;
    int fail;                        /* it shall fail with this code */
    int64_t submitted, cost, finish; /* nanoseconds; finish once it is scheduled */
    bool scheduled;
    bool moved; /* its bytes are where they belong, its time has not come */
    struct sim_why why;
    struct sim_event *event;
    struct sim_block *uses[SIM_USES];
    const void *host; /* the host's side of a copy, to be checked again when it runs */
    uint32_t host_access;
    uint32_t byte;
    unsigned char *dst;
    const unsigned char *src;
    uint64_t bytes; /* at dst */
    struct sim_op op;
    struct sim_run *run; /* the command's own */
};

struct sim_queue {
    struct sim_queue *next, **link; /* its device's queues, and who points here */
    struct sim_queue *same_bucket;
    struct sim_device *dev;
    struct sim_command *head, **tail;
    uint64_t number; /* of its creation */
    bool running;    /* the head's bytes are being moved, without the lock */
    /* Where it stands (place.c): */
    struct sim_queue **heap;          /* NULL: nowhere */
    struct sim_queue *under, *beside; /* the first one below, the next one on its level */
    struct sim_queue **at;            /* who points here */
    int64_t key;
    int64_t free_at;
    struct sim_failure for_event; /* the first one since the latest event */
    struct sim_failure for_sync;  /* the latest one, unless an event has reported it */
};

struct sim_command *sim_command_create(enum sim_kind kind);
void sim_queue_init(struct sim_queue *queue, struct sim_device *dev);
/* Appends the command, which is the queue's from here on; on the sync clock runs it. (locked) */
void sim_queue_submit(struct sim_queue *queue, struct sim_command *command);
/* Ends what is on the queue, unrun, with `code`. (locked) */
void sim_queue_drop(struct sim_queue *queue, int code, const char *text);
/*
 * Runs the head, which is ready; the lock is released meanwhile. On the real clock it may be that
 * its bytes have moved but that it has to be run again to complete. (locked)
 */
void sim_queue_run(struct sim_queue *queue);
/* Blocks until no command up to `seq` is left. (locked) */
void sim_queue_drain(struct sim_queue *queue, uint64_t seq);
/* The same for all queues of the device, of which some may come and go meanwhile. (locked) */
void sim_queue_drain_all(struct sim_device *dev, uint64_t seq);
/* Blocks until the event is done. (locked) */
void sim_queue_await(struct sim_event *event);
/* Reports the latest failure, unless an event has done so. (locked) */
int sim_queue_take_failure(struct sim_queue *queue, struct sim_why *why);
/* A command lets go of its event. (locked) */
void sim_event_release(struct sim_event *event);
/* Wakes the device's thread, if it has one. (locked) */
void sim_device_wake(struct sim_device *dev);
/* Computes; no lock. (math.c) */
void sim_op_run(const struct sim_op *op);
/* The same (run.c); `fails`: what was to be written is rubbish. */
void sim_run_run(const struct sim_run *run, bool fails);

/* ---- place.c: which queue is next ---- */

/* Whether the head waits for an event that is not done. (locked) */
bool sim_queue_waits(const struct sim_queue *queue);
/* Whether the head can run, in whatever time. (locked) */
bool sim_queue_ready(const struct sim_queue *queue);
/* Gives the head, which is ready, its time. (locked) */
void sim_queue_schedule(struct sim_queue *queue);
/* When somebody has to run the scheduled head. (locked) */
int64_t sim_queue_due(const struct sim_queue *queue);
/* Puts the queue where it belongs, whenever its head is another or is another way. (locked) */
void sim_queue_place(struct sim_queue *queue);
/* Takes it out of where it stands, before its head goes. (locked) */
void sim_queue_lift(struct sim_queue *queue);
/* The event is done: those that waited can run. (locked) */
void sim_event_let_go(struct sim_event *event);
/*
 * The queue whose head is due first; NULL: none can run. Heads that became ready together get their
 * engine in the order of their submission. (locked)
 */
struct sim_queue *sim_queue_earliest(struct sim_device *dev);

/* ---- path.c: what holds a queue up ---- */

struct sim_step {
    struct sim_queue *queue, *behind; /* the one waits for an event of the other */
    uint64_t seq;                     /* of the command that waits */
};

struct sim_path {
    struct sim_queue *from;
    struct sim_step *steps;
    size_t count, room;
    uint64_t broken; /* as sim_shared had it */
};

/* A path of zeros, or one that has been started before, leads from that queue. (locked) */
void sim_path_start(struct sim_path *path, struct sim_queue *from);
/* The queue whose head has to run before `from` gets on; itself, if nothing holds it up. (locked) */
struct sim_queue *sim_path_first(struct sim_path *path);
void sim_path_end(struct sim_path *path);

/* ---- handles.c: a device's queues ---- */

struct sim_queues {
    struct sim_queue *first;    /* all of them, the latest first */
    struct sim_queue **buckets; /* by handle */
    size_t count, room;
    uint64_t created;
};

/* Adds it. (locked) FERRY_ENOMEM. */
int sim_queues_add(struct sim_queues *queues, struct sim_queue *queue, struct sim_why *why);
void sim_queues_remove(struct sim_queues *queues, struct sim_queue *queue); /* (locked) */
/* The queue of that handle, which may be anything; NULL if none. (locked) */
struct sim_queue *sim_queues_at(const struct sim_queues *queues, const void *handle);

/* ---- worker.c: the real clock ---- */

struct sim_worker {
    pthread_t thread;
    pthread_cond_t wake;
    bool started, stop;
};

int sim_worker_init(struct sim_worker *worker, struct sim_why *why);
/* Starts the device's thread unless it runs or the clock needs none. (locked) FERRY_ENOMEM. */
int sim_worker_start(struct sim_device *dev, struct sim_why *why);
/* Ends the thread after the command that it is running. Not locked. */
void sim_worker_finish(struct sim_device *dev);
/* The queue behind a handle; the device lives and its thread runs. (locked) FERRY_EINVAL. */
int sim_queue_find(struct sim_device *dev, void *handle, struct sim_queue **out,
                   struct sim_why *why);

/* ---- what a device is, and what all of them share ---- */

struct sim_fault {
    uint64_t calls;      /* so far */
    uint64_t now, later; /* which call fails, or is to fail later; 0: none */
    int now_code, later_code;
};

struct sim_device {
    struct sim_device *next;
    uint32_t index;
    bool lost, unified;
    bool held; /* its thread does nothing */
    struct sim_settings set;
    struct sim_arena arena;
    uint64_t used; /* bytes of device memory */
    struct sim_host *hosts;
    struct sim_queue main;
    struct sim_queues queues; /* `main` is the first that was created */
    struct sim_queue *ready;  /* a heap: those whose head can run, in the order of submission */
    struct sim_queue *due;    /* a heap: those whose head has its time, in that order */
    int64_t engine_free[SIM_ENGINES];
    struct sim_fault faults[SIM_CALL_COUNT];
    struct {
        uint64_t bytes,
            at; /* what fail_alloc has refused, at which call of all; 0 bytes: nothing */
    } refused;
    ferry_plugin_counters counters;
    struct sim_list *lists; /* recorded, or being recorded */
    struct sim_worker worker;
};

/* What all devices share. */
struct sim_shared {
    const ferry_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something completed */
    struct sim_device *devices;
    uint64_t seq;      /* of the latest command */
    uint64_t failures; /* serial of the latest failure */
    uint64_t broken;   /* how often a queue has gone, or what was on it has been dropped */
};

extern struct sim_shared sim_shared;

void sim_lock(void);
void sim_unlock(void);

/* ---- fault.c ---- */

/* Counts a call and fails it if it shall fail. (locked) */
int sim_fault(struct sim_device *dev, uint32_t call, struct sim_why *why);
/* The code with which the call that was just counted shall fail when it runs; 0: it shall not. */
int sim_fault_later(struct sim_device *dev, uint32_t call);
/* Ends the device and what is on its queues. (locked) */
void sim_lose(struct sim_device *dev);
/* Whether the device is there at all. (locked) FERRY_ELOST. */
int sim_alive(const struct sim_device *dev, struct sim_why *why);

/* ---- device.c ---- */

int sim_device_count(void *plugin, uint32_t *out);
int sim_device_open(void *plugin, uint32_t index, void **out_dev);
void sim_device_close(void *dev);
int sim_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
int sim_memory_info(void *dev, uint64_t *out_free, uint64_t *out_total);
int sim_counters(void *dev, ferry_plugin_counters *out);
int sim_native(void *dev, const char *what, void *out, uint64_t size);

/* ---- the other entries, by file ---- */

/* memory.c */
int sim_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags);
int sim_free(void *dev, void *queue, void *handle);
int sim_owns(void *dev, const void *handle);

/* hostmem.c */
int sim_host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr, uint32_t *out_flags);
int sim_host_free(void *dev, void *ptr);
int sim_import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
int sim_unimport_host(void *dev, void *handle);
int sim_map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
int sim_unmap(void *dev, void *queue, void *handle);

/* copy.c */
int sim_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes);
int sim_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
int sim_peer_access(void *dst_dev, void *src_dev);
int sim_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                  uint64_t bytes);

/* event.c */
int sim_synchronize(void *dev);
int sim_queue_create(void *dev, uint32_t flags, void **out_queue);
int sim_queue_destroy(void *dev, void *queue);
int sim_queue_synchronize(void *dev, void *queue);
int sim_queue_native(void *dev, void *queue, const char *what, void *out, uint64_t size);
int sim_event_record(void *dev, void *queue, void **out_event);
int sim_event_query(void *dev, void *event);
int sim_event_synchronize(void *dev, void *event);
int sim_event_destroy(void *dev, void *event);
int sim_queue_wait(void *dev, void *queue, void *event);
/* The device goes: its events are done, and their handles are no more. (locked) */
void sim_event_forget(const struct sim_device *dev);

/* ops.c */
int sim_supports(void *dev, uint32_t op, uint32_t dtype);
int sim_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y);
int sim_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
int sim_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
int sim_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
int sim_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x, uint32_t y_dtype,
                ferry_ref y);
int sim_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result);
int sim_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int sim_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int sim_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy);
int sim_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
             int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc);

/* operation.c */
int sim_extension(void *dev, const char *name, const void **out_table);
int sim_operation_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args);

/* list.c: lists of runs that repeat; entries of "ferry.op/1" */
int sim_list_begin(void *dev, void *queue, const ferry_op_list *list, uint32_t *out_action);
int sim_list_end(void *dev, void *queue, uint64_t id, uint32_t discard);
void sim_list_forget(void *dev, uint64_t id);
/* Whether a recording on that queue took the run; FERRY_ENOMEM. */
int sim_list_take(struct sim_device *dev, const void *queue, void *prepared,
                  const ferry_op_run_args *args, bool *out_taken);
/* The device goes. */
void sim_list_end_all(struct sim_device *dev);

/* ---- element.c: one element of any type ---- */

uint64_t sim_element_size(uint32_t dtype); /* 0: no such type */
double sim_element_get(uint32_t dtype, const void *base, int64_t index);
void sim_element_set(uint32_t dtype, void *base, int64_t index, double value);
/* Converts as the ABI says. */
void sim_element_convert(uint32_t from, const void *x, uint32_t to, void *y, int64_t index);

/* ---- control.c ---- */

extern const struct sim_control sim_control;

/* Bytes of fresh memory (NaN in every floating type), and of memory that was freed or never got. */
#define SIM_POISON_FRESH 0xff
#define SIM_POISON_FREED 0xa5

#endif

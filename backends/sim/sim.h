/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the files of the sim plugin share.
 *
 * One lock guards all devices, because events and peer copies involve several devices. No command
 * runs under the lock, and no message is logged or reported under it. Functions marked (locked)
 * must be called with the lock held.
 */
#ifndef FERRY_SIM_H
#define FERRY_SIM_H

#include <ferry/op_table.h>
#include <ferry/plugin.h>
#include <ferry/profile_plugin.h>
#include "control.h"
#include "kernels/host.h"

#include <pthread.h>
#include <stdbool.h>

#define SIM_MAX_DEVICES 16u

struct sim_device;
struct sim_queue;
struct sim_section;
struct sim_list;

/* ---- errors (shared.c) ---- */

/* An entry's error: recorded under the lock, reported to the host without it. */
struct sim_why {
    int code;
    char text[256];
};

/* Records an error and returns `code`. */
int sim_why_set(struct sim_why *why, int code, const char *fmt, ...) FERRY_PRINTF(3, 4);
/* Reports the error to the host, if there is one; returns the code. */
int sim_why_tell(const struct sim_why *why);

/* ---- options.c ---- */

enum sim_clock { SIM_CLOCK_REAL, SIM_CLOCK_MANUAL, SIM_CLOCK_SYNC };
enum sim_ops { SIM_OPS_ALL, SIM_OPS_ARITHMETIC, SIM_OPS_MINIMAL };
enum sim_graph {
    SIM_GRAPH_OFF,
    SIM_GRAPH_ON,
    SIM_GRAPH_PIECES,
    SIM_GRAPH_HOLES,
    SIM_GRAPH_FAIL,
    SIM_GRAPH_NONE,
    SIM_GRAPH_WIDE
};
enum sim_unified { SIM_UNIFIED_ALL, SIM_UNIFIED_NONE, SIM_UNIFIED_ODD };

struct sim_settings {
    uint32_t devices;
    uint32_t clock;   /* enum sim_clock */
    uint32_t unified; /* enum sim_unified */
    uint32_t ops;     /* enum sim_ops */
    uint32_t graph;   /* enum sim_graph */
    bool peer, map;
    bool lists;
    uint64_t without, slow; /* the kinds of operations that are not offered, or slow: bit 0 is kind
                             * 32 */
    uint64_t memory;    /* in bytes */
    uint64_t offset_alignment, max_binding; /* in bytes; 0: no limit */
    uint64_t bandwidth;                     /* in bytes per second; 0: unlimited */
    int64_t latency_ns, op_latency_ns;
    uint64_t fail_alloc, fail_memcpy, fail_op; /* the number of the call that fails; 0: none */
    uint64_t fail_create, fail_prepare, fail_run;
    uint64_t lose_run; /* the run of an operation that loses the device; 0: none */
};

#define SIM_OPTIONS 23u

extern const ferry_plugin_option sim_options[SIM_OPTIONS];

/*
 * Reads all options from the host. Only some entries may call this. Returns FERRY_ECONF
 * after reporting the error to the host.
 */
int sim_settings_read(const ferry_host *host, struct sim_settings *out);

/* ---- arena.c: a device's address space ---- */

/* A live handle and its storage. */
struct sim_block {
    uintptr_t base; /* the handle */
    uint64_t bytes;
    unsigned char *real;   /* the storage: heap memory, or a view of `host` */
    uint64_t pending;      /* number of commands that use it and have not completed */
    struct sim_host *host; /* the host block that an import is a part of */
    unsigned char *host_view;
    uint32_t mapped; /* FERRY_READ | FERRY_WRITE, or 0 */
    uint64_t mapped_bytes;
    bool stuck; /* an unmap has failed: the host's view stays mapped when the import ends */
};

struct sim_freed {
    uintptr_t base;
    uint64_t bytes;
};

struct sim_arena {
    uintptr_t start, end, next; /* the reserved range, and the address where the search for room
                                 * starts */
    struct sim_block **blocks;  /* sorted by address */
    size_t count, room;
    struct sim_freed *freed; /* the latest ones, a ring buffer */
    uint64_t frees;
};

int sim_arena_open(struct sim_arena *arena, uint64_t memory, struct sim_why *why);
/* Frees the table of blocks; the caller frees the blocks. */
void sim_arena_close(struct sim_arena *arena);
/* Assigns a handle to `block`, whose size is set. (locked) FERRY_ENOMEM. */
int sim_arena_add(struct sim_arena *arena, struct sim_block *block, struct sim_why *why);
void sim_arena_remove(struct sim_arena *arena, struct sim_block *block); /* Removes a block.
                                                                          * (locked) */
/* Finds the live block that starts at that handle. (locked) FERRY_EINVAL. */
int sim_arena_find(struct sim_device *dev, const void *handle, struct sim_block **out,
                   struct sim_why *why);
/* The live block that a pointer points into; NULL if there is none. (locked) */
const struct sim_block *sim_arena_at(const struct sim_arena *arena, const void *pointer);
/*
 * The address of a reference's bytes, after a check that they are inside a live block and that no
 * mapping by the host excludes the access. (locked) FERRY_EINVAL.
 */
int sim_arena_resolve(struct sim_device *dev, ferry_cref ref, uint64_t bytes, uint32_t access,
                      struct sim_block **out_block, unsigned char **out_real, struct sim_why *why);
/* Checks the further requirements of kernels: offset_alignment and max_binding. FERRY_EINVAL. */
int sim_arena_bind(const struct sim_device *dev, ferry_cref ref, uint64_t bytes,
                   struct sim_why *why);

/* ---- hostmem.c: host memory that the device allocates - */

struct sim_host {
    struct sim_host *next;
    unsigned char *view;   /* the host's pointer */
    unsigned char *device; /* the device's view of the same pages; NULL: not shared */
    uint64_t bytes, span;
    struct sim_block *import;
};

void sim_host_release(struct sim_host *host);

/* ---- hostrange.c: ranges of host memory ---- */

#define SIM_PAGE UINT64_C(4096)

uint64_t sim_whole_pages(uint64_t bytes);
/* The block that contains those bytes; NULL if they do not belong to the device. (locked) */
struct sim_host *sim_host_find(struct sim_device *dev, const void *ptr, uint64_t bytes);
/* Whether the host side of a copy can be accessed now. (locked) FERRY_EINVAL. */
int sim_host_check(struct sim_device *dev, const void *ptr, uint64_t bytes, uint32_t access,
                   struct sim_why *why);

/* ---- clock.c ---- */

int64_t sim_now(void); /* in nanoseconds */

/* ---- queue.c: commands and their order ---- */

enum sim_kind { SIM_COPY, SIM_SET, SIM_OP, SIM_RUN, SIM_MARK, SIM_WAIT };
enum sim_engine { SIM_NO_ENGINE, SIM_TO_DEVICE, SIM_TO_HOST, SIM_WITHIN, SIM_COMPUTE, SIM_ENGINES };

/* An arithmetic operation with its operands resolved. */
struct sim_op {
    uint32_t op, dtype, dtype2; /* dtype2: of the output of convert */
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
    struct kernel_host_run on;
    uint64_t bytes[FERRY_OP_OUTPUTS]; /* the sizes of the outputs; for packing: the first has that
                                       * of `packed` */
    double scalars[UPDATE_SCALARS];
};

/* The maximum number of blocks that a command uses. */
#define SIM_USES (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS + 2)

struct sim_failure {
    uint64_t serial; /* 0: no failure */
    struct sim_why why;
};

struct sim_event {
    struct sim_device *dev;
    struct sim_queue *queue;   /* valid until done */
    struct sim_queue *waiting; /* a heap of the queues whose head waits for it */
    struct sim_failure failure;
    int64_t finish; /* modelled time of completion */
    uint32_t refs;  /* one each for its handle, its record command, and the waits for it */
    uint32_t slot;
    bool done;
};

struct sim_command {
    struct sim_command *next;
    uint64_t seq;
    enum sim_kind kind;
    enum sim_engine engine;
    int fail;                        /* the code with which the command has to fail */
    int64_t submitted, cost, finish; /* in nanoseconds; finish is valid once the command is
                                      * scheduled */
    bool scheduled;
    bool moved; /* its bytes are copied, but its finish time is not reached */
    struct sim_why why;
    struct sim_event *event;
    struct sim_block *uses[SIM_USES];
    const void *host; /* the host side of a copy, checked again when it runs */
    uint32_t host_access;
    uint32_t byte;
    unsigned char *dst;
    const unsigned char *src;
    uint64_t bytes; /* at dst, in bytes */
    struct sim_op op;
    struct sim_run *run; /* owned by the command */
};

struct sim_queue {
    struct sim_queue *next, **link; /* the next queue of the device, and the pointer to this one */
    struct sim_queue *same_bucket;
    struct sim_device *dev;
    struct sim_command *head, **tail;
    uint64_t number; /* the order of creation */
    bool running;    /* the head's bytes are being copied, without the lock */
    /* The set that the queue is in (place.c): */
    struct sim_queue **heap;          /* NULL: the queue is in no set */
    struct sim_queue *under, *beside; /* the first child, and the next sibling */
    struct sim_queue **at;            /* the pointer to this queue */
    int64_t key;
    int64_t free_at;
    bool profiled;
    int64_t stamped;              /* the time at which the latest stamped command ended */
    struct sim_section *sections; /* the sections that are not complete */
    struct sim_failure for_event; /* the first failure since the latest event */
    struct sim_failure for_sync;  /* the latest failure, unless an event has reported it */
};

struct sim_command *sim_command_create(enum sim_kind kind);
void sim_queue_init(struct sim_queue *queue, struct sim_device *dev);
/* Appends the command and takes ownership of it; on the sync clock runs it. (locked) */
void sim_queue_submit(struct sim_queue *queue, struct sim_command *command);
/* Ends the commands of the queue with `code` without running them. (locked) */
void sim_queue_drop(struct sim_queue *queue, int code, const char *text);
/*
 * Runs the head, which must be ready; the lock is released meanwhile. On the real clock the bytes
 * may be copied although the command must run again to complete. (locked)
 */
void sim_queue_run(struct sim_queue *queue);
/* Blocks until all commands up to `seq` have completed. (locked) */
void sim_queue_drain(struct sim_queue *queue, uint64_t seq);
/*
 * As sim_queue_drain, for all queues of the device; queues may be created and destroyed meanwhile.
 * (locked)
 */
void sim_queue_drain_all(struct sim_device *dev, uint64_t seq);
/* Blocks until the event is done. (locked) */
void sim_queue_await(struct sim_event *event);
/* Reports the latest failure, unless an event has reported it. (locked) */
int sim_queue_take_failure(struct sim_queue *queue, struct sim_why *why);
/* Drops a command's reference to its event. (locked) */
void sim_event_release(struct sim_event *event);
/* Wakes the device's thread, if it has one. (locked) */
void sim_device_wake(struct sim_device *dev);
/* Computes the operation, without the lock. (math.c) */
void sim_op_run(const struct sim_op *op);
/* Executes a prepared operation (run.c); `fails`: poisons the outputs. */
void sim_run_run(const struct sim_run *run, bool fails);

/* ---- place.c: selection of the next queue ---- */

/* Whether the head waits for an event that is not done. (locked) */
bool sim_queue_waits(const struct sim_queue *queue);
/* Whether the head can run, at any time. (locked) */
bool sim_queue_ready(const struct sim_queue *queue);
/* Assigns the head, which is ready, its time. (locked) */
void sim_queue_schedule(struct sim_queue *queue);
/* The time at which the scheduled head must run. (locked) */
int64_t sim_queue_due(const struct sim_queue *queue);
/* Puts the queue into its set; called whenever its head, or the head's state, changes. (locked) */
void sim_queue_place(struct sim_queue *queue);
/* Removes the queue from its set, before its head is removed. (locked) */
void sim_queue_lift(struct sim_queue *queue);
/* Makes those queues ready that waited for an event which is now done. (locked) */
void sim_event_let_go(struct sim_event *event);
/*
 * The queue whose head is due first; NULL if none can run. Heads that became ready together get
 * their engine in the order of their submission. (locked)
 */
struct sim_queue *sim_queue_earliest(struct sim_device *dev);

/* ---- path.c: chains of waiting queues ---- */

struct sim_step {
    struct sim_queue *queue, *behind; /* `queue` waits for an event of `behind` */
    uint64_t seq;                     /* the number of the waiting command */
};

struct sim_path {
    struct sim_queue *from;
    struct sim_step *steps;
    size_t count, room;
    uint64_t broken; /* the value of sim_shared at the last walk */
};

/* Starts a path from that queue; the path is zero, or was started before. (locked) */
void sim_path_start(struct sim_path *path, struct sim_queue *from);
/*
 * The queue whose head has to run before `from` can advance; `from` itself if it is not blocked.
 * (locked)
 */
struct sim_queue *sim_path_first(struct sim_path *path);
void sim_path_end(struct sim_path *path);

/* ---- handles.c: a device's queues ---- */

struct sim_queues {
    struct sim_queue *first;    /* all queues, the latest first */
    struct sim_queue **buckets; /* a hash table by handle */
    size_t count, room;
    uint64_t created;
};

/* Adds a queue. (locked) FERRY_ENOMEM. */
int sim_queues_add(struct sim_queues *queues, struct sim_queue *queue, struct sim_why *why);
void sim_queues_remove(struct sim_queues *queues, struct sim_queue *queue); /* Removes a queue.
                                                                             * (locked) */
/* The queue of a handle, which may be any value; NULL if there is none. (locked) */
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
/* Ends the thread after its current command. Not locked. */
void sim_worker_finish(struct sim_device *dev);
/*
 * The queue of a handle; the device must be alive, and its thread is started. (locked)
 * FERRY_EINVAL.
 */
int sim_queue_find(struct sim_device *dev, void *handle, struct sim_queue **out,
                   struct sim_why *why);

/* ---- devices and shared state ---- */

struct sim_fault {
    uint64_t calls;      /* the number of calls so far */
    /* the number of the call that fails, or whose command fails later; 0: none */
    uint64_t now, later;
    int now_code, later_code;
};

struct sim_device {
    struct sim_device *next;
    uint32_t index;
    bool lost, unified;
    bool held; /* the device's thread runs no commands */
    struct sim_settings set;
    struct sim_arena arena;
    uint64_t used; /* the bytes of device memory in use */
    struct sim_host *hosts;
    struct sim_queue main;
    struct sim_queues queues; /* `main` is the queue that was created first */
    struct sim_queue *ready;  /* a heap: the queues whose head can run, in the order of submission
                               */
    struct sim_queue *due;    /* a heap of the queues whose head has its time, in that order */
    int64_t engine_free[SIM_ENGINES];
    struct sim_fault faults[SIM_CALL_COUNT];
    struct {
        uint64_t bytes,
            at; /* the call number of the allocation that fail_alloc refused, and its size; 0 bytes:
                 * none */
    } refused;
    ferry_plugin_counters counters;
    struct sim_list *lists; /* the lists that are recorded or being recorded */
    struct sim_worker worker;
};

/* State shared by all devices. */
struct sim_shared {
    const ferry_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a command has completed */
    struct sim_device *devices;
    uint64_t seq;      /* the number of the latest command */
    uint64_t failures; /* the serial number of the latest failure */
    uint64_t broken;   /* number of times that a queue was destroyed or its commands were dropped */
};

extern struct sim_shared sim_shared;

/* Registers, once, the handler that gives the child of a fork its own lock. */
void sim_watch_forks(void);
void sim_lock(void);
void sim_unlock(void);

/* ---- fault.c ---- */

/* Counts a call, and fails it if that was requested. (locked) */
int sim_fault(struct sim_device *dev, uint32_t call, struct sim_why *why);
/* The code with which the command of the call just counted must fail when it runs; or 0. */
int sim_fault_later(struct sim_device *dev, uint32_t call);
/*
 * Loses the device and ends the commands of its queues; waits for those that are copying bytes.
 * (locked; unlocks while it waits)
 */
void sim_lose(struct sim_device *dev);
/* Whether the device is open and not lost. (locked) FERRY_ELOST. */
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

/* in memory.c */
int sim_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags);
int sim_free(void *dev, void *queue, void *handle);
int sim_owns(void *dev, const void *handle);

/* in hostmem.c */
int sim_host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr, uint32_t *out_flags);
int sim_host_free(void *dev, void *ptr);
int sim_import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
int sim_unimport_host(void *dev, void *handle);
int sim_map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
int sim_unmap(void *dev, void *queue, void *handle);

/* in copy.c */
int sim_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes);
int sim_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
int sim_peer_access(void *dst_dev, void *src_dev);
int sim_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                  uint64_t bytes);

/* in event.c */
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
/*
 * Ends the device's events when it is closed: they become done and their handles invalid. (locked)
 */
void sim_event_forget(const struct sim_device *dev);

/* in ops.c */
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

/* in operation.c */
int sim_operation_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out);
int sim_operation_create(void *dev, const ferry_op_desc *op, void **out_prepared);
int sim_operation_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                          ferry_ref packed);
int sim_operation_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args);
void sim_operation_destroy(void *dev, void *prepared);

/* sections of profile.c, in section.c */
/* A section: the commands of a queue from number `first` to `last`. */
struct sim_section {
    struct sim_section *next;
    struct sim_queue *queue; /* NULL once its commands are complete */
    uint64_t first, last;    /* UINT64_MAX: the section has not ended */
    int64_t begin, end;
    bool stamped;
    struct sim_why why;
};

/* Stamps the queue's sections after its head `c` has completed and was removed. (locked) */
void sim_section_stamp(struct sim_queue *queue, const struct sim_command *c);
/* Detaches all sections of a queue that ends and has completed its commands. (locked) */
void sim_section_forget(struct sim_queue *queue);
/* Detaches a complete or destroyed section from its queue. (locked) */
void sim_section_detach(struct sim_section *s);

/* in profile.c */
extern const ferry_profile_table sim_profile;

/* in graph.c */
extern const struct ferry_graph_table sim_graphs;

/* in list.c: the table "ferry.op/1", and lists of repeated runs */
extern const ferry_op_table sim_operations;
/* Frees the lists when the device is closed. */
void sim_list_end_all(struct sim_device *dev);

/* ---- element.c: one element of any type ---- */

uint64_t sim_element_size(uint32_t dtype); /* Returns 0 for an invalid type. */
double sim_element_get(uint32_t dtype, const void *base, int64_t index);
void sim_element_set(uint32_t dtype, void *base, int64_t index, double value);
/* Converts elements as the ABI specifies. */
void sim_element_convert(uint32_t from, const void *x, uint32_t to, void *y, int64_t index);

/* ---- control.c ---- */

extern const struct sim_control sim_control;

/*
 * The bytes of new memory (NaN in every floating type), and of memory that was freed or never
 * written.
 */
#define SIM_POISON_FRESH 0xff
#define SIM_POISON_FREED 0xa5

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_KIT_H
#define FERRY_CONFORM_KIT_H

#include "conform.h"

#include <ferry/plugin.h>

/*
 * Functions that the groups share. A group is a function that runs in a process of its own: it
 * returns on success, and kit_fail does not return. It need not clean up after a failure.
 */

struct kit {
    const struct conform_target *target;
    void *library; /* of dlopen */
    const ferry_plugin_descriptor *note;
    const ferry_plugin_ops *table; /* the table that the plugin returned */
    ferry_plugin_ops ops;          /* the entries that both sides know; absent ones are NULL */
    uint32_t devices;
    void *dev; /* the device under test, open */
    ferry_plugin_properties properties;
};

extern struct kit kit;

/* ---- results (kit.c) ------------------------------------------------------------------------ */

/*
 * Names the next case, which the report of a failure, a crash or a timeout quotes. One thread at a
 * time.
 */
void kit_case(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Ends the group: "case: message". Callable from any thread. */
_Noreturn void kit_fail(const char *fmt, ...) FERRY_PRINTF(1, 2);
_Noreturn void kit_not_offered(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* The summary of a group that passes. */
void kit_remark(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Reports that the current case is skipped, and why, on a line of its own. The group continues. */
void kit_skipped(const char *fmt, ...) FERRY_PRINTF(1, 2);

/* Fails the group if the entry did not succeed. */
void kit_ok(int code, const char *entry);
/*
 * Fails the group unless the entry failed, with a code of ferry and, unless that is
 * FERRY_EUNSUPPORTED, after reporting a message. Returns the code.
 */
int kit_refused(int code, const char *entry);
/* The plugin's latest message to host->error on this thread. */
const char *kit_told(void);
const char *kit_code_name(int code); /* "FERRY_ENOMEM" */

/* ---- the plugin (kit.c) --------------------------------------------------------------------- */

/* Calls only dlopen, which kit_open_plugin does by default. */
void kit_load(void);
/* Loads the plugin and gets its table. */
void kit_open_plugin(void);
/* Opens the device under test. */
void kit_open_target(void);
/*
 * Calls kit_open_plugin and kit_open_target, for most groups. The plugin is opened once per
 * process.
 */
void kit_open(void);
void *kit_open_device(uint32_t index);
void kit_properties(void *dev, uint32_t index, ferry_plugin_properties *out);
bool kit_is(uint32_t flag); /* FERRY_DEVICE_… of the device under test */
/* Whether the plugin lacks event_record: all work is done when an entry returns. */
bool kit_synchronous(void);
/* 1 or 0; true if the plugin does not report it. */
bool kit_supports(uint32_t op, uint32_t dtype);
/* False if the plugin has no counters. */
bool kit_counters(ferry_plugin_counters *out);

/*
 * Whether the address is code of the plugin's file (only the first call needs system calls); and
 * the number of other threads that run such code (own.c).
 */
bool kit_is_code(uintptr_t address);
int kit_threads_of_the_plugin(void);
/* Records, for the report, that ferry's loader refuses the file. */
int kit_libraries(void);

/* Records a fact for the report. */
void kit_refused_by_loader(void);

/* Groups that let the plugin's entries query options enclose its calls in these. */
void kit_options_allowed(bool allowed);

/* host->scratch, and its release: this thread has waited for all work (scratch.c). */
int kit_scratch(uint64_t bytes, void **out_handle);
void kit_scratch_end(void);

/* Waits, as ferry does, by an event until the queue's work so far is done. */
void kit_wait(void *queue);

/*
 * Runs a process that ends like a program, by exit(); returns its status as of waitpid. A failure
 * in it fails the group.
 */
int kit_program(void (*body)(void));

/* Checks for output, and for changes of state that belongs to the program (manners.c). */
void kit_manners_begin(int errors);
void kit_manners_opened(void);
void kit_manners_end(void);
/* Checks of per-thread state, which threads that call entries make before they end. */
void kit_thread_manners(void);
/* Receives the log of libferry: the original standard error. */
void kit_log(void *arg, int level, const char *line);

/* event_query, and queue_wait of another queue, must not wait for a busy one (busy.c). */
void kit_calls_come_back(void *queue, void *other);
/* queue_wait: `waiting` must not continue before an event of `busy` is done. */
void kit_queue_waits(void *busy, void *waiting);
/* synchronize and queue_synchronize must wait for a busy queue while the default one is idle. */
void kit_queue_is_waited_for(void *queue);

/* ---- resources (growth.c) ------------------------------------------------------------------- */

/* A sanitizer keeps freed memory, and prints a report when a process ends. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KIT_SANITIZED 1
#endif
#endif
#ifndef KIT_SANITIZED
#define KIT_SANITIZED 0
#endif

/* The resources of the process. */
struct kit_footprint {
    uint64_t heap;             /* bytes of malloc in use, exact; 0 if unknown */
    uint64_t mapped, resident; /* bytes */
    uint64_t memory; /* resident bytes that belong to no file; only of kit_footprint_with_memory */
    int threads, files;
};

void kit_footprint(struct kit_footprint *out);
void kit_footprint_with_memory(struct kit_footprint *out);
/*
 * Runs `once` that many times in each of a few rounds, after as many calls beforehand; the process
 * must not grow in all of them by a byte of the heap or a page per call, by a thread or an open
 * file.
 */
void kit_does_not_grow(const char *what, void (*once)(void), int times);
/* As kit_does_not_grow, for each repeatable entry by itself (calls.c). */
void kit_calls_leave_nothing(void);
/* Counting devices again gives the same number, and allocates nothing (early.c). */
void kit_counts_once(void);
/* Before a device is opened no thread runs the plugin's code (early.c). */
void kit_counts_without_threads(void);
/*
 * Counting devices must not create a context: it must allocate less than opening one; `alone`: the
 * plugin has no libraries to which allocations could belong (early.c). Both are of
 * kit_footprint_with_memory.
 */
void kit_counts_without_context(const struct kit_footprint *loaded,
                                const struct kit_footprint *counted, bool alone);

/* ---- blocks and their expected contents (mirror.c) ------------------------------------------ */

void *kit_alloc(uint64_t bytes);
void kit_free(void *handle);

/* alloc of more than the device's memory is refused and changes nothing (memory.c). */
void kit_too_much(void);
void kit_still_works(const char *after);

/* owns recognises the device's blocks and no others; if it is offered (owns.c). */
void kit_owns(void);

/* Allocates host memory; ends the group if there is too little. */
void *kit_host(size_t bytes);
/* Bytes that differ from their neighbours and from those of another seed. */
void kit_pattern(void *to, size_t bytes, unsigned seed);
uint64_t kit_random(uint64_t *state);

/* A device block and its expected contents. */
struct mirror {
    void *handle;
    uint64_t bytes;
    unsigned char *want;
    unsigned char *got;  /* the contents when it was last read */
    uint64_t begin, end; /* the range that the operation under test writes */
};

/* Creates a block with the pattern of that seed, and waits for its upload. */
void mirror_create(struct mirror *m, uint64_t bytes, unsigned seed);
/* Creates a block without an upload: the caller writes other contents into `want`. */
void mirror_make(struct mirror *m, uint64_t bytes, unsigned seed);
void mirror_destroy(struct mirror *m);
/* Uploads `want` to the device again. */
void mirror_upload(struct mirror *m);
/* Reads the block into `got`. */
void mirror_download(struct mirror *m);
/*
 * Checks that the block contains `want`; otherwise ends the group, with the position of the
 * difference.
 */
void mirror_check(struct mirror *m);
/*
 * Runs an operation on every second one of twelve blocks of that size. The remaining blocks, which
 * most allocators place between them, must not change. The operation updates `want`.
 */
void mirror_crowd(uint64_t bytes, void (*operation)(struct mirror *m));

/* References far into a block, in either direction (far.c); 2^24 elements and more (large.c). */
void kit_far_copies(void);
void kit_far_memset(void);
void kit_far_axpy(void);
void kit_large_memset(void);
void kit_large_axpy(void);
void kit_large_scal(void);
void kit_large_copy(void);
void kit_large_fill(void);

/* Many short calls from several threads at once (hammer.c). */
void kit_hammer(bool own_queues);
/* Threads that only allocate and free: the counters are exact (counts.c). */
void kit_counts_are_exact(void);
/* Before the plugin is opened: one thread is stopped while it counts (counts.c, steps.c). */
void kit_counts_are_stepped_through(void);
/*
 * Fails the group if another thread can interfere while one runs `once` and counts. False if not
 * all changes of the counters were observed.
 */
bool kit_is_counted_safely(void (*once)(void), void (*another)(void));
/*
 * The offset in elements for an operand that should start at that element, of `size` bytes: a
 * multiple of offset_alignment. No entry may access the surrounding elements.
 */
int64_t kit_first(int64_t element, uint64_t size);
/*
 * Whether a block of that many bytes can be allocated, and bound as a whole, according to the
 * device.
 */
bool kit_can_bind(uint64_t bytes);
ferry_ref mirror_ref(const struct mirror *m, uint64_t offset);
ferry_cref mirror_cref(const struct mirror *m, uint64_t offset);

/* ---- numbers (numbers.c) -------------------------------------------------------------------- */

const char *kit_dtype_name(uint32_t dtype);

/* Half-way cases, the limits of every format and integer type, and numbers just beyond them. */
extern const long double kit_special[];
extern const int64_t kit_special_count;

/* The largest permitted error of a result. */
long double kit_tolerance(ferry_dtype dtype, long double magnitude);
/* A device may flush smaller numbers to zero. */
long double kit_least_normal(ferry_dtype dtype);

/*
 * Checks that elements from byte `offset` on are within `tolerance` of `want`, and that no other
 * byte of the block has changed. `want` then has the actual contents.
 */
void mirror_check_numbers(struct mirror *m, ferry_dtype dtype, uint64_t offset, int64_t n,
                          const long double *want, const long double *tolerance);

/* Counts worth testing: the sizes at which most loops are split. */
extern const int64_t kit_counts[];
extern const size_t kit_count_count;

/*
 * Whether an operation on that dtype is to be tested: not if `supports` returns 0. After a call,
 * whether it was performed: false for FERRY_EUNSUPPORTED, which is a failure if `supports` returned
 * 1.
 */
bool kit_done(int code, uint32_t op, uint32_t dtype, const char *entry);
/* The names of a mask of dtypes, "F32 F64", in static storage. */
const char *kit_dtype_list(uint32_t mask);

/* ---- the groups ----------------------------------------------------------------------------- */

void group_descriptor(void);
void group_memory(void);
void group_copy(void);
void group_memset(void);
void group_axpy(void);
void group_scal(void);
void group_copy_op(void);
void group_fill(void);
void group_convert(void);
void group_dot(void);
void group_asum(void);
void group_sumsq(void);
void group_gemv(void);
void group_gemm(void);
void group_ops(void);
void group_ops_values(void);
void group_ops_steps(void);
void group_ops_reuse(void);
void group_ops_large(void);
void group_ops_random(void);
void group_graph(void);
void group_queues(void);
void group_events(void);
void group_import(void);
void group_peer(void);
void group_profile(void);
void group_threads(void);
void group_failure(void);
void group_leaks(void);
void group_fork(void);
void group_exit(void);
void group_coherence(void);

/* ---- for run.c ------------------------------------------------------------------------------ */

/* Shared between the child that runs a group and its parent. */
struct kit_account {
    int result; /* −1 while it runs */
    int devices;
    bool refused;
    char running[256];
    char detail[1024];
    char skipped[1024];
};

/* `errors`: a file that receives standard error, or −1. */
_Noreturn void kit_run(const struct conform_target *target, void (*group)(void),
                       struct kit_account *account, int errors);

#endif

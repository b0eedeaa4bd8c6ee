/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_KIT_H
#define FERRY_CONFORM_KIT_H

#include "conform.h"

#include <ferry/plugin.h>

/*
 * What the groups share. A group is a function that runs in a process of its own: it returns if all
 * is well, and does not return from kit_fail. It need not clean up after a failure.
 */

struct kit {
    const struct conform_target *target;
    void *library; /* of dlopen */
    const ferry_plugin_descriptor *note;
    const ferry_plugin_ops *table; /* the plugin's own */
    ferry_plugin_ops ops;          /* what both sides know of it; absent entries are NULL */
    uint32_t devices;
    void *dev; /* the device under test, open */
    ferry_plugin_properties properties;
};

extern struct kit kit;

/* ---- results (kit.c) ------------------------------------------------------------------------ */

/* Says what is tried next; a failure, a crash or a timeout quotes it. One thread at a time. */
void kit_case(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Ends the group: "case: message". Any thread. */
_Noreturn void kit_fail(const char *fmt, ...) FERRY_PRINTF(1, 2);
_Noreturn void kit_not_offered(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* What a group that passes has to say. */
void kit_remark(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* The case could not be tried, and why: a line of its own in the report. The group goes on. */
void kit_skipped(const char *fmt, ...) FERRY_PRINTF(1, 2);

/* The entry should have succeeded. */
void kit_ok(int code, const char *entry);
/*
 * The entry should have failed, with a code of ferry's and, unless that is FERRY_EUNSUPPORTED,
 * having told why. Returns the code.
 */
int kit_refused(int code, const char *entry);
/* What the plugin last told host->error on this thread. */
const char *kit_told(void);
const char *kit_code_name(int code); /* "FERRY_ENOMEM" */

/* ---- the plugin (kit.c) --------------------------------------------------------------------- */

/* dlopen, and no more; kit_open_plugin does it otherwise. */
void kit_load(void);
/* Loads the plugin and takes its table. */
void kit_open_plugin(void);
/* Opens the device under test. */
void kit_open_target(void);
/* Both: what most groups begin with. The plugin is opened once in a process. */
void kit_open(void);
void *kit_open_device(uint32_t index);
void kit_properties(void *dev, uint32_t index, ferry_plugin_properties *out);
bool kit_is(uint32_t flag); /* FERRY_DEVICE_… of the device under test */
/* Does without event_record: everything is done when an entry returns. */
bool kit_synchronous(void);
/* 1 or 0; true where the plugin does not say. */
bool kit_supports(uint32_t op, uint32_t dtype);
/* False if the plugin has no counters. */
bool kit_counters(ferry_plugin_counters *out);

/*
 * Whether that address is code of the plugin's file, which no system call is needed for from the second
 * time on; how many other threads run such (own.c).
 */
bool kit_is_code(uintptr_t address);
int kit_threads_of_the_plugin(void);
/* How many files are loaded besides those that every program has. */
int kit_libraries(void);

/* What the report says besides. */
void kit_refused_by_loader(void);

/* Groups that make the plugin's entries answer options use this around its calls. */
void kit_options_allowed(bool allowed);

/* host->scratch, and what ends it: this thread has waited for all (scratch.c). */
int kit_scratch(uint64_t bytes, void **out_handle);
void kit_scratch_end(void);

/* Waits, as ferry does, until the queue's work so far is done: by an event. */
void kit_wait(void *queue);

/*
 * A process that ends as a program does, by exit(): its status, as waitpid has it. A failure in it is
 * one of the group.
 */
int kit_program(void (*body)(void));

/* What was printed meanwhile, and what became of what is the program's (manners.c). */
void kit_manners_begin(int errors);
void kit_manners_opened(void);
void kit_manners_end(void);
/* What each thread has of its own; those that call entries look at it before they end. */
void kit_thread_manners(void);
/* Where the log of libferry goes: what was standard error before it was looked at. */
void kit_log(void *arg, int level, const char *line);

/* event_query, and queue_wait of another queue, do not wait for a busy one (busy.c). */
void kit_calls_come_back(void *queue, void *other);
/* queue_wait: the one does not go on before an event of the other, which is busy. */
void kit_queue_waits(void *busy, void *waiting);
/* synchronize, and queue_synchronize, wait for a busy queue while the default one is idle. */
void kit_queue_is_waited_for(void *queue);

/* ---- what it takes (growth.c) --------------------------------------------------------------- */

/* A sanitizer keeps what was freed, and has something to say when a process ends. */
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

/* What the process has. */
struct kit_footprint {
    uint64_t heap; /* bytes of malloc and the like that are in use, to the byte; 0 if unknown */
    uint64_t mapped, resident; /* bytes */
    uint64_t memory; /* bytes that are resident and of no file; of kit_footprint_with_memory only */
    int threads, files;
};

void kit_footprint(struct kit_footprint *out);
void kit_footprint_with_memory(struct kit_footprint *out);
/*
 * Does that many times in each of a few rounds, after as many beforehand; the process may not grow in
 * all of them: by a byte of the heap or a page each time, by a thread or an open file.
 */
void kit_does_not_grow(const char *what, void (*once)(void), int times);
/* The same of each entry by itself that is called again and again (calls.c). */
void kit_calls_leave_nothing(void);
/* Devices that are counted again are as many, and nothing more is taken for it (early.c). */
void kit_counts_once(void);
/* Before a device is opened no thread runs the plugin's code (early.c). */
void kit_counts_without_threads(void);
/*
 * Counting devices makes no context: not what opening one has to make; what is taken then is no vendor's
 * library's if the plugin is `alone` (early.c). Both are of kit_footprint_with_memory.
 */
void kit_counts_without_context(const struct kit_footprint *loaded,
                                const struct kit_footprint *counted, bool alone);

/* ---- blocks and what should be in them (mirror.c) ------------------------------------------- */

void *kit_alloc(uint64_t bytes);
void kit_free(void *handle);

/* alloc of more than there can be is refused, and changes nothing (memory.c). */
void kit_too_much(void);
void kit_still_works(const char *after);

/* owns knows the device's blocks and no others; where it is offered (owns.c). */
void kit_owns(void);

/* Memory of the host, or the group ends. */
void *kit_host(size_t bytes);
/* Bytes that differ from their neighbours and from those of another seed. */
void kit_pattern(void *to, size_t bytes, unsigned seed);
uint64_t kit_random(uint64_t *state);

/* A device block beside what it should hold. */
struct mirror {
    void *handle;
    uint64_t bytes;
    unsigned char *want;
    unsigned char *got;  /* what was there when it was last looked at */
    uint64_t begin, end; /* what the operation under test was to write */
};

/* A block that holds the pattern of that seed; uploaded and waited for. */
void mirror_create(struct mirror *m, uint64_t bytes, unsigned seed);
/* Nothing is uploaded yet: for who writes something else into `want`. */
void mirror_make(struct mirror *m, uint64_t bytes, unsigned seed);
void mirror_destroy(struct mirror *m);
/* Writes `want` to the device again. */
void mirror_upload(struct mirror *m);
/* Brings the block to `got`. */
void mirror_download(struct mirror *m);
/* The block holds `want`; if not, the group ends and says where. */
void mirror_check(struct mirror *m);
/*
 * Runs an operation on all of every second of a dozen blocks of that size; the others, which lie
 * between them in most allocators, stay as they are. The operation updates `want`.
 */
void mirror_crowd(uint64_t bytes, void (*operation)(struct mirror *m));

/* References far into a block, on either side (far.c); 2^24 elements and more (large.c). */
void kit_far_copies(void);
void kit_far_memset(void);
void kit_far_axpy(void);
void kit_large_memset(void);
void kit_large_axpy(void);
void kit_large_scal(void);
void kit_large_copy(void);
void kit_large_fill(void);

/* Many short calls from several threads at a time (hammer.c). */
void kit_hammer(bool own_queues);
/* Threads that do nothing but take and give back: the counters are exact (counts.c). */
void kit_counts_are_exact(void);
/* Before the plugin is opened: one thread stopped while it counts (counts.c, steps.c). */
void kit_counts_are_stepped_through(void);
/*
 * Fails the group if another thread can come between while one does `once` and counts. False if not
 * all that was counted there has been seen.
 */
bool kit_is_counted_safely(void (*once)(void), void (*another)(void));
/*
 * Where an operand may begin that is to begin at that element, of `size` bytes: so many times as far
 * in as offset_alignment wants. What lies around it is nobody's to touch.
 */
int64_t kit_first(int64_t element, uint64_t size);
/* A block of that many bytes can be made, and reached as a whole, as far as the device says. */
bool kit_can_bind(uint64_t bytes);
ferry_ref mirror_ref(const struct mirror *m, uint64_t offset);
ferry_cref mirror_cref(const struct mirror *m, uint64_t offset);

/* ---- numbers (numbers.c) -------------------------------------------------------------------- */

const char *kit_dtype_name(uint32_t dtype);

/* Half-way cases, the edges of every format and of every integer, and a little beyond them. */
extern const long double kit_special[];
extern const int64_t kit_special_count;

/* How far off a result may be. */
long double kit_tolerance(ferry_dtype dtype, long double magnitude);
/* Below this a device may take a number for zero. */
long double kit_least_normal(ferry_dtype dtype);

/*
 * Element by element, elements from byte `offset` on are as near to `want` as `tolerance` says; no
 * other byte of the block has changed. Afterwards the mirror has taken over what was found.
 */
void mirror_check_numbers(struct mirror *m, ferry_dtype dtype, uint64_t offset, int64_t n,
                          const long double *want, const long double *tolerance);

/* "n = 1000, offset 12" and the like are worth trying: what most loops cut at. */
extern const int64_t kit_counts[];
extern const size_t kit_count_count;

/*
 * Whether an operation on that dtype is to be tested: not if `supports` says 0. After a call, whether
 * it was done: false for FERRY_EUNSUPPORTED, which is a failure where `supports` said 1.
 */
bool kit_done(int code, uint32_t op, uint32_t dtype, const char *entry);
/* "F32 F64" of a bit each; in static storage. */
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
void group_queues(void);
void group_events(void);
void group_import(void);
void group_peer(void);
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

/* `errors`: a file that takes what is printed on standard error, or −1. */
_Noreturn void kit_run(const struct conform_target *target, void (*group)(void),
                       struct kit_account *account, int errors);

#endif

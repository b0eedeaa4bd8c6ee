/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RANDOM_H
#define FERRY_TEST_RANDOM_H

#include "backends/sim/control.h"
#include "oracle.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * Random programs of the public interface, compared with an oracle (oracle.h) that defines the
 * contents of each blob. A program is a seed, a number of steps and a world, which is a set of
 * devices. Each step has random numbers of its own, which depend only on the seed and on the step's
 * number, so that a program without some of its steps performs the others unchanged: that is how a
 * failing program is reduced.
 *
 * This code does not know the library's internals. It only uses results of public queries: valid
 * copies, a blob's device, a memory's capacity.
 */

#define PLACES  5 /* the host and up to four devices */
#define HOST    0u
#define NOWHERE PLACES

/* ---- worlds (worlds.c) ---- */

#define WORLD_FAILS   1u  /* calls of the plugin fail immediately */
#define WORLD_LATE    2u  /* calls succeed, and their work fails */
#define WORLD_LOSES   4u  /* a device is lost */
#define WORLD_BUDGETS 8u  /* the devices cannot hold all blobs */
#define WORLD_THREADS 16u /* threads are frequent */

struct world {
    const char *name;
    const char *options[8]; /* of sim: key, value, …, NULL */
    unsigned sims;          /* number of sim's devices */
    bool cpu;               /* also cpu:0 */
    unsigned flags;
};

extern const struct world worlds[];
extern const unsigned nworlds;

/* A device of the current world, by its place. */
struct place {
    ferry_device *dev;     /* NULL: the host */
    ferry_queue *queue[2]; /* the default one, and one of the program if the plugin supports it */
    void *sim;             /* NULL: not a device of sim */
    bool lost;
};

/*
 * Opens the world's devices; false after printing the reason. run.skip is 77 if a plugin was not
 * built.
 */
bool world_open(const struct world *w);
/* Closes the devices, and checks that nothing is left on them. */
void world_close(void);
bool world_has(unsigned flag);
/* A place other than a lost device; the host is as likely as each device. */
unsigned world_place(struct dice *d);
/* A device; the host only if all devices are lost. */
unsigned world_device(struct dice *d);
unsigned world_place_of(const ferry_device *dev);
uint64_t world_pending(void);
void world_run_all(void);

/* ---- the run (run.c, program.c) ---- */

struct run {
    const struct world *world;
    const struct sim_control *control;
    ferry_runtime *rt;
    struct place place[PLACES];
    unsigned places;
    struct obj obj[OBJECTS];
    uint64_t seed;
    unsigned step;
    bool verbose, skip;
    atomic_bool failed;
    atomic_bool threaded; /* threads are running: no faults, and no changes of shared blobs */
    bool lost;            /* a device was lost */
    unsigned late_at;     /* a place: the next call's work there fails, with the kind `late` */
    uint32_t late;
    volatile unsigned *progress; /* the step number, for the process that started this one */
};

extern struct run run;

/* Starts without blobs. */
void run_begin(uint64_t seed);
/* Called after each step. */
void run_note_idle(void);
/* Checks everything once more, destroys it, and checks that the library has freed it. */
void run_finish(void);

#define LONGEST 4096 /* the maximum number of steps of a program */

struct program {
    const struct world *world;
    uint64_t seed;
    unsigned steps;
    bool kept[LONGEST]; /* the steps that are performed */
};

/* Runs it in this process; run.failed has the result. */
void program_run(const struct program *p);

/* Prints one line about the step, if the run is verbose. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Reports a deviation, which ends the run. */
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- one call (act.c) ---- */

struct touched {
    struct obj *obj;
    unsigned half;
    unsigned access; /* FERRY_READ, FERRY_WRITE (all of the memory), both; 0: neither */
};

struct before {
    unsigned valid;
    ferry_memory *memory;
    ferry_device *home;
    int rank;
    int64_t shape[AXES], count, capacity;
};

/* A call, the halves that it may access, and its possible refusals. */
struct act {
    struct touched touched[2];
    unsigned ntouched;
    unsigned place;    /* the explicit one; NOWHERE: the device of the data, which the library
                        * reports */
    int expected;      /* the code with which the call must be refused; 0: it must not be refused */
    int allowed, also; /* further codes that are accepted */
    bool nowait;
    struct before before[2];
    unsigned armed; /* a device's place; 0: no fault */
    uint32_t kind;
    uint64_t nth, calls, pending, waited;
    bool late, fired;
    int code;
};

/* Arms a fault, perhaps, and saves the state. */
void act_begin(struct act *a, struct dice *d);
/*
 * Checks the result of the call. True: it succeeded, and the values that it read may be checked.
 * False: it was refused for a valid reason, and the state is unchanged.
 */
bool act_end(struct act *a, int err);

/* A call that touches one half. */
struct act act_on(struct obj *o, unsigned half, unsigned access, unsigned place);

/* ---- kernels (kernels.c) ---- */

bool kernels_open(void);
void kernels_close(void);
/* Submits work of the program to `q` that reads the elements; the values are checked later. */
void kernel_reads(unsigned place, ferry_queue *q, ferry_ref at, const struct obj *o, unsigned half);
/* Writes elements first … of the object's half by a kernel, and in the oracle. */
void kernel_changes(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, struct dice *d);
void kernel_fills(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, int64_t n,
                  struct dice *d);
/* Waits for all kernels and checks the values that they read. */
void kernels_check(void);
void kernels_forget(unsigned place);

/* ---- the program's own memory (adopt.c) ---- */

void adoptions_init(void);
/* Called when everything is destroyed: deleters have run, and read-only memory is unchanged. */
void adoptions_check(void);
/*
 * The number of commands that deleters have waited for: a call that releases a memory in a deleter
 * waits there, not in ferry.
 */
uint64_t adoptions_waited(void);
/* Whether a read-only block of that store may still be adopted at `place` (NOWHERE: anywhere). */
bool adoption_readonly(const struct store *s, unsigned place, bool *certain);

/* ---- steps ---- */

struct obj *some_obj(struct dice *d); /* A random existing object; NULL if there are no objects */
struct obj *free_obj(void);
ferry_memory *memory_of(const struct obj *o, unsigned half);
/* Makes sure that the half exists, in the oracle too. False: it cannot be created. */
bool touch(struct obj *o, unsigned half);
unsigned valid_at(const struct obj *o, unsigned half);
int64_t element_size(const struct obj *o);
double element_get(ferry_dtype dtype, const void *base, int64_t i);
void element_set(ferry_dtype dtype, void *base, int64_t i, double value);
bool is_float(ferry_dtype dtype);
void destroy_obj(struct obj *o);
bool read_host(struct obj *o, unsigned half, struct dice *d);
void resolve(struct obj *o, unsigned half);

void step_host(struct dice *d);
void step_device(struct dice *d);
void step_access(struct dice *d);
void step_prefetch(struct dice *d);
void step_record(struct dice *d);
void step_allow_eviction(struct dice *d);
void step_invalidate(struct dice *d);

void step_create(struct dice *d);
void step_destroy(struct dice *d);
void step_reshape(struct dice *d);
void step_share(struct dice *d);
void step_slice(struct dice *d);
void step_move(struct dice *d);
void step_nonsense(struct dice *d);

void step_fill(struct dice *d);
void step_scale(struct dice *d);
void step_update(struct dice *d);
void step_sum(struct dice *d);
void step_element(struct dice *d);
void step_copy(struct dice *d);

void step_adopt(struct dice *d);

void step_clock(struct dice *d);
void step_check_kernels(struct dice *d);
void step_queue(struct dice *d);
void step_budget(struct dice *d);
void step_resolve(struct dice *d);
void step_lose(struct dice *d);

void step_readers(struct dice *d);
void step_workers(struct dice *d);

/* ---- reduction of a failing program (shrink.c) ---- */

enum outcome { OUTCOME_RIGHT, OUTCOME_WRONG, OUTCOME_SKIPPED };
enum how { PLAINLY, QUIETLY, VERBOSELY };

/*
 * Runs a program in a process of its own; *out_step (may be NULL) is the last step that it reached.
 */
enum outcome run_apart(const struct program *p, enum how how, unsigned *out_step);

/*
 * Removes all steps without which the failing program still fails, and prints the remaining ones.
 */
void shrink(struct program *p, unsigned seconds);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_RANDOM_H
#define FERRY_TEST_RANDOM_H

#include "backends/sim/control.h"
#include "oracle.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * Random programs of the public interface beside an oracle (oracle.h) that says what each blob must
 * hold. A program is a seed, a number of steps and a world, which is a set of devices. Each step
 * throws dice of its own, which depend on the seed and on the step's number alone, so that a program
 * from which steps are left out does the others as before: that is how a failure is made short.
 *
 * Nothing here knows the library from the inside. What it may know is what it could ask: which
 * copies are valid, where a blob lives, how much a memory holds.
 */

#define PLACES  5 /* the host and up to four devices */
#define HOST    0u
#define NOWHERE PLACES

/* ---- worlds (worlds.c) ---- */

#define WORLD_FAILS   1u  /* calls of the plugin's fail at once */
#define WORLD_LATE    2u  /* they are accepted, and their work fails */
#define WORLD_LOSES   4u  /* a device is lost */
#define WORLD_BUDGETS 8u  /* there is not room for all on the devices */
#define WORLD_THREADS 16u /* threads often */

struct world {
    const char *name;
    const char *options[8]; /* of sim: key, value, …, NULL */
    unsigned sims;          /* how many of sim's devices */
    bool cpu;               /* and cpu:0 */
    unsigned flags;
};

extern const struct world worlds[];
extern const unsigned nworlds;

/* A device of the running world, by its place. */
struct place {
    ferry_device *dev;     /* NULL: the host */
    ferry_queue *queue[2]; /* the default one, and one of the program's own if there can be one */
    void *sim;             /* NULL: not sim's */
    bool lost;
};

/* Opens the world's devices; false with a line of why. 77 in run.skip where a plugin was not built. */
bool world_open(const struct world *w);
/* Gives them back; nothing may be left on them. */
void world_close(void);
bool world_has(unsigned flag);
/* A place that is no lost device; the host as likely as each device. */
unsigned world_place(struct dice *d);
/* A device; the host only where there is none left. */
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
    atomic_bool threaded; /* threads are running: no faults, no changes of what they share */
    bool lost;            /* a device was */
    unsigned late_at;     /* a place: the next call's work there fails, of the kind `late` */
    uint32_t late;
    volatile unsigned *progress; /* the step, for the process that started this one */
};

extern struct run run;

/* Nothing is there yet. */
void run_begin(uint64_t seed);
/* After each step. */
void run_note_idle(void);
/* Looks at everything once more, lets go of it, and looks whether the library has. */
void run_finish(void);

#define LONGEST 4096 /* steps of a program */

struct program {
    const struct world *world;
    uint64_t seed;
    unsigned steps;
    bool kept[LONGEST]; /* which of them are done */
};

/* Runs it in this process; run.failed says what came of it. */
void program_run(const struct program *p);

/* One line about the step, if the run is to tell. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What is not as it should be; ends the run. */
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

/* A call, what it may touch, and what it may be refused with. */
struct act {
    struct touched touched[2];
    unsigned ntouched;
    unsigned place;    /* the explicit one; NOWHERE: where the data are, the library says */
    int expected;      /* what it has to be refused with; 0: it need not be */
    int allowed, also; /* further codes that are no surprise */
    bool nowait;
    struct before before[2];
    unsigned armed; /* a device's place; 0: no fault */
    uint32_t kind;
    uint64_t nth, calls, pending, waited;
    bool late, fired;
    int code;
};

/* Arms a fault, perhaps, and remembers how things are. */
void act_begin(struct act *a, struct dice *d);
/*
 * Judges what the call gave. True: it was done, and what it read may be looked at. Else it was
 * refused, for a reason that is one, and all is as it was.
 */
bool act_end(struct act *a, int err);

/* A call that touches one half. */
struct act act_on(struct obj *o, unsigned half, unsigned access, unsigned place);

/* ---- kernels (kernels.c) ---- */

bool kernels_open(void);
void kernels_close(void);
/* Work of the program's on `q` that reads the elements; what it has seen is looked at later. */
void kernel_reads(unsigned place, ferry_queue *q, ferry_ref at, const struct obj *o, unsigned half);
/* Writes elements first … of the object's half by a kernel, and the oracle. */
void kernel_changes(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, struct dice *d);
void kernel_fills(ferry_queue *q, ferry_ref at, struct obj *o, unsigned half, int64_t n,
                  struct dice *d);
/* Waits for all kernels and looks. */
void kernels_check(void);
void kernels_forget(unsigned place);

/* ---- the program's own memory (adopt.c) ---- */

void adoptions_init(void);
/* Everything was let go of: deleters have run, and nothing was written that was not to be. */
void adoptions_check(void);
/* Commands for which deleters have waited, so far: whoever lets go of a memory in one waits there, not ferry. */
uint64_t adoptions_waited(void);
/* Whether a read-only block of that store may still be in place at `place` (NOWHERE: at any). */
bool adoption_readonly(const struct store *s, unsigned place, bool *certain);

/* ---- steps ---- */

struct obj *some_obj(struct dice *d); /* one that exists; NULL if none does */
struct obj *free_obj(void);
ferry_memory *memory_of(const struct obj *o, unsigned half);
/* Makes sure that the half exists, for the oracle too. False: it cannot be had. */
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
void step_wont_use(struct dice *d);
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

/* ---- a failing program made short (shrink.c) ---- */

enum outcome { OUTCOME_RIGHT, OUTCOME_WRONG, OUTCOME_SKIPPED };
enum how { PLAINLY, QUIETLY, VERBOSELY };

/* Runs a program in a process of its own; *out_step (may be NULL) is how far it came. */
enum outcome run_apart(const struct program *p, enum how how, unsigned *out_step);

/* Leaves out of a program that fails what it fails without, and prints the rest. */
void shrink(struct program *p, unsigned seconds);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the cases of a program with several ranks share. interpose.c wraps its MPI
 * calls: it counts them, makes them fail, or accepts addresses of device memory, as a test
 * requests.
 */
#ifndef FERRY_TEST_RANKS_H
#define FERRY_TEST_RANKS_H

#include <ferry/ferry.h>
#include <ferry/mpi.h>

#include <mpi.h>
#include <stdbool.h>

/* The state of interpose.c. */
struct interposed {
    int calls;       /* number of non-blocking collective operations */
    int fails;       /* the call that fails: 1 is the next, counted down; 0: none */
    bool takes_cuda; /* addresses of the CUDA plugin's memory are accepted */
    double delay;    /* minimum seconds of a sum; sums follow one another */
    double per_byte; /* and seconds more for each byte */
};
extern struct interposed interposed;

/* Records that the current case has failed, and where. */
void ranks_fail(const char *file, int line, const char *what);
#define CHECK(x)                                \
    do {                                        \
        if (!(x))                               \
            ranks_fail(__FILE__, __LINE__, #x); \
    } while (0)

struct ranks_case {
    const char *name;
    void (*run)(void);
};

extern ferry_device *dev;
extern ferry_mpi *mpi; /* of the current case, opened by it or by ranks_open */
extern int rank, ranks;

/* Opens `mpi` for all further cases of the run. */
void ranks_open(const ferry_mpi_options *o);
/* A blob on the device; exits on failure. */
ferry_blob *ranks_blob(ferry_dtype dtype, int64_t count);
/* Number of copies to and from the device so far. */
uint64_t ranks_copies(void);

/* The cases of a word of the command line. */
extern const struct ranks_case collective_cases[], level_cases[], held_cases[], device_cases[];

/* Runs that end with an error; the script that starts them checks their output. */
int ranks_broken(void);
int ranks_told(void);
/* As ranks_broken, if ferry initialises MPI. */
int ranks_apart(void);
int ranks_twice(void);

#endif

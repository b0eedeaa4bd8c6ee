/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cases of a program that runs as several ranks share. Its calls of MPI come past interpose.c, which
 * counts them, has them fail, or takes addresses of device memory, as a test asks.
 */
#ifndef FERRY_TEST_RANKS_H
#define FERRY_TEST_RANKS_H

#include <ferry/ferry.h>
#include <ferry/mpi.h>

#include <mpi.h>
#include <stdbool.h>

/* What interpose.c sees and does. */
struct interposed {
    int calls;       /* of collective operations that do not block */
    int fails;       /* the call that fails, counted down: 1 is the next; 0: none */
    bool takes_cuda; /* addresses of the CUDA plugin's memory are taken */
    double delay;    /* seconds that a sum takes at the least; one goes behind the other */
    double per_byte; /* and seconds more for each byte */
};
extern struct interposed interposed;

/* Notes that the running case has failed, and where. */
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
extern ferry_mpi *mpi; /* of the running case, opened by it or by ranks_open */
extern int rank, ranks;

/* Opens `mpi` for all further cases of the run. */
void ranks_open(const ferry_mpi_options *o);
/* A blob on the device, or the end. */
ferry_blob *ranks_blob(ferry_dtype dtype, int64_t count);
/* Copies to and from the device so far. */
uint64_t ranks_copies(void);

/* The cases that a word of the command line stands for. */
extern const struct ranks_case collective_cases[], level_cases[], held_cases[], device_cases[];

/* Runs that end in an error: what they say is looked at by who started them. */
int ranks_broken(void);
int ranks_told(void);
/* The same where ferry initialises MPI. */
int ranks_apart(void);
int ranks_twice(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_RANKS_H
#define FERRY_TOOL_RANKS_H

#include "tool.h"

#include <ferry/mpi.h>

/*
 * The ranks of an MPI launch. libferrympi is opened where the command was started by mpirun or a like, or
 * where the user insists; the command itself needs no MPI.
 */
struct ranks {
    int rank, count; /* 0 and 1 where there is no launch */
    ferry_comm team; /* of libferrympi */
    ferry_mpi *mpi;  /* NULL: no launch */
};

/* Joins the others, if there are any. `insists`: with an error if that cannot be. An exit status. */
int ranks_open(bool insists, struct ranks *out);

/*
 * The selected device; where its plugin has several, and the user names none by its number, ranks of one machine
 * take one after the other.
 */
int ranks_device(const struct ranks *r, ferry_runtime *rt, ferry_device **out);

/* Tells the others that this rank ends, and why. Nothing of what was begun is under way any more. */
void ranks_fail(struct ranks *r, const char *line);

/* Leaves them. With a status that is not TOOL_OK it ends this process, and the others. */
void ranks_close(struct ranks *r, int status);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_RANKS_H
#define FERRY_TOOL_RANKS_H

#include "tool.h"

#include <ferry/mpi.h>

/*
 * The ranks of an MPI launch. libferrympi is opened if mpirun or a similar launcher started the
 * command, or if the user requires it; the command itself does not link MPI.
 */
struct ranks {
    int rank, count; /* 0 and 1 without a launcher */
    ferry_comm team; /* made by libferrympi */
    ferry_mpi *mpi;  /* NULL without a launcher */
};

/*
 * Joins the other ranks, if there are any. `insists`: it is an error if that is impossible. Returns
 * an exit status.
 */
int ranks_open(bool insists, struct ranks *out);

/*
 * Opens the selected device; if its plugin has several and the user does not name one by index, the
 * ranks of one machine take them in order.
 */
int ranks_device(const struct ranks *r, ferry_runtime *rt, ferry_device **out);

/* Reports to the other ranks that this rank ends, and why. No operation may be pending. */
void ranks_fail(struct ranks *r, const char *line);

/* Leaves the communicator. If the status is not TOOL_OK, ends this process and the other ranks. */
void ranks_close(struct ranks *r, int status);

#endif

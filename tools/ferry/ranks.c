/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libferrympi.so.0"

/* The functions of libferrympi that the command calls. */
static struct {
    int (*open)(const ferry_mpi_options *options, ferry_mpi **out);
    void (*close)(ferry_mpi *m);
    int (*team)(ferry_mpi *m, ferry_comm *out);
    const char *(*description)(const ferry_mpi *m);
    void (*fail)(ferry_mpi *m, const char *line);
    void (*abort)(ferry_mpi *m, int status);
} mpi;

/* The value of the first of these variables that is a number; −1 if there is none. */
static int number_of(const char *const *names)
{
    for (; *names; names++) {
        const char *text = getenv(*names);

        if (text && *text >= '0' && *text <= '9')
            return atoi(text);
    }
    return -1;
}

/*
 * The number of ranks that the launcher reports; 0 if it does not report one; −1 without a
 * launcher.
 */
static int launched(void)
{
    static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL };
    int size = number_of(sizes);

    return size >= 0 ? size : getenv("PMIX_RANK") || getenv("PMI_RANK") ? 0 : -1;
}

static bool find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);

    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    return library && find(library, "ferry_mpi_open", &mpi.open) &&
           find(library, "ferry_mpi_close", &mpi.close) &&
           find(library, "ferry_mpi_get_comm", &mpi.team) &&
           find(library, "ferry_mpi_description", &mpi.description) &&
           find(library, "ferry_mpi_fail", &mpi.fail) &&
           find(library, "ferry_mpi_abort", &mpi.abort);
}

int ranks_open(bool insists, struct ranks *out)
{
    int size = launched();

    *out = (struct ranks){ .count = 1, .team.struct_size = sizeof out->team };
    if (size < 0 && !insists)
        return TOOL_OK;
    if (!load()) {
        if (size == 1 && !insists) /* the launcher started one rank, so there are no others to train
                                    * with */
            return TOOL_OK;
        return tool_error(TOOL_FAILURE, "MPI: %s", dlerror());
    }
    if (mpi.open(NULL, &out->mpi) || mpi.team(out->mpi, &out->team))
        return tool_ferry_error();
    out->rank = out->team.rank;
    out->count = out->team.ranks;
    if (size > 0 && size != out->count)
        return tool_error(
            TOOL_FAILURE,
            "MPI: the launcher started %d ranks, and %s finds %d: mpirun belongs to another MPI",
            size, mpi.description(out->mpi), out->count);
    ferry_log_write(FERRY_LOG_INFO, "ferry: rank %d of %d: %s", out->rank, out->count,
                    mpi.description(out->mpi));
    return TOOL_OK;
}

/* This rank's index among the ranks of its machine. */
static int place_of(const struct ranks *r)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                         "SLURM_LOCALID", NULL };
    int place = number_of(names);

    return place >= 0 ? place : r->rank;
}

/* Device `index` of a plugin. */
static int device_of(ferry_runtime *rt, const char *plugin, int index, ferry_device **out)
{
    char name[80];

    snprintf(name, sizeof name, "%.60s:%d", plugin, index);
    return ferry_runtime_get_device(rt, name, out);
}

int ranks_device(const struct ranks *r, ferry_runtime *rt, ferry_device **out)
{
    const char *asked = getenv("FERRY_BACKEND"), *plugin;
    ferry_device *dev;
    int n = 1, place = place_of(r), err = ferry_runtime_get_device(rt, NULL, out);

    if (err || !r->mpi || (asked && strchr(asked, ':')))
        return err;
    plugin = ferry_device_get_properties(*out)->plugin;
    while (n <= place && !device_of(rt, plugin, n, &dev))
        n++;
    return place % n ? device_of(rt, plugin, place % n, out) : 0;
}

void ranks_fail(struct ranks *r, const char *line)
{
    if (r->mpi)
        mpi.fail(r->mpi, *line ? line : "its process ended");
}

void ranks_close(struct ranks *r, int status)
{
    if (!r->mpi)
        return;
    if (status != TOOL_OK)
        mpi.abort(r->mpi, status);
    mpi.close(r->mpi);
    r->mpi = NULL;
}

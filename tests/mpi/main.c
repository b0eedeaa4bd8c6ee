/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs as several ranks, started by check-mpi.sh: `ranks collective|levels|held|device` prints from
 * rank 0 a line for each case that passed on all ranks or failed on one; `ranks
 * broken|told|apart|twice` ends with an error, the last two without having initialised MPI.
 */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ferry_device *dev;
ferry_mpi *mpi;
int rank, ranks;

static bool failed;

void ranks_fail(const char *file, int line, const char *what)
{
    failed = true;
    printf("     rank %d: %s:%d: %s (%s)\n", rank, file, line, what, ferry_last_error());
    fflush(stdout);
}

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, ferry_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void ranks_open(const ferry_mpi_options *o)
{
    if (ferry_mpi_open(o, &mpi))
        fail("ferry_mpi_open");
}

ferry_blob *ranks_blob(ferry_dtype dtype, int64_t count)
{
    ferry_blob *b;

    if (ferry_blob_create(dev, dtype, &count, 1, &b))
        fail("ferry_blob_create");
    ferry_blob_set_name(b, "numbers");
    return b;
}

uint64_t ranks_copies(void)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    ferry_device_get_stats(dev, &s);
    return s.copies_h2d + s.copies_d2h + s.copies_d2d;
}

static int run(const struct ranks_case *c)
{
    int all, mine, bad = 0;

    for (; c->name; c++) {
        failed = false;
        c->run();
        mine = failed;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!rank)
            printf("%s %s\n", all ? "FAIL" : "pass", c->name);
        fflush(stdout);
        bad |= all;
    }
    ferry_mpi_close(mpi);
    return bad;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    bool by_ferry = !strcmp(word, "apart") || !strcmp(word, "twice");
    bool funneled = !strcmp(word, "levels") || !strcmp(word, "held");
    int level = funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, status = 2;
    ferry_runtime *rt;

    if (!by_ferry) {
        MPI_Init_thread(&argc, &argv, level, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev))
        fail("no device");
    if (!strcmp(word, "collective"))
        status = run(collective_cases);
    else if (!strcmp(word, "levels"))
        status = run(level_cases);
    else if (!strcmp(word, "held"))
        status = run(held_cases);
    else if (!strcmp(word, "device"))
        status = run(device_cases);
    else if (!strcmp(word, "broken"))
        status = ranks_broken();
    else if (!strcmp(word, "told"))
        status = ranks_told();
    else if (!strcmp(word, "apart"))
        status = ranks_apart();
    else if (!strcmp(word, "twice"))
        status = ranks_twice();
    ferry_runtime_close(rt);
    MPI_Finalize();
    return status;
}

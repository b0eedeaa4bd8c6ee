/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
/*
 * MPI's calls on their way from libferrympi: the program's own definitions are found first, and PMPI_… are
 * the real ones.
 */
#include "ranks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct interposed interposed;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double ready_at; /* when what was begun last may be done */

/* Whether this call is to fail. */
static bool counts(void)
{
    interposed.calls++;
    ready_at = seconds() + interposed.delay;
    return interposed.fails && --interposed.fails == 0;
}

/* What the CUDA plugin's runtime has under that name. */
static void *cuda(const char *name)
{
    void *cudart = dlopen("libcudart.so." CUDART_MAJOR, RTLD_NOW | RTLD_NOLOAD);

    return cudart ? dlsym(cudart, name) : NULL;
}

/* As an MPI that knows CUDA: the bytes of the device are brought, summed and taken back, each 4 of them. */
static int sum_on_device(void *at, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int (*copy)(void *, const void *, size_t, int, void *), (*wait)(void);
    void *symbols[] = { cuda("cudaMemcpyAsync"), cuda("cudaDeviceSynchronize") };
    char *bytes = malloc((size_t)n * 4);
    int err = !symbols[0] || !symbols[1] || !bytes;

    memcpy(&copy, &symbols[0], sizeof copy);
    memcpy(&wait, &symbols[1], sizeof wait);
    err = err || copy(bytes, at, (size_t)n * 4, 2, NULL) || wait();
    err = err || PMPI_Allreduce(MPI_IN_PLACE, bytes, n, type, op, comm);
    err = err || copy(at, bytes, (size_t)n * 4, 1, NULL) || wait();
    free(bytes);
    return err ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

int MPI_Iallreduce(const void *from, void *into, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *out)
{
    if (counts())
        return MPI_ERR_INTERN;
    if (!interposed.takes_cuda || n == 1)
        return PMPI_Iallreduce(from, into, n, type, op, comm, out);
    *out = MPI_REQUEST_NULL;
    return sum_on_device(into, n, type, op, comm);
}

int MPI_Ibcast(void *at, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *out)
{
    return counts() ? MPI_ERR_INTERN : PMPI_Ibcast(at, n, type, root, comm, out);
}

int MPI_Iallgather(const void *from, int n, MPI_Datatype type, void *into, int m, MPI_Datatype part,
                   MPI_Comm comm, MPI_Request *out)
{
    return counts() ? MPI_ERR_INTERN : PMPI_Iallgather(from, n, type, into, m, part, comm, out);
}

int MPI_Test(MPI_Request *request, int *out, MPI_Status *status)
{
    if (interposed.delay > 0 && seconds() < ready_at) {
        *out = 0;
        return MPI_SUCCESS;
    }
    return PMPI_Test(request, out, status);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
/*
 * Wraps MPI's functions between libferrympi and MPI: the program's own definitions are found first
 * and call PMPI_….
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

/* The operations on the simulated wire, which transfers one at a time. */
static struct {
    MPI_Request request;
    double ready;
} wire[64];
static int n_wire;
static double free_at;

/* Short sums belong to the measurement itself and are not delayed. */
static void put_on_wire(MPI_Request request, int n, MPI_Datatype type)
{
    int size = 0;

    PMPI_Type_size(type, &size);
    if (interposed.delay + interposed.per_byte <= 0 || n <= 3 || n_wire == 64)
        return;
    if (free_at < seconds())
        free_at = seconds();
    free_at += interposed.delay + interposed.per_byte * size * n;
    wire[n_wire].request = request;
    wire[n_wire++].ready = free_at;
}

/* Whether the operation is still being transferred. */
static bool is_on_wire(MPI_Request request)
{
    int i = 0;

    while (i < n_wire && wire[i].request != request)
        i++;
    if (i == n_wire || request == MPI_REQUEST_NULL)
        return false;
    if (seconds() < wire[i].ready)
        return true;
    wire[i] = wire[--n_wire];
    return false;
}

/* Counts the call; returns whether it is to fail. */
static bool counts(void)
{
    interposed.calls++;
    return interposed.fails && --interposed.fails == 0;
}

/* The function of that name in the CUDA plugin's runtime. */
static void *cuda(const char *name)
{
    void *cudart = dlopen("libcudart.so." CUDART_MAJOR, RTLD_NOW | RTLD_NOLOAD);

    return cudart ? dlsym(cudart, name) : NULL;
}

/*
 * Acts like a CUDA-aware MPI: copies the device's bytes to the host, sums them, 4 bytes each, and
 * copies them back.
 */
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
    int err;

    if (counts())
        return MPI_ERR_INTERN;
    if (!interposed.takes_cuda) {
        err = PMPI_Iallreduce(from, into, n, type, op, comm, out);
        put_on_wire(*out, n, type);
        return err;
    }
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
    if (is_on_wire(*request)) {
        *out = 0;
        return MPI_SUCCESS;
    }
    return PMPI_Test(request, out, status);
}

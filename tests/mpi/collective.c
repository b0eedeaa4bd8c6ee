/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* Operations on blobs: results, copies, errors. */
#include "ranks.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define N 10

static void nap(int ms)
{
    const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

    nanosleep(&t, NULL);
}

/* The number of rank r at i. */
static int number(int r, int i)
{
    return (r + 1) * 3 + i * (r % 2 ? -1 : 2);
}

static int expected(ferry_mpi_op op, int i)
{
    int r, all = number(0, i);

    for (r = 1; r < ranks; r++) {
        int one = number(r, i);

        all = op == FERRY_MPI_SUM ? all + one : (op == FERRY_MPI_MAX) == (one > all) ? one : all;
    }
    return all;
}

static void *half(ferry_blob *b, unsigned which)
{
    void *at =
        which == FERRY_DIFF ? ferry_blob_mutable_host_diff(b) : ferry_blob_mutable_host_data(b);

    CHECK(at);
    return at;
}

/* Reads integers of all sizes as doubles. */
static double get(ferry_dtype t, const void *at, int i)
{
    switch (t) {
    case FERRY_F32:
        return (double)((const float *)at)[i];
    case FERRY_F64:
        return ((const double *)at)[i];
    case FERRY_I8:
        return ((const int8_t *)at)[i];
    case FERRY_I32:
        return ((const int32_t *)at)[i];
    default:
        return (double)((const int64_t *)at)[i];
    }
}

static void set(ferry_dtype t, void *at, int i, int value)
{
    switch (t) {
    case FERRY_F32:
        ((float *)at)[i] = (float)value;
        break;
    case FERRY_F64:
        ((double *)at)[i] = value;
        break;
    case FERRY_I8:
        ((int8_t *)at)[i] = (int8_t)value;
        break;
    case FERRY_I32:
        ((int32_t *)at)[i] = value;
        break;
    default:
        ((int64_t *)at)[i] = value;
    }
}

static void reduce(ferry_dtype t, unsigned which, ferry_mpi_op op)
{
    ferry_blob *b = ranks_blob(t, N);
    int i;

    for (i = 0; i < N; i++)
        set(t, half(b, which), i, number(rank, i));
    CHECK(!ferry_mpi_allreduce(mpi, b, which, op, NULL, NULL));
    for (i = 0; i < N; i++)
        CHECK(get(t, half(b, which), i) == expected(op, i));
    ferry_blob_destroy(b);
}

static void all_ranks_get_the_sum_the_maximum_and_the_minimum(void)
{
    static const ferry_dtype types[] = { FERRY_F32, FERRY_F64, FERRY_I8, FERRY_I32, FERRY_I64 };
    unsigned t, which, op;

    ranks_open(NULL);
    for (t = 0; t < sizeof types / sizeof *types; t++)
        for (which = FERRY_DATA; which <= FERRY_DIFF; which++)
            for (op = FERRY_MPI_SUM; op <= FERRY_MPI_MIN; op++)
                reduce(types[t], which, (ferry_mpi_op)op);
}

static void what_was_never_written_counts_as_zeros(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, N);

    if (!rank)
        CHECK(!ferry_blob_fill_data(b, 5));
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL));
    CHECK(get(FERRY_F32, half(b, FERRY_DATA), 7) == 5);
    ferry_blob_destroy(b);
}

static void roots_half_is_everybodys(void)
{
    int root;

    for (root = 0; root < ranks; root++) {
        ferry_blob *b = ranks_blob(FERRY_F16, N);
        uint16_t *at = half(b, FERRY_DIFF);

        at[3] = (uint16_t)(rank + 17);
        CHECK(!ferry_mpi_broadcast(mpi, b, FERRY_DIFF, root, NULL, NULL));
        CHECK(((const uint16_t *)ferry_blob_host_diff(b))[3] == root + 17);
        ferry_blob_destroy(b);
    }
}

static void halves_are_gathered_by_rank(void)
{
    ferry_blob *from = ranks_blob(FERRY_I32, N), *into = ranks_blob(FERRY_I32, N * ranks);
    const int32_t *at;
    int i;

    for (i = 0; i < N; i++)
        set(FERRY_I32, half(from, FERRY_DATA), i, number(rank, i));
    CHECK(!ferry_mpi_allgather(mpi, from, into, FERRY_DATA, NULL, NULL));
    at = ferry_blob_host_data(into);
    for (i = 0; at && i < N * ranks; i++)
        CHECK(at[i] == number(i / N, i % N));
    ferry_blob_destroy(from);
    ferry_blob_destroy(into);
}

/* Limits the length of pieces, as for counts beyond 2^31. */
static void long_halves_go_in_pieces(void)
{
    const ferry_mpi_options o = { .struct_size = sizeof o, .piece = 3 };
    ferry_mpi *whole = mpi;
    int before = interposed.calls;

    ranks_open(&o);
    reduce(FERRY_F32, FERRY_DIFF, FERRY_MPI_SUM);
    CHECK(interposed.calls - before == 4);
    halves_are_gathered_by_rank();
    CHECK(interposed.calls - before == 8);
    roots_half_is_everybodys();
    CHECK(interposed.calls - before == 8 + 4 * ranks);
    ferry_mpi_close(mpi);
    mpi = whole;
}

static void nothing_is_copied_where_the_hosts_copy_is_the_newest(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, N);
    uint64_t before;

    CHECK(!ferry_blob_fill_diff(b, 1));
    set(FERRY_F32, half(b, FERRY_DIFF), 0, 2);
    before = ranks_copies();
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL));
    CHECK(ranks_copies() == before);
    CHECK(ferry_memory_head(ferry_blob_diff_memory(b)) == FERRY_HEAD_AT_HOST);
    CHECK(ferry_blob_device_diff(b).handle);
    CHECK(ranks_copies() == before + 1);
    /* both copies are valid */
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL));
    CHECK(ranks_copies() == before + 1);
    CHECK(ferry_blob_mutable_device_diff(b).handle);
    CHECK(ranks_copies() == before + 2);
    CHECK(
        !ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL)); /* only the device */
    CHECK(ranks_copies() == before + 3);
    CHECK(get(FERRY_F32, half(b, FERRY_DIFF), 0) == 2 * ranks * ranks * ranks);
    ferry_blob_destroy(b);
}

static void who_receives_copies_nothing_before(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, N);
    uint64_t before;

    CHECK(!ferry_blob_fill_data(b, rank));
    CHECK(ferry_blob_mutable_device_data(b).handle);
    before = ranks_copies();
    CHECK(!ferry_mpi_broadcast(mpi, b, FERRY_DATA, 0, NULL, NULL));
    CHECK(ranks_copies() == before + (rank == 0));
    CHECK(get(FERRY_F32, ferry_blob_host_data(b), 4) == 0);
    ferry_blob_destroy(b);
}

static void a_slice_alone_is_summed(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, N), *part = NULL;
    int i;

    CHECK(!ferry_blob_fill_data(b, 1));
    CHECK(!ferry_blob_slice(b, 2, 3, &part));
    CHECK(!ferry_mpi_allreduce(mpi, part, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL));
    for (i = 0; i < N; i++)
        CHECK(get(FERRY_F32, ferry_blob_host_data(b), i) == (i >= 2 && i < 5 ? ranks : 1));
    ferry_blob_destroy(part);
    ferry_blob_destroy(b);
}

static void an_empty_half_is_no_call(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 0);
    int before = interposed.calls;

    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL));
    CHECK(interposed.calls == before);
    ferry_blob_destroy(b);
}

static void a_thread_takes_it_forward_while_the_program_computes(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, N);
    ferry_mpi_event *e = NULL;
    int i, done = 0;

    CHECK(strstr(ferry_mpi_description(mpi), "by a thread"));
    CHECK(!ferry_blob_fill_diff(b, 1));
    MPI_Barrier(MPI_COMM_WORLD);
    interposed.delay = 0.05;
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, &e));
    CHECK(ferry_mpi_event_query(e) == 0);
    for (i = 0; i < 200 && !done; i++) { /* polling alone does not advance it */
        nap(25);
        done = ferry_mpi_event_query(e);
    }
    interposed.delay = 0;
    CHECK(done == 1);
    CHECK(!ferry_mpi_event_wait(e));
    CHECK(get(FERRY_F32, ferry_blob_host_diff(b), 0) == ranks);
    ferry_mpi_event_destroy(e);
    ferry_blob_destroy(b);
}

/* Events in any order, one of which is never waited for. */
static void many_are_under_way_at_once(void)
{
    ferry_blob *b[16];
    ferry_mpi_event *e[16];
    int i;

    for (i = 0; i < 16; i++) {
        b[i] = ranks_blob(FERRY_F32, N * (i + 1));
        CHECK(!ferry_blob_fill_diff(b[i], i));
        CHECK(!ferry_mpi_allreduce(mpi, b[i], FERRY_DIFF, FERRY_MPI_SUM, NULL, &e[i]));
    }
    ferry_mpi_event_destroy(e[3]);
    for (i = 15; i >= 0; i--) {
        if (i != 3) {
            CHECK(!ferry_mpi_event_wait(e[i]));
            ferry_mpi_event_destroy(e[i]);
        }
    }
    for (i = 0; i < 16; i++) {
        CHECK(get(FERRY_F32, ferry_blob_host_diff(b[i]), N * i) == i * ranks);
        ferry_blob_destroy(b[i]);
    }
}

static void what_does_not_fit_is_refused_before_anything_begins(void)
{
    ferry_blob *f16 = ranks_blob(FERRY_F16, N), *f32 = ranks_blob(FERRY_F32, N),
               *into = ranks_blob(FERRY_F32, N * ranks + 1);
    ferry_mpi_options o = { .struct_size = sizeof o, .comm = "", .comm_size = 1 };
    ferry_mpi *never = NULL;
    ferry_comm comm = { .ranks = -1 };
    int before = interposed.calls;

    CHECK(ferry_mpi_get_comm(mpi, &comm) == FERRY_EINVAL && comm.ranks == -1);
    comm.struct_size = offsetof(ferry_comm, ranks);
    CHECK(!ferry_mpi_get_comm(mpi, &comm) && comm.rank == rank && comm.ranks == -1);
    CHECK(ferry_mpi_allreduce(mpi, f16, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL) ==
          FERRY_EUNSUPPORTED);
    CHECK(ferry_mpi_allreduce(mpi, NULL, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allreduce(NULL, f32, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allreduce(mpi, f32, 2, FERRY_MPI_SUM, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allreduce(mpi, f32, FERRY_DATA, (ferry_mpi_op)3, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_broadcast(mpi, f32, FERRY_DATA, ranks, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allgather(mpi, f32, f32, FERRY_DATA, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allgather(mpi, f32, f16, FERRY_DATA, NULL, NULL) == FERRY_EINVAL);
    CHECK(ferry_mpi_allgather(mpi, f32, into, FERRY_DATA, NULL, NULL) == FERRY_ESHAPE);
    CHECK(ferry_mpi_open(&o, &never) == FERRY_EINVAL && !never);
    CHECK(ferry_mpi_event_wait(NULL) == FERRY_EINVAL);
    CHECK(interposed.calls == before);
    ferry_blob_destroy(f16);
    ferry_blob_destroy(f32);
    ferry_blob_destroy(into);
}

const struct ranks_case collective_cases[] = {
#define CASE(name)  \
    {               \
#name, name \
    }
    CASE(all_ranks_get_the_sum_the_maximum_and_the_minimum),
    CASE(what_was_never_written_counts_as_zeros),
    CASE(roots_half_is_everybodys),
    CASE(halves_are_gathered_by_rank),
    CASE(long_halves_go_in_pieces),
    CASE(nothing_is_copied_where_the_hosts_copy_is_the_newest),
    CASE(who_receives_copies_nothing_before),
    CASE(a_slice_alone_is_summed),
    CASE(an_empty_half_is_no_call),
    CASE(a_thread_takes_it_forward_while_the_program_computes),
    CASE(many_are_under_way_at_once),
    CASE(what_does_not_fit_is_refused_before_anything_begins),
    { NULL, NULL },
};

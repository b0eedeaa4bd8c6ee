/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <ferry/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Reading and merging of files: the bandwidth of reading weights, the time until the first array,
 * and the time of a merge compared with copying the bytes. The files are created in TMPDIR and
 * removed.
 */

#define NET_BLOBS    10
#define NET_FLOATS   (13 * 1024 * 1024) /* per blob: 520 MiB for ten */
#define MERGE_BYTES  (1024ull * 1024 * 1024)
#define MERGE_ROUNDS 3
#define SPACE_NEEDED (6ull * 1024 * 1024 * 1024)
#define MOST_MEMORY  256.0 /* MiB, for any size of file */

struct io_bench {
    struct bench *b;
    char folder[1024];
    char net[1100], big[1100], a[1100], c[1100];
    off_t net_size;
    const char *failure; /* the first failure */
};

static void fail(struct io_bench *io, const char *what)
{
    if (!io->failure)
        io->failure = what;
}

/* ---- making the files ----------------------------------------------------------------------- */

static bool make_net(struct io_bench *io)
{
    int64_t count = NET_FLOATS;
    ferry_blob *blob = NULL;
    ferry_io_writer *w = NULL;
    struct stat info;
    int err = ferry_blob_create(io->b->device, FERRY_F32, &count, 1, &blob);

    if (!err)
        err = ferry_blob_fill_data(blob, 0.5);
    if (!err)
        err = ferry_io_writer_create(io->net, FERRY_IO_CAFFEMODEL, &w);
    for (int i = 0; i < NET_BLOBS && !err; i++) {
        char name[32];

        snprintf(name, sizeof(name), "layer%d/0", i);
        err = ferry_io_writer_write(w, name, blob, false);
    }
    if (!err)
        err = ferry_io_writer_commit(w);
    ferry_blob_destroy(blob);
    if (err || stat(io->net, &info) != 0)
        return false;
    io->net_size = info.st_size;
    return true;
}

/* A sparse safetensors file of one array, without values: created at once, of any size. */
static bool make_big(const char *path, const char *dtype, uint64_t bytes, unsigned element)
{
    char header[256];
    uint64_t length =
        (uint64_t)snprintf(header + 8, sizeof(header) - 8,
                           "{\"w\":{\"dtype\":\"%s\",\"shape\":[%llu],\"data_offsets\":[0,%llu]}}",
                           dtype, (unsigned long long)(bytes / element), (unsigned long long)bytes);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    bool made;

    for (; length % 8; length++)
        header[8 + length] = ' ';
    for (int i = 0; i < 8; i++)
        header[i] = (char)(length >> 8 * i);
    made = fd >= 0 && write(fd, header, 8 + length) == (ssize_t)(8 + length) &&
           ftruncate(fd, (off_t)(8 + length + bytes)) == 0;
    if (fd >= 0)
        close(fd);
    return made;
}

/* The same with values, in the page cache. */
static bool make_weights(const char *path, const char *dtype, unsigned element, uint32_t seed)
{
    enum { PIECE = 1 << 20 };
    uint32_t *piece = malloc(PIECE);
    int fd;
    bool made = piece && make_big(path, dtype, MERGE_BYTES, element);

    fd = made ? open(path, O_WRONLY) : -1;
    made = fd >= 0 && lseek(fd, -(off_t)MERGE_BYTES, SEEK_END) > 0;
    for (uint64_t done = 0; made && done < MERGE_BYTES; done += PIECE) {
        for (int i = 0; i < PIECE / 4; i++) { /* numbers near 1, in either dtype */
            seed = seed * 1664525u + 1013904223u;
            piece[i] = element == 4 ? 0x3f000000u | seed >> 8 : 0x3f003f00u | (seed & 0xff00ffu);
        }
        made = write(fd, piece, PIECE) == PIECE;
    }
    made = made && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    free(piece);
    return made;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads the whole file into fresh memory. */
static void plain_read(void *arg, int64_t times)
{
    struct io_bench *io = arg;

    for (; times > 0; times--) {
        size_t size = (size_t)io->net_size, done = 0;
        int fd = open(io->net, O_RDONLY);
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ssize_t got = 1;

        while (memory != MAP_FAILED && done < size && got > 0) {
            got = read(fd, memory + done, size - done);
            done += got > 0 ? (size_t)got : 0;
        }
        if (done < size)
            fail(io, "the file cannot be read");
        munmap(memory, size);
        close(fd);
    }
}

/* Touches a byte of each page, since mapped values may not be loaded yet. */
static int touch(const ferry_blob *b)
{
    const volatile char *bytes = ferry_blob_host_data(b);
    int sum = 0;

    for (int64_t i = 0; bytes && i < ferry_blob_element_count(b) * (int64_t)sizeof(float);
         i += 4096)
        sum += bytes[i];
    return sum;
}

static volatile int sink;

static void read_blobs(void *arg, int64_t times)
{
    struct io_bench *io = arg;

    for (; times > 0; times--) {
        ferry_blob *blobs[NET_BLOBS] = { NULL };
        const ferry_io_entry *entry;
        ferry_io *file = NULL;

        if (ferry_io_open(io->net, &file))
            fail(io, "the net cannot be opened");
        for (int i = 0; file && i < NET_BLOBS; i++)
            if (ferry_io_next(file, &entry) || !entry ||
                ferry_blob_create(io->b->device, FERRY_F32, NULL, FERRY_UNSHAPED, &blobs[i]) ||
                ferry_io_read(file, entry, blobs[i]))
                fail(io, "the net cannot be read");
            else
                sink += touch(blobs[i]);
        for (int i = 0; i < NET_BLOBS; i++)
            ferry_blob_destroy(blobs[i]);
        ferry_io_close(file);
    }
}

static void first_blob(void *arg, int64_t times)
{
    struct io_bench *io = arg;

    for (; times > 0; times--) {
        const ferry_io_entry *entry;
        ferry_blob *blob = NULL;
        ferry_io *file = NULL;

        if (ferry_io_open(io->big, &file) || ferry_io_next(file, &entry) ||
            ferry_blob_create(io->b->device, FERRY_F32, NULL, FERRY_UNSHAPED, &blob) ||
            ferry_io_read(file, entry, blob) || !ferry_blob_host_data(blob))
            fail(io, "the first blob cannot be read");
        ferry_blob_destroy(blob);
        ferry_io_close(file);
    }
}

static void bench_reading(struct io_bench *io)
{
    struct bench_figure net = { .figure = "520 MiB caffemodel into blobs",
                                .value = read_blobs,
                                .reference = plain_read,
                                .arg = io,
                                .direction = BENCH_AT_LEAST,
                                .goal = 0.8 };
    double seconds;

    if (!make_net(io)) {
        bench_skip(io->b, net.figure, "%.100s", ferry_last_error());
        return;
    }
    net.bytes = (double)io->net_size;
    bench_measure(io->b, &net);
    if (!make_big(io->big, "F32", MERGE_BYTES, 4)) {
        bench_skip(io->b, "safetensors: open to first blob", "no room for a file");
        return;
    }
    seconds = bench_time(io->b, first_blob, io);
    bench_add(io->b, "1 GiB safetensors: open to first blob, ms", "ms", seconds * 1e3, 0,
              BENCH_AT_MOST, 5);
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Runs a shell command; returns seconds, or −1. *out_mib: its peak memory. */
static double run(const char *command, double *out_mib)
{
    double begin = bench_now();
    struct rusage usage;
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
        return -1;
    *out_mib = (double)usage.ru_maxrss / 1024;
    return bench_now() - begin;
}

static void bench_merge(struct io_bench *io, const char *dtype, unsigned element)
{
    char copy[16384], merge[16384], figure[64];
    double copies[MERGE_ROUNDS], merges[MERGE_ROUNDS], mib = 0, unused;

    snprintf(figure, sizeof(figure), "merge of two 1 GiB %s safetensors", dtype);
    snprintf(copy, sizeof(copy),
             "rm -f '%s'; cat '%s' '%s' >/dev/null && cat '%s' >'%s' && sync '%s'", io->c, io->a,
             io->big, io->a, io->c, io->c);
    snprintf(merge, sizeof(merge),
             "rm -f '%s'; FERRY_BACKEND=cpu exec '%s' merge -f safetensors -o '%s' '%s' '%s'",
             io->c, FERRY_COMMAND, io->c, io->a, io->big);
    if (!make_weights(io->a, dtype, element, 1) || !make_weights(io->big, dtype, element, 2)) {
        bench_skip(io->b, figure, "no room for the files");
        return;
    }
    for (int i = 0; i < MERGE_ROUNDS; i++) {
        copies[i] = run(copy, &unused);
        merges[i] = run(merge, &mib);
        if (copies[i] < 0 || merges[i] < 0) {
            bench_skip(io->b, figure, "a command failed");
            return;
        }
    }
    bench_add(io->b, figure, "s", bench_median(merges, MERGE_ROUNDS),
              bench_median(copies, MERGE_ROUNDS), BENCH_AT_MOST, 1.5);
    snprintf(figure, sizeof(figure), "the same: peak memory, MiB");
    bench_add(io->b, figure, "MiB", mib, 0, BENCH_AT_MOST, MOST_MEMORY);
}

/* ---- the suite ------------------------------------------------------------------------------ */

static void clean(const struct io_bench *io)
{
    unlink(io->net);
    unlink(io->big);
    unlink(io->a);
    unlink(io->c);
    rmdir(io->folder);
}

static bool prepare(struct io_bench *io)
{
    const char *parent = getenv("TMPDIR");
    struct statvfs info;

    snprintf(io->folder, sizeof(io->folder), "%.900s/ferry-bench-XXXXXX",
             parent && *parent ? parent : "/tmp");
    if (!mkdtemp(io->folder))
        return false;
    snprintf(io->net, sizeof(io->net), "%s/net.caffemodel", io->folder);
    snprintf(io->big, sizeof(io->big), "%s/big.safetensors", io->folder);
    snprintf(io->a, sizeof(io->a), "%s/a.safetensors", io->folder);
    snprintf(io->c, sizeof(io->c), "%s/c.safetensors", io->folder);
    return statvfs(io->folder, &info) == 0 &&
           (uint64_t)info.f_bavail * info.f_frsize >= SPACE_NEEDED;
}

void bench_io(struct bench *b)
{
    struct io_bench *io = calloc(1, sizeof(*io));

    if (!io)
        return;
    io->b = b;
    if (prepare(io)) {
        bench_merge(io, "F32", 4); /* first, since a child's peak memory starts with this
                                    * process's memory */
        bench_merge(io, "BF16", 2);
        bench_reading(io);
    } else {
        bench_skip(b, "files", "no room for files of 6 GiB in %.100s", io->folder);
    }
    if (io->failure)
        bench_skip(b, "files", "%s: %.100s", io->failure, ferry_last_error());
    clean(io);
    free(io);
}

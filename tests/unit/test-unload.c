/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "ferry-test.h"

#include <ferry/io.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A program that opens libferrynet by dlopen and closes it while a thread that has written an HDF5
 * file still runs: libhdf5 has a function that the end of the thread calls.
 */

static void *library;
static pthread_barrier_t barrier;
static int written = -1;
static char path[] = "/tmp/ferry-unload-XXXXXX";

static int write_file(void)
{
    int (*create)(const char *, ferry_io_format, ferry_io_writer **);
    int (*declare)(ferry_io_writer *, const ferry_io_entry *);
    int (*write_values)(ferry_io_writer *, const void *, size_t);
    int (*commit)(ferry_io_writer *);
    static const int64_t shape[] = { 2 };
    const ferry_io_entry entry = {
        .struct_size = sizeof entry, .name = "a", .dtype = FERRY_F32, .rank = 1, .shape = shape
    };
    ferry_io_writer *w;
    int err;

    *(void **)&create = dlsym(library, "ferry_io_writer_create");
    *(void **)&declare = dlsym(library, "ferry_io_writer_declare");
    *(void **)&write_values = dlsym(library, "ferry_io_writer_write_values");
    *(void **)&commit = dlsym(library, "ferry_io_writer_commit");
    if (!create || !declare || !write_values || !commit)
        return FERRY_EPLUGIN;
    err = create(path, FERRY_IO_HDF5, &w);
    if (err)
        return err;
    err = declare(w, &entry);
    if (!err)
        err = write_values(w, (float[]){ 1, 2 }, 2 * sizeof(float));
    return err ? err : commit(w);
}

static void *run(void *arg)
{
    (void)arg;
    written = write_file();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* in between, the library is closed */
    return NULL;
}

static void a_thread_that_used_hdf5_may_end_after_dlclose(void)
{
    const char *build = getenv("FERRY_TEST_BUILDDIR");
    char name[4096];
    pthread_t thread;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    snprintf(name, sizeof name, "%s/.libs/libferrynet.so", build ? build : ".");
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    CU_ASSERT_FATAL(!pthread_barrier_init(&barrier, NULL, 2));
    CU_ASSERT_FATAL(!pthread_create(&thread, NULL, run, NULL));
    pthread_barrier_wait(&barrier);
    CU_ASSERT(written == FERRY_OK || written == FERRY_EUNSUPPORTED); /* built without HDF5 */
    CU_ASSERT_EQUAL(dlclose(library), 0);
    pthread_barrier_wait(&barrier);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    CU_ASSERT_PTR_NOT_NULL(library); /* it was never unmapped */
    pthread_barrier_destroy(&barrier);
    unlink(path);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_thread_that_used_hdf5_may_end_after_dlclose),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "unload", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "io-folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[] = "/tmp/ferry-test-io-XXXXXX";

const char *in_folder(const char *name)
{
    static char path[2][128];
    static int turn;
    char *p = path[turn++ % 2];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

int files(void)
{
    DIR *dir = opendir(folder);
    int n = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

ferry_io_writer *create(const char *name, ferry_io_format format)
{
    ferry_io_writer *w = NULL;

    FX_OK_FATAL(ferry_io_writer_create(in_folder(name), format, &w));
    return w;
}

ferry_io *open_file(const char *name)
{
    ferry_io *io = NULL;
    int err = ferry_io_open(in_folder(name), &io);

    if (err)
        printf("  %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
    return io;
}

void fill(ferry_blob *b, double first)
{
    void *data = ferry_blob_overwrite_host_data(b);

    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        fx_set(ferry_blob_dtype(b), data, i, first + (double)(i % 50));
}

int io_folder_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                   size_t count)
{
    int status;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    status = ferry_test_main_backends(argc, argv, name, cases, count);
    rmdir(folder);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "array-files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char out[16384], err[16384];
char folder[] = "/tmp/ferry-test-files-XXXXXX";

const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

void slurp(const char *name, char *into, size_t size)
{
    FILE *file = fopen(in_folder(name), "rb");
    size_t n = file ? fread(into, 1, size - 1, file) : 0;

    into[n] = '\0';
    if (file)
        fclose(file);
}

int shell(const char *command)
{
    char line[8192];
    int status;

    snprintf(line, sizeof(line), "cd %s && { %s\n} >.out 2>.err </dev/null", folder, command);
    status = system(line);
    slurp(".out", out, sizeof(out));
    slurp(".err", err, sizeof(err));
    CU_ASSERT_FATAL(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int ferry(const char *arguments)
{
    char line[4096];

    snprintf(line, sizeof(line), "\"$FERRY_TEST_COMMAND\" %s", arguments);
    return shell(line);
}

bool is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

/* The files, except the two that `ferry` leaves. */
int files(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int n = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((entry = readdir(dir)))
        n += strcmp(entry->d_name, ".out") != 0 && strcmp(entry->d_name, ".err") != 0;
    closedir(dir);
    return n - 2;
}

void clean(void)
{
    char line[512];

    snprintf(line, sizeof(line), "rm -rf %s/* %s/.[!.]*", folder, folder);
    CU_ASSERT_EQUAL(system(line), 0);
}

void make(const char *file, const struct array *arrays, size_t count)
{
    ferry_io_writer *w = NULL;

    FX_OK_FATAL(ferry_io_writer_create(in_folder(file), ferry_io_format_find(file), &w));
    for (size_t a = 0; a < count; a++) {
        ferry_blob *b = FX_BLOB(arrays[a].dtype, arrays[a].n);
        void *data = ferry_blob_overwrite_host_data(b);

        for (int i = 0; i < arrays[a].n; i++)
            fx_set(arrays[a].dtype, data, i, arrays[a].first + i);
        FX_OK(ferry_io_writer_write(w, arrays[a].name, b, arrays[a].diff));
        ferry_blob_destroy(b);
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
}

double value(const char *file, const char *name, int64_t i)
{
    const ferry_io_entry *entry = NULL;
    unsigned char element[8];
    ferry_io *io = NULL;
    double v;

    FX_OK_FATAL(ferry_io_open(in_folder(file), &io));
    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    FX_OK(ferry_io_read_values(io, entry, i, 1, element));
    v = fx_get(entry->dtype, element, 0);
    ferry_io_close(io);
    return v;
}

/* On the first backend only. */
static int run_once(int argc, char **argv, const char *name, const ferry_test_case *cases,
                    size_t count)
{
    const char *all = getenv("FERRY_TEST_BACKENDS");
    char *kept = all ? strdup(all) : NULL, *first = kept ? strdup(kept) : NULL;
    int status;

    if (first) {
        first[strcspn(first, " ")] = '\0';
        setenv("FERRY_TEST_BACKENDS", first, 1);
    }
    status = ferry_test_main_plain_backends(argc, argv, name, cases, count);
    if (first)
        setenv("FERRY_TEST_BACKENDS", kept, 1);
    free(first);
    free(kept);
    return status;
}

int array_files_main(int argc, char **argv, const char *name, const ferry_test_case *once,
                     size_t once_count, const ferry_test_case *cases, size_t count)
{
    int status = 0;

    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    if (once_count > 0)
        status = run_once(argc, argv, name, once, once_count);
    if (status == 0 && count > 0)
        status = ferry_test_main_plain_backends(argc, argv, name, cases, count);
    rmdir(folder);
    return status;
}

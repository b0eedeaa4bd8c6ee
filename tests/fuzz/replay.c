/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1u << 20)

/* Runs one file through the reader, in a block of exactly its size for a sanitizer to check. */
static bool replay(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *bytes = malloc(MAX_FILE), *exact;
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (!file || !bytes) {
        printf("FAIL %s: cannot be read\n", path);
        return false;
    }
    size = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    exact = malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(bytes);
    return exact != NULL;
}

int main(void)
{
    const char *top = getenv("FERRY_TEST_SRCDIR");
    unsigned passed = 0, failed = 0;
    struct dirent *entry;
    char folder[2048];
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", top ? top : ".", fuzz_name);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        printf("%s\n", entry->d_name); /* the last line before a crash names the file */
        fflush(stdout);
        if (replay(folder, entry->d_name))
            passed++;
        else
            failed++;
    }
    if (dir)
        closedir(dir);
    if (!passed) {
        printf("FAIL %s: no corpus\n", folder);
        failed++;
    }
    printf("ferry-test: fuzz-%s: %u passed, %u failed, 0 skipped\n", fuzz_name, passed, failed);
    return failed ? 1 : 0;
}

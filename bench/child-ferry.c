/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Started by the suites, which read one number from its standard output. start: the number of
 * mapped GPU libraries after the first blob. memory: the bytes by which 10,000 blobs of 120 floats
 * have increased the process's memory. copies: no number, many copies between host and device.
 */

#define BLOBS       10000
#define COPIED      16
#define COPIED_SIZE (INT64_C(256) << 10) /* floats: the weights of a layer */
#define ROUNDS      60

static int first_blob(ferry_runtime **rt, ferry_device **device, ferry_blob **blob, bool copies)
{
    const int64_t count = 120;
    int err = ferry_runtime_open(NULL, rt);

    if (!err && copies) /* by the calling thread: with two threads the time would depend on their
                         * scheduling */
        err = ferry_runtime_set_option(*rt, "sim", "clock", "sync");
    if (!err)
        err = ferry_runtime_get_device(*rt, NULL, device);
    if (!err)
        err = ferry_blob_create(*device, FERRY_F32, &count, 1, blob);
    if (!err)
        err = ferry_blob_mutable_host_data(*blob) ? 0 : ferry_last_error_code();
    return err;
}

static int gpu_libraries(void)
{
    static const char *const names[] = { "libcuda.", "libcudart.", "libcublas", "libOpenCL.",
                                         "libclblast." };
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int found = 0;

    while (maps && fgets(line, sizeof(line), maps))
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            found += strstr(line, names[i]) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static long resident_bytes(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (!statm)
        return 0;
    if (fscanf(statm, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

static long many_blobs(ferry_device *device)
{
    static ferry_blob *blob[BLOBS];
    const int64_t count = 120;
    long before;

    memset(blob, 1, sizeof(blob)); /* excludes the pointers themselves from the growth */
    before = resident_bytes();
    for (int i = 0; i < BLOBS; i++) {
        if (ferry_blob_create(device, FERRY_F32, &count, 1, &blob[i]) != 0 ||
            !ferry_blob_mutable_host_data(blob[i]))
            return -1;
    }
    return resident_bytes() - before;
}

/* Copies in both directions; each blob has a name, as in a program that traces. */
static int copies(ferry_device *device)
{
    const int64_t count = COPIED_SIZE;
    ferry_blob *blob[COPIED] = { NULL };
    char name[32];
    int err = 0;

    for (int i = 0; i < COPIED && !err; i++) {
        snprintf(name, sizeof(name), "layer%d/weights", i);
        err = ferry_blob_create(device, FERRY_F32, &count, 1, &blob[i]);
        if (!err)
            err = ferry_blob_set_name(blob[i], name);
    }
    for (int i = 0; i < ROUNDS * COPIED && !err; i++) {
        ferry_blob *b = blob[i % COPIED];

        if (!ferry_blob_mutable_host_data(b) || !ferry_blob_mutable_device_data(b).handle)
            err = ferry_last_error_code();
    }
    for (int i = 0; i < COPIED; i++)
        ferry_blob_destroy(blob[i]);
    printf("!\n%d\n", err);
    return err;
}

int main(int argc, char **argv)
{
    ferry_runtime *rt = NULL;
    ferry_device *device = NULL;
    ferry_blob *blob = NULL;
    const char *what = argc > 1 ? argv[1] : "start";
    int err = first_blob(&rt, &device, &blob, strcmp(what, "copies") == 0);

    if (err) {
        fprintf(stderr, "%s\n", ferry_last_error());
        return 1;
    }
    if (strcmp(what, "memory") == 0) {
        printf("%ld\n", many_blobs(device));
        return 0;
    }
    if (strcmp(what, "copies") == 0)
        return copies(device) != 0;
    printf("!\n"); /* the measured moment */
    fflush(stdout);
    printf("%d\n", gpu_libraries());
    ferry_blob_destroy(blob);
    ferry_runtime_close(rt);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>

/*
 * One blob on two devices. Both are simulated, so that this runs anywhere; with names such as
 * "cuda:0" and "cuda:1" the program is the same.
 */

static const char *where(const ferry_blob *b, ferry_device *a, ferry_device *c)
{
    const ferry_memory *m = ferry_blob_data_memory(b);
    static const char *const names[] = { "nowhere",       "host",
                                         "first",         "host, first",
                                         "second",        "host, second",
                                         "first, second", "host, first, second" };

    return names[ferry_memory_is_valid_at(m, NULL) + 2 * ferry_memory_is_valid_at(m, a) +
                 4 * ferry_memory_is_valid_at(m, c)];
}

/* Each step, followed by the location of the newest bytes. */
static int walk(ferry_blob *b, ferry_device *first, ferry_device *second)
{
    double sum;
    int err = ferry_blob_fill_data(b, 2);

    printf("filled at home      %s\n", where(b, first, second));
    if (!err)
        err = ferry_memory_prefetch(ferry_blob_data_memory(b), second, NULL);
    if (!err)
        err = ferry_device_synchronize(second);
    printf("prefetched          %s\n", where(b, first, second));
    if (!err)
        err = ferry_blob_move_to(b, second); /* moves the home, and copies nothing */
    if (!err)
        err = ferry_blob_scale_data(b, 10);
    printf("scaled at new home  %s\n", where(b, first, second));
    if (!err)
        err = ferry_blob_asum_data(b, &sum);
    if (!err)
        printf("sum %g\n", sum);
    return err;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *first = NULL, *second = NULL;
    ferry_blob *b = NULL;
    int err =
        ferry_runtime_open(NULL, &rt) || ferry_runtime_set_option(rt, "sim", "devices", "2") ||
        ferry_runtime_get_device(rt, "sim:0", &first) ||
        ferry_runtime_get_device(rt, "sim:1", &second) ||
        ferry_blob_create(first, FERRY_F32, (int64_t[]){ 5 }, 1, &b) || walk(b, first, second);

    if (err)
        fprintf(stderr, "two-devices: %s\n", ferry_last_error());
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err;
}

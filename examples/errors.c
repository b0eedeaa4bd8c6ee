/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>

/*
 * Errors: the failed call, the reason, and the state afterwards. A call returns a code; the thread
 * keeps one line with details; and all objects are as they were before the call.
 */

static void told(const char *what, int code)
{
    printf("%s: %s\n", what, ferry_strerror(code));
    if (code)
        printf("    %s\n", ferry_last_error());
}

/* Error codes, and other ways of reporting failure. */
static void fail(ferry_blob *b)
{
    double value = 0;
    ferry_ref ref = { NULL, 0 };

    told("too many elements",
         ferry_blob_reshape(b, (int64_t[]){ INT64_MAX, INT64_MAX, 2 }, 3, NULL));
    printf("    and it still has %lld\n", (long long)ferry_blob_element_count(b));
    told("beyond the end", ferry_blob_data_at(b, (int64_t[]){ 99 }, 1, &value));
    told("never written", ferry_blob_update(b));
    told("no such access", ferry_blob_access(b, FERRY_DATA, NULL, 0, NULL, &ref));
    /* an accessor returns NULL, and the thread's error has the reason */
    if (!ferry_blob_host_data(NULL))
        told("no blob", ferry_last_error_code());
    /*
     * a function called with a NULL reference returns the error that produced it: check once, at
     * the end
     */
    told("the end of a chain", ferry_math_scal(ferry_device_queue(ferry_blob_home(b)), FERRY_F32, 4,
                                               2, ferry_blob_mutable_device_data(NULL)));
    told("counting", (int)ferry_blob_dim(b, 7)); /* counts report an error as a negative code */
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    int err = ferry_runtime_open(NULL, &rt);

    if (!err) {
        told("no such plugin", ferry_runtime_get_device(rt, "nosuch:1/2", &dev));
        err = ferry_runtime_get_device(rt, NULL, &dev);
    }
    if (!err)
        err = ferry_blob_create(dev, FERRY_F32, (int64_t[]){ 4 }, 1, &b);
    if (!err)
        fail(b);
    else
        fprintf(stderr, "errors: %s\n", ferry_last_error());
    ferry_blob_destroy(b); /* NULL is accepted */
    ferry_runtime_close(rt);
    return err != 0;
}

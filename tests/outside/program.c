/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program written outside of ferry's tree, against installed headers: it copies one blob to the
 * selected device, updates it there, and copies it back. It prints the name of the device.
 */
#include <ferry/ferry.h>

#include <stdio.h>

#define COUNT 6

static int failed(const char *what)
{
    fprintf(stderr, "program: %s: %s\n", what, ferry_last_error());
    return 1;
}

static int fill(ferry_blob *blob)
{
    float *data = ferry_blob_mutable_host_data(blob);
    float *diff = ferry_blob_mutable_host_diff(blob);

    if (!data || !diff)
        return failed("host access");
    for (int i = 0; i < COUNT; i++) {
        data[i] = (float)i;
        diff[i] = 0.5f;
    }
    return 0;
}

/* data −= diff, with both moved to the device first. */
static int update_on_device(ferry_blob *blob)
{
    if (!ferry_blob_mutable_device_data(blob).handle || !ferry_blob_device_diff(blob).handle)
        return failed("device access");
    if (ferry_blob_update(blob) != FERRY_OK)
        return failed("update");
    return 0;
}

static int verify(const ferry_blob *blob)
{
    const float *data = ferry_blob_host_data(blob);

    if (!data)
        return failed("reading back");
    for (int i = 0; i < COUNT; i++) {
        if (data[i] != (float)i - 0.5f) {
            fprintf(stderr, "program: element %d is %g\n", i, (double)data[i]);
            return 1;
        }
    }
    return 0;
}

static int travel(ferry_device *device)
{
    const int64_t shape[] = { 2, 3 };
    ferry_blob *blob = NULL;
    int result;

    if (ferry_blob_create(device, FERRY_F32, shape, 2, &blob) != FERRY_OK)
        return failed("create");
    result = fill(blob) || update_on_device(blob) || verify(blob);
    ferry_blob_destroy(blob);
    return result;
}

int main(void)
{
    ferry_runtime *runtime = NULL;
    ferry_device *device = NULL;
    int result;

    if (ferry_runtime_open(NULL, &runtime) != FERRY_OK)
        return failed("runtime");
    if (ferry_runtime_get_device(runtime, NULL, &device) != FERRY_OK)
        result = failed("device");
    else
        result = travel(device);
    if (result == 0)
        printf("%s\n", ferry_device_name(device));
    ferry_runtime_close(runtime);
    return result;
}

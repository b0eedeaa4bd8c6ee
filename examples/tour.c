/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>

/*
 * When does a blob copy its data? Ten accesses, and after each the location of the newest bytes and
 * the bytes that were copied. Run it on a device with memory of its own, FERRY_BACKEND=sim, and on
 * one that shares the host's, FERRY_BACKEND=cpu: the head states are equal, the costs are not.
 */

static const int64_t tour_shape[] = { 2, 3, 4, 5 };

static const char *head_name(ferry_memory_head_state head)
{
    static const char *const names[] = { "UNINITIALIZED", "AT_HOST", "AT_DEVICE", "SYNCED" };

    return names[head];
}

/* Makes one access; 0 if it returned a pointer or a reference. */
static int visit(ferry_blob *b, const char *access)
{
    if (strcmp(access, "host_data") == 0)
        return !ferry_blob_host_data(b);
    if (strcmp(access, "mutable_host_data") == 0)
        return !ferry_blob_mutable_host_data(b);
    if (strcmp(access, "device_data") == 0)
        return !ferry_blob_device_data(b).handle;
    return !ferry_blob_mutable_device_data(b).handle;
}

static const struct {
    const char *access, *why;
} steps[] = {
    { "mutable_host_data", "the data starts on the host" },
    { "device_data", "host to device" },
    { "host_data", "both are up to date" },
    { "mutable_device_data", "the device is up to date" },
    { "mutable_device_data", "still there" },
    { "host_data", "device to host: the device may have written" },
    { "device_data", "both are up to date" },
    { "mutable_host_data", "the host is up to date" },
    { "mutable_device_data", "host to device: the host may have written" },
    { "mutable_host_data", "device to host" },
};

static int walk(ferry_blob *b, ferry_device *dev)
{
    ferry_device_stats before = { .struct_size = sizeof before },
                       now = { .struct_size = sizeof now };
    unsigned long long copies = 0, moved = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        unsigned long long bytes, n;

        ferry_device_get_stats(dev, &before);
        if (visit(b, steps[i].access))
            return -1;
        ferry_device_get_stats(dev, &now);
        n = now.copies_h2d - before.copies_h2d + now.copies_d2h - before.copies_d2h;
        bytes = now.bytes_h2d - before.bytes_h2d + now.bytes_d2h - before.bytes_d2h;
        printf("%2zu  %-19s  %-9s  %4llu bytes  %s\n", i + 1, steps[i].access,
               head_name(ferry_memory_head(ferry_blob_data_memory(b))), bytes, steps[i].why);
        copies += n;
        moved += bytes;
    }
    printf("%llu copies, %llu bytes\n", copies, moved);
    return 0;
}

static const char *whose_memory(const ferry_device_properties *p)
{
    return p->host_memory ? "memory of the host"
           : p->unified   ? "memory shared with the host"
                          : "memory of its own";
}

static int tour(ferry_runtime *rt)
{
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    char shape[64];
    int err = ferry_runtime_get_device(rt, NULL, &dev);

    if (err)
        return err;
    err = ferry_blob_create(dev, FERRY_F32, tour_shape, 4, &b);
    if (err)
        return err;
    err = ferry_blob_shape_string(b, shape, sizeof(shape));
    if (!err) {
        printf("%s, %s: a blob of %s floats\n", ferry_device_name(dev),
               whose_memory(ferry_device_get_properties(dev)), shape);
        err = walk(b, dev);
    }
    ferry_blob_destroy(b);
    return err;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    int err = ferry_runtime_open(NULL, &rt);

    if (!err)
        err = tour(rt);
    if (err)
        fprintf(stderr, "tour: %s\n", ferry_last_error());
    ferry_runtime_close(rt);
    return err != 0;
}

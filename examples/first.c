/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    double sum = 0;
    int err = ferry_runtime_open(NULL, &rt) || /* the device: FERRY_BACKEND or plugins.conf */
              ferry_runtime_get_device(rt, NULL, &dev) ||
              ferry_blob_create(dev, FERRY_F32, (int64_t[]){ 2, 3 }, 2, &b) ||
              ferry_blob_fill_data(b, 3) ||    /* data = 3, on the device */
              ferry_blob_fill_diff(b, 0.5) ||  /* diff = 0.5, there too */
              ferry_blob_update(b) ||          /* data -= diff */
              ferry_blob_asum_data(b, &sum) || /* copies one number back */
              !ferry_blob_host_data(b);        /* copies the data back, once */
    if (err)
        fprintf(stderr, "%s\n", ferry_last_error());
    else
        printf("%s: sum %g, b[0] %g\n", ferry_device_name(dev), sum,
               ((const float *)ferry_blob_host_data(b))[0]);
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err;
}

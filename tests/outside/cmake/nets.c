/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses a function of each of the three libraries. */
#include <ferry/ferry.h>
#include <ferry/io.h>
#include <ferry/net.h>

#include <stdio.h>

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_net *net = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev);

    if (!err && ferry_net_open(dev, "/nonexistent.prototxt", NULL, &net) == 0)
        err = 1; /* it has to fail, in libferrynet */
    ferry_runtime_close(rt);
    printf("%s %s\n", ferry_version(), ferry_io_format_name(FERRY_IO_NPY));
    return err;
}

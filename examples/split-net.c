/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <ferry/net.h>
#include <stdio.h>
#include <string.h>

/*
 * One net on two devices: `place` maps layers to devices. Both devices are simulated, so that this
 * runs anywhere; with "cuda:0" and "opencl:0" the program is the same. Only the blobs that both
 * devices use are copied.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 6 } } }\n"
    "layer { name: 'first' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 4 weight_filler { type: 'constant' value: 1 } } }\n"
    "layer { name: 'relu' type: 'ReLU' bottom: 'y' top: 'y' }\n"
    "layer { name: 'second' type: 'InnerProduct' bottom: 'y' top: 'z' inner_product_param {\n"
    "  num_output: 2 weight_filler { type: 'constant' value: 0.5 } } }\n";

static int run(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    const float *z;
    int err = x ? FERRY_OK : ferry_last_error_code();

    for (int i = 0; !err && i < 6; i++)
        x[i] = (float)i;
    if (!err)
        err = ferry_net_forward(net, NULL);
    z = err ? NULL : ferry_blob_host_data(ferry_net_output_at(net, 0));
    if (z)
        printf("%g %g\n", (double)z[0], (double)z[1]);
    return err ? err : z ? FERRY_OK : ferry_last_error_code();
}

int main(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = sizeof text - 1 };
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_net *net = NULL;
    int err;

    o.place = "second=sim:1, *=sim:0";
    err = ferry_runtime_open(NULL, &rt) || ferry_runtime_set_option(rt, "sim", "devices", "2") ||
          ferry_runtime_get_device(rt, "sim:0", &dev) ||
          ferry_net_open(dev, "split.prototxt", &o, &net) || run(net);
    for (int i = 0; !err && i < ferry_net_layer_count(net); i++) {
        err = ferry_net_get_layer_info(net, i, &info);
        printf("%-8s %s\n", info.name, info.device);
    }
    if (err)
        fprintf(stderr, "split-net: %s\n", ferry_last_error());
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return err;
}

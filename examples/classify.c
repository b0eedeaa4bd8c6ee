/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/net.h>
#include <stdio.h>

/*
 * classify NET WEIGHTS PICTURE: the classes that a net finds in a picture, with values from 0 to 1.
 */

static void print_largest(const ferry_blob *scores)
{
    const float *p = ferry_blob_host_data(scores);
    int64_t best = 0;

    for (int64_t i = 1; p && i < ferry_blob_element_count(scores); i++)
        if (p[i] > p[best])
            best = i;
    if (p)
        printf("class %lld, %.3f\n", (long long)best, (double)p[best]);
}

int main(int argc, char **argv)
{
    ferry_image_transform_options o = { .struct_size = sizeof o, .scale = 1 / 256.0 };
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *picture = NULL, *in = NULL;
    ferry_net *net = NULL;
    int err = argc != 4 || ferry_runtime_open(NULL, &rt) ||
              ferry_runtime_get_device(rt, NULL, &dev) ||
              ferry_net_open(dev, argv[1], NULL, &net) || ferry_net_load(net, argv[2], NULL) ||
              ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &picture);

    if (!err) {
        in = ferry_net_input_at(net, 0); /* N x C x H x W */
        o.height = ferry_blob_dim(in, 2);
        o.width = ferry_blob_dim(in, 3);
        err = ferry_image_read(argv[3], (int)ferry_blob_dim(in, 1), picture) ||
              ferry_image_transform(picture, &o, in, -1) || ferry_net_forward(net, NULL);
    }
    if (err)
        fprintf(stderr, "classify: %s\n", argc == 4 ? ferry_last_error() : "NET WEIGHTS PICTURE");
    else
        print_largest(ferry_net_output_at(net, 0));
    ferry_blob_destroy(picture);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return err;
}

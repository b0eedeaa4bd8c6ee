/* SPDX-License-Identifier: BSD-2-Clause */
#include "nets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Writes a net of the benchmark as a prototxt, for `ferry time`; with a batch size one to train.
 */

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(struct net_text *);
    } known[] = { { "lenet", net_lenet },
                  { "squeezenet", net_squeezenet },
                  { "mobilenet", net_mobilenet },
                  { "resnet50", net_resnet50 },
                  { "densenet121", net_densenet121 },
                  { "googlenet", net_googlenet },
                  { "vgg16", net_vgg16 } };
    struct net_text text = { .batch = argc == 3 ? atoi(argv[2]) : 0 };

    for (size_t i = 0; argc >= 2 && i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(argv[1], known[i].name)) {
            known[i].write(&text);
            if (!text.failed)
                fputs(text.text, stdout);
            free(text.text);
            return text.failed;
        }
    fputs("usage: write-net lenet|squeezenet|mobilenet|resnet50|densenet121|googlenet|vgg16"
          " [BATCH]\n",
          stderr);
    return 2;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_TINY_SOLVER_H
#define FERRY_TEST_TINY_SOLVER_H

#include <ferry/solver.h>

/* A solver of a net with one layer that learns, given as a text. */

/* The beginning of such a text: the net, and no snapshot at the end. */
#define NET                                                                                   \
    "net_param { name: 'tiny'\n"                                                              \
    "layer { name: 'data' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"           \
    "  shape { dim: 4 dim: 5 } shape { dim: 4 dim: 3 }\n"                                     \
    "  data_filler { type: 'gaussian' std: 1 } data_filler { type: 'gaussian' std: 1 } } }\n" \
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' param { lr_mult: 1 }\n"     \
    "  param { lr_mult: 2 decay_mult: 0 } inner_product_param { num_output: 3\n"              \
    "  weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.1 } } }\n"    \
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' } }\n"    \
    "snapshot_prefix: 'tiny' snapshot_after_train: false random_seed: 7\n"

/* Opens a text; *out is NULL on failure. */
int tiny_try(ferry_device *dev, const char *text, ferry_solver **out);
/* As tiny_try; on failure prints a line with the reason and ends the case. */
ferry_solver *tiny_open(ferry_device *dev, const char *text);

#endif

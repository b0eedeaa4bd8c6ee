/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SMALL_NET_H
#define SMALL_NET_H

/* Texts of nets: the common beginning, and a net whose values are easily computed by hand. */

#define INPUT(shape)                                                                               \
    "name: 'small' layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " shape " } } " \
    "}\n"

static const char chain[] =
    INPUT("dim: 1 dim: 1 dim: 2 dim: 3") "layer { name: 'conv' type: 'Convolution' bottom: 'x' "
                                         "top: 'c' convolution_param { num_output: 2\n"
                                         "  kernel_size: 2 weight_filler { type: 'constant' value: "
                                         "1 } bias_filler { type: 'constant'\n"
                                         "  value: -13 } } }\n"
                                         "layer { name: 'relu' type: 'ReLU' bottom: 'c' top: 'c' "
                                         "relu_param { negative_slope: 0.5 } }\n"
                                         "layer { name: 'ip' type: 'InnerProduct' bottom: 'c' top: "
                                         "'y' inner_product_param {\n"
                                         "  num_output: 1 weight_filler { type: 'constant' value: "
                                         "2 } } }\n";

#endif

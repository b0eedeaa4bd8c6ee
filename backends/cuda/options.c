/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda.h"

const ferry_plugin_option cuda_options[CUDA_OPTIONS] = {
    { "device_order", "cuda",
      "order of the devices: that of the CUDA runtime (CUDA_DEVICE_ORDER), or by PCI address",
      "cuda|pci", FERRY_OPTION_ENUM, 0 },
    { "ordered_alloc", "on",
      "allocates from a cudaMallocAsync pool if the device supports it; off: ferry's own pool",
      "on|off", FERRY_OPTION_ENUM, 0 },
    { "unified", "auto",
      "whether blobs share the host's memory: on an integrated device that keeps host memory "
      "cached; on: also on a device with memory of its own that can access the host's pages",
      "auto|off|on", FERRY_OPTION_ENUM, 0 },
    { "kernels", "auto",
      "source of the kernels: the built-in ones if they support the device, else libnvrtc; only "
      "libnvrtc; off: no kernels",
      "auto|compile|off", FERRY_OPTION_ENUM, 0 },
    { "cudnn", "auto",
      "whether cuDNN computes convolutions, if libcudnn.so.9 is found and there are kernels; all: "
      "also depthwise convolutions",
      "auto|off|all", FERRY_OPTION_ENUM, 0 },
    { "graphs", "on",
      "whether a net's pass that repeats is launched as CUDA graphs, recorded in its second pass",
      "on|off", FERRY_OPTION_ENUM, 0 },
    { "f16", "convert",
      "how kernels compute convolutions and products of F16 and BF16: converted to F32, or by "
      "tensor cores, where the device has them",
      "convert|tensor", FERRY_OPTION_ENUM, 0 },
};

/* The index of the option's word; 0 is the default. */
static int read_choice(size_t index, uint32_t *out)
{
    *out = 0;
    return cuda_host->option_enum(cuda_options[index].name, cuda_options[index].values, out);
}

int cuda_settings_read(struct cuda_settings *out)
{
    struct cuda_settings set = { .pool_limit = UINT64_MAX };
    uint32_t order, off = 0, unified = 0, kernels = 0, dnn = 0, plain = 0, tensor = 0;
    int err = read_choice(0, &order);

    if (!err)
        err = read_choice(1, &off);
    if (!err)
        err = read_choice(2, &unified);
    if (!err)
        err = read_choice(3, &kernels);
    if (!err)
        err = read_choice(4, &dnn);
    if (!err)
        err = read_choice(5, &plain);
    if (!err)
        err = read_choice(6, &tensor);
    if (!err)
        err = cuda_host->option_size("pool_limit", 0, UINT64_MAX, &set.pool_limit);
    if (err)
        return err;
    set.pci_order = order != 0;
    set.ordered_alloc = !off;
    set.unified = (enum cuda_unified)unified;
    set.kernels = (enum cuda_source)kernels;
    set.dnn = (enum cuda_dnn_use)dnn;
    set.graphs = !plain;
    set.tensor = tensor != 0;
    *out = set;
    return 0;
}

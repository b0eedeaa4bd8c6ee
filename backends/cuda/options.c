/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda.h"

const ferry_plugin_option cuda_options[CUDA_OPTIONS] = {
    { "device_order", "cuda",
      "how devices are numbered: as the CUDA runtime does (CUDA_DEVICE_ORDER), or by PCI address",
      "cuda|pci", FERRY_OPTION_ENUM, 0 },
    { "ordered_alloc", "on",
      "memory from a cudaMallocAsync pool where the device has one; off: ferry's own pool",
      "on|off", FERRY_OPTION_ENUM, 0 },
    { "unified", "auto",
      "whether a device that shares the host's memory is used that way: an integrated one, if it "
      "keeps the host's caches; on: also one that sees the host's pages beside memory of its own",
      "auto|off|on", FERRY_OPTION_ENUM, 0 },
    { "kernels", "auto",
      "where the kernels come from: those that are built in, where they suit the "
      "device, else libnvrtc; libnvrtc alone; off: ferry does without them",
      "auto|compile|off", FERRY_OPTION_ENUM, 0 },
    { "cudnn", "auto",
      "whether convolutions are cuDNN's, where libcudnn.so.9 is found and kernels are; "
      "all: also those of each channel for itself",
      "auto|off|all", FERRY_OPTION_ENUM, 0 },
};

/* Which of its words the option has, from 0, which is the default. */
static int read_choice(size_t index, uint32_t *out)
{
    *out = 0;
    return cuda_host->option_enum(cuda_options[index].name, cuda_options[index].values, out);
}

int cuda_settings_read(struct cuda_settings *out)
{
    struct cuda_settings set = { .pool_limit = UINT64_MAX };
    uint32_t order, off = 0, unified = 0, kernels = 0, dnn = 0;
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
        err = cuda_host->option_size("pool_limit", 0, UINT64_MAX, &set.pool_limit);
    if (err)
        return err;
    set.pci_order = order != 0;
    set.ordered_alloc = !off;
    set.unified = (enum cuda_unified)unified;
    set.kernels = (enum cuda_source)kernels;
    set.dnn = (enum cuda_dnn_use)dnn;
    *out = set;
    return 0;
}

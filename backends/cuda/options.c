/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda.h"

#include <string.h>

const ferry_plugin_option cuda_options[CUDA_OPTIONS] = {
    { "device_order", CUDA_PLUGIN,
      "order of the devices: that of " CUDA_ORDER ", or by PCI address", CUDA_PLUGIN "|pci",
      FERRY_OPTION_ENUM, 0 },
    { "ordered_alloc", "on",
      "allocates from a " CUDA_PLUGIN
      "MallocAsync pool if the device supports it; off: ferry's own pool",
      "on|off", FERRY_OPTION_ENUM, 0 },
    { "unified", "auto",
      "whether blobs share the host's memory: on an integrated device that keeps host memory "
      "cached; on: also on a device with memory of its own that can access the host's pages",
      "auto|off|on", FERRY_OPTION_ENUM, 0 },
#ifdef CUDA_HAS_COMPILER
    { "kernels", "auto",
      "source of the kernels: the built-in ones if they support the device, else libnvrtc; only "
      "libnvrtc; off: no kernels",
      "auto|compile|off", FERRY_OPTION_ENUM, 0 },
#else
    { "kernels", "auto", "whether the built-in kernels are used, if they support the device",
      "auto|off", FERRY_OPTION_ENUM, 0 },
#endif
#ifdef CUDA_HAS_DNN
    { "cudnn", "auto",
      "whether cuDNN computes convolutions, if libcudnn.so.9 is found and there are kernels; all: "
      "also depthwise convolutions",
      "auto|off|all", FERRY_OPTION_ENUM, 0 },
#endif
    { "graphs", "on",
      "whether a net's pass that repeats is launched as " CUDA_API
      " graphs, recorded in its second pass",
      "on|off", FERRY_OPTION_ENUM, 0 },
#ifdef CUDA_HAS_DNN
    { "f16", "convert",
      "how kernels compute convolutions and products of F16 and BF16: converted to F32, or by "
      "tensor cores, where the device has them",
      "convert|tensor", FERRY_OPTION_ENUM, 0 },
#endif
};

/* The index of an option's word, of which 0 is the default; 0 without such an option. */
static int read_choice(const char *name, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < CUDA_OPTIONS; i++)
        if (!strcmp(cuda_options[i].name, name))
            return cuda_host->option_enum(name, cuda_options[i].values, out);
    return 0;
}

int cuda_settings_read(struct cuda_settings *out)
{
    static const char *const names[] = { "device_order", "ordered_alloc", "unified", "kernels",
                                         "cudnn",        "graphs",        "f16" };
    struct cuda_settings set = { .pool_limit = UINT64_MAX };
    uint32_t word[sizeof(names) / sizeof(names[0])] = { 0 };
    int err = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++)
        err = read_choice(names[i], &word[i]);
    if (!err)
        err = cuda_host->option_size("pool_limit", 0, UINT64_MAX, &set.pool_limit);
    if (err)
        return err;
    set.pci_order = word[0] != 0;
    set.ordered_alloc = word[1] == 0;
    set.unified = (enum cuda_unified)word[2];
    set.kernels = (enum cuda_source)word[3];
#ifndef CUDA_HAS_COMPILER
    set.kernels = word[3] ? CUDA_KERNELS_OFF : CUDA_KERNELS_AUTO;
#endif
    set.dnn = (enum cuda_dnn_use)word[4];
    set.graphs = word[5] == 0;
    set.tensor = word[6] != 0;
    *out = set;
    return 0;
}

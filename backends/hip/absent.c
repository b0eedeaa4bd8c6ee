/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two libraries of NVIDIA's without which the plugin for AMD's GPUs computes: kernels compute
 * convolutions, and a device without built-in kernels has none.
 */
#include "backends/cuda/dnn.h"
#include "backends/cuda/kernels.h"

/* ---- libnvrtc ---- */

int cuda_nvrtc_load(void)
{
    return cuda_host->error(FERRY_EUNSUPPORTED,
                            "the plugin has no kernels for this device's architecture; build it "
                            "with --with-hip-arch=gfx…");
}

int cuda_nvrtc_form(int capability, struct cuda_form *out)
{
    (void)capability, (void)out;
    return cuda_nvrtc_load();
}

int cuda_nvrtc_compile(enum kernel_program program, const struct cuda_form *form, void **out_image,
                       size_t *out_bytes)
{
    (void)program, (void)form, (void)out_image, (void)out_bytes;
    return cuda_nvrtc_load();
}

/* ---- cuDNN, which no convolution is offered to ---- */

bool cuda_dnn_load(void)
{
    return false;
}

int cuda_dnn_handle(struct cuda_queue *queue, void **out)
{
    (void)queue, (void)out;
    return FERRY_EUNSUPPORTED;
}

void cuda_dnn_release(void *handle)
{
    (void)handle;
}

bool cuda_convolution_query(const struct cuda_device *dev, const ferry_op_desc *op,
                            ferry_op_answer *out)
{
    (void)dev, (void)op, (void)out;
    return false;
}

int cuda_convolution_create(struct cuda_device *dev, const ferry_op_desc *op,
                            struct cuda_convolution **out)
{
    (void)dev, (void)op, (void)out;
    return FERRY_EUNSUPPORTED;
}

int cuda_convolution_run(struct cuda_queue *queue, const struct cuda_convolution *c,
                         const ferry_op_run_args *args)
{
    (void)queue, (void)c, (void)args;
    return FERRY_EUNSUPPORTED;
}

void cuda_convolution_destroy(struct cuda_convolution *c)
{
    (void)c;
}

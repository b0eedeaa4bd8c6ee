/* SPDX-License-Identifier: BSD-2-Clause */
#include "opencl.h"

const ferry_plugin_option ocl_options[OCL_OPTIONS] = {
    { "platform", "", "only platforms whose name contains this text, ignoring case", NULL,
      FERRY_OPTION_STRING, 0 },
    { "type", "all", "type of the devices to enumerate", "all|gpu|cpu|accelerator",
      FERRY_OPTION_ENUM, 0 },
    { "zero_copy", "auto",
      "whether blobs are shared with the host: if the device reports shared memory, whenever a "
      "test passes, or never",
      "auto|on|off", FERRY_OPTION_ENUM, 0 },
    { "f16", "auto",
      "arithmetic on F16: if the device has cl_khr_fp16, on any device by conversion to F32, or "
      "never",
      "auto|on|off", FERRY_OPTION_ENUM, 0 },
    { "f64", "auto", "arithmetic on F64: if the device has cl_khr_fp64, or never", "auto|off",
      FERRY_OPTION_ENUM, 0 },
    { "arithmetic", "auto",
      "which kernels compute: the faster ones, ferry's own, or CLBlast's, whose sums of long "
      "vectors are less exact",
      "auto|own|clblast", FERRY_OPTION_ENUM, 0 },
    { "sums", "auto",
      "type of sums of F32 and narrower types: double on a CPU and a float with its rounding error "
      "elsewhere, or one of the two",
      "auto|double|float", FERRY_OPTION_ENUM, 0 },
    { "items", "auto",
      "how ferry's own kernels divide a vector: by the type of the device, over few work-items, or "
      "over many",
      "auto|few|many", FERRY_OPTION_ENUM, 0 },
    { "cache", "auto",
      "whether compiled kernels are stored on disk, in $XDG_CACHE_HOME/ferry or ~/.cache/ferry: "
      "unless the driver is known to do so itself, always, or never",
      "auto|on|off", FERRY_OPTION_ENUM, 0 },
    { "profiling", "no", "whether queues measure the time of each command and log it (debug)", NULL,
      FERRY_OPTION_BOOL, 0 },
    { "command_buffers", "no",
      "whether a net's pass that repeats is enqueued as command buffers, recorded in its second "
      "pass, if the device has cl_khr_command_buffer",
      NULL, FERRY_OPTION_BOOL, 0 },
};

static const char *text_of(unsigned option)
{
    const char *text = ocl_host->option(ocl_options[option].name);

    return text ? text : ocl_options[option].default_value;
}

/* The index of the option's word; 0, the default, if it is not set. */
static int read_word(unsigned option, uint32_t *out)
{
    const ferry_plugin_option *o = &ocl_options[option];

    return o->values ? ocl_host->option_enum(o->name, o->values, out)
                     : ocl_host->option_boolean(o->name, out);
}

int ocl_settings_read(struct ocl_settings *out)
{
    static const cl_device_type types[] = { CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU,
                                            CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_ACCELERATOR };
    uint32_t word[OCL_OPTIONS] = { 0 };
    int err = 0;

    for (unsigned i = 1; i < OCL_OPTIONS && !err; i++)
        err = read_word(i, &word[i]);
    if (err)
        return err;
    out->platform = text_of(0);
    out->type = types[word[1]];
    out->type_name = text_of(1);
    out->zero_copy = (enum ocl_switch)word[2];
    out->f16 = (enum ocl_switch)word[3];
    out->f64 = word[4] ? OCL_OFF : OCL_AUTO;
    out->arithmetic = (enum ocl_arithmetic)word[5];
    out->sums = (enum ocl_sums)word[6];
    out->items = (enum ocl_items)word[7];
    out->cache = (enum ocl_switch)word[8];
    out->profiling = word[9] != 0;
    out->command_buffers = word[10] != 0;
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "blas.h"
#include "cpu.h"
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FERRY_PLUGIN(.name = "cpu", .version = PLUGIN_VERSION, .vendor = "ferry", .min_host_minor = 1);

/* ---- the machine ---------------------------------------------------------------------------- */

/* The text after "key : " of the first line of a file in /proc that begins with key; 0 or −1. */
static int read_line(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "re");
    int err = -1;

    if (!file)
        return -1;
    while (err && fgets(line, sizeof(line), file)) {
        char *value = strchr(line, ':');

        if (!value || strncmp(line, key, strlen(key)) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        err = 0;
    }
    fclose(file);
    return err;
}

/* Describes the CPU by its own name; cpuid is faster than the kernel's page of text. */
static void describe(char *out, size_t size)
{
    snprintf(out, size, "CPU");
#if defined(__x86_64__)
    uint32_t brand[13] = { 0 };

    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return;
    for (uint32_t i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2],
                    &brand[4 * i + 3]);
    snprintf(out, size, "%s", (char *)brand + strspn((char *)brand, " "));
#else
    (void)read_line("/proc/cpuinfo", "model name", out, size);
#endif
    for (size_t end = strlen(out); end > 0 && out[end - 1] == ' '; end--)
        out[end - 1] = '\0';
}

static uint64_t memory_total(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* A 32-bit process has fewer addresses than the machine may have bytes. */
static uint64_t largest_alloc(void)
{
    uint64_t most = (uint64_t)PTRDIFF_MAX, total = memory_total();

    return total && total < most ? total : most;
}

/*
 * The memory that is available without swapping; only the free pages if the kernel does not report
 * it.
 */
static uint64_t memory_available(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    char text[64];

    if (read_line("/proc/meminfo", "MemAvailable", text, sizeof(text)) == 0)
        return strtoull(text, NULL, 10) * 1024;
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* ---- the device ----------------------------------------------------------------------------- */

/* The processors that the threads are bound to; without a list, none. */
static int option_processors(struct processors *out)
{
    const char *text = cpu_host->option("processors");
    int forbidden;

    if (processors_parse(text ? text : "", out) != 0)
        return cpu_host->error(FERRY_ECONF,
                               "option.processors = %s: expected numbers of processors below %d "
                               "and ranges of them, as 0-3,8",
                               text, PROCESSORS_MOST);
    forbidden = processors_forbidden(out);
    if (forbidden < 0)
        return 0;
    return cpu_host->error(FERRY_ECONF,
                           "option.processors = %s: the process may not run on processor %d", text,
                           forbidden);
}

static int option_threads(const struct processors *processors, unsigned *out)
{
    int64_t threads = 0;
    int err = cpu_host->option_integer("threads", 0, WORKERS_MOST_THREADS, &threads);

    *out = threads ? (unsigned)threads : processors->count ? processors->count : workers_allowed();
    return err;
}

static int option_kernels(const struct cpu_kernels **out)
{
    uint32_t base = 0;
    int err = cpu_host->option_enum("kernels", "best|base", &base);

    *out = base ? cpu_kernels_base() : cpu_kernels_best();
    return err;
}

/* Whether this build has AMX and the process may use it, for which every such device asks. */
static int permit_amx(void)
{
    int err;

    if (!cpu_has_amx())
        return cpu_host->error(FERRY_ECONF, "option.isa = amx: ferry was built without AMX, by an "
                                            "assembler that lacks it");
    err = cpu_features_permit_amx();
    if (!err)
        return 0;
    return cpu_host->error(FERRY_ECONF,
                           "option.isa = amx: the kernel refuses the use of AMX: arch_prctl: %s%s",
                           strerror(err),
                           err == ENOSPC ? " (an alternative signal stack is too small)" : "");
}

static int option_isa(const struct cpu_isa **out)
{
    const char *text = cpu_host->option("isa");
    struct cpu_features features;

    cpu_features_read(&features);
    *out = cpu_isa_find(text && *text ? text : "auto", &features);
    if (*out)
        return (*out)->set == CPU_AMX ? permit_amx() : 0;
    return cpu_host->error(FERRY_ECONF,
                           "option.isa = %s: expected auto, or amx, bf16, vnni, avx512, avxvnni, "
                           "avx2, i8mm, dotprod, neon or portable if the CPU supports it",
                           text);
}

static int device_count(void *plugin, uint32_t *out)
{
    (void)plugin;
    *out = 1;
    return 0;
}

static int device_open(void *plugin, uint32_t index, void **out_dev)
{
    const struct cpu_kernels *kernels = NULL;
    const struct cpu_isa *isa = NULL;
    struct processors processors = { 0 };
    struct cpu_device *d;
    unsigned threads = 1;
    int err;

    (void)plugin;
    if (index != 0)
        return cpu_host->error(FERRY_ENODEV, "there is one device, not %" PRIu32, index);
    err = option_processors(&processors);
    if (!err)
        err = option_threads(&processors, &threads);
    if (!err)
        err = option_kernels(&kernels);
    if (!err)
        err = option_isa(&isa);
    if (err)
        return err;
    d = calloc(1, sizeof(*d));
    if (!d)
        return cpu_host->error(FERRY_ENOMEM, "malloc of the device failed");
    d->workers = workers_create(threads, &processors);
    if (!d->workers) {
        free(d);
        return cpu_host->error(FERRY_ENOMEM, "malloc of %u threads failed", threads);
    }
    d->kernels = kernels;
    d->isa = isa;
    d->max_alloc = largest_alloc();
    *out_dev = d;
    return 0;
}

static void device_close(void *dev)
{
    struct cpu_device *d = dev;

    workers_destroy(d->workers);
    free(d);
}

static int synchronize(void *dev)
{
    (void)dev; /* every entry has completed its work when it returns */
    return 0;
}

static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin;
    (void)dev;
    if (index != 0)
        return cpu_host->error(FERRY_ENODEV, "there is one device, not %" PRIu32, index);
    out->flags = FERRY_DEVICE_HOST_MEMORY | FERRY_DEVICE_CONCURRENT | FERRY_DEVICE_POINTERS;
    out->memory_total = memory_total();
    out->max_alloc = largest_alloc();
    describe(out->description, sizeof(out->description));
    return 0;
}

static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev;
    if (op >= FERRY_OP_COUNT || dtype >= FERRY_DTYPE_COUNT)
        return 0;
    if (op == FERRY_OP_COPY || op == FERRY_OP_FILL || op == FERRY_OP_CONVERT)
        return 1;
    return cpu_is_real(dtype);
}

static int memory_info(void *dev, uint64_t *out_free, uint64_t *out_total)
{
    (void)dev;
    *out_free = memory_available();
    *out_total = memory_total();
    return 0;
}

static uint64_t read_count(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static int counters(void *dev, ferry_plugin_counters *out)
{
    struct cpu_counts *c = &((struct cpu_device *)dev)->counts;

    out->live_blocks = read_count(&c->live_blocks);
    out->live_bytes = read_count(&c->live_bytes);
    out->copies_h2d = read_count(&c->copies[FERRY_MEMCPY_H2D - 1]);
    out->copies_d2h = read_count(&c->copies[FERRY_MEMCPY_D2H - 1]);
    out->copies_d2d = read_count(&c->copies[FERRY_MEMCPY_D2D - 1]);
    out->bytes_h2d = read_count(&c->bytes[FERRY_MEMCPY_H2D - 1]);
    out->bytes_d2h = read_count(&c->bytes[FERRY_MEMCPY_D2H - 1]);
    out->bytes_d2d = read_count(&c->bytes[FERRY_MEMCPY_D2D - 1]);
    out->memsets = read_count(&c->memsets);
    out->ops = read_count(&c->ops);
    return 0;
}

/* Returns native objects: "cpu_limit_threads" is workers_limit, "cpu_count_work" workers_count. */
static int native(void *dev, const char *what, void *out, uint64_t size)
{
    void (*const limit)(unsigned threads) = workers_limit;
    void (*const count)(uint64_t *counts) = workers_count;
    bool counts = strcmp(what, "cpu_count_work") == 0;

    (void)dev;
    if (!counts && strcmp(what, "cpu_limit_threads") != 0)
        return cpu_host->error(FERRY_EUNSUPPORTED, "unknown object \"%s\"", what);
    if (size != sizeof(limit))
        return cpu_host->error(FERRY_EINVAL, "\"%s\" has %zu bytes, not %" PRIu64, what,
                               sizeof(limit), size);
    memcpy(out, counts ? (const void *)&count : (const void *)&limit, sizeof(limit));
    return 0;
}

/* ---- the two symbols ------------------------------------------------------------------------ */

static const ferry_plugin_option options[] = {
    { .name = "threads",
      .default_value = "0",
      .description =
          "number of threads for one large loop; 0: the CPUs that the process may run on, or "
          "those of `processors`",
      .type = FERRY_OPTION_INT },
    { .name = "processors",
      .default_value = "",
      .description = "bind the threads to these processors, as 0-3,8, in this order; the first is "
                     "the calling thread's, which the program binds itself",
      .type = FERRY_OPTION_STRING },
    { .name = "kernels",
      .default_value = "best",
      .description = "loops for this CPU, or those for any CPU of its architecture",
      .values = "best|base",
      .type = FERRY_OPTION_ENUM },
    { .name = "isa",
      .default_value = "auto",
      .description = "instruction set of convolutions and other operations; auto: the best of the "
                     "CPU except amx, which was never run on a processor",
      .values = "auto|amx|bf16|vnni|avx512|avxvnni|avx2|i8mm|dotprod|neon|portable",
      .type = FERRY_OPTION_ENUM },
    { .name = "blas",
      .default_value = CPU_BLAS_SONAME,
      .description = "the library with CBLAS's functions for matrices",
      .type = FERRY_OPTION_STRING },
};

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = sizeof(options) / sizeof(options[0]),
    .options = options,
    .option_size = sizeof(ferry_plugin_option),
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .memcpy = cpu_memcpy,
    .memset = cpu_memset,
    .axpy = cpu_axpy,
    .synchronize = synchronize,
    .properties = properties,
    .supports = supports,
    .memory_info = memory_info,
    .counters = counters,
    .scal = cpu_scal,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .convert = cpu_convert,
    .dot = cpu_dot,
    .asum = cpu_asum,
    .sumsq = cpu_sumsq,
    .gemv = cpu_gemv,
    .gemm = cpu_gemm,
    .native = native,
    .extension = cpu_extension,
};

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    int err;

    cpu_host = host;
    err = cpu_blas_find();
    if (!err)
        *out = &ops;
    return err;
}

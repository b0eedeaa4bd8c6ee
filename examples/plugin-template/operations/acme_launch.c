/* SPDX-License-Identifier: BSD-2-Clause */
#include "acme_launch.h"

#include "acme_driver.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* The kernels, as functions of one group. */
#define VEC         ACME_VEC
#define GROUP       ACME_GROUP
#define HOST_PREFIX acme_text_
#include "kernels/all.h"
#include "kernels/fingerprint.h"
#include "kernels/list.h"

typedef void group_function(i64 group, u8 *const *buffers, const void *args);

struct acme_kernel {
    const char *name;
    group_function *function;
};

/* It takes vectors of 16 lanes. */
#define acme_text_convolve_4 NULL

static const acme_kernel kernels[] = {
#define FUNCTION(kernel, function, program, numbers) { #function, acme_text_##function },
    KERNEL_LIST(FUNCTION)
};

uint32_t acme_kernels_fingerprint(void)
{
    return FERRY_KERNELS_FINGERPRINT;
}

const acme_kernel *acme_kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (strcmp(kernels[i].name, name) == 0)
            return kernels[i].function ? &kernels[i] : NULL;
    return NULL;
}

/* ---- launches ------------------------------------------------------------------------------- */

#define CORES 4

/* A core's part of the groups. */
struct part {
    const acme_kernel *kernel;
    long first, end;
    u8 *buffers[BUFFERS];
    const void *args;
};

static void *run_part(void *part)
{
    const struct part *p = part;

    for (long group = p->first; group < p->end; group++)
        p->kernel->function(group, p->buffers, p->args);
    return NULL;
}

int acme_launch(const acme_kernel *kernel, long groups, void *const *buffers, const void *args)
{
    struct part part[CORES];
    pthread_t thread[CORES];
    int started[CORES] = { 0 };

    for (int core = 0; core < CORES; core++) {
        part[core] = (struct part){
            kernel, groups * core / CORES, groups * (core + 1) / CORES, { NULL }, args
        };
        for (int i = 0; i < BUFFERS; i++)
            part[core].buffers[i] = buffers[i];
        started[core] = core > 0 && part[core].first < part[core].end &&
                        pthread_create(&thread[core], NULL, run_part, &part[core]) == 0;
    }
    for (int core = 0; core < CORES; core++)
        if (!started[core])
            run_part(&part[core]);
    for (int core = 0; core < CORES; core++)
        if (started[core])
            pthread_join(thread[core], NULL);
    return ACME_OK;
}

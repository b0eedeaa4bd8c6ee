/* SPDX-License-Identifier: BSD-2-Clause */
/* A runtime: one configuration, its candidates, and the devices that the program got from it. */
#ifndef FERRY_CORE_RUNTIME_H
#define FERRY_CORE_RUNTIME_H

#include "core/conf/choice.h"
#include "core/conf/conf.h"
#include "core/load/loader.h"

#include <ferry/runtime.h>
#include <pthread.h>

/* One reference of the runtime to a device that the program got. */
struct ferry__held {
    struct ferry__held *next;
    ferry_device *dev;
};

struct ferry_runtime {
    pthread_mutex_t lock; /* guards the members below; never held while a plugin is opened */
    struct ferry__conf *conf;
    struct ferry__search *search;
    struct ferry__search *libraries; /* the search of layer libraries; NULL: not searched yet */
    struct ferry__choice choice;
    char *choice_origin; /* "FERRY_BACKEND", "plugins.conf:3"; NULL: the default */
    bool has_choice;
    bool strict;
    struct ferry__held *devices;
    ferry_device *selected; /* NULL until first requested */
    ferry_device **listed;  /* the result of the latest ferry_runtime_enumerate */
    int listed_count;
    /* under the lock of the list of open runtimes */
    struct ferry_runtime *next; /* the next one in the list of open runtimes */
    unsigned users;             /* the program, and calls that found the runtime by a device */
};

void ferry__runtime_lock(ferry_runtime *rt);
void ferry__runtime_unlock(ferry_runtime *rt);

/* The oldest open runtime from which the program got the device, retained; NULL: all are closed. */
ferry_runtime *ferry__runtime_of(const ferry_device *dev);
void ferry__runtime_drop(ferry_runtime *rt);

/*
 * Opens the plugin of a candidate and updates its line in the load report; the caller holds no
 * lock. Fails with the code in the report and its reason as the message: "cuda: no driver".
 */
int ferry__runtime_open_plugin(ferry_runtime *rt, struct ferry__candidate *candidate,
                               const struct ferry__plugin **out);

/* Records the reason in the load report as this thread's error; returns its code. */
int ferry__runtime_refused(const struct ferry__candidate *candidate);

/* FERRY_ENODEV: there is no plugin or device of that name. */
int ferry__runtime_unknown(const ferry_runtime *rt, const char *name);

/*
 * Logs a warning for each unknown FERRY_… variable, with the most similar known name. In a program
 * that runs with more rights than its caller (setuid), logs once in the process that FERRY_…
 * variables are ignored, if one is set.
 */
void ferry__env_check(void);

#endif

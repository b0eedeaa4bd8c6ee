/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * After a fork ferry calls no entry of the plugin in the child except, on host-memory devices, free
 * and host_free; the parent continues as if nothing had happened.
 */

static void run_child(struct mirror *m, void *pinned)
{
    if (!kit_is(FERRY_DEVICE_HOST_MEMORY))
        _exit(0);
    if (memcmp(m->handle, m->want, m->bytes) != 0)
        _exit(2);
    if (kit.ops.free(kit.dev, NULL, m->handle) != 0)
        _exit(3);
    if (pinned && kit.ops.host_free(kit.dev, pinned) != 0)
        _exit(4);
    _exit(0);
}

static void judge_child(int status)
{
    static const char *const meaning[] = { "", "", "the block's bytes are missing", "free failed",
                                           "host_free failed" };

    kit_case("the child of a fork, on a host-memory device");
    if (WIFSIGNALED(status))
        kit_fail("crashed with signal %d in free or host_free", WTERMSIG(status));
    if (WEXITSTATUS(status))
        kit_fail("%s", WEXITSTATUS(status) < 5 ? meaning[WEXITSTATUS(status)] : "it ended early");
}

static void fork_with_live_blocks(bool busy)
{
    struct mirror m;
    void *pinned = NULL;
    uint32_t flags = 0;
    int status = 0;
    pid_t child;

    kit_case("fork with live blocks%s", busy ? " and work on the queue" : "");
    mirror_create(&m, 100000, 1);
    if (kit.ops.host_alloc)
        kit_ok(kit.ops.host_alloc(kit.dev, 1000, 0, &pinned, &flags), "host_alloc");
    for (int i = 0; busy && i < 20; i++)
        kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, mirror_ref(&m, 0),
                              (ferry_cref){ m.want, 0 }, m.bytes),
               "memcpy H2D");
    if (busy && kit_is(FERRY_DEVICE_HOST_MEMORY))
        kit_wait(NULL);
    child = fork();
    if (child == 0)
        run_child(&m, pinned);
    if (child < 0)
        kit_fail("the check itself cannot fork: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    judge_child(status);
    kit_case("the parent after a fork%s", busy ? " with work on the queue" : "");
    kit_wait(NULL);
    mirror_check(&m);
    kit_pattern(m.want, m.bytes, 2);
    mirror_upload(&m);
    mirror_check(&m);
    if (pinned)
        kit_ok(kit.ops.host_free(kit.dev, pinned), "host_free");
    mirror_destroy(&m);
}

void group_fork(void)
{
    kit_open();
    fork_with_live_blocks(false);
    fork_with_live_blocks(true);
    kit_remark("%s", kit_is(FERRY_DEVICE_HOST_MEMORY) ? "the child frees, the parent goes on"
                                                      : "the parent goes on");
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <string.h>
#include <sys/wait.h>

/*
 * The end of a program that has used the plugin: exit handlers and destructors of the plugin and of
 * its vendor's libraries run. Their output is checked like the group's.
 */

static void work(void)
{
    struct mirror m;

    mirror_create(&m, 100000, 1);
    mirror_check(&m);
    mirror_destroy(&m);
}

static void close_and_exit(void)
{
    kit_open();
    work();
    kit.ops.device_close(kit.dev);
    kit_case("a program that exits, its device closed");
}

/* Like programs that exit early after an error. */
static void leave_and_exit(void)
{
    static struct mirror m;

    kit_open();
    work();
    mirror_create(&m, 100000, 2);
    kit_case("a program that exits, its device open");
}

static void judge(int status)
{
    if (WIFSIGNALED(status))
        kit_fail("crashed with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status))
        kit_fail("ended with status %d, not 0", WEXITSTATUS(status));
}

void group_exit(void)
{
    if (KIT_SANITIZED) {
        kit_case("exit");
        kit_skipped("a sanitizer prints a report when a program ends");
    } else {
        judge(kit_program(close_and_exit));
        judge(kit_program(leave_and_exit));
    }
    kit_remark("with its device closed, and left open");
}

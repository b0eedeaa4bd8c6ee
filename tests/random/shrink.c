/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "random.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Programs run in processes of their own, because a world is opened once per process and the
 * process may crash.
 */

#define SLOWEST 60 /* seconds for one program */

static void be_quiet(void)
{
    int null = open("/dev/null", O_WRONLY);

    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

/* The last step of the child, shared memory that survives its crash. */
static volatile unsigned *progress(void)
{
    static volatile unsigned *at;

    if (!at) {
        void *p =
            mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        at = p == MAP_FAILED ? NULL : p;
    }
    return at;
}

enum outcome run_apart(const struct program *p, enum how how, unsigned *out_step)
{
    volatile unsigned *at = progress();
    int status = 0;
    pid_t child;

    if (!at)
        return OUTCOME_SKIPPED;
    *at = 0;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        if (how == QUIETLY)
            be_quiet();
        run.verbose = how == VERBOSELY;
        run.progress = at;
        alarm(SLOWEST);
        program_run(p);
        fflush(stdout);
        exit(run.skip ? 77 : run.failed);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return OUTCOME_SKIPPED;
    if (out_step)
        *out_step = *at;
    if (WIFSIGNALED(status) && how != QUIETLY)
        printf("     step %u: %s\n", *at, strsignal(WTERMSIG(status)));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return OUTCOME_SKIPPED;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? OUTCOME_RIGHT : OUTCOME_WRONG;
}

/* ---- reduction ------------------------------------------------------------------------------ */

static bool fails(const struct program *p)
{
    return run_apart(p, QUIETLY, NULL) == OUTCOME_WRONG;
}

/* The shortest failing prefix, assuming that longer ones fail as well. */
static void shorten(struct program *p, time_t end)
{
    unsigned least = 0, most = p->steps;

    while (least < most && time(NULL) < end) {
        p->steps = least + (most - least) / 2;
        if (fails(p))
            most = p->steps;
        else
            least = p->steps + 1;
    }
    p->steps = most;
}

/* Drops `n` steps from `first` on, and keeps them dropped if the program still fails. */
static bool drop(struct program *p, unsigned first, unsigned n)
{
    bool before[LONGEST];

    memcpy(before, p->kept, sizeof(before));
    for (unsigned i = first; i < first + n && i < p->steps; i++)
        p->kept[i] = false;
    if (memcmp(before, p->kept, sizeof(before)) == 0)
        return false;
    if (fails(p))
        return true;
    memcpy(p->kept, before, sizeof(before));
    return false;
}

static void print(const struct program *p)
{
    const char *comma = "";
    unsigned n = 0;

    for (unsigned i = 0; i < p->steps; i++)
        n += p->kept[i];
    printf("     of which these %u suffice:\n", n);
    (void)run_apart(p, VERBOSELY, NULL);
    printf("     repeat it: test-random --verbose --world %s --seed %llu --steps %u --only ",
           p->world->name, (unsigned long long)p->seed, p->steps);
    for (unsigned i = 0; i < p->steps; i++)
        if (p->kept[i]) {
            printf("%s%u", comma, i);
            comma = ",";
        }
    printf("\n");
}

void shrink(struct program *p, unsigned seconds)
{
    time_t end = time(NULL) + (time_t)seconds;
    bool again = false;

    if (!fails(p)) {
        printf("     a second run does not fail\n");
        return;
    }
    shorten(p, end);
    for (unsigned n = p->steps / 2; n > 0 && time(NULL) < end; n = again ? n : n / 2) {
        again = false;
        for (unsigned first = 0; first < p->steps && time(NULL) < end; first += n)
            again |= drop(p, first, n);
        again &= n == 1;
    }
    print(p);
}

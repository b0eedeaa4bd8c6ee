/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * test-random [--seconds N] [--steps N] [--world NAME] [--seed N] [--only I,J,…] [--verbose]
 *
 * Runs random programs in each world, for N seconds in all (15; FERRY_TEST_QUICK: 6), and reduces
 * the first that fails. With a seed it runs that one program. A world begins with programs that are
 * always the same; after these, FERRY_TEST_SEED or the time of day is the first seed.
 */

#define ALWAYS 20 /* programs of the first seeds, for at most half of the time */

static struct {
    unsigned seconds, steps;
    const char *world, *only;
    uint64_t seed;
    bool one, verbose;
} asked = { .steps = 600 };

static unsigned passed, failed, skipped;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_asked_for(const struct world *w)
{
    return !asked.world || strcmp(asked.world, w->name) == 0;
}

static unsigned how_many(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nworlds; i++)
        n += is_asked_for(&worlds[i]);
    return n;
}

/* ---- programs ------------------------------------------------------------------------------- */

static struct program program(const struct world *w, uint64_t seed)
{
    struct program p = { .world = w, .seed = seed, .steps = asked.steps };

    memset(p.kept, !asked.only, sizeof(p.kept));
    for (const char *at = asked.only; at && *at;) {
        char *end;
        unsigned long i = strtoul(at, &end, 10);

        if (end == at)
            break;
        if (i < LONGEST)
            p.kept[i] = true;
        at = *end ? end + 1 : end;
    }
    return p;
}

static void report_failure(struct program *p, unsigned step)
{
    printf("     world %s, seed %llu, step %u\n", p->world->name, (unsigned long long)p->seed,
           step);
    if (asked.only)
        return;
    p->steps = step + 1 < asked.steps ? step + 1 : asked.steps;
    shrink(p, asked.one ? 120 : 30);
}

/* Adds the number of steps that were run. */
static enum outcome run_one(const struct world *w, uint64_t seed, unsigned long long *steps)
{
    struct program p = program(w, seed);
    unsigned step = 0;
    enum outcome outcome = run_apart(&p, asked.verbose ? VERBOSELY : PLAINLY, &step);

    if (outcome == OUTCOME_WRONG)
        report_failure(&p, step);
    *steps += outcome == OUTCOME_RIGHT ? p.steps : step;
    return outcome;
}

/* Runs programs until the time is over or one fails. */
static enum outcome run_world(const struct world *w, double seconds)
{
    double start = now();
    unsigned long long steps = 0;
    uint64_t seed = asked.seed;
    enum outcome outcome = OUTCOME_RIGHT;

    for (unsigned i = 1;
         i <= ALWAYS && outcome == OUTCOME_RIGHT && !asked.one && now() - start < seconds / 2; i++)
        outcome = run_one(w, i, &steps);
    if (outcome == OUTCOME_RIGHT)
        do
            outcome = run_one(w, seed++, &steps);
        while (outcome == OUTCOME_RIGHT && !asked.one && now() - start < seconds);
    printf("     %s: %llu steps in %.1f s\n", w->name, steps, now() - start);
    return outcome;
}

static void run_all(void)
{
    double share = (double)asked.seconds / how_many();

    for (unsigned i = 0; i < nworlds; i++) {
        enum outcome outcome;

        if (!is_asked_for(&worlds[i]))
            continue;
        outcome = run_world(&worlds[i], share);
        printf("%s %s\n",
               outcome == OUTCOME_RIGHT   ? "pass"
               : outcome == OUTCOME_WRONG ? "FAIL"
                                          : "skip",
               worlds[i].name);
        passed += outcome == OUTCOME_RIGHT;
        failed += outcome == OUTCOME_WRONG;
        skipped += outcome == OUTCOME_SKIPPED;
    }
}

/* ---- arguments ------------------------------------------------------------------------------ */

static int usage(const char *name)
{
    printf("usage: %s [--seconds N] [--steps N] [--world NAME] [--seed N] [--only I,J,…] "
           "[--verbose]\nworlds:",
           name);
    for (unsigned i = 0; i < nworlds; i++)
        printf(" %s", worlds[i].name);
    printf("\n");
    return 2;
}

static bool read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *key = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(key, "--verbose") == 0) {
            asked.verbose = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(key, "--seconds") == 0)
            asked.seconds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(key, "--steps") == 0)
            asked.steps = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(key, "--world") == 0)
            asked.world = value;
        else if (strcmp(key, "--only") == 0)
            asked.only = value;
        else if (strcmp(key, "--seed") == 0)
            asked.seed = strtoull(value, NULL, 10), asked.one = true;
        else
            return false;
        i++;
    }
    return asked.steps > 0 && asked.steps <= LONGEST && how_many() > 0;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("FERRY_TEST_SEED");

    asked.seconds = getenv("FERRY_TEST_QUICK") ? 6 : 15;
    asked.seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL) * 1000;
    if (!read_arguments(argc, argv))
        return usage(argv[0]);
    printf("     FERRY_TEST_SEED=%llu\n", (unsigned long long)asked.seed);
    run_all();
    printf("ferry-test: random: %u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}

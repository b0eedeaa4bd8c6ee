/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <pthread.h>

/* Many threads on two simulated devices whose work runs by itself. */

enum { THREADS = 4, ROUNDS = 200, WORDS = 256 };

struct part {
    void *dev, *other;
    unsigned seed;
    int wrong;
};

/* A copy through two devices, two queues and back, ordered by events alone. */
static bool round_trip(struct part *part, void *queue, void *const block[2], unsigned *words)
{
    void *there, *back;
    unsigned expected = words[0] + 1;
    int err = 0;

    words[0] = expected;
    err |= sim->memcpy(part->dev, queue, FERRY_MEMCPY_H2D, driver_ref(block[0], 0),
                       driver_cref(words, 0), WORDS * sizeof(*words));
    err |= sim->event_record(part->dev, queue, &there);
    err |= sim->queue_wait(part->other, NULL, there);
    err |= sim->peer_copy(part->other, NULL, driver_ref(block[1], 0), part->dev,
                          driver_cref(block[0], 0), WORDS * sizeof(*words));
    err |= sim->memcpy(part->other, NULL, FERRY_MEMCPY_D2H, driver_ref(words, 0),
                       driver_cref(block[1], 0), WORDS * sizeof(*words));
    err |= sim->event_record(part->other, NULL, &back);
    err |= sim->event_destroy(part->dev, there);
    err |= sim->event_synchronize(part->other, back);
    err |= sim->event_destroy(part->other, back);
    return !err && words[0] == expected;
}

static void *travel(void *argument)
{
    struct part *part = argument;
    unsigned words[WORDS] = { part->seed * 1000000 };
    void *queue = NULL, *block[2] = { NULL, NULL };
    uint32_t flags;

    part->wrong = sim->queue_create(part->dev, 0, &queue) ||
                  sim->alloc(part->dev, NULL, sizeof(words), 0, &block[0], &flags) ||
                  sim->alloc(part->other, NULL, sizeof(words), 0, &block[1], &flags);
    for (int i = 0; i < ROUNDS && !part->wrong; i++)
        part->wrong = !round_trip(part, queue, block, words);
    part->wrong |= sim->free(part->dev, NULL, block[0]) || sim->free(part->other, NULL, block[1]) ||
                   sim->queue_destroy(part->dev, queue);
    return NULL;
}

static void threads_share_two_devices_and_lose_no_data(void)
{
    pthread_t thread[THREADS];
    struct part part[THREADS];
    void *dev, *other;

    if (!sim_load())
        return;
    driver_set("clock", "real");
    driver_set("devices", "2");
    dev = sim_open(0);
    other = sim_open(1);
    for (unsigned i = 0; i < THREADS; i++) {
        part[i] = (struct part){ i % 2 ? dev : other, i % 2 ? other : dev, i, 0 };
        CU_ASSERT_FATAL(pthread_create(&thread[i], NULL, travel, &part[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CU_ASSERT_EQUAL(part[i].wrong, 0);
    }
    CU_ASSERT_EQUAL(driver_count(sim, dev).copies_d2d + driver_count(sim, other).copies_d2d,
                    THREADS * ROUNDS);
    sim_close(other);
    sim_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(threads_share_two_devices_and_lose_no_data),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-threads", cases, FERRY_TEST_COUNT(cases));
}

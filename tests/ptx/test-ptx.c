/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor by itself: the faults that it has to find, with one text for each in cases/; the
 * orders of threads; and errors in texts. test-opcodes.c tests the results of opcodes.
 */
#define _GNU_SOURCE
#include "tests/ptx/ptx.h"

#include "ferry-test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS   256
#define OUT_AT  0x10000u
#define IN_AT   0x20000u
#define GRID    2
#define THREADS 64

/*
 * Two allocations of WORDS: `out`, which was never written, and `in`, whose words are their
 * indices.
 */
struct rig {
    struct ptx_module *module;
    struct ptx_launch launch;
    uint32_t out[WORDS], in[WORDS];
    unsigned char out_written[4 * WORDS], in_written[4 * WORDS];
    uint64_t params[2];
};

static char *text_of(const char *name)
{
    const char *folder = getenv("FERRY_TEST_SRCDIR");
    static char text[8192];
    char path[4096];
    size_t n;
    FILE *file;

    snprintf(path, sizeof(path), "%s/tests/ptx/cases/%s.ptx", folder ? folder : ".", name);
    file = fopen(path, "r");
    if (!file) {
        CU_FAIL("the text of the case cannot be read");
        return NULL;
    }
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* Runs the entry `test` of a text: its parameters are `out` and `in`. */
static bool run(struct rig *r, const char *text, const char *options)
{
    char error[256] = "";

    memset(r, 0, sizeof(*r));
    for (uint32_t i = 0; i < WORDS; i++)
        r->in[i] = i;
    memset(r->in_written, 1, sizeof(r->in_written));
    r->params[0] = OUT_AT;
    r->params[1] = IN_AT;
    r->module = text ? ptx_module_new(text, error, sizeof(error)) : NULL;
    CU_ASSERT_STRING_EQUAL(error, "");
    CU_ASSERT(ptx_options_parse(options, &r->launch.options));
    if (!r->module)
        return false;
    r->launch.kernel = ptx_kernel_find(r->module, "test");
    r->launch.grid[0] = GRID;
    r->launch.block[0] = THREADS;
    r->launch.grid[1] = r->launch.grid[2] = r->launch.block[1] = r->launch.block[2] = 1;
    r->launch.params = (const unsigned char *)r->params;
    r->launch.window_count = 2;
    r->launch.windows[0] =
        (struct ptx_window){ OUT_AT, sizeof(r->out), (unsigned char *)r->out, r->out_written };
    r->launch.windows[1] =
        (struct ptx_window){ IN_AT, sizeof(r->in), (unsigned char *)r->in, r->in_written };
    return ptx_run(&r->launch);
}

static void end(struct rig *r)
{
    ptx_module_delete(r->module);
}

/* The case's text must fault with a report that has all of these parts. */
static void faults(const char *name, const char *options, const char *a, const char *b)
{
    static struct rig r;
    bool ok = run(&r, text_of(name), options);

    CU_ASSERT_FALSE(ok);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.launch.report, "kernel test, "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.launch.report, a));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.launch.report, b));
    if (!strstr(r.launch.report, a) || !strstr(r.launch.report, b))
        fprintf(stderr, "%s: \"%s\"\n", name, r.launch.report);
    end(&r);
}

static void passes(const char *name, const char *options)
{
    static struct rig r;
    bool ok = run(&r, text_of(name), options);

    CU_ASSERT(ok);
    CU_ASSERT_STRING_EQUAL(r.launch.report, "");
    end(&r);
}

/* ---- faults ---- */

static void a_missing_barrier_is_a_race(void)
{
    faults("missing-barrier", "race",
           "missing-barrier.cu:12: race: thread 0 of block 0 loads 4 bytes at 4",
           "thread 1 of block 0 stored there at missing-barrier.cu:10, and no barrier is between");
    faults("missing-barrier", "race,descending", "race: ", "and no barrier is between");
    passes("missing-barrier", "");
    passes("barrier", "race,unknown");
}

static void a_store_after_a_load_is_a_race(void)
{
    faults("store-after-load", "race", "race: ", "loaded there at");
}

static void two_blocks_that_store_to_a_cell_are_a_race(void)
{
    faults("two-blocks", "race", "race: thread 0 of block 1 stores 4 bytes at 0 of an allocation",
           "thread 0 of block 0 stored there");
}

static void a_missing_fence_is_a_race_between_blocks(void)
{
    passes("fences", "race");
    passes("fences", "race,two-blocks");
    passes("fences", "race,blocks-descending,descending");
    faults("no-release", "race", "race: thread 0 of block 1 loads",
           "no fence with an atomic operation");
    faults("no-acquire", "race", "race: thread 0 of block 1 loads",
           "no fence with an atomic operation");
    faults("plain-counter", "race", "race: ", "of block 0");
}

static void an_access_beyond_its_object_faults(void)
{
    faults("beyond-allocation", "", "thread 63 of block 1 writes 4 bytes at 0x10400",
           "where the launch has no allocation");
    faults("beyond-shared", "", "thread 63 of block 0 reads 4 bytes at 0x100 of shared memory",
           "beyond its end");
    faults("beyond-local", "", "thread 0 of block 0 writes 4 bytes", "of local memory");
    faults("misaligned", "", "thread 0 of block 0 reads 8 bytes at 0x20004", "not aligned");
}

static void a_read_of_bytes_never_written_faults(void)
{
    faults("unwritten-shared", "unknown",
           "thread 63 of block 0 loads 4 bytes at 252 of shared memory", "no thread has stored");
    faults("unwritten-global", "unknown", "thread 0 of block 0 reads 4 bytes at 0x0",
           "never written");
    passes("unwritten-global", "");
}

static void a_barrier_that_not_all_threads_reach_faults(void)
{
    faults("divergent-barrier", "", "divergence: thread 0 of block 0 waits at this barrier",
           "thread 32 at that of");
    faults("ended-thread", "", "divergence: thread 0 of block 0", "thread 63, which has ended");
    faults("ended-thread", "single", "divergence: ", "which has ended");
}

static void a_shuffle_without_its_source_faults(void)
{
    faults("matrix-lane", "", "not all lanes of warp 0", "take part");
    faults("absent-lane", "", "lane 15 of warp 0 reads lane 16", "does not take part");
}

static void an_index_beyond_the_targets_of_a_branch_faults(void)
{
    faults("indexed-branch", "", "thread 3 of block 0 branches to target 3 of 3", "");
}

/* ---- texts ---- */

static void fails_to_parse(const char *text, const char *want)
{
    char error[256] = "";
    struct ptx_module *module = ptx_module_new(text, error, sizeof(error));

    CU_ASSERT_PTR_NULL(module);
    CU_ASSERT_STRING_EQUAL(error, want);
    ptx_module_delete(module);
}

#define ENTRY ".version 8.0\n.target sm_80\n.visible .entry test()\n{\n.reg .b32 %r<4>;\n"
static void an_error_in_a_ptx_text_names_its_line(void)
{
    fails_to_parse(ENTRY "add.s32 %r1, %r2, 1;\nfrobnicate.b32 %r1, %r2;\n}\n",
                   "PTX line 7: opcode 'frobnicate.b32' is not known");
    fails_to_parse(ENTRY "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];\n}\n",
                   "PTX line 6: opcode 'ldmatrix.sync.aligned.m8n8.x1.shared.b16' is not known");
    fails_to_parse(ENTRY "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, "
                         "{%r1};\n}\n",
                   "PTX line 6: opcode 'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32' with 4 "
                   "registers is not known");
    fails_to_parse(ENTRY "add.q32 %r1, %r2, 1;\n}\n", "PTX line 6: opcode 'add.q32' is not known");
    fails_to_parse(ENTRY "ld.global.v3.u32 %r1, [%r2];\n}\n",
                   "PTX line 6: opcode 'ld.global.v3.u32' is not known");
    fails_to_parse(ENTRY "add.s32 %r1, %r4, 1;\n}\n", "PTX line 6: register '%r4' is not known");
    fails_to_parse(ENTRY "add.s64 %r1, %r2, 1;\n}\n",
                   "PTX line 6: register '%r1' has 32 bits, the operand 64");
    fails_to_parse(ENTRY "bra $L__nowhere;\n}\n", "PTX line 8: label '$L__nowhere' is not there");
    fails_to_parse(ENTRY "ret;\n", "PTX line 7: the text ends within an entry");
    fails_to_parse(".func f()\n{\n}\n", "PTX line 1: '.func' is not known here");
}

static void options_are_parsed_from_words(void)
{
    struct ptx_options options;

    CU_ASSERT(ptx_options_parse("shuffled=7,two-blocks,race,low", &options));
    CU_ASSERT_EQUAL(options.order, PTX_SHUFFLED);
    CU_ASSERT_EQUAL(options.seed, 7);
    CU_ASSERT_EQUAL(options.blocks_at_once, 2);
    CU_ASSERT_EQUAL(options.checks, PTX_CHECK_RACES);
    CU_ASSERT_EQUAL(options.approximation, PTX_LOW);
    CU_ASSERT_FALSE(ptx_options_parse("backwards", &options));
    CU_ASSERT_FALSE(ptx_options_parse("shuffled", &options));
}

/* ---- orders ---- */

/*
 * In `tickets`, out[t] is the number of threads that took a ticket before thread t, over all
 * blocks.
 */
static void tickets(struct rig *r, const char *options)
{
    bool seen[GRID * THREADS] = { false };

    CU_ASSERT(run(r, text_of("tickets"), options));
    for (int t = 0; t < GRID * THREADS; t++) {
        CU_ASSERT_FATAL(r->out[t] < GRID * THREADS);
        CU_ASSERT_FALSE(seen[r->out[t]]);
        seen[r->out[t]] = true;
    }
    end(r);
}

static void threads_run_in_the_order_of_the_option(void)
{
    static struct rig r, again;

    tickets(&r, "ascending");
    for (uint32_t t = 0; t < GRID * THREADS; t++)
        CU_ASSERT_EQUAL(r.out[t], t);
    tickets(&r, "descending");
    for (uint32_t t = 0; t < THREADS; t++)
        CU_ASSERT_EQUAL(r.out[t], THREADS - 1 - t);
    tickets(&r, "single,blocks-descending");
    for (uint32_t t = 0; t < GRID * THREADS; t++)
        CU_ASSERT_EQUAL(r.out[t], GRID * THREADS - 1 - t);
    tickets(&r, "shuffled=1");
    tickets(&again, "shuffled=1");
    CU_ASSERT_EQUAL(memcmp(r.out, again.out, sizeof(r.out)), 0);
    tickets(&again, "shuffled=2");
    CU_ASSERT_NOT_EQUAL(memcmp(r.out, again.out, sizeof(r.out)), 0);
}

/*
 * In `turns`, the first thread of each warp takes three tickets with branches between them: out[3 *
 * warp + n], over all blocks.
 */
static void warps_and_blocks_are_interleaved_on_request(void)
{
    static struct rig r;

    CU_ASSERT(run(&r, text_of("turns"), "ascending"));
    for (uint32_t n = 0; n < 12; n++)
        CU_ASSERT_EQUAL(r.out[n], n);
    end(&r);
    CU_ASSERT(run(&r, text_of("turns"), "interleaved"));
    CU_ASSERT(r.out[3] < r.out[2] && r.out[6] > r.out[5]); /* warps alternate, blocks do not */
    end(&r);
    CU_ASSERT(run(&r, text_of("turns"), "two-blocks"));
    CU_ASSERT(r.out[6] < r.out[2] && r.out[6] < r.out[5]);
    end(&r);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(a_missing_barrier_is_a_race),
        FERRY_TEST(a_store_after_a_load_is_a_race),
        FERRY_TEST(two_blocks_that_store_to_a_cell_are_a_race),
        FERRY_TEST(a_missing_fence_is_a_race_between_blocks),
        FERRY_TEST(an_access_beyond_its_object_faults),
        FERRY_TEST(a_read_of_bytes_never_written_faults),
        FERRY_TEST(a_barrier_that_not_all_threads_reach_faults),
        FERRY_TEST(a_shuffle_without_its_source_faults),
        FERRY_TEST(an_index_beyond_the_targets_of_a_branch_faults),
        FERRY_TEST(an_error_in_a_ptx_text_names_its_line),
        FERRY_TEST(options_are_parsed_from_words),
        FERRY_TEST(threads_run_in_the_order_of_the_option),
        FERRY_TEST(warps_and_blocks_are_interleaved_on_request),
    };

    return ferry_test_main(argc, argv, "ptx", cases, FERRY_TEST_COUNT(cases));
}

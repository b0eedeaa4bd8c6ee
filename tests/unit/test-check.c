/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "check-run.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `ferry check`: the project's own plugins pass, and the right group catches each faulty one. */

/* Checks that no group failed; prints failed ones. */
static void passes(const char *arguments)
{
    int status = check(arguments);

    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_PTR_NULL(strstr(out, "\nfail"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, " 0 failed"));
    if (status)
        printf("     check %s\n%s", arguments, out);
}

/* Whether `make check-long` is to run the rest. */
static bool is_short(void)
{
    return getenv("FERRY_TEST_QUICK") != NULL;
}

/* Whether a kernel's compiler works for a minute to check the arithmetic. */
static bool compiles_for_long(void)
{
    const char *backend = ferry_test_backend();

    return is_short() && strcmp(backend, "cpu") && strcmp(backend, "sim");
}

/*
 * Runs all groups once for each plugin. A run with a sanitizer or other options, and `make check`,
 * omit the arithmetic, which the plugins' own tests cover; the shortest run omits the threads on
 * devices other than cpu and sim.
 */
static void the_plugins_of_ferry_pass(void)
{
    bool as_it_is = !ferry_test_has_options();
    bool without_arithmetic =
        ferry_test_is_slow() || ferry_test_is_shortest() || !as_it_is || compiles_for_long();
    const char *memory = "--only descriptor,memory,copy,import,peer,failure,leaks,coherence";
    const char *more = ferry_test_is_shortest() && compiles_for_long()
                           ? ",memset,axpy,queues,events,fork,exit"
                           : ",memset,axpy,queues,events,threads,fork,exit";
    char arguments[256];

    if (is_in_a_hurry() && ferry_test_has_options()) {
        ferry_test_skip("with a sanitizer, only the default options are tested");
        return;
    }
    snprintf(arguments, sizeof(arguments), "%s --quick --timeout 250 %s%s", ferry_test_backend(),
             without_arithmetic ? memory : "",
             without_arithmetic && (as_it_is || !is_short()) ? more : "");
    passes(arguments);
}

/* Large operations take a minute: only in a long run. */
static void operations_of_nets_pass(void)
{
    char arguments[256];

    if (ferry_test_is_slow()) {
        ferry_test_skip("with a sanitizer, the groups take minutes");
        return;
    }
    if (compiles_for_long()) {
        ferry_test_skip("FERRY_TEST_QUICK: make check-long compiles the kernels");
        return;
    }
    if (ferry_test_is_shortest()) {
        ferry_test_skip("FERRY_TEST_QUICK=2: .ci/run and make check-long run them");
        return;
    }
    snprintf(arguments, sizeof(arguments),
             "%s --timeout 280 --only ops-values,ops-steps,ops-reuse,ops-random%s",
             ferry_test_backend(), getenv("FERRY_TEST_LONG") ? ",ops-large" : "");
    passes(arguments);
}

static void random_operations_depend_only_on_the_seed(void)
{
    char arguments[256];

    CU_ASSERT_EQUAL(check("sim --minutes 0"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "--minutes 0: expected minutes, 1 to 1440"));
    CU_ASSERT_EQUAL(check("sim --seed x"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "--seed x: expected a number from 1 on"));
    if (ferry_test_skip_variant())
        return;
    if (ferry_test_is_shortest() && compiles_for_long()) {
        ferry_test_skip("FERRY_TEST_QUICK=2: .ci/run and make check-long run them");
        return;
    }
    snprintf(arguments, sizeof(arguments), "%s --only ops-random --seed 77", ferry_test_backend());
    CU_ASSERT_EQUAL(check(arguments), 0);
    CU_ASSERT_TRUE(strstr(out, "seeds 77 to 226: ") || strstr(out, "not offered"));
}

/* ---- sim, in each of its ways --------------------------------------------------------------- */

static bool sim_is_there(void)
{
    if (ferry_test_is_built("sim"))
        return true;
    ferry_test_skip("sim is not built");
    return false;
}

static void segments_are_compiled_saved_and_loaded(void)
{
    if (!sim_is_there())
        return;
    passes("sim --set graph=on --only graph");
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "a chain of 3 nodes, compiled, saved and loaded"));
    passes("sim --set graph=fail --only graph");
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "not offered  graph"));
    CU_ASSERT_EQUAL(check("sim --set graph=holes --only graph"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "the claim is not convex: segment 1 is left"));
}

static void sim_passes_with_unified_memory(void)
{
    if (!sim_is_there())
        return;
    passes("sim --set unified=on --only import,memory,copy,failure,leaks,coherence");
    CU_ASSERT_PTR_NULL(strstr(out, "not offered  import"));
}

static void sim_passes_with_two_devices(void)
{
    if (!sim_is_there())
        return;
    passes("sim:1 --set devices=2 --only descriptor,peer,queues,events,coherence");
    CU_ASSERT_PTR_NULL(strstr(out, "not offered  peer"));
}

static void sim_passes_without_a_thread_with_slow_copies_and_small_bindings(void)
{
    if (!sim_is_there())
        return;
    passes(ferry_test_is_shortest()
               ? "sim --set clock=sync,memory=64MiB --only events,coherence"
               : "sim --set clock=sync,memory=64MiB --only queues,events,threads,fork,coherence");
    passes(is_short() ? "sim --set latency=200,bandwidth=2GiB/s,op_latency=100 --only events"
                      : "sim --set latency=200,bandwidth=2GiB/s,op_latency=100 "
                        "--only queues,events,threads,fork,coherence");
    passes(
        "sim --set offset_alignment=256,max_binding=64MiB --only memory,copy,memset,axpy,dot,gemv");
}

static void sim_passes_with_axpy_alone(void)
{
    if (!sim_is_there())
        return;
    passes(is_short() ? "sim --set ops=minimal,memory=64MiB --only axpy,gemm,coherence"
                      : "sim --quick --set ops=minimal,memory=64MiB");
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "not offered  gemm"));
}

/* ---- faults that must be found --------------------------------------------------------------- */

static void plugins_pass_before_faults_are_added(void)
{
    CU_ASSERT_EQUAL(check_bad("good_async", ""), 0);
    if (!is_short()) {
        CU_ASSERT_EQUAL(check_bad("good_sync", ""), 0);
        CU_ASSERT_EQUAL(check_bad("good_fast", ""), 0);
        CU_ASSERT_EQUAL(check_bad("good_scratch", ""), 0);
    }
    CU_ASSERT_EQUAL(check_bad("good_sync", "--only ops"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "not offered  ops"));
    CU_ASSERT_EQUAL(check_bad("good_ops", "--only ops"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "F32: strided copy"));
}

static void a_memcpy_that_is_off_by_one_is_caught(void)
{
    caught("bad_copy", "copy", "does not copy byte");
}

static void a_memset_that_ignores_the_offset_is_caught(void)
{
    caught("bad_memset", "memset", "wrote outside");
}

static void an_axpy_that_is_wrong_for_n_modulo_8_is_caught(void)
{
    caught("bad_axpy", "axpy", "axpy F32, n = 9");
}

static void an_event_that_completes_too_early_is_caught(void)
{
    caught("bad_event", "events", "complete too early");
}

static void a_leak_is_caught(void)
{
    caught("bad_leak", "leaks", "live_blocks");
}

static void a_leak_that_is_not_counted_is_caught(void)
{
    if (ferry_test_is_slow())
        ferry_test_skip("a sanitizer keeps freed memory");
    else
        caught("bad_kept", "leaks", "the process grew");
}

static void an_alloc_that_is_not_safe_from_threads_is_caught(void)
{
    caught("bad_threads", "threads", "threads");
}

static void a_query_that_waits_is_caught(void)
{
    caught("bad_query", "events", "event_query after ");
}

static void a_queue_wait_that_blocks_the_caller_is_caught(void)
{
    caught("bad_wait", "events", "queue_wait after ");
}

static void a_map_that_does_not_wait_is_caught(void)
{
    caught("bad_map", "import", "memset on the device, map for reading");
}

static void an_event_that_is_kept_and_not_counted_is_caught(void)
{
    caught("bad_events", "leaks", "event_destroy: the process grew");
}

static void a_small_leak_of_an_event_is_caught(void)
{
    caught("bad_crumbs", "leaks", "event_destroy: the process grew");
}

static void memory_kept_by_device_close_is_caught(void)
{
    caught("bad_close", "leaks", "device_close: the process grew");
}

static void offsets_of_24_bits_are_caught(void)
{
    caught("bad_offset24", "copy", "2^24 and beyond: byte 0 from offset 64 on is ");
    caught("bad_offset24", "memset", "2^24 and beyond: byte 0 from offset 64 on is ");
    caught("bad_offset24", "axpy", "2^24 and beyond: byte 0 from offset 64 on is ");
}

static void offsets_of_32_bits_are_caught(void)
{
    if (ferry_test_is_slow()) {
        ferry_test_skip("a sanitizer needs memory for every byte of 4 GiB");
        return;
    }
    if ((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) < UINT64_C(6) << 30) {
        ferry_test_skip("the machine's memory is less than 6 GiB");
        return;
    }
    caught("bad_offset32", "copy", "memcpy H2D from host offset 2^32: ");
    caught("bad_offset32", "memset", "memset at offset 2^32: byte 0 from offset 64 on is 0x5a");
    caught("bad_offset32", "axpy", "axpy F32, y at offset 2^32: ");
}

static void a_reference_beyond_the_reach_of_kernels_is_caught(void)
{
    caught("bad_alignment", "axpy", "axpy F32, n = 1, at element 36, ");
    caught("bad_binding", "axpy", "max_binding, 25165824 bytes: element 5242880 of 6291456 is ");
}

static void a_wrong_second_chunk_of_axpy_is_caught(void)
{
    caught("bad_chunk", "axpy", "n = 2^20 + 1027: element 1048576 of 1049603 is ");
}

static void a_synchronize_of_only_the_default_queue_is_caught(void)
{
    caught("bad_synchronize", "queues", "it waits for another queue");
}

static void counters_and_lists_without_a_lock_are_caught(void)
{
    if (ferry_test_is_slow()) {
        ferry_test_skip("with a sanitizer, threads seldom run at the same time");
        return;
    }
    caught("bad_counters", "threads", "they are not counted safely");
    caught("bad_submit", "threads", "4 threads, many short calls");
}

static void a_changed_floating_point_mode_is_caught(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    caught("bad_flush", "memory", "arithmetic: denormal numbers count as 0 now");
    caught("bad_denormals", "axpy", "arithmetic: denormal numbers count as 0 now");
    caught("bad_denormals", "threads", "arithmetic: denormal numbers count as 0 now");
#endif
    caught("bad_rounding", "memset", "the rounding mode has changed");
}

static void changed_signal_handlers_are_caught(void)
{
    caught("bad_signals", "memory",
           "signal 10 (User defined signal 1), which belongs to the program: "
           "the plugin has installed a handler");
    caught("bad_signals", "axpy",
           "signal 13 (Broken pipe), which belongs to the program: it is ignored");
    caught("bad_signals", "memset", "signal 2 (Interrupt) is blocked now");
}

static void a_changed_working_folder_or_umask_is_caught(void)
{
    caught("bad_habits", "memset", "the program's working folder: it became /");
    caught("bad_habits", "axpy", "the program's umask: it became 000");
}

static void output_on_standard_error_is_caught(void)
{
    if (ferry_test_is_slow())
        ferry_test_skip("a sanitizer prints to standard error");
    else
        caught("bad_stderr", "memset",
               "standard error, which belongs to the program: something was printed");
}

static void exit_handlers_are_caught(void)
{
    if (ferry_test_is_slow()) {
        ferry_test_skip("a sanitizer prints a report when a program ends");
        return;
    }
    caught("bad_exit", "exit", "\"good_sync: 1 device closed\"");
    caught("bad_exit_stderr", "exit", "\"a device was left open\"");
    caught("bad_exit_crash", "exit", "a program that exits, its device closed: crashed");
}

static void an_event_that_needs_its_queue_is_caught(void)
{
    caught("bad_outlive", "events",
           "an event whose queue has been destroyed: event_query returned");
}

static void a_context_that_is_made_too_early_is_caught(void)
{
    caught("bad_early", "descriptor", "the context is created");
}

static void a_plugin_that_is_linked_with_libferry_is_caught(void)
{
    caught("bad_needed", "descriptor", "it is linked with libferry.so.0");
}

/* A device that is never busy: the suite cannot observe whether a call waits for it. */
static void an_untried_case_is_skipped_and_not_passed(void)
{
    CU_ASSERT_EQUAL(check_bad("good_fast", "--only events"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\nskipped      events      event_query and queue_wait "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "1 passed, 0 failed, 0 not offered; 1 case skipped"));
}

static void a_queue_that_leaves_a_file_open_is_caught(void)
{
    caught("bad_queues", "leaks", "queue_destroy, time 12: 10 open files");
}

static void printing_and_changing_the_locale_are_caught(void)
{
    caught("bad_manners", "memset", "\"memset of 1 bytes\"");
    caught("bad_manners", "axpy", "locale: it became");
}

static void a_negative_zero_that_is_lost_is_caught(void)
{
    caught("bad_zero", "axpy", "should be -0");
}

static void an_alloc_that_succeeds_without_a_block_is_caught(void)
{
    caught("bad_null", "memory", "returned 0 for an impossible request");
    caught("bad_null", "failure", "returned 0 for an impossible request");
}

static void an_owner_of_freed_blocks_is_caught(void)
{
    caught("bad_owns", "memory", "owns of a block that was freed: owns returned 1");
}

static void writing_outside_the_block_is_caught(void)
{
    caught("bad_outside", "memset", "wrote outside");
}

static void an_operation_that_ignores_strides_is_caught(void)
{
    caught("bad_op_copy", "ops", "strided copy F32, 3x5 by 1x3 to 3x5 by 1x3: out[0](0, 1) is ");
}

static void a_copy_that_truncates_instead_of_rounding_is_caught(void)
{
    caught("bad_op_convert", "ops", "strided copy F32 to BF16, ");
}

static void an_operation_that_writes_between_its_elements_is_caught(void)
{
    caught("bad_op_gap", "ops", "wrote into a gap between its elements: 5 elements from its first");
}

static void a_query_that_accepts_an_unknown_kind_is_caught(void)
{
    caught("bad_op_query", "ops", "query of an unknown kind: query returned 0");
}

static void a_run_that_leaks_is_caught(void)
{
    caught("bad_op_again", "ops", "once more: out[0] differs in bits from the first run");
}

static void a_backward_pass_that_computes_forward_is_caught(void)
{
    caught("bad_op_pass", "ops", "unary backward data function RELU F32, ");
}

/*
 * The faults: the last row instead of the sum; exchanged scalars; corners instead of centres; an
 * end that is one too early.
 */
static void a_single_wrong_kind_is_caught(void)
{
    caught("bad_op_add", "ops", "scatter-add F32 indices in and out of the table, 4x6x5");
    caught("bad_op_scalars", "ops", "update function 0 F32, 3x5x7 by 35x7x1");
    caught("bad_op_resize", "ops", "resize F32, 2x5x8x9 by 360x72x9x1 to 2x5x3x5");
    caught("bad_op_roi", "ops", "roi pool F32 largest, 2x3x9x8");
}

static void a_failure_without_a_reason_is_caught(void)
{
    caught("bad_error", "memory", "without calling host->error");
}

static void an_option_table_that_contradicts_itself_is_caught(void)
{
    caught("bad_options", "descriptor", "\"middling\"");
    caught("bad_bool", "descriptor", "\"maybe\" is not a value of its type, bool");
}

static void a_crash_fails_its_group_and_the_others_run(void)
{
    CU_ASSERT_EQUAL(check_bad("bad_crash", "--only axpy,queues"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "fail         axpy"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "n = 1000"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "pass         queues"));
}

static void a_hang_fails_its_group_and_the_others_run(void)
{
    if (is_in_a_hurry()) {
        ferry_test_skip("it takes 40 s, and a sanitizer has nothing to check");
        return;
    }
    CU_ASSERT_EQUAL(check_bad("bad_hang", ferry_test_is_slow()
                                              ? "--only copy,queues,fork --timeout 40"
                                              : "--only copy,queues,fork --timeout 8"),
                    1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "pass         copy"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "not done after "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "2 passed, 1 failed"));
}

/* ---- files that the loader rejects ----------------------------------------------------------- */

static int check_fake(const char *name)
{
    char arguments[1024];

    snprintf(arguments, sizeof(arguments),
             "\"$FERRY_TEST_BUILDDIR\"/tests/plugins/fakes/ferry_%s.so", name);
    return check(arguments);
}

static void plugins_that_the_loader_refuses_are_not_run(void)
{
    CU_ASSERT_EQUAL(check_fake("other_major"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "fail         descriptor"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "ABI"));
    CU_ASSERT_PTR_NULL(strstr(out, "memory"));
    CU_ASSERT_EQUAL(check_fake("no_devices"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "no device"));
    CU_ASSERT_EQUAL(check_fake("missing_entry"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "memset is NULL"));
}

static void strict_does_not_affect_a_check(void)
{
    setenv("FERRY_STRICT", "1", 1); /* a plugin may leave out operations, which ferry then computes
                                     * on the host */
    passes("\"$FERRY_TEST_BUILDDIR\"/tests/plugins/bad/ferry_good_sync.so --only coherence");
    unsetenv("FERRY_STRICT");
}

static void an_invalid_command_line_exits_with_2(void)
{
    CU_ASSERT_EQUAL(check(""), 2);
    CU_ASSERT_EQUAL(check("nonesuch"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "no plugin \"nonesuch\""));
    CU_ASSERT_EQUAL(check("./nonesuch.so"), 2);
    CU_ASSERT_EQUAL(check("sim:one --only descriptor"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "sim:one: expected a device index after the colon"));
    CU_ASSERT_EQUAL(check_bad("good_sync", "--only memroy"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "did you mean \"memory\"?"));
    CU_ASSERT_EQUAL(check_bad("good_sync", "--set clock"), 2);
    CU_ASSERT_EQUAL(check("sim --set nosuch=1 --only descriptor"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "--set nosuch: its table has no such option"));
    CU_ASSERT_EQUAL(check_bad("good_sync", "--timeout 0"), 2);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_has_a_row_for_each_group(void)
{
    static const char *const results[] = { "pass", "fail", "not offered" };
    json_t *document, *groups, *group;
    int seen[3] = { 0, 0, 0 };
    size_t i;

    CU_ASSERT_EQUAL(check_bad("bad_zero", "--json --only axpy,memset,events"), 1);
    document = json_loads(out, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(document);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(document, "plugin")), "bad_zero");
    groups = json_object_get(document, "groups");
    CU_ASSERT_EQUAL(json_array_size(groups), 3);
    json_array_foreach(groups, i, group)
    {
        const char *result = json_string_value(json_object_get(group, "result"));

        CU_ASSERT(json_is_string(json_object_get(group, "name")));
        CU_ASSERT(json_is_string(json_object_get(group, "detail")));
        CU_ASSERT(json_is_array(json_object_get(group, "skipped")));
        CU_ASSERT_PTR_NOT_NULL_FATAL(result);
        for (int k = 0; k < 3; k++)
            seen[k] += strcmp(result, results[k]) == 0;
    }
    CU_ASSERT(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    json_decref(document);
}

static const ferry_test_case own_cases[] = {
    FERRY_TEST(the_plugins_of_ferry_pass),
    FERRY_TEST(operations_of_nets_pass),
    FERRY_TEST(random_operations_depend_only_on_the_seed),
};

static const ferry_test_case cases[] = {
    FERRY_TEST(segments_are_compiled_saved_and_loaded),
    FERRY_TEST(sim_passes_with_unified_memory),
    FERRY_TEST(sim_passes_with_two_devices),
    FERRY_TEST(sim_passes_without_a_thread_with_slow_copies_and_small_bindings),
    FERRY_TEST(sim_passes_with_axpy_alone),
    FERRY_TEST(plugins_pass_before_faults_are_added),
    FERRY_TEST(a_memcpy_that_is_off_by_one_is_caught),
    FERRY_TEST(a_memset_that_ignores_the_offset_is_caught),
    FERRY_TEST(an_axpy_that_is_wrong_for_n_modulo_8_is_caught),
    FERRY_TEST(an_event_that_completes_too_early_is_caught),
    FERRY_TEST(a_leak_is_caught),
    FERRY_TEST(a_leak_that_is_not_counted_is_caught),
    FERRY_TEST(an_alloc_that_is_not_safe_from_threads_is_caught),
    FERRY_TEST(a_query_that_waits_is_caught),
    FERRY_TEST(a_queue_wait_that_blocks_the_caller_is_caught),
    FERRY_TEST(a_map_that_does_not_wait_is_caught),
    FERRY_TEST(an_event_that_is_kept_and_not_counted_is_caught),
    FERRY_TEST(a_small_leak_of_an_event_is_caught),
    FERRY_TEST(memory_kept_by_device_close_is_caught),
    FERRY_TEST(offsets_of_24_bits_are_caught),
    FERRY_TEST(offsets_of_32_bits_are_caught),
    FERRY_TEST(a_reference_beyond_the_reach_of_kernels_is_caught),
    FERRY_TEST(a_wrong_second_chunk_of_axpy_is_caught),
    FERRY_TEST(a_synchronize_of_only_the_default_queue_is_caught),
    FERRY_TEST(counters_and_lists_without_a_lock_are_caught),
    FERRY_TEST(a_changed_floating_point_mode_is_caught),
    FERRY_TEST(changed_signal_handlers_are_caught),
    FERRY_TEST(a_changed_working_folder_or_umask_is_caught),
    FERRY_TEST(output_on_standard_error_is_caught),
    FERRY_TEST(exit_handlers_are_caught),
    FERRY_TEST(an_event_that_needs_its_queue_is_caught),
    FERRY_TEST(a_context_that_is_made_too_early_is_caught),
    FERRY_TEST(a_plugin_that_is_linked_with_libferry_is_caught),
    FERRY_TEST(an_untried_case_is_skipped_and_not_passed),
    FERRY_TEST(a_queue_that_leaves_a_file_open_is_caught),
    FERRY_TEST(printing_and_changing_the_locale_are_caught),
    FERRY_TEST(a_negative_zero_that_is_lost_is_caught),
    FERRY_TEST(an_alloc_that_succeeds_without_a_block_is_caught),
    FERRY_TEST(an_owner_of_freed_blocks_is_caught),
    FERRY_TEST(writing_outside_the_block_is_caught),
    FERRY_TEST(an_operation_that_ignores_strides_is_caught),
    FERRY_TEST(a_copy_that_truncates_instead_of_rounding_is_caught),
    FERRY_TEST(an_operation_that_writes_between_its_elements_is_caught),
    FERRY_TEST(a_query_that_accepts_an_unknown_kind_is_caught),
    FERRY_TEST(a_run_that_leaks_is_caught),
    FERRY_TEST(a_backward_pass_that_computes_forward_is_caught),
    FERRY_TEST(a_single_wrong_kind_is_caught),
    FERRY_TEST(a_failure_without_a_reason_is_caught),
    FERRY_TEST(an_option_table_that_contradicts_itself_is_caught),
    FERRY_TEST(a_crash_fails_its_group_and_the_others_run),
    FERRY_TEST(a_hang_fails_its_group_and_the_others_run),
    FERRY_TEST(plugins_that_the_loader_refuses_are_not_run),
    FERRY_TEST(strict_does_not_affect_a_check),
    FERRY_TEST(an_invalid_command_line_exits_with_2),
    FERRY_TEST(json_has_a_row_for_each_group),
};

int main(int argc, char **argv)
{
    int own, rest;

    if (!check_can_run())
        return 77;
    own = ferry_test_main_backends(argc, argv, "check", own_cases, FERRY_TEST_COUNT(own_cases));
    unsetenv("FERRY_BACKEND");
    rest = ferry_test_main(argc, argv, "check", cases, FERRY_TEST_COUNT(cases));
    return own == 1 || rest == 1 ? 1 : own == 77 ? rest : own;
}

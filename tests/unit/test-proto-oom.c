/* SPDX-License-Identifier: BSD-2-Clause */
#include "oom.h"
#include "proto-text.h"

#include "net/proto/tree.h"

#include <ferry/proto_edit.h>

/* Every allocation made while a tree is opened, upgraded and changed fails once. */

static int upgrade_and_copy(ferry_proto *p)
{
    ferry_proto *copy = NULL;
    int err = ferry_proto_upgrade(p);

    if (!err)
        err = ferry__proto_create(p->type, "copy", &copy);
    if (!err)
        err = ferry__proto_put_copy(copy, p);
    ferry_proto_close(copy);
    return err;
}

/* ferry_proto_fold_fn */
static int take_all(void *arg, const ferry_proto *into, const ferry_proto *layer)
{
    (void)arg;
    (void)into;
    (void)layer;
    return 1;
}

/* The changes of proto_edit.h. */
static int edit(ferry_proto *p)
{
    static const int64_t shape[] = { 1, 2, 3 };
    int err = ferry_proto_keep_part(p, "cut", FERRY_PROTO_FROM);

    if (!err)
        err = ferry_proto_fold(p, take_all, NULL);
    if (!err)
        err = ferry_proto_set_input_shape(p, "x", shape, 3);
    return err ? err : ferry_proto_downgrade(p);
}

/* Whether allocation number `n` of the changes failed. */
static bool use_edits(const char *text, unsigned n)
{
    ferry_proto *p = net_of(text);
    int err;

    oom_arm(n);
    err = edit(p);
    oom_disarm();
    CU_ASSERT_EQUAL(err, oom_has_failed() ? FERRY_ENOMEM : FERRY_OK);
    if (err)
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "out of memory"));
    ferry_proto_close(p);
    return oom_has_failed();
}

/* One use in which allocation number `n` fails. Returns whether one failed. */
static bool use(const char *type, const char *text, size_t size, unsigned n)
{
    ferry_proto_options options = { .struct_size = sizeof(options),
                                    .text = text,
                                    .text_size = size,
                                    .comments = true };
    ferry_proto *p = NULL;
    int err;

    oom_arm(n);
    err = ferry_proto_open("t", type, &options, &p);
    CU_ASSERT((err == FERRY_OK) == (p != NULL));
    if (!err)
        err = upgrade_and_copy(p);
    oom_disarm();
    CU_ASSERT_EQUAL(err, oom_has_failed() ? FERRY_ENOMEM : FERRY_OK);
    if (err)
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "out of memory"));
    ferry_proto_close(p);
    return oom_has_failed();
}

static void check_all(const char *type, const char *text, size_t size, unsigned least)
{
    unsigned n;

    for (n = 1; use(type, text, size, n); n++)
        ;
    CU_ASSERT(n > least);
    if (n <= least)
        printf("  only %u\n", n);
}

#define LONG 1500

/* Each @ becomes a long name, so that a tree's memory consists of several blocks. */
static char *with_long_names(const char *text)
{
    size_t size = strlen(text) + 1, used = 0;
    char *out;

    for (const char *c = text; *c; c++)
        size += *c == '@' ? LONG : 0;
    out = calloc(1, size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (const char *c = text; *c; c++) {
        memset(out + used, *c == '@' ? 'a' : *c, *c == '@' ? LONG : 1);
        used += *c == '@' ? LONG : 1;
    }
    return out;
}

static const char old_net[] =
    "name: '@' input: 'data@' input_dim: [1, 2, 3, 4]\n"
    "layers { layer { type: 'padding' pad: 2 } bottom: 'data@' top: 'p' }\n"
    "layers { layer { type: 'conv' name: '@' num_output: 3 weight_filler { } } bottom: 'p' }\n"
    "layers { layer { type: 'relu' k: 0.5 } my_own_@: '@' }\n"
    "layers { layer { type: 'data' source: '@' scale: 2 blobs_lr: [1, 2, 3] } top: '@' }\n";

static const char net_of_today[] =
    "# a net\n"
    "layer { name: '@' pooling_param { ceil_mode: true } acme_@: 1 type: 'BatchNorm' param { }\n"
    "param { } param { } top: '@' bottom: '@' include { stage: '@' } input_param { shape { dim: "
    "[1, 2, 3, 4, 5, 6, 7, 8] } } }";

static void every_allocation_of_parsing_a_text_may_fail(void)
{
    static const char solver[] = "solver_type: ADAM base_lr: 0.5 snapshot_prefix: '@@@'";
    char *text = with_long_names(old_net);

    check_all("NetParameter", text, strlen(text), 12);
    free(text);
    text = with_long_names(net_of_today);
    check_all("NetParameter", text, strlen(text), 7);
    free(text);
    text = with_long_names(solver);
    check_all("SolverParameter", text, strlen(text), 5);
    free(text);
}

static void every_allocation_of_reading_a_binary_file_may_fail(void)
{
    char *text = with_long_names(net_of_today), bytes[8192];
    ferry_proto *p = net_of(text);
    size_t size = 0;

    free(text);
    CU_ASSERT_EQUAL_FATAL(ferry_proto_serialize(p, bytes, sizeof(bytes), &size), FERRY_OK);
    ferry_proto_close(p);
    check_all("NetParameter", bytes, size, 4);
}

static void every_allocation_of_an_edit_may_fail(void)
{
    char *text = with_long_names("layer { name: 'a' type: 'ReLU' top: 'x' top: '@' }\n"
                                 "layer { name: 'cut' type: 'ReLU' bottom: 'x' top: '@@' "
                                 "param { lr_mult: 1 } param { name: '@' } }\n"
                                 "layer { type: 'Convolution' bottom: 'x' top: 'c' } "
                                 "layer { type: 'Bias' bottom: 'c' top: '@@@' }\n");
    unsigned n;

    for (n = 1; use_edits(text, n); n++)
        ;
    CU_ASSERT(n > 1);
    free(text);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_allocation_of_parsing_a_text_may_fail),
    FERRY_TEST(every_allocation_of_reading_a_binary_file_may_fail),
    FERRY_TEST(every_allocation_of_an_edit_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-oom", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tops with the contents of their bottom, and layers in place on either: where Caffe copies, the
 * other blob keeps its contents, and where Caffe shares memory (Split, Reshape, Flatten, a Concat
 * of one, a Slice into one), it changes.
 */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define X \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 5 } } }\n"
#define LAYER(name, type, bottom, top, more) \
    "layer { name: '" name "' type: '" type "' bottom: '" bottom "' top: '" top "' " more " }\n"
#define SUM(a, b) \
    "layer { name: 'sum' type: 'Eltwise' bottom: '" a "' bottom: '" b "' top: 'y' }\n"
#define DROPOUT(bottom, top) LAYER("drop", "Dropout", bottom, top, "")
#define RELU(bottom, top)    LAYER("relu", "ReLU", bottom, top, "")
#define POWER(bottom, top) \
    LAYER("power", "Power", bottom, top, "power_param { scale: -2 shift: 0.25 }")
#define CONV(name, bottom, top) \
    LAYER(name, "Convolution", bottom, top, "convolution_param { num_output: 3 kernel_size: 1 }")
#define SAME "reshape_param { shape { dim: 0 } num_axes: 1 }"

/* The value of y for one element: of x, or of t = −2·x + 0.25. */
enum wanted { X_AND_RELU_X, TWICE_RELU_X, T_AND_RELU_T, TWICE_RELU_T, RELU_T, RELU_X, ONLY_X };

struct pattern {
    const char *name, *text;
    enum wanted wanted;
    bool input_written; /* by Caffe's sharing the layer is in place on x */
};

static const struct pattern patterns[] = {
    { "dropout of an input, relu in place", X DROPOUT("x", "d") RELU("d", "d") SUM("x", "d"),
      X_AND_RELU_X, false },
    { "dropout of an input, relu", X DROPOUT("x", "d") RELU("d", "r") SUM("x", "r"), X_AND_RELU_X,
      false },
    { "dropout of an input alone, relu in place", X DROPOUT("x", "y") RELU("y", "y"), RELU_X,
      false },
    { "dropout alone", X DROPOUT("x", "y"), ONLY_X, false },
    { "a residual, relu in place", X POWER("x", "t") DROPOUT("t", "d") RELU("d", "d") SUM("t", "d"),
      T_AND_RELU_T, false },
    { "a residual, relu", X POWER("x", "t") DROPOUT("t", "d") RELU("d", "r") SUM("t", "r"),
      T_AND_RELU_T, false },
    { "two dropouts, relu in place behind each",
      X POWER("x", "t") DROPOUT("t", "d") LAYER("drop2", "Dropout", "d", "e", "") RELU("e", "e")
          SUM("t", "e"),
      T_AND_RELU_T, false },
    { "dropout, then flatten, relu in place",
      X POWER("x", "t") DROPOUT("t", "d") LAYER("f", "Reshape", "d", "f", SAME) RELU("f", "f")
          SUM("t", "f"),
      T_AND_RELU_T, false },
    { "dropout, then what shares its bottom is written",
      X POWER("x", "t") DROPOUT("t", "d") LAYER("f", "Reshape", "t", "f", SAME) RELU("f", "f")
          SUM("d", "f"),
      T_AND_RELU_T, false },
    { "a blob that shares a bottom is written, then dropout",
      X POWER("x", "t") LAYER("f", "Reshape", "t", "f", SAME) RELU("f", "f") DROPOUT("t", "d")
          SUM("d", "f"),
      TWICE_RELU_T, false },
    { "dropout between", X POWER("x", "t") DROPOUT("t", "d") RELU("d", "y"), RELU_T, false },
    { "reshape of an input, relu in place",
      X LAYER("f", "Reshape", "x", "f", SAME) RELU("f", "f") SUM("x", "f"), TWICE_RELU_X, true },
    { "a concatenation of one, relu in place",
      X LAYER("c", "Concat", "x", "c", "") RELU("c", "c") SUM("x", "c"), TWICE_RELU_X, true },
    { "a slice into one, relu in place",
      X LAYER("c", "Slice", "x", "c", "") RELU("c", "c") SUM("x", "c"), TWICE_RELU_X, true },
    { "tiled once, relu in place",
      X LAYER("c", "Tile", "x", "c", "tile_param { tiles: 1 }") RELU("c", "c") SUM("x", "c"),
      X_AND_RELU_X, false },
    { "times one, relu in place", X LAYER("c", "Power", "x", "c", "") RELU("c", "c") SUM("x", "c"),
      X_AND_RELU_X, false },
    { "scaled by one, relu in place",
      X LAYER("c", "Scale", "x", "c", "") RELU("c", "c") SUM("x", "c"), X_AND_RELU_X, false },
    { "cropped to itself, relu in place",
      X "layer { name: 'c' type: 'Crop' bottom: 'x' bottom: 'x' top: 'c' }\n" RELU("c", "c")
          SUM("x", "c"),
      X_AND_RELU_X, false },
    { "cropped to the first axes of a blob with more, relu in place",
      X LAYER("f", "Power", "x", "t", "")
          LAYER("r", "Reshape", "t", "q",
                "reshape_param { shape { dim: 2 dim: 3 dim: 5 dim: "
                "1 } }") "layer { name: 'c' type: 'Crop' bottom: "
                         "'x' bottom: 'q' top: 'c' }\n" RELU("c", "c") SUM("x", "c"),
      X_AND_RELU_X, false },
    { "scaled by a scalar, relu in place",
      X LAYER("c", "Scale", "x", "c", "scale_param { num_axes: 0 }") RELU("c", "c") SUM("x", "c"),
      X_AND_RELU_X, false },
};

static double expected(enum wanted wanted, double x)
{
    double t = -2 * x + 0.25, relu_x = x > 0 ? x : 0, relu_t = t > 0 ? t : 0;

    switch (wanted) {
    case X_AND_RELU_X:
        return x + relu_x;
    case TWICE_RELU_X:
        return 2 * relu_x;
    case T_AND_RELU_T:
        return t + relu_t;
    case TWICE_RELU_T:
        return 2 * relu_t;
    case RELU_T:
        return relu_t;
    case RELU_X:
        return relu_x;
    default:
        return x;
    }
}

static double value_of(int64_t i)
{
    return (double)(i * 7 % 30 - 14) / 8;
}

static void fill(ferry_blob *b)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = (float)value_of(i);
}

static ferry_net *open_text(const char *text, int fuse, int plan, int backward)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.no_fuse = fuse < 0;
    o.no_plan = plan < 0;
    o.backward = backward;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static bool is_right(const struct pattern *t, ferry_net *net)
{
    const float *y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    const float *x = ferry_blob_host_data(ferry_net_input_at(net, 0));
    bool right = y && x;

    for (int64_t i = 0; right && i < 30; i++) {
        double kept = t->input_written ? expected(RELU_X, value_of(i)) : value_of(i);

        right = fabs((double)y[i] - expected(t->wanted, value_of(i))) < 1e-6 &&
                fabs((double)x[i] - kept) < 1e-6;
    }
    return right;
}

static void check(const struct pattern *t, int fuse, int plan, int backward)
{
    ferry_net *net = open_text(t->text, fuse, plan, backward);
    bool right = true;

    for (int pass = 0; pass < 2; pass++) {
        if (!pass || t->input_written)
            fill(ferry_net_input_at(net, 0));
        FX_OK(ferry_net_forward(net, NULL));
        right = right && is_right(t, net);
    }
    if (!right)
        printf("     %s: fuse %d, plan %d, backward %d\n", t->name, fuse, plan, backward);
    CU_ASSERT(right);
    ferry_net_close(net);
    fx_end();
}

static void layers_in_place_change_only_blobs_that_caffe_shares(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(patterns); i++) {
        for (int fuse = -1; fuse <= 0; fuse++)
            for (int plan = -1; plan <= 0; plan++)
                check(&patterns[i], fuse, plan, 0);
        check(&patterns[i], 0, 0, 1);
    }
}

/*
 * The residual of two convolutions with Dropout between them: y = c + v·relu(c) + b, c = w·x + a.
 */
static void check_residual(const char *text, int fuse)
{
    ferry_net *net = open_text(text, fuse, 0, 0);
    const float *p[4], *y;
    bool right = true;

    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            fill(ferry_net_param_at(net, i, k));
    fill(ferry_net_input_at(net, 0));
    FX_OK(ferry_net_forward(net, NULL));
    for (int i = 0, n = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i) && n < 4; k++)
            p[n++] = ferry_blob_host_data(ferry_net_param_at(net, i, k));
    y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    for (int64_t at = 0; right && at < 2 * 5; at++) {
        double c[3];

        for (int64_t o = 0; o < 3; o++) {
            c[o] = (double)p[1][o];
            for (int64_t k = 0; k < 3; k++)
                c[o] += (double)p[0][o * 3 + k] * value_of((at / 5 * 3 + k) * 5 + at % 5);
        }
        for (int64_t o = 0; o < 3; o++) {
            double e = (double)p[3][o];

            for (int64_t k = 0; k < 3; k++)
                e += (double)p[2][o * 3 + k] * (c[k] > 0 ? c[k] : 0);
            right = right && fabs((double)y[(at / 5 * 3 + o) * 5 + at % 5] - c[o] - e) < 1e-4;
        }
    }
    CU_ASSERT(right);
    ferry_net_close(net);
    fx_end();
}

static void a_residual_net_computes_the_same_with_and_without_layers_in_place(void)
{
    const char *in_place =
        X CONV("a", "x", "c") DROPOUT("c", "d") RELU("d", "d") CONV("b", "d", "e") SUM("c", "e");
    const char *apart =
        X CONV("a", "x", "c") DROPOUT("c", "d") RELU("d", "r") CONV("b", "r", "e") SUM("c", "e");

    for (int fuse = -1; fuse <= 0; fuse++) {
        check_residual(in_place, fuse);
        check_residual(apart, fuse);
    }
}

static void an_output_of_dropout_does_not_share_memory(void)
{
    ferry_net *net = open_text(X DROPOUT("x", "y"), 0, 0, 0);
    float *y;

    fill(ferry_net_input_at(net, 0));
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_mutable_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    y[0] = 77;
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(ferry_net_input_at(net, 0)))[0],
                    (float)value_of(0));
    ferry_net_close(net);
    fx_end();
}

static void dropout_in_phase_test_copies_the_gradient(void)
{
    const char *text = "force_backward: true\n" X DROPOUT("x", "d")
        LAYER("loss", "Reduction", "d", "y", "loss_weight: 3");
    ferry_net *net = open_text(text, 0, 0, 1);
    const float *dx;

    fill(ferry_net_input_at(net, 0));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    dx = ferry_blob_host_diff(ferry_net_input_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(dx);
    for (int i = 0; i < 30; i++)
        CU_ASSERT_DOUBLE_EQUAL(dx[i], 3, 1e-6);
    ferry_net_close(net);
    fx_end();
}

/*
 * Caffe adds up the loss directly after the layer: a layer in place on memory that the weighted top
 * shares changes the top, but not its loss.
 */
static void a_loss_is_computed_before_a_layer_in_place_changes_its_top(void)
{
    static const char *const texts[] = {
        X POWER("x", "t") "layer { name: 's' type: 'Split' bottom: 't' top: 'a' top: 'b' "
                          "loss_weight: 2 loss_weight: 0 }\n" RELU("b", "b"),
        X CONV("t", "x", "t") "layer { name: 's' type: 'Split' bottom: 't' top: 'a' top: 'b' "
                              "loss_weight: 2 loss_weight: 0 }\n" RELU("b", "b"),
        X POWER("x", "t") "layer { name: 's' type: 'Split' bottom: 't' top: 'a' top: 'b' }\n" LAYER(
            "r", "Reshape", "a", "c", SAME " loss_weight: 2") RELU("b", "b"),
        X "layer { name: 's' type: 'Split' bottom: 'x' top: 'a' top: 'b' "
          "loss_weight: 2 loss_weight: 0 }\n" LAYER("p", "Power", "b", "b",
                                                    "power_param { scale: -3 } loss_weight: 0.5"),
    };
    static const double factor[] = { -2, 0.5, -2, 1 }, shift[] = { 0.25, 0, 0.25, 0 };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        for (int way = 0; way < 8; way++) {
            ferry_net *net = open_text(texts[i], way & 1 ? -1 : 0, way & 2 ? -1 : 0, way >> 2);
            double loss, sum = 0;

            for (int64_t k = 0; k < 30; k++)
                sum += factor[i] * value_of(k) + shift[i];
            if (i == 1) {
                float *w = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 1, 0));

                CU_ASSERT_PTR_NOT_NULL_FATAL(w);
                for (int k = 0; k < 9; k++)
                    w[k] = k % 4 ? 0 : 0.5f;
            }
            for (int pass = 0; pass < 2; pass++) {
                fill(ferry_net_input_at(net, 0));
                FX_OK(ferry_net_forward(net, &loss));
                CU_ASSERT_DOUBLE_EQUAL(loss, i == 3 ? 2 * sum - 1.5 * sum : 2 * sum, 1e-4);
            }
            ferry_net_close(net);
            fx_end();
        }
}

/*
 * The diff of b, which a Split of one top passes to x: that of the loss, whatever is below the
 * Split.
 */
static void check_split_of_one(const char *text, double b, double x)
{
    ferry_net *net = open_text(text, 0, 0, 1);
    const float *db, *dx;

    fill(ferry_net_input_at(net, 0));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    db = ferry_blob_host_diff(ferry_net_blob_find(net, "b"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(db);
    CU_ASSERT_DOUBLE_EQUAL(db[0], b, 1e-6);
    dx = ferry_blob_host_diff(ferry_net_blob_find(net, "x"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(dx);
    CU_ASSERT_DOUBLE_EQUAL(dx[0], x, 1e-6);
    ferry_net_close(net);
    fx_end();
}

static void a_split_with_one_top_does_not_share_its_diff(void)
{
    check_split_of_one(
        "force_backward: true\n" X LAYER("p", "Power", "x", "x", "power_param { scale: -2 }")
            LAYER("s", "Split", "x", "b", "") LAYER("l", "Reduction", "b", "y", "loss_weight: 3"),
        3, -6);
    check_split_of_one(
        "force_backward: true\n" X LAYER("p", "Power", "x", "t", "power_param { scale: -2 }")
            LAYER("s", "Split", "t", "b", "") LAYER("l", "Reduction", "b", "y", "loss_weight: 3")
                LAYER("m", "Reduction", "t", "z", "loss_weight: 1"),
        3, -8);
}

/* The number of operations of a net: the copy is only made if its absence would be observable. */
static int operations(const char *text, int plan)
{
    ferry_net *net = open_text(text, 0, plan, 0);
    int n = 0;

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        n += info.operations;
    }
    ferry_net_close(net);
    fx_end();
    return n;
}

static void unobservable_copies_are_omitted(void)
{
    CU_ASSERT_EQUAL(
        operations(X POWER("x", "t") DROPOUT("t", "d") LAYER("p", "TanH", "d", "y", ""), 0), 2);
    CU_ASSERT_EQUAL(operations(X DROPOUT("x", "d") LAYER("p", "TanH", "d", "y", ""), 0), 1);
    CU_ASSERT_EQUAL(operations(X DROPOUT("x", "d") RELU("d", "d") SUM("x", "d"), 0), 3);
    /* without a plan, which adds copies of its own: in the convolution */
    CU_ASSERT_EQUAL(operations(X CONV("a", "x", "c") DROPOUT("c", "y"), -1), 1);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(layers_in_place_change_only_blobs_that_caffe_shares),
    FERRY_TEST(a_residual_net_computes_the_same_with_and_without_layers_in_place),
    FERRY_TEST(an_output_of_dropout_does_not_share_memory),
    FERRY_TEST(dropout_in_phase_test_copies_the_gradient),
    FERRY_TEST(a_loss_is_computed_before_a_layer_in_place_changes_its_top),
    FERRY_TEST(a_split_with_one_top_does_not_share_its_diff),
    FERRY_TEST(unobservable_copies_are_omitted),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net alias", cases, FERRY_TEST_COUNT(cases));
}

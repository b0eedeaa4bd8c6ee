/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blobs of twelve axes (Caffe accepts up to 32): every layer that accepts any number of axes is
 * compared with its definition in plain loops.
 */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AXES 12
#define ALL  864

static const int64_t shape[AXES] = { 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 2, 1 };
#define SHAPE                                                                               \
    "shape { dim: 2 dim: 3 dim: 1 dim: 2 dim: 3 dim: 1 dim: 2 dim: 3 dim: 1 dim: 2 dim: 2 " \
    "dim: 1 }"
#define INPUT(name) \
    "layer { name: '" name "' type: 'Input' top: '" name "' input_param { " SHAPE " } }\n"
#define ON_X(type, more)                                                                \
    INPUT("x")                                                                          \
    "layer { name: 'l' type: '" type "' bottom: 'x' top: 'y' loss_weight: 1 " more " }" \
    "\n"
#define ON_TWO(type, more)                                                                     \
    INPUT("x")                                                                                 \
    INPUT("u")                                                                                 \
    "layer { name: 'l' type: '" type "' bottom: 'x' bottom: 'u' top: 'y' loss_weight: 1 " more \
    " }\n"

static double value_of(int64_t i)
{
    return (double)(i * 37 % 101 - 50) / 32;
}

static double other_of(int64_t i)
{
    return (double)(i * 53 % 97 - 40) / 32;
}

/* y[i] and the derivative of y[i] with respect to x[i], for x = value_of(i). */
struct element {
    double y, slope;
};

static struct element absolute(double x, double u)
{
    (void)u;
    return (struct element){ fabs(x), x > 0 ? 1 : x < 0 ? -1 : 0 };
}

static struct element bnll(double x, double u)
{
    (void)u;
    return (struct element){ log(1 + exp(x)), exp(x) / (1 + exp(x)) };
}

static struct element elu(double x, double u)
{
    (void)u;
    return (struct element){ x > 0 ? x : exp(x) - 1, x > 0 ? 1 : exp(x) };
}

static struct element exponential(double x, double u)
{
    (void)u;
    return (struct element){ exp(x), exp(x) };
}

static struct element square(double x, double u)
{
    (void)u;
    return (struct element){ (2 * x + 1) * (2 * x + 1), 4 * (2 * x + 1) };
}

static struct element relu(double x, double u)
{
    (void)u;
    return (struct element){ x > 0 ? x : 0, x > 0 };
}

static struct element sigmoid(double x, double u)
{
    double y = 1 / (1 + exp(-x));

    (void)u;
    return (struct element){ y, y * (1 - y) };
}

static struct element hyperbolic(double x, double u)
{
    (void)u;
    return (struct element){ tanh(x), 1 - tanh(x) * tanh(x) };
}

static struct element same(double x, double u)
{
    (void)u;
    return (struct element){ x, 1 };
}

static struct element leaky(double x, double u)
{
    (void)u;
    return (struct element){ x > 0 ? x : 0.25 * x, x > 0 ? 1 : 0.25 };
}

static struct element sum(double x, double u)
{
    return (struct element){ 2 * x - u, 2 };
}

static struct element times(double x, double u)
{
    return (struct element){ x * u, u };
}

static struct element largest(double x, double u)
{
    return (struct element){ x > u ? x : u, x > u };
}

static struct element plus(double x, double u)
{
    return (struct element){ x + u, 1 };
}

struct pattern {
    const char *text;
    struct element (*of)(double x, double u);
};

static const struct pattern patterns[] = {
    { ON_X("AbsVal", ""), absolute },
    { ON_X("BNLL", ""), bnll },
    { ON_X("ELU", ""), elu },
    { ON_X("Exp", ""), exponential },
    { ON_X("Power", "power_param { power: 2 scale: 2 shift: 1 }"), square },
    { ON_X("ReLU", ""), relu },
    { ON_X("Sigmoid", ""), sigmoid },
    { ON_X("TanH", ""), hyperbolic },
    { ON_X("Dropout", ""), same },
    { ON_X("PReLU", ""), leaky },
    { ON_X("Scale", "scale_param { axis: 3 num_axes: 5 }"), same },
    { ON_X("Bias", "bias_param { axis: 9 num_axes: -1 }"), same },
    { ON_X("Split", ""), same },
    { ON_X("Flatten", ""), same },
    { ON_X("Concat", ""), same },
    { ON_X("Tile", "tile_param { axis: 4 tiles: 1 }"), same },
    { ON_TWO("Eltwise", "eltwise_param { coeff: 2 coeff: -1 }"), sum },
    { ON_TWO("Eltwise", "eltwise_param { operation: PROD }"), times },
    { ON_TWO("Eltwise", "eltwise_param { operation: MAX }"), largest },
    { ON_TWO("Scale", "scale_param { axis: 0 }"), times },
    { ON_TWO("Bias", "bias_param { axis: 0 }"), plus },
};

/* ---- nets ------------------------------------------------------------------------------------ */

static ferry_net *opened(const char *text, int backward)
{
    char whole[4096];
    ferry_net_options o = { .struct_size = sizeof o, .text = whole, .backward = backward };
    ferry_net *net = NULL;

    snprintf(whole, sizeof whole, "force_backward: true\n%s", text);
    o.text_size = strlen(whole);
    if (ferry_net_open(fx_device(), "net.prototxt", &o, &net)) {
        printf("     %s\n", ferry_last_error());
        CU_FAIL("a net that Caffe opens");
        return NULL;
    }
    for (int k = 0; k < ferry_net_input_count(net); k++) {
        float *to = ferry_blob_overwrite_host_data(ferry_net_input_at(net, k));

        CU_ASSERT_PTR_NOT_NULL_FATAL(to);
        for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(net, k)); i++)
            to[i] = (float)(k ? other_of(i) : value_of(i));
    }
    return net;
}

/* The gradient of y is other_of(i + 5); returns the gradient of x. */
static const float *gradient(ferry_net *net)
{
    ferry_blob *y = ferry_net_blob_find(net, "y");
    float *dy = ferry_blob_overwrite_host_diff(y);

    CU_ASSERT_PTR_NOT_NULL_FATAL(dy);
    for (int64_t i = 0; i < ferry_blob_element_count(y); i++)
        dy[i] = (float)other_of(i + 5);
    FX_OK(ferry_net_backward(net));
    return ferry_blob_host_diff(ferry_net_input_at(net, 0));
}

static bool close_to(float got, double want)
{
    return fabs((double)got - want) < 1e-4;
}

static void check(const struct pattern *t, int backward)
{
    ferry_net *net = opened(t->text, backward);
    const float *y, *dx = NULL;
    bool right = true;

    if (!net)
        return;
    FX_OK(ferry_net_forward(net, NULL));
    if (backward)
        dx = gradient(net);
    y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(ferry_net_blob_find(net, "y")), ALL);
    for (int64_t i = 0; right && i < ALL; i++) {
        struct element e = t->of(value_of(i), other_of(i));

        right = close_to(y[i], e.y) && (!backward || close_to(dx[i], e.slope * other_of(i + 5)));
    }
    if (!right)
        printf("     backward %d: %s", backward, strstr(t->text, "layer { name: 'l'"));
    CU_ASSERT(right);
    ferry_net_close(net);
    fx_end();
}

static void elementwise_layers_accept_twelve_axes(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(patterns); i++) {
        check(&patterns[i], 0);
        check(&patterns[i], 1);
    }
}

/* ---- layers that move elements --------------------------------------------------------------- */

/* The offset in the bottom of element i of a top with these dimensions and steps in the bottom. */
static int64_t place_of(int64_t i, const int64_t *top, const int64_t *step, int64_t start)
{
    for (int a = AXES; a-- > 0; i /= top[a])
        start += i % top[a] * step[a];
    return start;
}

static void check_moved(const char *text, const int64_t *top, const int64_t *step, int64_t start)
{
    for (int backward = 0; backward < 2; backward++) {
        ferry_net *net = opened(text, backward);
        const float *y, *dx = NULL;
        double want[ALL] = { 0 };
        int64_t n;
        bool right = true;

        if (!net)
            return;
        FX_OK(ferry_net_forward(net, NULL));
        if (backward)
            dx = gradient(net);
        n = ferry_blob_element_count(ferry_net_blob_find(net, "y"));
        y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
        for (int a = 0; a < AXES; a++)
            CU_ASSERT_EQUAL(ferry_blob_dim(ferry_net_blob_find(net, "y"), a), top[a]);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = place_of(i, top, step, start);

            right = right && close_to(y[i], value_of(at));
            want[at] += other_of(i + 5);
        }
        for (int64_t i = 0; backward && i < ALL; i++)
            right = right && close_to(dx[i], want[i]);
        CU_ASSERT(right);
        ferry_net_close(net);
        fx_end();
    }
}

static void steps_of(int64_t *step)
{
    int64_t all = 1;

    for (int a = AXES; a-- > 0; all *= shape[a])
        step[a] = all;
}

static void permute_accepts_twelve_axes(void)
{
    static const int order[AXES] = { 10, 3, 7, 1, 0, 4, 6, 9, 2, 5, 8, 11 };
    int64_t step[AXES], top[AXES], turned[AXES];
    char text[2048];

    steps_of(step);
    strcpy(text, INPUT("x") "layer { name: 'l' type: 'Permute' bottom: 'x' top: 'y' loss_weight: 1 "
                            "permute_param {");
    for (int a = 0; a < AXES; a++) {
        sprintf(text + strlen(text), " order: %d", order[a]);
        top[a] = shape[order[a]];
        turned[a] = step[order[a]];
    }
    strcat(text, " } }\n");
    check_moved(text, top, turned, 0);
}

static void crop_accepts_twelve_axes(void)
{
    const char *text = INPUT(
        "x") "layer { name: 'like' type: 'Input' top: 'like' input_param { shape { dim: 2 "
             "dim: 3 dim: 1 dim: 1 dim: 2 dim: 1 dim: 1 dim: 2 dim: 1 dim: 1 dim: 1 dim: 1 } } }\n"
             "layer { name: 'l' type: 'Crop' bottom: 'x' bottom: 'like' top: 'y' loss_weight: "
             "1 propagate_down: true propagate_down: false crop_param { axis: 3 offset: 1 offset: "
             "1 offset: 0 offset: 1 offset: 1 offset: 0 offset: 1 offset: 0 offset: 0 } }\n";
    static const int64_t top[AXES] = { 2, 3, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1 };
    int64_t step[AXES];

    steps_of(step);
    check_moved(text, top, step, step[3] + step[4] + step[6] + step[7] + step[9]);
}

static void slice_accepts_twelve_axes(void)
{
    const char *text =
        INPUT("x") "layer { name: 'l' type: 'Slice' bottom: 'x' top: 'z' top: 'y' "
                   "loss_weight: 0 loss_weight: 1 slice_param { axis: 7 slice_point: 1 } }\n"
                   "layer { name: 's' type: 'Silence' bottom: 'z' }\n";
    int64_t step[AXES], top[AXES];

    steps_of(step);
    memcpy(top, shape, sizeof top);
    top[7] = 2;
    check_moved(text, top, step, step[7]);
}

static void a_parameter_has_twelve_axes(void)
{
    ferry_net *net =
        opened("layer { name: 'p' type: 'Parameter' top: 'y' parameter_param { " SHAPE " } }\n", 0);
    float *p;
    const float *y;

    if (!net)
        return;
    p = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 0, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ALL; i++)
        p[i] = (float)value_of(i);
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_EQUAL(ferry_blob_rank(ferry_net_blob_find(net, "y")), AXES);
    for (int64_t i = 0; i < ALL; i += 13)
        CU_ASSERT(close_to(y[i], value_of(i)));
    ferry_net_close(net);
    fx_end();
}

static void softmax_accepts_twelve_axes(void)
{
    ferry_net *net = opened(ON_X("Softmax", "softmax_param { axis: 7 }"), 0);
    int64_t step[AXES];
    const float *y;

    if (!net)
        return;
    steps_of(step);
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    for (int64_t i = 0; i < ALL; i++) {
        int64_t first = i - i / step[7] % shape[7] * step[7];
        double all = 0;

        for (int64_t k = 0; k < shape[7]; k++)
            all += exp(value_of(first + k * step[7]));
        CU_ASSERT(close_to(y[i], exp(value_of(i)) / all));
    }
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(elementwise_layers_accept_twelve_axes),
    FERRY_TEST(permute_accepts_twelve_axes),
    FERRY_TEST(crop_accepts_twelve_axes),
    FERRY_TEST(slice_accepts_twelve_axes),
    FERRY_TEST(a_parameter_has_twelve_axes),
    FERRY_TEST(softmax_accepts_twelve_axes),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net many axes", cases, FERRY_TEST_COUNT(cases));
}

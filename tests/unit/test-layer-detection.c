/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer-fixture.h"

#include <string.h>

/*
 * Layers of detectors, for which Caffe has no numbers. The expected values were computed by hand.
 */

static void regions_are_pooled(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 1 dim: 4 dim: 4")
                                 U("dim: 1 dim: 5") "layer { name: 'l' type: 'ROIPooling' "
                                                    "bottom: 'x' bottom: 'u' top: 'y' "
                                                    "roi_pooling_param { pooled_h: 2 "
                                                    "pooled_w: 2 spatial_scale: 0.5 } }");

    FEED(net, "x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    FEED(net, "u", 0, 0, 0, 6, 6);
    lx_run(net);
    HOLDS(net, "y", 6, 8, 14, 16);
    ferry_net_close(net);
    net = lx_open(X("dim: 1 dim: 4 dim: 4 dim: 4") U(
        "dim: 1 dim: 5") "layer { name: 'l' type: 'PSROIPooling' bottom: 'x' bottom: 'u' top: 'y' "
                         "psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 } }");
    {
        float values[64];

        for (int i = 0; i < 64; i++)
            values[i] = (float)(i / 16 + 1);
        lx_set(ferry_net_blob_find(net, "x"), values);
    }
    FEED(net, "u", 0, 0, 0, 3, 3);
    lx_run(net);
    HOLDS(net, "y", 1, 2, 3, 4);
    ferry_net_close(net);
}

/*
 * One anchor of 16 × 16 at each of two positions: the better box comes first, the remaining rows
 * are 0.
 */
static void proposals_are_the_best_regions_that_do_not_overlap(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 2 dim: 1 dim: 2") U("dim: 1 dim: 4 dim: 1 dim: 2") V(
        "dim: 1 dim: 3") "layer { name: 'l' type: 'Proposal' bottom: 'x' bottom: 'u' bottom: 'v' "
                         "top: 'y' top: 's' "
                         "proposal_param { ratio: 1 scale: 1 post_nms_topn: 3 min_size: 4 } }");

    FEED(net, "x", 0.9f, 0.3f, 0.1f, 0.7f);
    FEED(net, "u", 0, 0, 0, 0, 0, 0, 0, 0);
    FEED(net, "v", 32, 64, 1);
    lx_run(net);
    HOLDS(net, "y", 0, 16, 0, 32, 16, 0, 0, 0, 16, 16, 0, 0, 0, 0, 0);
    HOLDS(net, "s", 0.7f, 0.1f, 0);
    FEED(net, "u", 0, -1, 0, 0, 0, 0, 0, 0); /* the second covers the first */
    lx_run(net);
    HOLDS(net, "s", 0.7f, 0, 0);
    ferry_net_close(net);
}

/* Two images of one box and two classes, of which class 0 is the background. */
static void only_a_batch_without_any_detection_has_an_empty_row(void)
{
    ferry_net *net =
        lx_open(X("dim: 2 dim: 4") U("dim: 2 dim: 2")
                    V("dim: 1 dim: 2 dim: 4") "layer { name: 'd' type: 'DetectionOutput' bottom: "
                                              "'x' bottom: 'u' bottom: 'v' top: 'y' "
                                              "detection_output_param { num_classes: 2 "
                                              "keep_top_k: 5 confidence_threshold: 0.5 "
                                              "nms_param { nms_threshold: 0.4 top_k: 5 } } }\n");

    FEED(net, "x", 0, 0, 0, 0, 0, 0, 0, 0);
    FEED(net, "v", 0.1f, 0.1f, 0.5f, 0.5f, 0.1f, 0.1f, 0.2f, 0.2f);
    FEED(net, "u", 0.9f, 0.1f, 0.25f, 0.75f);
    lx_run(net);
    HOLDS(net, "y", 1, 1, 0.75f, 0.1f, 0.1f, 0.5f, 0.5f);
    FEED(net, "u", 0.9f, 0.1f, 0.8f, 0.2f);
    lx_run(net);
    HOLDS(net, "y", 0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1);
    ferry_net_close(net);
}

#define ONE_BOX(fields)                                                                       \
    X("dim: 1 dim: 4")                                                                        \
    U("dim: 1 dim: 2")                                                                        \
    V("dim: 1 dim: 2 dim: 4")                                                                 \
    "layer { name: 'd' type: 'DetectionOutput' bottom: 'x' bottom: 'u' bottom: 'v' top: 'y' " \
    "detection_output_param { num_classes: 2 " fields " } }\n"

/* The offsets move three sides of the box out of the picture. */
static void clip_cuts_boxes_to_the_picture(void)
{
    static const char *const texts[] = { ONE_BOX(""), ONE_BOX("clip: true") };

    for (int i = 0; i < 2; i++) {
        ferry_net *net = lx_open(texts[i]);

        FEED(net, "x", -2, 0, 8, 6);
        FEED(net, "u", 0.25f, 0.75f);
        FEED(net, "v", 0.25f, 0.25f, 0.5f, 0.5f, 0.25f, 0.25f, 0.25f, 0.25f);
        lx_run(net);
        if (i == 0) {
            HOLDS(net, "y", 0, 1, 0.75f, -0.25f, 0.25f, 2.5f, 2);
        } else {
            HOLDS(net, "y", 0, 1, 0.75f, 0, 0.25f, 1, 1);
        }
        ferry_net_close(net);
    }
}

static void boxes_in_pixels_are_refused(void)
{
    static const char text[] = ONE_BOX("normalized_bbox: false");
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = sizeof text - 1 };
    ferry_net *net = NULL;

    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "net", &o, &net), FERRY_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "normalized_bbox is false"));
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(regions_are_pooled),
    FERRY_TEST(proposals_are_the_best_regions_that_do_not_overlap),
    FERRY_TEST(only_a_batch_without_any_detection_has_an_empty_row),
    FERRY_TEST(clip_cuts_boxes_to_the_picture),
    FERRY_TEST(boxes_in_pixels_are_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer detection", cases, FERRY_TEST_COUNT(cases));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of forks: SSD's, Fast and Faster R-CNN's, R-FCN's, SegNet's and ENet's, DeepLab's,
 * ShuffleNet's, Intel Caffe's. Numbers and defaults are OpenCV's where OpenCV has the message, else
 * the fork's own.
 */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name code_type_names[] = {
    { "CORNER", 1 },
    { "CENTER_SIZE", 2 },
    { "CORNER_SIZE", 3 },
};
ENUM(code_type, "CodeType");

static const struct ferry__proto_name bn_mode_names[] = {
    { "LEARN", 0 },
    { "INFERENCE", 1 },
};
ENUM(bn_mode, "BNMode");

static const struct ferry__proto_field permute_fields[] = {
    MANY(1, UINT32, "order"),
};
DEFINE(PermuteParameter, permute_fields);

static const struct ferry__proto_field normalize_bbox_fields[] = {
    WITH(1, BOOL, "across_spatial", 1),
    MESSAGE(2, FillerParameter, "scale_filler"),
    WITH(3, BOOL, "channel_shared", 1),
    WITH(4, FLOAT, "eps", 1e-10f),
};
DEFINE(NormalizeBBoxParameter, normalize_bbox_fields);

/* min_size and max_size are repeated in SSD, but not in OpenCV; a single value reads the same. */
static const struct ferry__proto_field prior_box_fields[] = {
    MANY(1, FLOAT, "min_size"),      MANY(2, FLOAT, "max_size"),  MANY(3, FLOAT, "aspect_ratio"),
    WITH(4, BOOL, "flip", 1),        WITH(5, BOOL, "clip", 1),    MANY(6, FLOAT, "variance"),
    ONE(7, UINT32, "img_size"),      ONE(8, UINT32, "img_h"),     ONE(9, UINT32, "img_w"),
    ONE(10, FLOAT, "step"),          ONE(11, FLOAT, "step_h"),    ONE(12, FLOAT, "step_w"),
    WITH(13, FLOAT, "offset", 0.5f), MANY(14, FLOAT, "offset_h"), MANY(15, FLOAT, "offset_w"),
    MANY(16, FLOAT, "width"),        MANY(17, FLOAT, "height"),
};
DEFINE(PriorBoxParameter, prior_box_fields);

static const struct ferry__proto_field non_maximum_suppression_fields[] = {
    WITH(1, FLOAT, "nms_threshold", 0.3f),
    ONE(2, INT32, "top_k"),
    WITH(3, FLOAT, "eta", 1),
};
DEFINE(NonMaximumSuppressionParameter, non_maximum_suppression_fields);

static const struct ferry__proto_field save_output_fields[] = {
    ONE(1, STRING, "output_directory"), ONE(2, STRING, "output_name_prefix"),
    ONE(3, STRING, "output_format"),    ONE(4, STRING, "label_map_file"),
    ONE(5, STRING, "name_size_file"),   ONE(6, UINT32, "num_test_image"),
};
DEFINE(SaveOutputParameter, save_output_fields);

/* SSD has visualize with number 10, OpenCV normalized_bbox; OpenCV reads clip from texts only. */
static const struct ferry__proto_field detection_output_fields[] = {
    ONE(1, UINT32, "num_classes"),
    WITH(2, BOOL, "share_location", 1),
    ONE(3, INT32, "background_label_id"),
    MESSAGE(4, NonMaximumSuppressionParameter, "nms_param"),
    MESSAGE(5, SaveOutputParameter, "save_output_param"),
    CHOICE(6, code_type, "code_type", 1),
    WITH(7, INT32, "keep_top_k", -1),
    ONE(8, BOOL, "variance_encoded_in_target"),
    ONE(9, FLOAT, "confidence_threshold"),
    WITH(10, BOOL, "normalized_bbox", 1),
    ONE(0, BOOL, "visualize"),
    ONE(0, BOOL, "clip"),
    ONE(11, FLOAT, "visualize_threshold"),
    ONE(12, STRING, "save_file"),
};
DEFINE(DetectionOutputParameter, detection_output_fields);

static const struct ferry__proto_field normalized_bbox_fields[] = {
    ONE(1, FLOAT, "xmin"),  ONE(2, FLOAT, "ymin"),  ONE(3, FLOAT, "xmax"),
    ONE(4, FLOAT, "ymax"),  ONE(5, INT32, "label"), ONE(6, BOOL, "difficult"),
    ONE(7, FLOAT, "score"), ONE(8, FLOAT, "size"),
};
DEFINE(NormalizedBBox, normalized_bbox_fields);

static const struct ferry__proto_field roi_pooling_fields[] = {
    ONE(1, UINT32, "pooled_h"),
    ONE(2, UINT32, "pooled_w"),
    WITH(3, FLOAT, "spatial_scale", 1),
};
DEFINE(ROIPoolingParameter, roi_pooling_fields);

static const struct ferry__proto_field psroi_pooling_fields[] = {
    REQUIRED(1, FLOAT, "spatial_scale"),
    REQUIRED(2, INT32, "output_dim"),
    REQUIRED(3, INT32, "group_size"),
};
DEFINE(PSROIPoolingParameter, psroi_pooling_fields);

static const struct ferry__proto_field proposal_fields[] = {
    WITH(1, UINT32, "feat_stride", 16),
    WITH(2, UINT32, "base_size", 16),
    WITH(3, UINT32, "min_size", 16),
    MANY(4, FLOAT, "ratio"),
    MANY(5, FLOAT, "scale"),
    WITH(6, UINT32, "pre_nms_topn", 6000),
    WITH(7, UINT32, "post_nms_topn", 300),
    WITH(8, FLOAT, "nms_thresh", 0.7f),
};
DEFINE(ProposalParameter, proposal_fields);

static const struct ferry__proto_field bn_fields[] = {
    MESSAGE(1, FillerParameter, "scale_filler"),
    MESSAGE(2, FillerParameter, "shift_filler"),
    CHOICE(3, bn_mode, "bn_mode", 0),
};
DEFINE(BNParameter, bn_fields);

static const struct ferry__proto_field upsample_fields[] = {
    WITH(1, UINT32, "scale", 2),  ONE(2, UINT32, "scale_h"), ONE(3, UINT32, "scale_w"),
    ONE(4, BOOL, "pad_out_h"),    ONE(5, BOOL, "pad_out_w"), ONE(6, UINT32, "upsample_h"),
    ONE(7, UINT32, "upsample_w"),
};
DEFINE(UpsampleParameter, upsample_fields);

static const struct ferry__proto_field interp_fields[] = {
    ONE(1, INT32, "height"),          ONE(2, INT32, "width"),
    WITH(3, INT32, "zoom_factor", 1), WITH(4, INT32, "shrink_factor", 1),
    ONE(5, INT32, "pad_beg"),         ONE(6, INT32, "pad_end"),
};
DEFINE(InterpParameter, interp_fields);

static const struct ferry__proto_field shuffle_channel_fields[] = {
    WITH(1, UINT32, "group", 1),
};
DEFINE(ShuffleChannelParameter, shuffle_channel_fields);

static const struct ferry__proto_name precision_names[] = {
    { "DYNAMIC_FIXED_POINT", 0 },
};
ENUM(precision, "Precision");

static const struct ferry__proto_name rounding_names[] = {
    { "NEAREST", 0 },
};
ENUM(rounding, "Rounding");

/* Intel Caffe's QuantizationParameter; ferry's own message has that name. */
static const struct ferry__proto_field layer_quantization_fields[] = {
    CHOICE(1, precision, "precision", 0),  CHOICE(2, rounding, "rounding_scheme", 0),
    WITH(3, UINT32, "bw_layer_in", 32),    WITH(4, UINT32, "bw_layer_out", 32),
    WITH(5, UINT32, "bw_params", 32),      MANY(6, INT32, "fl_layer_in"),
    MANY(7, INT32, "fl_layer_out"),        MANY(8, INT32, "fl_params"),
    MANY(20, FLOAT, "scale_in"),           MANY(21, FLOAT, "scale_out"),
    MANY(22, FLOAT, "scale_params"),       ONE(23, BOOL, "is_negative_input"),
    ONE(24, BOOL, "force_u8_input"),
};
DEFINE(LayerQuantizationParameter, layer_quantization_fields);

/* The aliases. In Caffe, 147 and 148 are Swish and Clip; 200 and above are SSD's own numbers. */
const struct ferry__proto_alias ferry__proto_aliases[] = {
    { 147, "DetectionOutput", "detection_output_param" },
    { 148, "Permute", "permute_param" },
    { 202, "Permute", "permute_param" },
    { 203, "PriorBox", "prior_box_param" },
    { 204, "DetectionOutput", "detection_output_param" },
    { 206, "Normalize", "norm_param" },
    { 0, NULL, NULL },
};

/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/nms.hpp Suppression of boxes that overlap better ones. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_NMS_HPP
#define FERRY_DNN_NMS_HPP

#include <ferry/dnn/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

FERRY_DNN_BEGIN
namespace detail
{

/** The intersection over the union of two boxes; 1 for two boxes without area. */
inline float overlap(const Rect2d &a, const Rect2d &b)
{
    const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
    const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
    const double common = width > 0 && height > 0 ? width * height : 0;
    const double both = a.width * a.height + b.width * b.height;

    if (both <= std::numeric_limits<double>::epsilon())
        return 1;
    return 1 - static_cast<float>(1 - common / (both - common));
}

template <typename Box> std::vector<Rect2d> boxes_of(const std::vector<Box> &from)
{
    std::vector<Rect2d> boxes;

    for (const Box &box : from)
        boxes.push_back(Rect2d(box.x, box.y, box.width, box.height));
    return boxes;
}

inline void check_boxes(size_t boxes, size_t scores, float score_threshold, float nms_threshold,
                        float eta, const char *function)
{
    require(boxes == scores, "bboxes.size() == scores.size()", function);
    require(score_threshold >= 0, "score_threshold >= 0", function);
    require(nms_threshold >= 0, "nms_threshold >= 0", function);
    require(eta > 0, "eta > 0", function);
}

inline void suppress(const std::vector<Rect2d> &boxes, const std::vector<float> &scores,
                     float score_threshold, float nms_threshold, std::vector<int> &indices,
                     float eta, int top_k)
{
    std::vector<int> order, kept;

    for (size_t k = 0; k < scores.size(); k++) {
        if (scores[k] > score_threshold)
            order.push_back(static_cast<int>(k));
    }
    std::stable_sort(order.begin(), order.end(), [&scores](int a, int b) {
        return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    if (top_k > 0 && static_cast<size_t>(top_k) < order.size())
        order.resize(static_cast<size_t>(top_k));
    for (int one : order) {
        const bool keep = std::all_of(kept.begin(), kept.end(), [&](int other) {
            return overlap(boxes[static_cast<size_t>(one)], boxes[static_cast<size_t>(other)]) <=
                   nms_threshold;
        });

        if (keep)
            kept.push_back(one);
        if (keep && eta < 1 && nms_threshold > 0.5f)
            nms_threshold *= eta;
    }
    indices = kept;
}

/**
 * Moves the boxes of each class to a separate region, so that boxes of different classes do not
 * overlap.
 */
inline std::vector<Rect2d> apart(std::vector<Rect2d> boxes, const std::vector<int> &classes)
{
    double far = 0;

    for (const Rect2d &box : boxes)
        far = std::max(far, std::max(box.x + box.width, box.y + box.height));
    for (size_t k = 0; k < boxes.size(); k++) {
        boxes[k].x += classes[k] * (far + 1);
        boxes[k].y += classes[k] * (far + 1);
    }
    return boxes;
}

} // namespace detail

/**
 * Returns the indices of the boxes, the best first, that no better box overlaps by more than
 * nms_threshold. Of the boxes with a score above score_threshold only the best top_k count; 0: all.
 * [cv::dnn::NMSBoxes]
 */
inline void NMSBoxes(const std::vector<Rect2d> &bboxes, const std::vector<float> &scores,
                     const float score_threshold, const float nms_threshold,
                     std::vector<int> &indices, const float eta = 1, const int top_k = 0)
{
    detail::check_boxes(bboxes.size(), scores.size(), score_threshold, nms_threshold, eta,
                        "NMSBoxes");
    detail::suppress(bboxes, scores, score_threshold, nms_threshold, indices, eta, top_k);
}

inline void NMSBoxes(const std::vector<Rect> &bboxes, const std::vector<float> &scores,
                     const float score_threshold, const float nms_threshold,
                     std::vector<int> &indices, const float eta = 1, const int top_k = 0)
{
    NMSBoxes(detail::boxes_of(bboxes), scores, score_threshold, nms_threshold, indices, eta, top_k);
}

/** As NMSBoxes, but only boxes of one class count as overlapping. [cv::dnn::NMSBoxesBatched] */
inline void NMSBoxesBatched(const std::vector<Rect2d> &bboxes, const std::vector<float> &scores,
                            const std::vector<int> &class_ids, const float score_threshold,
                            const float nms_threshold, std::vector<int> &indices,
                            const float eta = 1, const int top_k = 0)
{
    detail::require(class_ids.size() == scores.size(), "scores.size() == class_ids.size()",
                    "NMSBoxesBatched");
    detail::check_boxes(bboxes.size(), scores.size(), score_threshold, nms_threshold, eta,
                        "NMSBoxesBatched");
    detail::suppress(detail::apart(bboxes, class_ids), scores, score_threshold, nms_threshold,
                     indices, eta, top_k);
}

inline void NMSBoxesBatched(const std::vector<Rect> &bboxes, const std::vector<float> &scores,
                            const std::vector<int> &class_ids, const float score_threshold,
                            const float nms_threshold, std::vector<int> &indices,
                            const float eta = 1, const int top_k = 0)
{
    NMSBoxesBatched(detail::boxes_of(bboxes), scores, class_ids, score_threshold, nms_threshold,
                    indices, eta, top_k);
}

enum class SoftNMSMethod { SOFTNMS_LINEAR = 1, SOFTNMS_GAUSSIAN = 2 };

/**
 * As NMSBoxes, but boxes that overlap better ones get lower scores instead of being removed:
 * returns the indices, the best first, and their final scores. [cv::dnn::softNMSBoxes]
 */
inline void softNMSBoxes(const std::vector<Rect> &bboxes, const std::vector<float> &scores,
                         std::vector<float> &updated_scores, const float score_threshold,
                         const float nms_threshold, std::vector<int> &indices, size_t top_k = 0,
                         const float sigma = 0.5,
                         SoftNMSMethod method = SoftNMSMethod::SOFTNMS_GAUSSIAN)
{
    const std::vector<Rect2d> boxes = detail::boxes_of(bboxes);
    std::vector<float> now = scores;
    std::vector<size_t> left;

    detail::check_boxes(bboxes.size(), scores.size(), score_threshold, nms_threshold, 1,
                        "softNMSBoxes");
    detail::require(sigma >= 0, "sigma >= 0", "softNMSBoxes");
    updated_scores.clear();
    indices.clear();
    for (size_t k = 0; k < now.size(); k++)
        left.push_back(k);
    while (!top_k || indices.size() < top_k) {
        left.erase(std::remove_if(left.begin(), left.end(),
                                  [&](size_t k) { return !(now[k] >= score_threshold); }),
                   left.end());
        if (left.empty())
            return;
        const std::vector<size_t>::iterator best = std::max_element(
            left.begin(), left.end(), [&now](size_t a, size_t b) { return now[a] < now[b]; });
        const size_t taken = *best;
        left.erase(best);
        updated_scores.push_back(now[taken]);
        indices.push_back(static_cast<int>(taken));
        for (size_t k : left) {
            const float over = detail::overlap(boxes[taken], boxes[k]);

            if (method == SoftNMSMethod::SOFTNMS_GAUSSIAN)
                now[k] *= std::exp(-(over * over) / sigma);
            else if (over > nms_threshold)
                now[k] *= 1 - over;
        }
    }
}

FERRY_DNN_END

#endif

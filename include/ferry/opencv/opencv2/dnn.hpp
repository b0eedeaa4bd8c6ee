/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file opencv/opencv2/dnn.hpp
 * In place of OpenCV's <opencv2/dnn.hpp>: cv::dnn is ferry::dnn. See ferry/dnn.hpp.
 */
#ifndef FERRY_OPENCV_OPENCV2_DNN_HPP
#define FERRY_OPENCV_OPENCV2_DNN_HPP

#ifdef OPENCV_DNN_DNN_HPP
#error "OpenCV's own dnn module was included before"
#endif
#define OPENCV_DNN_HPP
#define OPENCV_DNN_DNN_HPP

#include <opencv2/core.hpp>

#include <ferry/dnn.hpp>

namespace cv
{
namespace dnn = ::ferry::dnn;
}

#endif

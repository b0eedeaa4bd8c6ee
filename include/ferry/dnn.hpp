/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn.hpp
 * OpenCV 4's dnn module for Caffe models, in C++ on ferry: nets, blobs of images, suppression of
 * boxes, models. C++11, headers alone; link libferrynet, libferryio and libferry.
 *
 * If opencv2/core.hpp was included before, the functions take and give cv::Mat and what else OpenCV
 * has (InputArray, cv::Rect …), and errors are cv::Exception: of OpenCV, the core module is enough.
 * Otherwise those types are here (dnn/types.hpp), and matrices refer to bare pointers:
 *
 *     ferry::dnn::Net net = ferry::dnn::readNetFromCaffe("deploy.prototxt", "model.caffemodel");
 *     ferry::dnn::Mat image(rows, cols, ferry::dnn::CV_8UC3, pixels);
 *     net.setInput(ferry::dnn::blobFromImage(image, 1, ferry::dnn::Size(224, 224)));
 *     net.setInput(values, {1, 3, 224, 224});              // or floats as they are
 *     ferry::dnn::Mat scores = net.forward();              // scores.ptr<float>()
 *
 * One line moves a program from OpenCV: `#include <ferry/opencv/opencv2/dnn.hpp>` in place of
 * <opencv2/dnn.hpp> makes the namespace cv::dnn this one; the include path ferry/opencv does so
 * without a changed line. Beside OpenCV's own module, a program writes `namespace dnn =
 * ferry::dnn;`, or `using namespace ferry::dnn;`.
 *
 * Threads: distinct nets from distinct threads; one net, its copies and its models from one thread
 * at a time. doc/dnn.md says what there is and what is different.
 */
#ifndef FERRY_DNN_HPP
#define FERRY_DNN_HPP

#include <ferry/dnn/image.hpp>
#include <ferry/dnn/model.hpp>
#include <ferry/dnn/net.hpp>
#include <ferry/dnn/nms.hpp>
#include <ferry/dnn/params.hpp>
#include <ferry/dnn/read.hpp>

#endif

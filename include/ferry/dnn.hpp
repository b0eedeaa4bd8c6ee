/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file dnn.hpp
 * OpenCV 4's dnn module for Caffe models, in C++ on ferry: nets, blobs of images, suppression of
 * boxes, models. It requires C++11 and consists of headers only; programs link libferrynet,
 * libferryio and libferry.
 *
 * If opencv2/core.hpp was included before, the functions take and return cv::Mat and the other
 * types of OpenCV (InputArray, cv::Rect …), and errors are cv::Exception; only OpenCV's core module
 * is needed. Otherwise dnn/types.hpp defines these types, and matrices refer to plain pointers:
 *
 *     ferry::dnn::Net net = ferry::dnn::readNetFromCaffe("deploy.prototxt", "model.caffemodel");
 *     ferry::dnn::Mat image(rows, cols, ferry::dnn::CV_8UC3, pixels);
 *     net.setInput(ferry::dnn::blobFromImage(image, 1, ferry::dnn::Size(224, 224)));
 *     net.setInput(values, {1, 3, 224, 224});              // or an array of floats
 *     ferry::dnn::Mat scores = net.forward();              // scores.ptr<float>()
 *
 * To move a program from OpenCV, include <ferry/opencv/opencv2/dnn.hpp> instead of
 * <opencv2/dnn.hpp>; cv::dnn is then this namespace. With the include path ferry/opencv, no line of
 * the program has to change. A program that also uses OpenCV's own module writes `namespace dnn =
 * ferry::dnn;`, or `using namespace ferry::dnn;`.
 *
 * Threads: several threads can use distinct nets at the same time. Only one thread at a time may
 * use a net, its copies and its models. doc/dnn.md lists the functions and the differences.
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

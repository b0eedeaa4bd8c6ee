/* SPDX-License-Identifier: BSD-2-Clause */
/** @file dnn/read.hpp Nets from files, or from memory. See ferry/dnn.hpp. */
#ifndef FERRY_DNN_READ_HPP
#define FERRY_DNN_READ_HPP

#include <ferry/dnn/net.hpp>

#include <cstdio>
#include <iterator>

#include <unistd.h>

FERRY_DNN_BEGIN
namespace detail
{

inline Net opened_net(const std::string &text, const std::string &name,
                      const std::shared_ptr<Weights> &weights)
{
    Net net;

    net.impl_->read(text, name, weights);
    return net;
}

[[noreturn]] inline void cannot_open(const std::string &path)
{
    fail(FAILED, "FAILED: fs.is_open(). Can't open \"" + path + "\"", "readNetFromCaffe");
}

inline std::string content_of(const std::string &path)
{
    std::ifstream file(path.c_str(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());

    if (!file.is_open() || file.bad())
        cannot_open(path);
    return content;
}

/**
 * Weights in memory, in a file of their own: libferrynet reads weights from files. NULL for no
 * weights.
 */
inline std::shared_ptr<Weights> stored(const char *bytes, size_t size)
{
    const char *folder = std::getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/ferry-dnn-XXXXXX";

    if (!size)
        return nullptr;
    const int descriptor = mkstemp(&path[0]);
    if (descriptor < 0)
        cannot_open(path);
    const std::shared_ptr<Weights> weights = std::make_shared<Weights>(path, true);
    close(descriptor);
    std::ofstream file(path.c_str(), std::ios::binary);
    file.write(bytes, static_cast<std::streamsize>(size));
    file.close();
    if (!file)
        fail(FAILED, "Can't write \"" + path + "\"", "readNetFromCaffe");
    return weights;
}

inline bool ends_with(const std::string &name, const std::string &end)
{
    return name.size() >= end.size() && !name.compare(name.size() - end.size(), end.size(), end);
}

inline bool is_caffe(const std::string &path)
{
    return ends_with(path, ".caffemodel") || ends_with(path, ".prototxt");
}

} // namespace detail

/**
 * A net from the paths of a prototxt and of its weights; without weights its layers need some
 * (Net::setParam, getLayer) before it runs. A text without layers gives an empty net.
 * [cv::dnn::readNetFromCaffe]
 */
inline Net readNetFromCaffe(const String &prototxt, const String &caffeModel = String())
{
    const std::string text = detail::content_of(prototxt);

    if (caffeModel.empty())
        return detail::opened_net(text, prototxt, nullptr);
    if (!std::ifstream(caffeModel.c_str()).is_open())
        detail::cannot_open(caffeModel);
    return detail::opened_net(text, prototxt, std::make_shared<detail::Weights>(caffeModel, false));
}

/** The same from their contents, which are copied. The weights may be NULL. */
inline Net readNetFromCaffe(const char *bufferProto, size_t lenProto,
                            const char *bufferModel = nullptr, size_t lenModel = 0)
{
    return detail::opened_net(std::string(bufferProto, lenProto), "prototxt",
                              detail::stored(bufferModel, bufferModel ? lenModel : 0));
}

inline Net
readNetFromCaffe(const std::vector<unsigned char> &bufferProto,
                 const std::vector<unsigned char> &bufferModel = std::vector<unsigned char>())
{
    return readNetFromCaffe(reinterpret_cast<const char *>(bufferProto.data()), bufferProto.size(),
                            reinterpret_cast<const char *>(bufferModel.data()), bufferModel.size());
}

/**
 * A Caffe model by its two files, in either order. Other formats are an error. [cv::dnn::readNet]
 */
inline Net readNet(const String &model, const String &config = "", const String &framework = "")
{
    const bool swapped =
        detail::ends_with(model, ".prototxt") || detail::ends_with(config, ".caffemodel");

    if (framework != "caffe" && framework != "Caffe" && !detail::is_caffe(model) &&
        !detail::is_caffe(config))
        detail::fail(detail::FAILED,
                     "Cannot determine an origin framework of files: " + model + " " + config,
                     "readNet");
    return swapped ? readNetFromCaffe(model, config) : readNetFromCaffe(config, model);
}

inline Net readNet(const String &framework, const std::vector<unsigned char> &bufferModel,
                   const std::vector<unsigned char> &bufferConfig = std::vector<unsigned char>())
{
    if (framework != "caffe" && framework != "Caffe")
        detail::fail(detail::FAILED,
                     "Cannot determine an origin framework with a name " + framework, "readNet");
    return readNetFromCaffe(bufferConfig, bufferModel);
}

FERRY_DNN_END

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCV 4's dnn names on ferry: with plain pointers or, with -DWITH_OPENCV, with cv::Mat, included
 * as <opencv2/dnn.hpp>. `dnn` prints the names of the cases; `dnn NAME` runs one of them and
 * returns 0 if it passes. Expected numbers are closed forms, or those of OpenCV 4.14 where a
 * comment says so.
 */
#include "cases.hpp"

#ifdef WITH_OPENCV
#include <opencv2/dnn.hpp>
using namespace cv;
using namespace cv::dnn;
#else
#include <ferry/dnn.hpp>
using namespace ferry::dnn;
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace
{

#define THROWS(wanted, statement) \
    THROWS_AS(Exception, (EXPECT(!e.func.empty()), e.code), wanted, statement)

typedef std::vector<float> Floats;

std::string input(const char *name, const char *dims)
{
    return std::string("layer { name: \"") + name + "\" type: \"Input\" top: \"" + name +
           "\" input_param { shape { " + dims + " } } }\n";
}

Net opened(const std::string &text)
{
    return readNetFromCaffe(text.data(), text.size());
}

Mat blob(const MatShape &shape, const Floats &values)
{
    const Mat view(static_cast<int>(shape.size()), shape.data(), CV_32F,
                   const_cast<float *>(values.data()));

    return view.clone();
}

Floats values(const Mat &from)
{
    const float *begin = from.ptr<float>();

    return Floats(begin, begin + from.total());
}

MatShape shape(const Mat &of)
{
    MatShape sizes;

    for (int k = 0; k < of.dims; k++)
        sizes.push_back(of.size[k]);
    return sizes;
}

bool near(const Floats &a, const Floats &b, float bound = 1e-6f)
{
    if (a.size() != b.size())
        return false;
    for (size_t k = 0; k < a.size(); k++) {
        if (!(std::fabs(a[k] - b[k]) <= bound))
            return false;
    }
    return true;
}

Floats counted(size_t n, float first = 0)
{
    Floats out;

    for (size_t k = 0; k < n; k++)
        out.push_back(first + static_cast<float>(k));
    return out;
}

Floats mapped(const Floats &from, float (*by)(float))
{
    Floats out;

    for (float one : from)
        out.push_back(by(one));
    return out;
}

float shifted(float x)
{
    return x + 1;
}
float positive(float x)
{
    return x + 1 > 0 ? x + 1 : 0;
}
float doubled(float x)
{
    return 2 * positive(x);
}

const MatShape four = { 1, 2, 3, 3 };
const Floats x = counted(18, -9);

std::string chain_text()
{
    return input("data", "dim: 1 dim: 2 dim: 3 dim: 3") +
           "layer { name: 'p' type: 'Power' bottom: 'data' top: 'p' power_param { shift: 1 } }\n"
           "layer { name: 'r' type: 'ReLU' bottom: 'p' top: 'p' }\n"
           "layer { name: 'q' type: 'Power' bottom: 'p' top: 'q' power_param { scale: 2 } }\n";
}

Net chain()
{
    Net net = opened(chain_text());

    net.setInput(blob(four, x));
    return net;
}

/* ---- nets ---- */

void forward_in_all_its_forms()
{
    Net net = chain();
    std::vector<Mat> outs;
    std::vector<std::vector<Mat>> all;

    EXPECT(values(net.forward()) == mapped(x, doubled) && shape(net.forward()) == four);
    EXPECT(values(net.forward("p")) == mapped(x, shifted));
    EXPECT(values(net.forward("r")) == mapped(x, positive));
    net.forward(outs, std::vector<String>{ "q", "p", "r" });
    EXPECT(outs.size() == 3 && values(outs[0]) == mapped(x, doubled) &&
           values(outs[1]) == mapped(x, shifted) && values(outs[2]) == mapped(x, positive));
    net.forward(outs, "r");
    EXPECT(outs.size() == 1 && values(outs[0]) == mapped(x, positive));
    net.forward(outs);
    EXPECT(outs.size() == 1 && values(outs[0]) == mapped(x, doubled));
    net.forward(all, std::vector<String>{ "q", "q" });
    EXPECT(all.size() == 2 && all[1].size() == 1 && values(all[1][0]) == mapped(x, doubled));
#ifdef WITH_OPENCV
    Mat one;
    UMat there;
    net.forward(one);
    net.forward(there, "p");
    EXPECT(values(one) == mapped(x, doubled) &&
           values(there.getMat(ACCESS_READ)) == mapped(x, shifted));
    AsyncArray later = net.forwardAsync("r");
    Mat got;
    later.get(got);
    EXPECT(values(got) == mapped(x, positive));
#endif
}

void results_are_the_callers()
{
    Net net = chain();
    const Mat first = net.forward();
    const Floats kept = values(first);
    const Mat twice = blob(four, mapped(x, doubled));

    net.setInput(twice);
    net.forward();
    EXPECT(values(first) == kept);
    net.setInput(x.data(), four);
    EXPECT(values(net.forward()) == kept);
    Mat changed = blob(four, x);
    net.setInput(changed);
    changed.ptr<float>()[0] = 100;
    EXPECT(values(net.forward()) == kept);
}

void shapes_and_types()
{
    Net net = chain();
    const MatShape sizes[] = {
        { 2, 2, 5, 5 }, { 1, 2, 3, 3 }, { 1, 2, 2, 2 }, { 4, 2, 3, 3 }, { 2, 3 }
    };

    for (const MatShape &size : sizes) {
        size_t n = 1;

        for (int dim : size)
            n *= static_cast<size_t>(dim);
        net.setInput(blob(size, counted(n, -3)));
        EXPECT(values(net.forward()) == mapped(counted(n, -3), doubled) &&
               shape(net.forward()) == size);
        EXPECT(values(net.forward("p")) == mapped(counted(n, -3), shifted));
    }
    std::vector<double> doubles(x.begin(), x.end());
    std::vector<unsigned char> bytes(18, 7);
    net.setInput(Mat(4, four.data(), CV_64F, doubles.data()));
    EXPECT(values(net.forward()) == mapped(x, doubled));
    net.setInput(Mat(4, four.data(), CV_8U, bytes.data()));
    EXPECT(values(net.forward()) == Floats(18, 16));
    net.setInput(blob(four, Floats(18, 5)), "data", 2, Scalar(1, 2));
    EXPECT(values(net.forward())[0] == 18 && values(net.forward())[17] == 14);
}

void names_and_numbers()
{
    Net net = chain();
    std::vector<String> types;

    EXPECT(net.getLayerNames() == (std::vector<String>{ "p", "r", "q" }) &&
           net.getLayerId("r") == 2);
    EXPECT(net.getLayerId("unknown") == -1 && net.getLayerId("_input") == 0);
    EXPECT(net.getUnconnectedOutLayers() == std::vector<int>{ 3 });
    EXPECT(net.getUnconnectedOutLayersNames() == std::vector<String>{ "q" });
    EXPECT(net.getLayer(1)->name == "p" && net.getLayer("r")->type == "ReLU");
    EXPECT(net.getLayer(0)->outputNameToIndex("data") == 0 &&
           net.getLayer(0)->outputNameToIndex("q") == -1);
    net.getLayerTypes(types);
    EXPECT(types == (std::vector<String>{ "Power", "ReLU", "__NetInputLayer__" }) &&
           net.getLayersCount("Power") == 2);
    Net twice = opened(input("data", "dim: 1 dim: 2") +
                       "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'a' }"
                       "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'b' }");
    EXPECT(twice.getLayerNames() == (std::vector<String>{ "r", "r_1" }));
    EXPECT(!net.empty() && Net().empty() && opened("").empty());
}

void all_outputs_of_a_layer()
{
    Net net = opened(
        input("data", "dim: 1 dim: 2 dim: 3 dim: 3") +
        "layer { name: 's' type: 'Slice' bottom: 'data' top: 'a' top: 'b' slice_param { axis: 1 } }"
        "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'c' }"
        "layer { name: 't' type: 'ReLU' bottom: 'b' top: 'd' }");
    std::vector<std::vector<Mat>> all;

    net.setInput(blob(four, x));
    net.forward(all, std::vector<String>{ "s", "t" });
    EXPECT(all[0].size() == 2 && values(all[0][1]) == counted(9) &&
           values(all[1][0]) == counted(9));
    EXPECT(net.getUnconnectedOutLayersNames() == (std::vector<String>{ "r", "t" }));
    EXPECT(net.getLayer("s")->outputNameToIndex("b") == 1);
}

void a_silence_gives_its_input()
{
    Net net =
        opened(input("data", "dim: 1 dim: 2 dim: 3 dim: 3") +
               "layer { name: 'p' type: 'Power' bottom: 'data' top: 'p' power_param { shift: 1 } }"
               "layer { name: 'q' type: 'ReLU' bottom: 'p' top: 'q' }"
               "layer { name: 's' type: 'Silence' bottom: 'p' bottom: 'q' }");
    std::vector<Mat> outs;

    net.setInput(blob(four, x));
    EXPECT(values(net.forward()) == mapped(x, shifted));
    net.forward(outs, "s");
    EXPECT(outs.size() == 2 && values(outs[1]) == mapped(x, positive));
    EXPECT(net.getUnconnectedOutLayersNames() == std::vector<String>{ "s" });
}

void inputs_without_shapes()
{
    const char *texts[] = { "input: \"data\" # { no shape\nlayer { name: \"r\" type: \"ReLU\" "
                            "bottom: \"data\" top: \"r\" }",
                            "layer { name: 'i' type: 'Input' top: 'data' } layer { name: 'r' type: "
                            "'ReLU' bottom: 'data' top: 'r' }" };

    for (const char *text : texts) {
        Net net = opened(text);

        EXPECT(!net.empty());
        THROWS(-2, net.getLayerNames());
        net.setInput(blob(four, x));
        EXPECT(values(net.forward())[17] == 8 && net.getLayerNames() == std::vector<String>{ "r" });
        net = opened(text);
        net.setInputShape("data", four);
        EXPECT(net.getLayerNames() == std::vector<String>{ "r" });
    }
}

void parameters()
{
    Net net = opened(input("data", "dim: 1 dim: 2") +
                     "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'y' "
                     "inner_product_param { num_output: 3 } }");

    net.setInput(blob({ 1, 2 }, { 1, 2 }));
    THROWS(-215, net.forward());
    EXPECT(net.getLayer("ip")->blobs.empty());
    net.setParam("ip", 0, blob({ 3, 2 }, counted(6)));
    EXPECT(values(net.forward()) == (Floats{ 2, 8, 14 }));
    net.setParam(1, 1, blob({ 3, 1 }, { 1, 1, 1 }));
    EXPECT(values(net.forward("ip")) == (Floats{ 3, 9, 15 }));
    EXPECT(shape(net.getParam("ip", 1)) == (MatShape{ 3, 1 }) &&
           values(net.getParam(1)) == counted(6));
    EXPECT(net.getLayer(1)->blobs.size() == 2 && values(net.getLayer(1)->blobs[0]) == counted(6));
    net.getLayer(1)->blobs[0].ptr<float>()[0] = 10;
    EXPECT(values(net.forward()) == (Floats{ 13, 9, 15 }));
    net.getLayer(1)->blobs[1] = blob({ 3, 1 }, { 0, 0, 0 });
    EXPECT(values(net.forward()) == (Floats{ 12, 8, 14 }));
    THROWS(-215, net.getParam("ip", 2));
    THROWS(-215, net.setParam("ip", 0, blob({ 1, 1 }, { 1 })));
}

/* The weights of a net that ferry saves, as bytes. */
std::vector<unsigned char> weights_of(const std::string &text)
{
    char path[] = "/tmp/ferry-dnn-XXXXXX";
    ferry_net_options options = {};
    ferry_runtime *rt = nullptr;
    ferry_device *device = nullptr;
    ferry_net *net = nullptr;
    std::vector<unsigned char> bytes(1 << 16);

    close(mkstemp(path));
    options.struct_size = sizeof(options);
    options.text = text.data();
    options.text_size = text.size();
    if (ferry_runtime_open(nullptr, &rt) || ferry_runtime_get_device(rt, nullptr, &device) ||
        ferry_net_open(device, "text", &options, &net) ||
        ferry_net_save(net, path, FERRY_IO_CAFFEMODEL))
        std::printf("%s\n", ferry_last_error());
    ferry_net_close(net);
    ferry_runtime_close(rt);
    std::FILE *file = std::fopen(path, "rb");
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    std::remove(path);
    return bytes;
}

void weights_in_memory()
{
    const std::string ip =
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'y' "
        "inner_product_param { num_output: 3 weight_filler { type: 'constant' value: 2 } } }";
    const std::string shaped = input("data", "dim: 1 dim: 2") + ip,
                      shapeless = "input: 'data' " + ip;
    const std::vector<unsigned char> weights = weights_of(shaped);

    for (const std::string &text : { shaped, shapeless }) {
        const std::vector<unsigned char> bytes(text.begin(), text.end());

        for (Net net :
             { readNetFromCaffe(bytes, weights), readNet("caffe", weights, bytes),
               readNetFromCaffe(text.data(), text.size(),
                                reinterpret_cast<const char *>(weights.data()), weights.size()) }) {
            net.setInput(blob({ 1, 2 }, { 1, 2 }));
            EXPECT(values(net.forward()) == Floats(3, 6));
        }
    }
}

void shapes_and_cost()
{
    Net net = chain();
    std::vector<int> ids;
    std::vector<std::vector<MatShape>> ins, outs;
    std::vector<MatShape> in, out;
    std::vector<double> times;
    std::vector<size_t> weights_of, blobs_of;
    size_t weights = 1, blobs = 0;

    net.getLayersShapes(MatShape{ 4, 2, 3, 5 }, ids, ins, outs);
    EXPECT(ids == (std::vector<int>{ 0, 1, 2, 3 }) && outs[3][0] == (MatShape{ 4, 2, 3, 5 }));
    net.getLayerShapes(MatShape(), 0, in, out);
    EXPECT(in.size() == 1 && in[0] == four);
    EXPECT(values(net.forward()) == mapped(x, doubled));
    EXPECT(net.getFLOPS(MatShape(four)) == 18 && net.getFLOPS(2, four) == 18);
    net.getMemoryConsumption(four, weights, blobs);
    EXPECT(weights == 0 && blobs == 4 * 18 * sizeof(float));
    net.getMemoryConsumption(four, ids, weights_of, blobs_of);
    EXPECT(ids.size() == 4 && weights_of[3] == 0 && blobs_of[3] == 18 * sizeof(float));
    EXPECT(net.getPerfProfile(times) >= 0 && times.size() == 3);
    EXPECT(net.dump().find("\"1\" -> \"2\"") != String::npos &&
           net.dump().find("1 x 2 x 3 x 3") != String::npos);
}

void targets_and_fusion()
{
    Net net = chain();
    const Floats wanted = mapped(x, doubled);

    net.setPreferableBackend(DNN_BACKEND_OPENCV);
    net.setPreferableTarget(DNN_TARGET_CPU);
    EXPECT(values(net.forward()) == wanted);
    net.enableFusion(false);
    EXPECT(values(net.forward()) == wanted && values(net.forward("p")) == mapped(x, shifted));
    unsetenv("FERRY_BACKEND");
    net.setPreferableTarget(DNN_TARGET_MYRIAD); /* ferry has no such target: it uses the CPU and
                                                 * logs a line */
    EXPECT(values(net.forward()) == wanted);
}

void errors()
{
    const std::string text = chain_text();
    Net net = chain();
    std::vector<Mat> outs;

    THROWS(-2, readNetFromCaffe("/nowhere.prototxt"));
    THROWS(-2, readNetFromCaffe(text.data(), text.size(), "abc", 3));
    THROWS(-2, opened("layer {"));
    THROWS(-2, opened("404: Not Found"));
    THROWS(-2, opened(std::string("\n\1x\0", 4)));
    EXPECT(opened("name: 'x' input: 'data'").empty() && opened("").empty());
    THROWS(-2, opened("layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }"));
    THROWS(-2, readNet("a.xyz"));
    THROWS(-215, opened(text).forward());
    THROWS(-204, net.setInput(blob(four, x), "unknown"));
    THROWS(-204, net.getLayer(99));
    THROWS(-2, net.forward("unknown"));
    THROWS(-204, net.forward(outs, std::vector<String>{ "unknown" }));
    THROWS(-215, Net().forward());
    THROWS(-215, net.setInput(Mat(2, 2, CV_8UC3)));
    EXPECT(values(net.forward()) == mapped(x, doubled));
}

/* ---- images and boxes ---- */

std::vector<unsigned char> picture()
{
    std::vector<unsigned char> bytes;

    for (int k = 0; k < 5 * 7 * 3; k++)
        bytes.push_back(static_cast<unsigned char>(k * 37 % 251));
    return bytes;
}

void blobs_of_images()
{
    std::vector<unsigned char> bytes = picture();
    const Mat image(5, 7, CV_8UC3, bytes.data());
    const Mat half = blobFromImage(image, 0.5, Size(), Scalar(1, 2, 3), true);
    Mat other;
    std::vector<Mat> images;

    EXPECT(shape(half) == (MatShape{ 1, 3, 5, 7 }));
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 35; k++)
            EXPECT(half.ptr<float>(0, c)[k] ==
                   (static_cast<float>(bytes[static_cast<size_t>(3 * k + 2 - c)]) -
                    static_cast<float>(c + 1)) *
                       0.5f);
    }
    blobFromImage(image, other, 1, Size(), Scalar(), false, false, CV_8U);
    EXPECT(other.depth() == CV_8U && other.data[0] == bytes[0] && other.data[1] == bytes[3]);
    EXPECT(shape(blobFromImages(std::vector<Mat>(2, image), 1, Size(3, 4))) ==
           (MatShape{ 2, 3, 4, 3 }));
    imagesFromBlob(blobFromImage(image), images);
    EXPECT(images.size() == 1 && images[0].channels() == 3 &&
           images[0].ptr<float>(0)[4] == bytes[4]);
    EXPECT(blobFromImage(Mat()).empty());
    THROWS(-215, blobFromImage(Mat(2, 2, CV_MAKETYPE(CV_8U, 2))));
    THROWS(-215, blobFromImage(image, 2, Size(), Scalar(), false, false, CV_8U));
    THROWS(-215, blobFromImage(image, 1, Size(3, 0)));
    THROWS(-215, blobFromImages(std::vector<Mat>()));
}

/* The rectangles are OpenCV 4.14's. */
void blobs_by_parameters()
{
    std::vector<unsigned char> bytes = picture();
    const Mat image(5, 7, CV_8UC3, bytes.data());
    Image2BlobParams how(Scalar(0.5, 1, 2), Size(), Scalar(1, 2, 3), true);
    const Floats planes = values(blobFromImageWithParams(image, how));
    std::vector<Rect> boxes(2, Rect(3, 2, 4, 5));
    Mat other;

    for (size_t k = 0; k < 35; k++) {
        EXPECT(planes[k] == 0.5f * (static_cast<float>(bytes[3 * k + 2]) - 1));
        EXPECT(planes[70 + k] == 2 * (static_cast<float>(bytes[3 * k]) - 3));
    }
    how.datalayout = DNN_LAYOUT_NHWC;
    blobFromImagesWithParams(std::vector<Mat>(2, image), other, how);
    EXPECT(shape(other) == (MatShape{ 2, 5, 7, 3 }));
    for (size_t k = 0; k < 105; k++)
        EXPECT(values(other)[105 + k] == planes[k % 3 * 35 + k / 3]);
    EXPECT(values(blobFromImageWithParams(image)) == values(blobFromImage(image)));

    how = Image2BlobParams(Scalar::all(1), Size(7, 11), Scalar(), false, CV_32F, DNN_LAYOUT_NCHW,
                           DNN_PMODE_LETTERBOX, Scalar(300, 2.6, 3));
    blobFromImageWithParams(image, other, how);
    for (int k = 0; k < 77; k++) {
        const bool inside = k >= 21 && k < 56;

        EXPECT(other.ptr<float>(0, 0)[k] ==
               (inside ? bytes[static_cast<size_t>(3 * (k - 21))] : 255.0f));
        EXPECT(other.ptr<float>(0, 1)[k] ==
               (inside ? bytes[static_cast<size_t>(3 * (k - 21) + 1)] : 3.0f));
    }
    for (ImagePaddingMode mode : { DNN_PMODE_NULL, DNN_PMODE_CROP_CENTER, DNN_PMODE_LETTERBOX }) {
        const Rect wanted[] = { Rect(1, 1, 1, 2), Rect(1, 1, 1, 1), Rect(0, 1, 2, 2) };

        how.size = Size(20, 10);
        how.paddingmode = mode;
        how.blobRectsToImageRects(std::vector<Rect>(2, Rect(3, 2, 4, 5)), boxes, Size(7, 5));
        EXPECT(boxes[1].x == wanted[mode].x && boxes[1].y == wanted[mode].y);
        EXPECT(boxes[1].width == wanted[mode].width && boxes[1].height == wanted[mode].height);
    }
    how.size = Size(1, 40);
    THROWS(-215, blobFromImageWithParams(Mat(1, 7, CV_8UC3, bytes.data()), how));
    how.size = Size(0, 3);
    THROWS(-215, how.blobRectToImageRect(Rect(0, 0, 1, 1), Size(4, 4)));
    how.datalayout = DNN_LAYOUT_NCDHW;
    THROWS(-210, blobFromImageWithParams(image, how));
    THROWS(-215, blobFromImageWithParams(Mat()));
}

/* The numbers of OpenCV 4.14's cv::resize: bytes in fixed-point numbers, and floats. */
void resizing()
{
    unsigned char two[] = { 0, 255 };
    std::vector<unsigned char> bytes, all = picture();
    Floats floats;

    for (size_t k = 0; k < all.size(); k += 3) {
        bytes.push_back(all[k]);
        floats.push_back(all[k]);
    }
    EXPECT(values(blobFromImage(Mat(1, 2, CV_8U, two), 1, Size(8, 1))) ==
           (Floats{ 0, 0, 32, 96, 159, 223, 255, 255 }));
    EXPECT(values(blobFromImage(Mat(5, 7, CV_8U, bytes.data()), 1, Size(3, 2))) ==
           (Floats{ 92, 100, 108, 152, 160, 147 }));
    EXPECT(values(blobFromImage(Mat(5, 7, CV_32F, floats.data()), 1, Size(3, 2)))[1] == 100);
    for (size_t row = 0; row < 4; row++)
        std::memmove(&bytes[row * 6], &bytes[row * 7], 6);
    EXPECT(values(blobFromImage(Mat(4, 6, CV_8U, bytes.data()), 1, Size(3, 2))) ==
           (Floats{ 68, 164, 135, 116, 87, 120 }));
}

void suppression()
{
    const std::vector<Rect> boxes = { Rect(0, 0, 10, 10), Rect(1, 0, 10, 10), Rect(20, 20, 5, 5),
                                      Rect(0, 1, 10, 10) };
    const std::vector<Rect2d> wide = { Rect2d(0, 0, 1, 1), Rect2d(0, 0, 1, 1) };
    const Floats scores = { 0.5f, 0.9f, 0.1f, 0.8f };
    std::vector<int> kept;
    Floats updated;

    NMSBoxes(boxes, scores, 0.2f, 0.5f, kept);
    EXPECT(kept == std::vector<int>{ 1 });
    NMSBoxes(boxes, scores, 0.05f, 0.7f, kept);
    EXPECT(kept == (std::vector<int>{ 1, 3, 2 }));
    NMSBoxes(boxes, scores, 0.05f, 1, kept, 1, 2);
    EXPECT(kept == (std::vector<int>{ 1, 3 }));
    NMSBoxes(wide, Floats{ 0.5f, 0.6f }, 0, 0.5f, kept);
    EXPECT(kept == std::vector<int>{ 1 });
    NMSBoxesBatched(boxes, scores, { 0, 1, 0, 2 }, 0.2f, 0.5f, kept);
    EXPECT(kept == (std::vector<int>{ 1, 3, 0 }));
    softNMSBoxes(boxes, scores, updated, 0.05f, 0.3f, kept, 0, 0.5f);
    EXPECT(kept == (std::vector<int>{ 1, 3, 2 }));
    EXPECT(near(updated, { 0.9f, 0.8f * std::exp(-2 * std::pow(81.0f / 119, 2.0f)), 0.1f }));
    THROWS(-215, NMSBoxes(boxes, Floats{ 1 }, 0, 0, kept));
    THROWS(-215, NMSBoxes(boxes, scores, -1, 0, kept));
    THROWS(-215, softNMSBoxes(boxes, scores, updated, 0, 0, kept, 0, -1));
}

/* ---- models ---- */

void models()
{
    std::vector<unsigned char> bytes = picture();
    const Mat image(5, 7, CV_8UC3, bytes.data());
    const std::string same = input("data", "dim: 1 dim: 3 dim: 5 dim: 7") +
                             "layer { name: 'p' type: 'Power' bottom: 'data' top: 'p' }";
    const std::string mean = input("data", "dim: 1 dim: 3 dim: 5 dim: 7") +
                             "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'p' "
                             "pooling_param { pool: AVE global_pooling: true } }";
    std::vector<Mat> outs;
    std::vector<int> classes;
    Floats scores;
    std::vector<Rect> boxes;
    Mat mask;

    Model model(opened(same));
    model.predict(image, outs);
    EXPECT(outs.size() == 1 && values(outs[0]) == values(blobFromImage(image)));
    model.setInputSize(3, 4)
        .setInputMean(Scalar(1, 2, 3))
        .setInputScale(Scalar(0.5))
        .setInputSwapRB(true);
    model.predict(image, outs);
    EXPECT(near(values(outs[0]),
                values(blobFromImage(image, 0.5, Size(3, 4), Scalar(1, 2, 3), true)), 1e-4f));
    ClassificationModel classifier(opened(mean));
    classifier.setInputScale(Scalar(0.01));
    const std::pair<int, float> best = classifier.classify(image);
    EXPECT(classifier.setEnableSoftmaxPostProcessing(true).classify(image).first == best.first);
    EXPECT(classifier.classify(image).second < 1 && classifier.classify(image).second > 0.333f);
    EXPECT(KeypointsModel(opened(same)).estimate(image, 255).size() == 2);
    EXPECT(KeypointsModel(opened(same)).estimate(image, 255)[0].x == -1);
    SegmentationModel(opened(same)).segment(image, mask);
    EXPECT(mask.rows == 5 && mask.cols == 7);
    for (size_t k = 0; k < 35; k++)
        EXPECT(mask.data[k] == std::max_element(&bytes[3 * k], &bytes[3 * k] + 3) - &bytes[3 * k]);
    THROWS(-213, DetectionModel(opened(same)).detect(image, classes, scores, boxes));
    THROWS(-201,
           Model(opened("input: 'data' layer { name: 'p' type: 'Power' bottom: 'data' top: 'p' }"))
               .predict(image, outs));
}

/* Three priors, of which the third overlaps the first: a background class and one other class. */
void detections()
{
    Net net = opened(
        input("loc", "dim: 1 dim: 12") + input("conf", "dim: 1 dim: 6") +
        input("prior", "dim: 1 dim: 2 dim: 12") +
        "layer { name: 'd' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'prior' "
        "top: 'd' "
        "detection_output_param { num_classes: 2 background_label_id: 0 keep_top_k: 4 code_type: "
        "CENTER_SIZE confidence_threshold: 0.1 nms_param { nms_threshold: 0.5 top_k: 10 } } }");
    Floats prior = { 0, 0, 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 0, 0.05f, 0.5f, 0.5f };

    prior.insert(prior.end(), 12, 0.1f);
    net.setInput(blob({ 1, 12 }, Floats(12, 0)), "loc");
    net.setInput(blob({ 1, 6 }, { 0.6f, 0.4f, 0.1f, 0.9f, 0.7f, 0.3f }), "conf");
    net.setInput(blob({ 1, 2, 12 }, prior), "prior");
    const Mat found = net.forward();
    EXPECT(shape(found) == (MatShape{ 1, 1, 4, 7 }));
    EXPECT(near(Floats(found.ptr<float>(), found.ptr<float>() + 28),
                { 0, 1, 0.9f, 0.5f, 0.5f, 1, 1, 0, 1, 0.4f, 0, 0, 0.5f, 0.5f,
                  0, 0, 0,    0,    0,    0, 0, 0, 0, 0,    0, 0, 0,    0 },
                1e-6f));
}

/* ---- cases of OpenCV's importer tests; the others: python/tests/test_dnn_importer.py --------- */

void axpy()
{
    Net net = opened(input("scale", "dim: 1 dim: 2 dim: 1 dim: 1") +
                     input("data", "dim: 1 dim: 2 dim: 3 dim: 3") +
                     input("shift", "dim: 1 dim: 2 dim: 3 dim: 3") +
                     "layer { name: 'axpy' type: 'Axpy' bottom: 'scale' bottom: 'data' "
                     "bottom: 'shift' top: 'axpy' }");
    Floats wanted;

    for (size_t k = 0; k < 18; k++)
        wanted.push_back(x[k] * (k < 9 ? 2.0f : -0.5f) + static_cast<float>(k));
    net.setInput(blob({ 1, 2, 1, 1 }, { 2, -0.5f }), "scale");
    net.setInput(blob(four, counted(18)), "shift");
    net.setInput(blob(four, x), "data");
    EXPECT(near(values(net.forward()), wanted));
}

void multiple_inputs()
{
    Net net = opened(
        "input: 'old_two' input: 'old_one' "
        "input_shape { dim: 1 dim: 2 dim: 3 dim: 3 } "
        "input_shape { dim: 1 dim: 1 dim: 3 dim: 3 } "
        "layer { name: 'a' type: 'Concat' bottom: 'old_two' bottom: 'old_one' top: 'a' }" +
        input("two", "dim: 1 dim: 2 dim: 3 dim: 3") + input("one", "dim: 1 dim: 1 dim: 3 dim: 3") +
        "layer { name: 'b' type: 'Concat' bottom: 'two' bottom: 'one' top: 'b' }"
        "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }");
    Floats wanted;

    for (size_t k = 0; k < 27; k++)
        wanted.push_back(k < 18 ? x[k] + 1 : 7);
    net.setInput(blob(four, x), "old_two");
    net.setInput(blob({ 1, 1, 3, 3 }, Floats(9, 5)), "one");
    net.setInput(blob(four, Floats(18, 1)), "two");
    net.setInput(blob({ 1, 1, 3, 3 }, Floats(9, 2)), "old_one");
    EXPECT(values(net.forward()) == wanted);
}

void shared_weights()
{
    std::string text =
        input("1", "dim: 1 dim: 1 dim: 2 dim: 2") + input("2", "dim: 1 dim: 1 dim: 2 dim: 2");

    for (const char *k : { "1", "2" })
        text += std::string("layer { name: 'conv") + k + "' type: 'Convolution' bottom: '" + k +
                "' top: 'conv" + k +
                "' param { name: 'w' } convolution_param { num_output: 1 kernel_size: 1 bias_term: "
                "false "
                "weight_filler { type: 'constant' value: 2 } } }\n";
    text += "layer { name: 'sum' type: 'Eltwise' bottom: 'conv1' bottom: 'conv2' top: 'sum' }";
    const std::vector<unsigned char> bytes(text.begin(), text.end());
    Net net = readNetFromCaffe(bytes, weights_of(text));
    net.setInput(blob({ 1, 1, 2, 2 }, { 0, 2, 4, 6 }), "1");
    net.setInput(blob({ 1, 1, 2, 2 }, { 1, 3, 5, 7 }), "2");
    EXPECT(values(net.forward()) == (Floats{ 2, 10, 18, 26 }));
}

/*
 * `dnn run TEXT WEIGHTS LAYER OUTPUT [INPUT 1x3x8x8 FILE]…`: writes the outputs of a layer as
 * floats.
 */
int run(int argc, char **argv)
{
    Net net = readNetFromCaffe(argv[2], argv[3]);

    for (int k = 6; k + 2 < argc; k += 3) {
        std::istringstream sizes(argv[k + 1]);
        MatShape of;
        char cross;
        size_t n = 1;

        for (int dim; sizes >> dim; sizes >> cross) {
            of.push_back(dim);
            n *= static_cast<size_t>(dim);
        }
        Floats from(n);
        std::FILE *file = std::fopen(argv[k + 2], "rb");
        if (!file || std::fread(from.data(), sizeof(float), n, file) != n)
            return 2;
        std::fclose(file);
        net.setInput(blob(of, from), argv[k]);
    }
    const Mat out = net.forward(argv[4]);
    std::FILE *file = std::fopen(argv[5], "wb");
    if (!file || std::fwrite(out.data, sizeof(float), out.total(), file) != out.total())
        return 2;
    return std::fclose(file) ? 2 : 0;
}

const Case cases[] = {
    { "forward_in_all_its_forms", forward_in_all_its_forms },
    { "results_are_the_callers", results_are_the_callers },
    { "shapes_and_types", shapes_and_types },
    { "names_and_numbers", names_and_numbers },
    { "all_outputs_of_a_layer", all_outputs_of_a_layer },
    { "a_silence_gives_its_input", a_silence_gives_its_input },
    { "inputs_without_shapes", inputs_without_shapes },
    { "parameters", parameters },
    { "weights_in_memory", weights_in_memory },
    { "shapes_and_cost", shapes_and_cost },
    { "targets_and_fusion", targets_and_fusion },
    { "errors", errors },
    { "blobs_of_images", blobs_of_images },
    { "blobs_by_parameters", blobs_by_parameters },
    { "resizing", resizing },
    { "suppression", suppression },
    { "models", models },
    { "detections", detections },
    { "axpy", axpy },
    { "multiple_inputs", multiple_inputs },
    { "shared_weights", shared_weights },
};

} // namespace

int main(int argc, char **argv)
{
    if (argc > 5 && std::strcmp(argv[1], "run") == 0)
        return run(argc, argv);
    return run_cases(cases, argc, argv);
}

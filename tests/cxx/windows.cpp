/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCV's windows as files, for check-opencv-samples.sh: imshow writes NAME.ppm, putText prints
 * its line unless it contains a time, and the user presses escape as soon as a picture is shown.
 */
#include <opencv2/highgui.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <atomic>
#include <cstdio>
#include <string>

namespace
{
std::atomic<bool> shown(false);
}

void cv::imshow(const String &name, InputArray picture)
{
    std::string path = name + ".ppm";

    for (char &c : path)
        c = c == ' ' || c == '/' ? '_' : c;
    imwrite(path, picture);
    shown = true;
}

int cv::waitKey(int)
{
    return shown ? 27 : -1;
}

void cv::namedWindow(const String &, int)
{
}

int cv::createTrackbar(const String &, const String &, int *, int, TrackbarCallback, void *)
{
    return 0;
}

void cv::putText(InputOutputArray, const String &text, Point, int, double, Scalar, int, int, bool)
{
    if (text.find(" ms") == std::string::npos && text.find("FPS") == std::string::npos &&
        text.find("Skipped") == std::string::npos)
        std::printf("%s\n", text.c_str());
}

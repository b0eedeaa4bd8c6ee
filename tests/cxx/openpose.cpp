/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For check-openpose.sh: runs OpenPose's own NetCaffe on a text, weights and an input. Only
 * OpenPose's net and arrays are linked; its files and errors are replaced here. `openpose TEXT
 * WEIGHTS INPUT HEIGHT WIDTH OUTPUT`: INPUT has 3 planes of floats; OUTPUT gets the values of the
 * blob net_output, after passes with two shapes.
 */
#include <openpose/core/array.hpp>
#include <openpose/core/arrayCpuGpu.hpp>
#include <openpose/net/netCaffe.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace op
{

void error(const std::string &message, const int line, const std::string &function,
           const std::string &file)
{
    throw std::runtime_error(file + ":" + std::to_string(line) + ": " + function + ": " + message);
}

void errorDestructor(const std::string &message, const int, const std::string &,
                     const std::string &)
{
    std::fprintf(stderr, "%s\n", message.c_str());
}

bool existFile(const std::string &path)
{
    return std::ifstream(path).good();
}

} // namespace op

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    const int height = std::atoi(argv[4]), width = std::atoi(argv[5]);
    op::Array<float> large({ 1, 3, height + 16, width }, 0.5f), input({ 1, 3, height, width });
    std::ifstream file(argv[3], std::ios::binary);

    file.read(reinterpret_cast<char *>(input.getPtr()),
              static_cast<std::streamsize>(input.getVolume() * sizeof(float)));
    if (!file)
        return 2;
    op::NetCaffe net(argv[1], argv[2], 0, false, "net_output");
    net.initializationOnThread();
    net.forwardPass(large);
    net.forwardPass(input);
    const std::shared_ptr<op::ArrayCpuGpu<float>> output = net.getOutputBlobArray();
    std::ofstream(argv[6], std::ios::binary)
        .write(reinterpret_cast<const char *>(output->cpu_data()),
               static_cast<std::streamsize>(output->count() * sizeof(float)));
    for (int k = 0; k < output->num_axes(); k++)
        std::printf("%d%s", output->shape(k), k + 1 < output->num_axes() ? " " : "\n");
    return 0;
}

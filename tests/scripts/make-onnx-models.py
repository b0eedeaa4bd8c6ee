#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes ONNX models of torchvision's networks and of similar detectors, with random weights, by torch.

    make-onnx-models.py FOLDER [NAME…]

Requires torch, torchvision and, for its exporter, onnxscript."""

import os
import sys

import torch
import torchvision.models as tv
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel, stride=1, groups=1, activation=None):
    activation = nn.LeakyReLU(0.1) if activation is None else activation
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs), activation)


class YoloTiny(nn.Module):
    """YOLOv3-tiny: max pooling, one with an uneven pad, a nearest resize, two heads."""

    def __init__(self):
        super().__init__()
        widths = (3, 16, 32, 64, 128, 256)
        self.down = nn.ModuleList(conv(a, b, 3) for a, b in zip(widths, widths[1:]))
        self.mid = nn.Sequential(conv(256, 512, 3), nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(2, 1),
                                 conv(512, 1024, 3), conv(1024, 256, 1))
        self.head1 = nn.Sequential(conv(256, 512, 3), nn.Conv2d(512, 255, 1))
        self.up = conv(256, 128, 1)
        self.head2 = nn.Sequential(conv(384, 256, 3), nn.Conv2d(256, 255, 1))

    def forward(self, x):
        for layer in self.down:
            kept = layer(x)
            x = F.max_pool2d(kept, 2)
        x = self.mid(x)
        return self.head1(x), self.head2(torch.cat((F.interpolate(self.up(x), scale_factor=2.0), kept), 1))


class Bottleneck(nn.Module):
    def __init__(self, width, add):
        super().__init__()
        self.first, self.second, self.add = conv(width, width, 1, activation=nn.SiLU()), \
            conv(width, width, 3, activation=nn.SiLU()), add

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.add else y


class C3(nn.Module):
    def __init__(self, inputs, outputs, n=1, add=True):
        super().__init__()
        half = outputs // 2
        self.a, self.b = (conv(inputs, half, 1, activation=nn.SiLU()) for _ in range(2))
        self.blocks = nn.Sequential(*(Bottleneck(half, add) for _ in range(n)))
        self.out = conv(outputs, outputs, 1, activation=nn.SiLU())

    def forward(self, x):
        return self.out(torch.cat((self.blocks(self.a(x)), self.b(x)), 1))


class Yolo5(nn.Module):
    """The shape of YOLOv5n: SiLU, C3, SPPF, two levels, and boxes decoded by a grid as YOLOv5 exports them."""

    def __init__(self):
        super().__init__()
        act = nn.SiLU()
        self.stem = nn.Sequential(conv(3, 16, 6 + 1, 2, activation=act), conv(16, 32, 3, 2, activation=act),
                                  C3(32, 32), conv(32, 64, 3, 2, activation=act), C3(64, 64, 2))
        self.deep = nn.Sequential(conv(64, 128, 3, 2, activation=act), C3(128, 128))
        self.reduce, self.widen = conv(128, 64, 1, activation=act), conv(256, 128, 1, activation=act)
        self.up = C3(128, 64, add=False)
        self.heads = nn.ModuleList((nn.Conv2d(64, 3 * 85, 1), nn.Conv2d(128, 3 * 85, 1)))

    def decode(self, x, stride):
        n, _, h, w = x.shape
        x = x.view(n, 3, 85, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((xs, ys), 2).expand(1, 3, h, w, 2).float() - 0.5
        anchors = torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]).view(1, 3, 1, 1, 2)
        xy, wh, rest = x.split((2, 2, 81), 4)
        return torch.cat(((xy * 2 + grid) * stride, (wh * 2) ** 2 * anchors, rest), 4).view(n, -1, 85)

    def forward(self, x):
        kept = self.stem(x)
        x = self.deep(kept)
        y = self.reduce(x)
        p1, p2 = F.max_pool2d(y, 5, 1, 2), F.max_pool2d(F.max_pool2d(y, 5, 1, 2), 5, 1, 2)
        x = self.widen(torch.cat((y, p1, p2, F.max_pool2d(p2, 5, 1, 2)), 1))
        up = self.up(torch.cat((F.interpolate(self.reduce(x), scale_factor=2.0), kept), 1))
        return torch.cat((self.decode(self.heads[0](up), 8), self.decode(self.heads[1](x), 16)), 1)


class MultiBox(nn.Module):
    """The heads of SSD over two levels of a backbone: permuted, reshaped, joined, softmax, boxes decoded."""

    def __init__(self, lower, upper, widths, classes):
        super().__init__()
        self.lower, self.upper, self.classes = lower, upper, classes
        self.scores = nn.ModuleList(nn.Conv2d(w, 6 * classes, 3, padding=1) for w in widths)
        self.boxes = nn.ModuleList(nn.Conv2d(w, 24, 3, padding=1) for w in widths)
        self.register_buffer("priors", torch.empty(0))

    def flat(self, x, n):
        return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, n)

    def forward(self, x):
        a = self.lower(x)
        levels = (a, self.upper(a))
        scores = torch.cat([self.flat(f(x), self.classes) for f, x in zip(self.scores, levels)], 1)
        boxes = torch.cat([self.flat(f(x), 4) for f, x in zip(self.boxes, levels)], 1)
        if not self.priors.numel():
            self.priors = torch.rand(1, boxes.shape[1], 4) + 0.1
        centre = boxes[..., :2] * 0.1 * self.priors[..., 2:] + self.priors[..., :2]
        size = torch.exp(boxes[..., 2:] * 0.2) * self.priors[..., 2:]
        return F.softmax(scores, 2), torch.cat((centre - size / 2, centre + size / 2), 2)


def mobilenet_ssd():
    features = tv.mobilenet_v2(weights=None).features
    return MultiBox(features[:14], features[14:], (96, 1280), 21)


def ultraface():
    def separable(i, o, s):
        return nn.Sequential(conv(i, i, 3, s, i, nn.ReLU()), conv(i, o, 1, activation=nn.ReLU()))
    lower = nn.Sequential(conv(3, 16, 3, 2, activation=nn.ReLU()), separable(16, 32, 1), separable(32, 32, 2),
                          separable(32, 64, 2), separable(64, 64, 1))
    return MultiBox(lower, nn.Sequential(separable(64, 128, 2), separable(128, 128, 1)), (64, 128), 2)


class First(nn.Module):
    """The output `out` of torchvision's segmentation models."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def plain(make, size=224, **options):
    return lambda: make(weights=None, **options), size


def segmenter(make, size=160):
    return lambda: First(make(weights=None, weights_backbone=None, num_classes=21)), size


MODELS = {
    "alexnet": plain(tv.alexnet),
    "vgg11": plain(tv.vgg11),
    "vgg11_bn": plain(tv.vgg11_bn),
    "resnet18": plain(tv.resnet18),
    "resnet50": plain(tv.resnet50),
    "resnext50": plain(tv.resnext50_32x4d),
    "squeezenet1_1": plain(tv.squeezenet1_1),
    "densenet121": plain(tv.densenet121),
    "googlenet": plain(tv.googlenet, aux_logits=False, init_weights=True),
    "inception_v3": plain(tv.inception_v3, 299, aux_logits=False, init_weights=False),
    "mobilenet_v2": plain(tv.mobilenet_v2),
    "mobilenet_v3_small": plain(tv.mobilenet_v3_small),
    "mobilenet_v3_large": plain(tv.mobilenet_v3_large),
    "shufflenet_v2": plain(tv.shufflenet_v2_x1_0),
    "mnasnet": plain(tv.mnasnet1_0),
    "efficientnet_b0": plain(tv.efficientnet_b0),
    "efficientnet_v2_s": plain(tv.efficientnet_v2_s),
    "regnet_x_400mf": plain(tv.regnet_x_400mf),
    "regnet_y_400mf": plain(tv.regnet_y_400mf),
    "convnext_tiny": plain(tv.convnext_tiny),
    "fcn_resnet50": segmenter(tv.segmentation.fcn_resnet50),
    "deeplabv3_mobilenet": segmenter(tv.segmentation.deeplabv3_mobilenet_v3_large),
    "lraspp_mobilenet": segmenter(tv.segmentation.lraspp_mobilenet_v3_large),
    "yolov3_tiny": (YoloTiny, 416),
    "yolov5": (Yolo5, 320),
    "mobilenet_ssd": (mobilenet_ssd, 320),
    "ultraface": (ultraface, 240),
}


def write(name, folder):
    make, size = MODELS[name]
    torch.manual_seed(1)
    net = make().eval()
    x = torch.randn(1, 3, size, size)
    with torch.no_grad():
        for module in net.modules():  # statistics of BatchNorm other than 0 and 1
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.uniform_(-0.1, 0.1)
                module.running_var.uniform_(0.5, 1.5)
        net(x)
        torch.onnx.export(net, (x,), os.path.join(folder, name + ".onnx"), input_names=["input"],
                          opset_version=18, dynamo=False)


def main():
    names = sys.argv[2:] or MODELS
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in names:
        write(name, sys.argv[1])
        print(name, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch's side of the suites `training` and `training-bf16`: peer-torch.py NET WEIGHTS f32|bf16

Makes a module of each layer of a prototxt, with ferry's initial weights (arrays LAYER/i of an npz), and trains it with SGD
with momentum. BatchNorm and the Scale after it are one module, and ReLU works in place, as a program for PyTorch would
have them. Writes a line when it is ready. For each line of its input, a number of iterations, it writes their seconds and
the last loss; for an empty line its peak memory before the net and now, in KiB."""

import re
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[-+.\w]+|[:{}]|#[^\n]*")


def parse(text):
    """A message as a dict of lists."""
    tokens = (t for t in TOKEN.findall(text) if t[0] != "#")

    def message():
        fields = {}
        while (name := next(tokens, "}")) != "}":
            value = next(tokens)
            if value == ":":
                value = next(tokens)
            fields.setdefault(name, []).append(message() if value == "{" else value.strip("'\""))
        return fields

    return message()


def number(message, name, default, kind=int):
    return kind(message.get(name, [default])[0])


def part(layer, name):
    return layer.get(name, [{}])[0]


def module_of(layer, channels, weights):
    """The module of a layer, or None, and the channels of its top."""
    kind, name = layer["type"][0], layer["name"][0]
    w = [torch.from_numpy(weights[f"{name}/{i}"]) for i in range(4) if f"{name}/{i}" in weights]
    if kind == "Convolution":
        p = part(layer, "convolution_param")
        m = nn.Conv2d(channels, number(p, "num_output", 0), number(p, "kernel_size", 1), number(p, "stride", 1),
                      number(p, "pad", 0), groups=number(p, "group", 1), bias=p.get("bias_term", ["true"])[0] == "true")
        m.weight.data.copy_(w[0])
        if m.bias is not None:
            m.bias.data.copy_(w[1])
        return m, m.out_channels
    if kind == "InnerProduct":
        m = nn.Linear(w[0].shape[1], w[0].shape[0])
        m.weight.data.copy_(w[0])
        m.bias.data.copy_(w[1])
        return m, m.out_features
    if kind == "BatchNorm":
        return nn.BatchNorm2d(channels, eps=1e-5, momentum=0.001), channels
    if kind == "Pooling":
        p = part(layer, "pooling_param")
        if "global_pooling" in p:
            return nn.AdaptiveAvgPool2d(1), channels
        make = nn.MaxPool2d if p["pool"][0] == "MAX" else nn.AvgPool2d
        return make(number(p, "kernel_size", 1), number(p, "stride", 1), number(p, "pad", 0), ceil_mode=True), channels
    if kind == "LRN":
        p = part(layer, "lrn_param")
        return nn.LocalResponseNorm(number(p, "local_size", 5), number(p, "alpha", 1, float),
                                    number(p, "beta", 0.75, float)), channels
    if kind == "ReLU":
        return nn.ReLU(inplace=True), channels
    if kind == "Dropout":
        return nn.Dropout(number(part(layer, "dropout_param"), "dropout_ratio", 0.5, float), inplace=True), channels
    return None, channels


class Net(nn.Module):
    def __init__(self, text, weights):
        super().__init__()
        self.steps = []
        channels = {}
        for layer in parse(text)["layer"]:
            kind, top = layer["type"][0], layer["top"][0]
            bottoms = layer.get("bottom", [])
            if kind == "Input":
                shape = [int(d) for d in layer["input_param"][0]["shape"][0]["dim"]]
                channels[top] = shape[1] if len(shape) > 1 else 0
                self.register_buffer(top, filled(shape))
                continue
            if kind == "Scale":  # of the BatchNorm before it
                continue
            m, channels[top] = module_of(layer, channels[bottoms[0]], weights)
            if kind == "Concat":
                channels[top] = sum(channels[b] for b in bottoms)
            if m is not None:
                self.add_module(layer["name"][0], m)
            self.steps.append((kind, m, bottoms, top))

    def forward(self):
        blobs = {name: b for name, b in self.named_buffers(recurse=False)}
        last = {b: i for i, (_, _, bottoms, _) in enumerate(self.steps) for b in bottoms}
        for i, (kind, m, bottoms, top) in enumerate(self.steps):
            x = blobs[bottoms[0]]
            if kind == "Eltwise":
                y = x + blobs[bottoms[1]]
            elif kind == "Concat":
                y = torch.cat([blobs[b] for b in bottoms], 1)
            elif kind == "SoftmaxWithLoss":
                return F.cross_entropy(x.flatten(1), blobs[bottoms[1]].long())
            else:
                y = m(x.flatten(1) if kind == "InnerProduct" else x)
            blobs[top] = y
            for b in bottoms:
                if last[b] == i and b != top:
                    del blobs[b]
            del x, y


def filled(shape):
    k = np.arange(int(np.prod(shape)))
    x = k % 10 if len(shape) == 1 else (k * 7919 % 255).astype(np.float32) / np.float32(255)
    return torch.from_numpy(x.astype(np.float32).reshape(shape))


def kib():
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def main():
    torch.set_num_threads(2)
    before = kib()
    with open(sys.argv[1], encoding="ascii") as f:
        net = Net(f.read(), np.load(sys.argv[2]))
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=0.0001)
    print(0, flush=True)
    for line in sys.stdin:
        if not line.strip():
            print(before, kib(), flush=True)
            continue
        begin = time.monotonic()
        for _ in range(int(line)):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=sys.argv[3] == "bf16"):
                loss = net()
            loss.backward()
            optimizer.step()
        value = loss.item()
        print(time.monotonic() - begin, value, flush=True)


main()

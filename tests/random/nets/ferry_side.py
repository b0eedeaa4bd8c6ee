# SPDX-License-Identifier: BSD-2-Clause
"""The process that runs nets with ferry on one device: jobs are pickled to stdin, results to stdout. It is a
separate process so that a crash is a result too, and one process for many nets, so that a net takes
milliseconds."""

import os
import pickle
import struct
import sys

import numpy as np


def read(stream):
    """One object, or None at the end."""
    head = stream.read(8)
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0])) if len(head) == 8 else None


def write(stream, value):
    """One object."""
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack("<Q", len(body)) + body)
    stream.flush()


def _fill(net, job):
    """Fills inputs and parameters. Parameters of a layer whose name begins with "filled" keep their filler's
    values."""
    for name, array in job["inputs"].items():
        blob = net.inputs[name]
        if blob.shape != array.shape:
            blob.reshape(array.shape)
        blob.data = array
    params = net.params
    for layer, arrays in job["params"].items():
        for blob, array in zip(params[layer], arrays):
            if array is not None:
                blob.data = array.reshape(blob.shape)


def _arrays(blobs, diff=False):
    return {name: np.array(blob.diff if diff else blob.data) for name, blob in blobs.items()}


def _net(ferry, device, job, **options):
    return ferry.Net(device, "net.prototxt", text=job["text"], phase=job["phase"].lower(), level=job["level"],
                     stages=job["stages"], **options)


def plain(ferry, device, job):
    """Runs with all blobs kept, without planning or fusion; backward if possible."""
    net = _net(ferry, device, job, keep="*", backward=job["backward"])
    _fill(net, job)
    net.forward()
    blobs = net.blobs
    out = {"loss": net.loss, "blobs": _arrays(blobs),
           "params": {layer: [np.array(b.data) for b in held] for layer, held in net.params.items()}}
    if job["backward"]:
        net.clear_param_diffs()
        net.backward()
        out["diffs"] = _arrays(blobs, True)
        out["param_diffs"] = {layer: [np.array(b.diff) for b in held] for layer, held in net.params.items()}
    net.close()
    return out


def planned(ferry, device, job):
    """Runs the net as users do: only outputs, and the blobs that `keep` names; twice if a second pass gives
    the same result."""
    net = _net(ferry, device, job, **job["planned"])
    _fill(net, job)
    net.forward()
    if job["again"]:
        _fill(net, job)
        net.forward()
    out = {"loss": net.loss, "blobs": _arrays({**net.outputs, **net.blobs})}
    net.close()
    return out


def _state(solver, net):
    """The current parameters and histories."""
    return {"params": {layer: [np.array(b.data) for b in held] for layer, held in net.params.items()},
            "histories": [np.array(b.data) for b in solver.histories]}


def solve(ferry, device, job):
    """Runs a solver, one step per batch: the state before the first and after each, losses and rates."""
    solver = ferry.Solver(device, "solver.prototxt", text=job["text"])
    net = solver.net
    _fill(net, dict(job, inputs={}))
    out = {"losses": [], "rates": [], "states": [_state(solver, net)]}
    for batch in job["batches"]:
        for name, array in batch.items():
            net.inputs[name].data = array
        out["rates"].append(solver.rate)
        solver.step(1)
        out["losses"].append(solver.loss)
        out["states"].append(_state(solver, net))
    net.close()
    solver.close()
    return out


WAYS = {"plain": plain, "planned": planned, "solve": solve}


def main():
    """Runs jobs until stdin ends. Output of the libraries goes to stderr."""
    jobs, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import ferry  # after the descriptors, for a loader may print

    runtime = ferry.Runtime(sys.argv[1])
    if sys.argv[1] == "cuda":
        # The double of cuDNN rounds every convolution as Winograd's algorithm may; the kernels do
        # not.
        runtime.set_option("cuda", "cudnn", "off")
    device = runtime.device()
    write(results, device.name)
    while (job := read(jobs)) is not None:
        out = {}
        for way in job["ways"]:
            try:
                out[way] = WAYS[way](ferry, device, job)
            except Exception as error:  # pylint: disable=broad-exception-caught
                out[way] = f"{type(error).__name__}: {error}"
        write(results, out)


if __name__ == "__main__":
    main()

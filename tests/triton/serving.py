# SPDX-License-Identifier: BSD-2-Clause
"""Functions that the tests on the real Triton server share: the server as a process, model folders, requests,
and the results of `ferry run` for the same numbers."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import sysconfig
import time

import numpy
import tritonclient.grpc as grpc
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm

BUILD, DATA, SERVER = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
FERRY = BUILD / "tools/ferry/ferry"
SOURCE = pathlib.Path(__file__).resolve().parents[2]
NETS = {
    "lenet": ("lenet/lenet.prototxt", "lenet/lenet_iter_10000.caffemodel", [1, 28, 28]),
    "lenet_sim": ("lenet/lenet.prototxt", "lenet/lenet_iter_10000.caffemodel", [1, 28, 28]),
    "squeezenet": (
        "squeezenet_dc/SqueezeNet_deploy.prototxt",
        "squeezenet_dc/squeezenet_v1.0_decoded.caffemodel",
        [3, 227, 227],
    ),
    "det1": ("mtcnn/det1.prototxt", "mtcnn/det1.caffemodel", [3, 31, 44]),
    "det2": ("mtcnn/det2.prototxt", "mtcnn/det2.caffemodel", [3, 24, 24]),
    "det3": ("mtcnn/det3.prototxt", "mtcnn/det3.caffemodel", [3, 48, 48]),
}
OPTIONS = {"lenet_sim": ["--device", "sim"], "det1": ["--variable"],
           "det3": ["--threads", "1", "--instances", "2"]}
failures = []
os.environ["FERRY_PLUGIN_PATH"] = str(BUILD / "backends/.libs")


def report(name, good, detail=""):
    failures.extend([] if good else [name])
    print(("pass " if good else "FAIL ") + name + (f": {detail}" if detail else ""), flush=True)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def skip(name, reason):
    print(f"SKIP {name}: {reason}", flush=True)


def make_model(repository, name, net=None, options=None, edits=()):
    """A model folder of `ferry triton-model`; `edits` are texts of config.pbtxt and their replacements."""
    definition, weights, _ = NETS[net or name]
    subprocess.run(
        [FERRY, "triton-model", DATA / "nets" / definition, DATA / "nets" / weights, repository / name]
        + (OPTIONS.get(name, []) if options is None else options),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    config = repository / name / "config.pbtxt"
    text = config.read_text()
    for old, new in edits:
        assert old in text, (old, text)
        text = text.replace(old, new) if old else text + new
    config.write_text(text)


def add_python_backend(backends):
    """The Python backend of the server's package, with its program for this Python. That program ignores PYTHONPATH,
    but finds packages in the backend's folder."""
    place = SERVER.parents[1]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (backends / "python").mkdir()
    for file in (place / "backends/python").iterdir():
        (backends / "python" / file.name).symlink_to(file)
    stub = "triton_python_backend_stub"
    (backends / "python" / stub).symlink_to(place / "python_backend_stubs" / version / stub)
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    for name in ("cv2", "numpy", "numpy.libs", "opencv_python_headless.libs"):
        if (packages / name).exists():
            (backends / "python" / name).symlink_to(packages / name)


class Server:
    """tritonserver on a repository, with the backend of the build."""

    def __init__(self, work, repository, *options):
        self.log = work / "server.log"
        backends = work / "backends"
        (backends / "ferry").mkdir(parents=True, exist_ok=True)
        library = backends / "ferry/libtriton_ferry.so"
        library.symlink_to(BUILD / "triton/.libs/libtriton_ferry.so")
        add_python_backend(backends)
        self.http, self.grpc, self.metrics = free_ports(3)
        environment = dict(os.environ)
        paths = [str(BUILD / ".libs")] + environment.get("TRITON_LIBRARY_PATH", "").split(":")
        environment["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
        if "TRITON_PRELOAD" in environment:
            environment["LD_PRELOAD"] = environment["TRITON_PRELOAD"]
        command = [SERVER, f"--model-repository={repository}", f"--backend-directory={backends}"]
        command += [f"--http-port={self.http}", f"--grpc-port={self.grpc}"]
        command += [f"--metrics-port={self.metrics}", "--http-address=127.0.0.1"]
        command += ["--grpc-address=127.0.0.1", "--exit-on-error=false", *options]
        command += [f"--cache-directory={SERVER.parents[1] / 'caches'}", "--cache-config=local,size=16777216"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.client = http.InferenceServerClient(f"127.0.0.1:{self.http}", concurrency=8)

    def wait(self):
        for _ in range(600):
            try:
                if self.client.is_server_live():
                    return
            except Exception:
                pass
            if self.process.poll() is not None:
                sys.exit("the server ended:\n" + self.log.read_text()[-3000:])
            time.sleep(0.1)
        sys.exit("the server does not answer")

    def alive(self):
        return self.process.poll() is None

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def stop(self):
        self.client.close()  # a server waits for open connections
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return self.process.returncode


def picture(name, batch=1, seed=0):
    shape = [batch] + NETS[name][2]
    return numpy.random.RandomState(seed).uniform(-100, 100, shape).astype(numpy.float32)


def ask(module, client, name, pixels, **options):
    entry = module.InferInput("data", list(pixels.shape), "FP32")
    entry.set_data_from_numpy(pixels)
    return client.infer(name, [entry], **options)


def answer_of(result, names):
    return {n: result.as_numpy(n) for n in names}


def by_command(work, name, pixels):
    """The outputs that `ferry run` computes."""
    net, weights, _ = NETS[name]
    numpy.savez(work / "in.npz", data=pixels)
    device = "sim" if name.endswith("_sim") else "cpu"
    subprocess.run(
        [FERRY, "run", DATA / "nets" / net, DATA / "nets" / weights]
        + ["--input", f"data={work}/in.npz", "-o", work / "out.npz"],
        check=True,
        stdout=subprocess.DEVNULL,
        env=dict(os.environ, FERRY_BACKEND=device),
    )
    return dict(numpy.load(work / "out.npz"))


def same(got, wanted):
    return set(got) <= set(wanted) and all(
        got[n] is not None and got[n].tobytes() == wanted[n].tobytes() for n in got
    )


def unregister(client):
    """The server sends an answer before it lets go of the request's regions."""
    for _ in range(100):
        try:
            return client.unregister_system_shared_memory()
        except Exception:
            time.sleep(0.05)
    return client.unregister_system_shared_memory()


def by_shared_memory(client, name, pixels, wanted):
    """Input and outputs in system shared memory, over gRPC."""
    sizes = {n: a.nbytes for n, a in wanted.items()}
    region = shm.create_shared_memory_region("in", f"/ferry_in_{os.getpid()}", pixels.nbytes)
    out = shm.create_shared_memory_region(
        "out", f"/ferry_out_{os.getpid()}", sum(sizes.values())
    )
    try:
        shm.set_shared_memory_region(region, [pixels])
        client.register_system_shared_memory("in", f"/ferry_in_{os.getpid()}", pixels.nbytes)
        client.register_system_shared_memory(
            "out", f"/ferry_out_{os.getpid()}", sum(sizes.values())
        )
        entry = grpc.InferInput("data", list(pixels.shape), "FP32")
        entry.set_shared_memory("in", pixels.nbytes)
        outputs, offset, places = [], 0, {}
        for n, size in sizes.items():
            output = grpc.InferRequestedOutput(n)
            output.set_shared_memory("out", size, offset=offset)
            places[n] = offset
            offset += size
            outputs.append(output)
        client.infer(name, [entry], outputs=outputs)
        got = {
            n: shm.get_contents_as_numpy(out, numpy.float32, wanted[n].shape, offset=places[n])
            for n in wanted
        }
        return {n: a.copy() for n, a in got.items()}
    finally:
        unregister(client)
        shm.destroy_shared_memory_region(region)
        shm.destroy_shared_memory_region(out)

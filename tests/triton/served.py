#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nets in the real Triton server, by tritonclient.

served.py BUILD DATA SERVER: SERVER is tritonserver, DATA the folder of the reference nets. Prints
"pass NAME" or "FAIL NAME" lines as the unit tests do. FERRY_TEST_SERVED=times measures as well.
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import numpy
import tritonclient.grpc as grpc
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm

BUILD, DATA, SERVER = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
FERRY = BUILD / "tools/ferry/ferry"
LONG = bool(os.environ.get("FERRY_TEST_LONG"))
RELOADS = 200 if LONG else 20
HOSTILE = 10000 if LONG else 500
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
OPTIONS = {"lenet_sim": ["--device", "sim"], "det1": ["--variable"]}
GARBAGE = {"an empty folder": "", "garbage": "layer {", "a foreign file": "\x7fELF"}
failures = 0
os.environ["FERRY_PLUGIN_PATH"] = str(BUILD / "backends/.libs")


def report(name, good, detail=""):
    global failures
    failures += not good
    print(("pass " if good else "FAIL ") + name + (f": {detail}" if detail else ""), flush=True)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def make_model(repository, name):
    net, weights, _ = NETS[name]
    subprocess.run(
        [FERRY, "triton-model", DATA / "nets" / net, DATA / "nets" / weights, repository / name]
        + OPTIONS.get(name, []),
        check=True,
        stdout=subprocess.DEVNULL,
    )


class Server:
    """tritonserver on a repository, with the backend of the build."""

    def __init__(self, work, repository, *options):
        self.log = work / "server.log"
        backends = work / "backends"
        (backends / "ferry").mkdir(parents=True, exist_ok=True)
        library = backends / "ferry/libtriton_ferry.so"
        if not library.exists():
            library.symlink_to(BUILD / "triton/.libs/libtriton_ferry.so")
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


def answers_are_those_of_ferry_run(server, work):
    remote = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
    for name in NETS:
        pixels = picture(name)
        wanted = by_command(work, name, pixels)
        for kind, module, client in (("http", http, server.client), ("grpc", grpc, remote)):
            got = answer_of(ask(module, client, name, pixels), wanted)
            report(f"{name}_answers_as_ferry_run_over_{kind}", same(got, wanted))
        got = by_shared_memory(remote, name, pixels, wanted)
        report(f"{name}_answers_as_ferry_run_over_shared_memory", same(got, wanted))
    remote.close()


def one_spoilt(draw):
    """Name, inputs and outputs of a request that no net takes."""
    name = draw.choice(["lenet", "det1", "det2", "squeezenet", "lenet_sim"])
    rank = draw.randrange(0, 6)
    shape = [draw.choice([0, 1, 2, 3, 7, 24, 28, 48]) for _ in range(rank)]
    kind = draw.choice([("FP32", "f4"), ("FP64", "f8"), ("UINT8", "u1"), ("INT64", "i8")])
    entry = http.InferInput(draw.choice(["data"] * 4 + ["", "nonesuch"]), shape, kind[0])
    entry.set_data_from_numpy(numpy.ones(shape, kind[1]))
    entries = [entry] * draw.choice([1, 1, 1, 2])
    if draw.random() < 0.2:  # other bytes than the shape has
        entry._raw_data = entry._raw_data[: draw.randrange(0, len(entry._raw_data) + 1)] + b"x"
        entry._parameters["binary_data_size"] = len(entry._raw_data)
    outputs = [http.InferRequestedOutput("nonesuch")] if draw.random() < 0.2 else None
    return name, entries, outputs


def hostile_requests_do_no_harm(server, work):
    draw = random.Random(1)
    pixels = picture("lenet")
    wanted = by_command(work, "lenet", pixels)
    refused = bad = 0
    before = 0
    for k in range(HOSTILE):
        if k == HOSTILE // 5:
            before = server.resident_kib()
        name, entries, outputs = one_spoilt(draw)
        try:
            server.client.infer(name, entries, outputs=outputs)
        except Exception:
            refused += 1
        if k % 50 == 0:
            bad += not same(answer_of(ask(http, server.client, "lenet", pixels), wanted), wanted)
    report("hostile_requests_leave_other_answers", bad == 0 and server.alive())
    grown = server.resident_kib() - before
    detail = f"{HOSTILE} requests, {refused} refused, {grown:+} KiB after the first fifth"
    report("hostile_requests_leave_the_memory_level", grown < 16384, detail)


def a_killed_client_does_no_harm(server, work):
    script = (
        "import sys, numpy, tritonclient.http as h\n"
        f"c = h.InferenceServerClient('127.0.0.1:{server.http}')\n"
        "i = h.InferInput('data', [8, 3, 227, 227], 'FP32')\n"
        "i.set_data_from_numpy(numpy.zeros([8, 3, 227, 227], numpy.float32))\n"
        "print(1, flush=True)\n"
        "while True: c.infer('squeezenet', [i])\n"
    )
    pixels = picture("lenet")
    wanted = by_command(work, "lenet", pixels)
    for k in range(5):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as client:
            client.stdout.readline()
            time.sleep(0.1 + 0.07 * k)
            client.kill()
    good = same(answer_of(ask(http, server.client, "lenet", pixels), wanted), wanted)
    report("a_killed_client_leaves_other_answers", good and server.alive())


def garbage_is_refused_in_words(server, repository):
    good = True
    for k, text in enumerate(GARBAGE.values()):
        name = f"garbage{k}"
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text('backend: "ferry"\n')
        if text:
            (repository / name / "1/net.prototxt").write_text(text)
        try:
            server.client.load_model(name)
            good = False
        except Exception as e:
            good &= "/1" in str(e)
        shutil.rmtree(repository / name)
    report("a_folder_with_garbage_is_refused_in_words", good and server.alive())


def reloads_keep_answers_and_memory(server, work, repository):
    pixels = picture("lenet")
    wanted = by_command(work, "lenet", pixels)
    stop, bad, asked = threading.Event(), [], [0]

    def keep_asking():
        client = http.InferenceServerClient(f"127.0.0.1:{server.http}")
        while not stop.is_set():
            try:
                if not same(answer_of(ask(http, client, "lenet", pixels), wanted), wanted):
                    bad.append("another answer")
            except Exception as e:
                bad.append(str(e))
            asked[0] += 1
            time.sleep(0.002)

    thread = threading.Thread(target=keep_asking)
    thread.start()
    before = 0
    for k in range(RELOADS):
        server.client.unload_model("det2")
        server.client.load_model("det2")
        os.utime(repository / "lenet/1/net.prototxt")
        server.client.load_model("lenet")  # loaded again beside the one that answers
        if k == RELOADS // 4:
            before = server.resident_kib()
    grown = server.resident_kib() - before
    stop.set()
    thread.join()
    detail = f"{RELOADS} reloads, {asked[0]} requests, {len(bad)} bad {bad[:1]}"
    report("reloads_keep_answers", not bad, detail)
    report("reloads_keep_the_memory_level", grown < 16384, f"{grown:+} KiB after the first quarter")


def a_fault_of_a_device_is_one_error(work):
    """One operation of the simulated device fails; the CPU's models are not affected."""
    place = work / "faults"
    repository = place / "models"
    repository.mkdir(parents=True)
    for name in ("lenet", "lenet_sim"):
        make_model(repository, name)
    server = Server(place, repository, "--backend-config=ferry,sim.fail_run=30")
    try:
        server.wait()
        pixels = picture("lenet")
        wanted = by_command(work, "lenet", pixels)
        errors, good = [], 0
        for _ in range(20):
            try:
                ask(http, server.client, "lenet_sim", pixels)
            except Exception as e:
                errors.append(str(e))
            good += same(answer_of(ask(http, server.client, "lenet", pixels), wanted), wanted)
        detail = f"{len(errors)} of 20 refused: {errors[:1]}"
        report(
            "a_fault_of_a_device_is_one_error",
            server.alive() and good == 20 and len(errors) == 1,
            detail,
        )
    finally:
        server.stop()


def metrics_have_times(server):
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.metrics}/metrics").read().decode()
    wanted = ["queue", "compute_input", "compute_infer", "compute_output"]
    found = [k for k in wanted if f'nv_inference_{k}_duration_us{{model="lenet"' in text]
    stats = server.client.get_inference_statistics("lenet")["model_stats"][0]["inference_stats"]
    good = found == wanted and stats["compute_infer"]["ns"] > 0
    report("metrics_and_statistics_have_times", good)


def many_clients(server, count, seconds, name="squeezenet"):
    """Requests a second, and the latencies in ms."""
    pixels = picture(name)
    end, spent, lock = time.monotonic() + seconds, [], threading.Lock()

    def run():
        client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
        while time.monotonic() < end:
            begin = time.monotonic()
            ask(grpc, client, name, pixels)
            with lock:
                spent.append((time.monotonic() - begin) * 1e3)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return len(spent) / seconds, numpy.array(spent)


def totals(server):
    """Passes, and for each part of a request its count and nanoseconds."""
    stats = server.client.get_inference_statistics("squeezenet")["model_stats"][0]
    parts = ("queue", "compute_input", "compute_infer", "compute_output")
    return stats["execution_count"], {
        k: (stats["inference_stats"][k]["count"], stats["inference_stats"][k]["ns"]) for k in parts
    }


def measure_clients(server, count, title):
    passes, parts = totals(server)
    rate, spent = many_clients(server, count, 4)
    passes_after, parts_after = totals(server)
    means = ", ".join(
        f"{k} {(ns - parts[k][1]) / 1e3 / max(1, n - parts[k][0]):.0f}"
        for k, (n, ns) in parts_after.items()
    )
    p50, p99 = numpy.percentile(spent, [50, 99])
    print(
        f"{title}, clients {count}: {rate:.1f} requests/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"{len(spent) / max(1, passes_after - passes):.2f} requests a pass, us: {means}",
        flush=True,
    )


def measure(work):
    """SqueezeNet by instances, threads, batch and clients."""
    for instances, threads, batch in ((1, 2, 8), (1, 2, 1), (2, 1, 1), (2, 1, 4), (1, 1, 1)):
        place = work / f"times-{instances}-{threads}-{batch}"
        repository = place / "models"
        repository.mkdir(parents=True)
        OPTIONS["squeezenet"] = ["--instances", str(instances), "--max-batch", str(batch)]
        os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
        make_model(repository, "squeezenet")
        server = Server(place, repository)
        try:
            server.wait()
            title = f"instances {instances}, threads {threads}, max batch {batch}"
            for _ in range(8):
                ask(http, server.client, "squeezenet", picture("squeezenet"))
            for count in (1, 8):
                measure_clients(server, count, title)
            print(f"{title}: {server.resident_kib()} KiB resident")
        finally:
            server.stop()


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if os.environ.get("FERRY_TEST_SERVED") == "times":
            return measure(work)
        repository = work / "models"
        repository.mkdir()
        for name in NETS:
            make_model(repository, name)
        server = Server(work, repository, "--model-control-mode=explicit", "--load-model=*")
        try:
            server.wait()
            answers_are_those_of_ferry_run(server, work)
            metrics_have_times(server)
            garbage_is_refused_in_words(server, repository)
            a_killed_client_does_no_harm(server, work)
            hostile_requests_do_no_harm(server, work)
            reloads_keep_answers_and_memory(server, work, repository)
        finally:
            status = server.stop()
        report("the_server_ends_in_order", status == 0, f"exit status {status}")
        report("no_sanitizer_reports", "Sanitizer" not in server.log.read_text())
        if failures:
            print(server.log.read_text()[-4000:])
        a_fault_of_a_device_is_one_error(work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-2-Clause
"""SqueezeNet in the real Triton server: requests a second and latencies, beside `ferry time` and beside cv2.dnn
in the server's Python backend. All rows of a round follow each other on one server; medians are of the rounds."""

import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import threading
import time

import numpy
import tritonclient.grpc as grpc
import tritonclient.utils.shared_memory as shm

from serving import DATA, FERRY, NETS, Server, ask, make_model, picture

ROUNDS = int(os.environ.get("FERRY_TEST_ROUNDS", "5"))
SECONDS = float(os.environ.get("FERRY_TEST_SECONDS", "3"))
#: Instances, threads of each (0: all), max batch, us that the server waits for a full batch.
SHAPES = [(1, 0, 1, 0), (1, 0, 8, 0), (1, 0, 8, 5000), (1, 1, 1, 0), (2, 1, 1, 0), (2, 1, 4, 5000), (2, 0, 1, 0)]
CLIENTS = (1, 8)
FILE = pathlib.Path(__file__).resolve()
CV2 = """backend: "python"
max_batch_size: %d
input { name: "data" data_type: TYPE_FP32 dims: [ 3, 227, 227 ] }
output { name: "pool_final" data_type: TYPE_FP32 dims: [ 1000, 1, 1 ] }
instance_group { kind: KIND_CPU }
dynamic_batching { max_queue_delay_microseconds: %d preferred_batch_size: [ %d ] }
parameters { key: "net" value { string_value: "%s" } }
parameters { key: "weights" value { string_value: "%s" } }
"""


def make_shape(repository, shape):
    """Makes a model of that shape; the result is its name."""
    instances, threads, batch, delay = shape
    name = f"ferry-i{instances}-t{threads or 'all'}-b{batch}" + (f"-d{delay}" if delay else "")
    options = ["--instances", str(instances), "--max-batch", str(batch)]
    options += ["--threads", str(threads)] if threads else []
    waiting = "dynamic_batching { max_queue_delay_microseconds: %d preferred_batch_size: [ %d ] }"
    edits = [("dynamic_batching { }", waiting % (delay, batch))] if delay else []
    make_model(repository, name, "squeezenet", options, edits)
    return name


def make_models(repository):
    """The names of the models that were made."""
    names = [make_shape(repository, shape) for shape in SHAPES]
    if importlib.util.find_spec("cv2") is not None:
        net, weights, _ = NETS["squeezenet"]
        for batch in (1, 8):
            names.append(f"cv2-b{batch}")
            (repository / names[-1] / "1").mkdir(parents=True)
            (repository / names[-1] / "config.pbtxt").write_text(
                CV2 % (batch, 5000 if batch > 1 else 0, batch, DATA / "nets" / net, DATA / "nets" / weights))
            shutil.copy(FILE.with_name("cv2_model.py"), repository / names[-1] / "1/model.py")
    return names


def forward_ms(work, batch, processors=None):
    """What `ferry time` takes for a batch, in ms; on one processor, if that is given."""
    net, weights, _ = NETS["squeezenet"]
    file = work / f"batch-{batch}.npz"
    if not file.exists():
        numpy.savez(file, data=picture("squeezenet", batch))
    command = [FERRY, "time", DATA / "nets" / net, DATA / "nets" / weights, "--input", f"data={file}", "-n", "20"]
    if processors:
        command = ["taskset", "-c", processors] + command
    text = subprocess.run(command + ["--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["ms"]


class Load:
    """Clients, threads of this program, that send one picture after the other in system shared memory."""

    def __init__(self, server):
        self.server = server
        pixels = picture("squeezenet")
        self.key, self.size = f"/ferry_times_{os.getpid()}", pixels.nbytes
        self.region = shm.create_shared_memory_region("times", self.key, self.size)
        shm.set_shared_memory_region(self.region, [pixels])
        client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
        client.register_system_shared_memory("times", self.key, self.size)
        client.close()

    def close(self):
        shm.destroy_shared_memory_region(self.region)

    def run(self, model, clients):
        """Requests a second, and the latencies in ms."""
        end, spent = time.monotonic() + SECONDS, [[] for _ in range(clients)]

        def client_loop(mine):
            client = grpc.InferenceServerClient(f"127.0.0.1:{self.server.grpc}")
            entry = grpc.InferInput("data", [1, 3, 227, 227], "FP32")
            entry.set_shared_memory("times", self.size)
            while time.monotonic() < end:
                begin = time.monotonic()
                client.infer(model, [entry])
                mine.append((time.monotonic() - begin) * 1e3)
            client.close()

        threads = [threading.Thread(target=client_loop, args=(mine,)) for mine in spent]
        begin = time.monotonic()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        all_spent = numpy.concatenate([numpy.array(mine) for mine in spent])
        return len(all_spent) / (time.monotonic() - begin), all_spent


def totals(server, model):
    """Passes, and for each part of a request its count and nanoseconds."""
    stats = server.client.get_inference_statistics(model)["model_stats"][0]
    parts = ("queue", "compute_input", "compute_infer", "compute_output")
    return stats["execution_count"], {
        k: (stats["inference_stats"][k]["count"], stats["inference_stats"][k]["ns"]) for k in parts}


def measure_row(load, model, clients):
    passes, before = totals(load.server, model)
    rate, spent = load.run(model, clients)
    passes_after, after = totals(load.server, model)
    p50, p99 = numpy.percentile(spent, [50, 99])
    row = {"requests/s": rate, "p50 ms": p50, "p99 ms": p99, "p99/p50": p99 / p50,
           "a pass": len(spent) / max(1, passes_after - passes)}
    for k, (n, ns) in after.items():
        row[k.replace("compute_", "") + " us"] = (ns - before[k][1]) / 1e3 / max(1, n - before[k][0])
    return row


def measure_round(work, load, names, rows):
    for batch in (1, 4, 8):
        rows.setdefault(("ferry time", f"batch {batch}"), []).append({"ms": forward_ms(work, batch)})
    rows.setdefault(("ferry time", "one core"), []).append({"ms": forward_ms(work, 1, "0")})
    for name in names:
        for clients in CLIENTS:
            rows.setdefault((name, f"clients {clients}"), []).append(measure_row(load, name, clients))


def print_medians(rows):
    for (name, what), found in rows.items():
        values = ", ".join(f"{k} {statistics.median(r[k] for r in found):.2f} "
                           f"({min(r[k] for r in found):.2f} to {max(r[k] for r in found):.2f})" for k in found[0])
        print(f"{name}, {what}: {values}", flush=True)


def memory_of_models(work):
    """The server's resident memory with one model after the other, in KiB."""
    for k, shape in enumerate(SHAPES):
        place = work / f"memory-{k}"
        repository = place / "models"
        repository.mkdir(parents=True)
        name = make_shape(repository, shape)
        server = Server(place, repository)
        try:
            server.wait()
            load = Load(server)
            load.run(name, 8)
            load.close()
            print(f"{name}: {server.resident_kib()} KiB resident after 8 clients", flush=True)
        finally:
            server.stop()


def measure(work):
    """SqueezeNet by instances, threads, batch and clients."""
    repository = work / "models"
    repository.mkdir()
    names, rows = make_models(repository), {}
    server = Server(work, repository)
    try:
        server.wait()
        load = Load(server)
        for name in names:
            for _ in range(8):
                ask(grpc, grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}"), name, picture("squeezenet"))
            load.run(name, 8)
        for _ in range(ROUNDS):
            measure_round(work, load, names, rows)
        load.close()
    finally:
        server.stop()
    print(f"{ROUNDS} rounds of {SECONDS:g} s a row; medians, with the least and the most")
    print_medians(rows)
    memory_of_models(work)
    return 0

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nets in the real Triton server, by tritonclient.

served.py BUILD DATA SERVER: SERVER is tritonserver, DATA the folder of the reference nets. Prints
"pass NAME" or "FAIL NAME" lines as the unit tests do. FERRY_TEST_SERVED=times measures instead.
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import numpy
import tritonclient.grpc as grpc
import tritonclient.http as http

import features
import times
from features import near
from serving import (NETS, Server, answer_of, ask, by_command, by_shared_memory, failures, make_model,
                     picture, report, same)

LONG = bool(os.environ.get("FERRY_TEST_LONG"))
RELOADS = 200 if LONG else 20
HOSTILE = 10000 if LONG else 500
GARBAGE = {"an empty folder": "", "garbage": "layer {", "a foreign file": "\x7fELF"}


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
    """Name, inputs and outputs of a request that every net rejects."""
    name = draw.choice(["lenet", "det1", "det2", "squeezenet", "lenet_sim"])
    rank = draw.randrange(0, 6)
    shape = [draw.choice([0, 1, 2, 3, 7, 24, 28, 48]) for _ in range(rank)]
    kind = draw.choice([("FP32", "f4"), ("FP64", "f8"), ("UINT8", "u1"), ("INT64", "i8")])
    entry = http.InferInput(draw.choice(["data"] * 4 + ["", "nonesuch"]), shape, kind[0])
    entry.set_data_from_numpy(numpy.ones(shape, kind[1]))
    entries = [entry] * draw.choice([1, 1, 1, 2])
    if draw.random() < 0.2:  # another number of bytes than the shape requires
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
        server.client.load_model("lenet")  # loaded again while the other one answers
        if k == RELOADS // 4:
            before = server.resident_kib()
    grown = server.resident_kib() - before
    stop.set()
    thread.join()
    detail = f"{RELOADS} reloads, {asked[0]} requests, {len(bad)} bad {bad[:1]}"
    report("reloads_keep_answers", not bad, detail)
    report("reloads_keep_the_memory_level", grown < 16384, f"{grown:+} KiB after the first quarter")


def a_device_that_fails_and_is_lost_is_one_models_error(work):
    """One operation of the simulated device fails, later the device is lost; the CPU's models are not affected."""
    place = work / "faults"
    repository = place / "models"
    repository.mkdir(parents=True)
    for name in ("lenet", "lenet_sim"):
        make_model(repository, name)
    options = ("sim.fail_run=30", "sim.lose_run=120")
    server = Server(place, repository, *(f"--backend-config=ferry,{fault}" for fault in options))
    try:
        server.wait()
        pixels = picture("lenet")
        wanted = by_command(work, "lenet", pixels)
        errors, good, right = [], 0, 0
        for _ in range(40):
            try:
                right += near(ask(http, server.client, "lenet_sim", pixels), wanted)
                errors.append("")
            except Exception as e:
                errors.append(str(e))
            good += same(answer_of(ask(http, server.client, "lenet", pixels), wanted), wanted)
        lost = [k for k, e in enumerate(errors) if "lost" in e]
        faults = [e for e in errors if e and "lost" not in e]
        detail = f"of 40: {right} right, {len(faults)} refused {faults[:1]}, {len(lost)} lost {errors[-1:]}"
        report("other_models_answer_beside_a_lost_device", server.alive() and good == 40)
        report("a_fault_of_a_device_is_one_error", len(faults) == 1, detail)
        report("a_lost_device_is_an_error_for_each_request",
               lost == list(range(40 - len(lost), 40)) and right + 1 + len(lost) == 40 and lost, detail)
    finally:
        server.stop()


def metrics_have_times(server):
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.metrics}/metrics").read().decode()
    wanted = ["queue", "compute_input", "compute_infer", "compute_output"]
    found = [k for k in wanted if f'nv_inference_{k}_duration_us{{model="lenet"' in text]
    stats = server.client.get_inference_statistics("lenet")["model_stats"][0]["inference_stats"]
    good = found == wanted and stats["compute_infer"]["ns"] > 0
    report("metrics_and_statistics_have_times", good)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if os.environ.get("FERRY_TEST_SERVED") == "times":
            return times.measure(work)
        repository = work / "models"
        repository.mkdir()
        for name in NETS:
            make_model(repository, name)
        features.make_models(work, repository)
        server = Server(work, repository, "--model-control-mode=explicit", "--load-model=*", *features.OPTIONS)
        try:
            server.wait()
            answers_are_those_of_ferry_run(server, work)
            metrics_have_times(server)
            features.check(server, work, repository)
            garbage_is_refused_in_words(server, repository)
            a_killed_client_does_no_harm(server, work)
            hostile_requests_do_no_harm(server, work)
            reloads_keep_answers_and_memory(server, work, repository)
        finally:
            status = server.stop()
            if failures or sys.exc_info()[0]:
                print(server.log.read_text()[-4000:])
        report("the_server_ends_in_order", status == 0, f"exit status {status}")
        report("no_sanitizer_reports", "Sanitizer" not in server.log.read_text())
        a_device_that_fails_and_is_lost_is_one_models_error(work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

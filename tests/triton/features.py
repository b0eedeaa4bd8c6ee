# SPDX-License-Identifier: BSD-2-Clause
"""Features of the real Triton server with ferry's nets, each tested by its effect on clients."""

import importlib.util
import os
import subprocess
import threading
import urllib.request

import numpy
import tritonclient.grpc as grpc
import tritonclient.http as http

from serving import (FERRY, NETS, SOURCE, DATA, answer_of, ask, by_command, make_model, picture, report,
                     same, skip)

WARMUP = """model_warmup {
  name: "one" batch_size: 2
  inputs { key: "data" value { data_type: TYPE_FP32 dims: [ 1, 28, 28 ] random_data: true } }
}
"""
PRIORITIES = """dynamic_batching {
  priority_levels: 2 default_priority_level: 2
  default_queue_policy {
    timeout_action: REJECT default_timeout_microseconds: 60000000 allow_timeout_override: true
  }
}
"""
GROUP = "instance_group [ { kind: KIND_CPU count: 2 "
TURNS = GROUP + 'rate_limiter { resources [ { name: "turn" count: 1 } ] } } ]'
BATCHES = "dynamic_batching { max_queue_delay_microseconds: 400000 }\n"
#: Model: the net, options of `ferry triton-model`, texts of config.pbtxt and what replaces them ("": appended).
MODELS = {
    "lenet_cached": ("lenet", [], [("", "response_cache { enable: true }\n")]),
    "lenet_turns": ("lenet", ["--instances", "2"], [(GROUP + "} ]", TURNS)]),
    "lenet_batches": ("lenet", [], [("dynamic_batching { }\n", BATCHES)]),
    "det1_ragged": ("det1", ["--variable"], [("dynamic_batching { }\n", BATCHES), (
        "dims: [ 3, -1, -1 ]", "dims: [ 3, -1, -1 ]\n  allow_ragged_batch: true")]),
    "squeezenet_queue": ("squeezenet", [], [("dynamic_batching { }\n", PRIORITIES)]),
}
REFUSED = {
    "sequence": ([("dynamic_batching { }\n", "sequence_batching { }\n")], ["sequence_batching", "no state"]),
    "decoupled": ([("", "model_transaction_policy { decoupled: true }\n")], ["decoupled", "once"]),
    "other_dims": ([("[ 1, 28, 28 ]", "[ 1, 28, 27 ]")], ["[1,28,27]", "[1,28,28]", "net.prototxt"]),
    "other_type": ([("TYPE_FP32", "TYPE_UINT8")], ["TYPE_UINT8", "TYPE_FP32", "net.prototxt"]),
}
OPTIONS = ["--rate-limit=execution_count", "--rate-limit-resource=turn:1"]
PHOTO = ["decode", "best", "photo", "photo_bls"]


def has_photo():
    """Whether the example with Python models can run: it needs the server's Python backend and OpenCV, and no
    preloaded sanitizer, with which that backend's processes crash."""
    return importlib.util.find_spec("cv2") is not None and "TRITON_PRELOAD" not in os.environ


def make_models(work, repository):
    for name, (net, options, edits) in MODELS.items():
        make_model(repository, name, net, options, edits)
    if not has_photo():
        return
    net, weights, _ = NETS["squeezenet"]
    subprocess.run([SOURCE / "examples/triton/make-repository.sh", DATA / "nets" / net, DATA / "nets" / weights,
                    work / "photo"], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, FERRY=str(FERRY)))
    for name in PHOTO:
        (work / "photo" / name).rename(repository / name)


def statistics(server, model):
    return server.client.get_inference_statistics(model)["model_stats"][0]


class Crowd:
    """Requests over gRPC that are pending at the same time."""

    def __init__(self, server):
        self.client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
        self.results, self.order, self.count = {}, [], 0
        self.changed = threading.Condition()

    def send(self, model, label, pixels, **options):
        entry = grpc.InferInput("data", list(pixels.shape), "FP32")
        entry.set_data_from_numpy(pixels)

        def done(result, error):
            with self.changed:
                self.results[label] = error or result
                self.order.append(label)
                self.changed.notify()

        self.count += 1
        self.client.async_infer(model, [entry], done, **options)

    def wait(self, count=None):
        """Waits for a number of answers, or for all."""
        with self.changed:
            finished = self.changed.wait_for(lambda: len(self.order) >= (count or self.count), 60)
        if count is None:
            self.client.close()
        return finished


def the_cache_answers_the_second_request(server, work):
    pixels = picture("lenet", seed=4)
    wanted = by_command(work, "lenet", pixels)
    good = all(same(answer_of(ask(http, server.client, "lenet_cached", pixels), wanted), wanted) for _ in range(3))
    counts = statistics(server, "lenet_cached")
    hits = counts["inference_stats"]["cache_hit"]["count"]
    report("the_cache_answers_the_second_request", good and hits == 2 and counts["execution_count"] == 1,
           f"{hits} hits, {counts['execution_count']} passes")


def a_model_is_warm_before_its_first_request(server, repository):
    """The server runs the sample while it loads the model, and prints this in its verbose log."""
    make_model(repository, "lenet_warm", "lenet", [], [("", WARMUP)])
    server.client.update_log_settings({"log_verbose_level": 1})
    server.client.load_model("lenet_warm")
    server.client.update_log_settings({"log_verbose_level": 0})
    lines = [line for line in server.log.read_text().splitlines() if "warmup sample" in line]
    report("a_model_is_warm_before_its_first_request",
           any("running warmup sample 'one'" in line for line in lines)
           and not any("fail" in line for line in lines), str(lines))


def rate_limits_are_kept(server, work):
    """Two instances need one resource: both answer."""
    crowd, pixels = Crowd(server), picture("lenet", 8)
    for k in range(8):
        crowd.send("lenet_turns", k, pixels)
    wanted = by_command(work, "lenet", pixels)
    good = crowd.wait() and all(same(answer_of(r, wanted), wanted) for r in crowd.results.values())
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.metrics}/metrics").read().decode()
    report("rate_limits_are_kept", good and 'nv_inference_request_success{model="lenet_turns"' in text)


def near(result, wanted):
    return all(numpy.allclose(result.as_numpy(n), wanted[n], rtol=1e-5, atol=1e-6) for n in wanted)


def requests_are_joined_to_one_batch(server, work):
    crowd = Crowd(server)
    for k in range(3):
        crowd.send("lenet_batches", k, picture("lenet", seed=k))
    good = crowd.wait() and all(
        near(crowd.results[k], by_command(work, "lenet", picture("lenet", seed=k))) for k in range(3))
    counts = statistics(server, "lenet_batches")
    detail = f"{counts['execution_count']} passes for {counts['inference_count']} requests"
    report("requests_are_joined_to_one_batch", good and counts["execution_count"] < counts["inference_count"], detail)


def ragged_requests_have_their_own_answers(server, work):
    """Pictures of two sizes reach the backend in one call."""
    crowd = Crowd(server)
    pictures = [numpy.random.RandomState(k).uniform(-1, 1, (1, 3, 20 + 12 * (k % 2), 33)).astype("f4")
                for k in range(4)]
    for k, pixels in enumerate(pictures):
        crowd.send("det1_ragged", k, pixels)
    good = crowd.wait() and all(near(crowd.results[k], by_command(work, "det1", p))
                                for k, p in enumerate(pictures))
    counts = statistics(server, "det1_ragged")
    detail = f"{counts['execution_count']} passes for {counts['inference_count']} requests"
    report("ragged_requests_have_their_own_answers", good and 2 <= counts["execution_count"] < 4, detail)


def busy(server):
    """Large requests wait for each other: one is answered, the others are in the server's queue."""
    crowd = Crowd(server)
    for k in range(6):
        crowd.send("squeezenet_queue", k, picture("squeezenet", 8))
    crowd.wait(1)
    return crowd


def priorities_are_honoured(server):
    """An urgent request is answered before the last of the earlier requests."""
    crowd = busy(server)
    crowd.send("squeezenet_queue", "urgent", picture("squeezenet"), priority=1)
    good = crowd.wait() and not any(isinstance(r, Exception) for r in crowd.results.values())
    report("priorities_are_honoured", good and crowd.order.index("urgent") < 6, str(crowd.order))


def a_request_that_waits_too_long_is_refused_alone(server):
    crowd = busy(server)
    crowd.send("squeezenet_queue", "late", picture("squeezenet"), timeout=1000)
    good = crowd.wait() and not any(isinstance(crowd.results[k], Exception) for k in range(6))
    error = str(crowd.results.get("late"))
    report("a_request_that_waits_too_long_is_refused_alone", good and "timeout" in error.lower(), error)


def memory_is_reported(server):
    """LeNet's parameters: 20 x 25 + 20, 50 x 500 + 50, 500 x 800 + 500, 10 x 500 + 10 floats."""
    usage = statistics(server, "lenet").get("memory_usage", [])
    sizes = [int(entry["byte_size"]) for entry in usage]
    report("memory_is_reported", sizes == [431080 * 4], str(usage))


def what_nets_cannot_do_is_refused_in_words(server, repository):
    for name, (edits, words) in REFUSED.items():
        make_model(repository, name, "lenet", [], edits)
        try:
            server.client.load_model(name)
            error = "it was loaded"
        except Exception as failure:
            error = str(failure)
        report(f"{name}_is_refused_in_words", all(word in error for word in words), error.replace("\n", " "))


def a_configuration_is_completed(server, work, repository, name, config):
    """config.pbtxt contains only the backend's name; a folder NAME.ferry needs no config.pbtxt."""
    make_model(repository, name, "lenet", [], [])
    (repository / name / "config.pbtxt").unlink()
    if config:
        (repository / name / "config.pbtxt").write_text(config)
    server.client.load_model(name)
    config = server.client.get_model_config(name)
    pixels = picture("lenet")
    wanted = by_command(work, "lenet", pixels)
    found = [(e["name"], e["data_type"], [int(d) for d in e["dims"]]) for e in config["input"] + config["output"]]
    report(f"the_configuration_of_{name}_is_completed",
           found == [("data", "TYPE_FP32", [1, 28, 28]), ("prob", "TYPE_FP32", [10])]
           and same(answer_of(ask(http, server.client, name, pixels), wanted), wanted), str(found))


# ---- a photo's classes: examples/triton -----------------------------------------------------------


def photo():
    """A JPEG of circles, and its pixels in the form of SqueezeNet's input."""
    import cv2
    picture_ = numpy.zeros((300, 400, 3), numpy.uint8)
    for k in range(40):
        cv2.circle(picture_, (37 * k % 400, 53 * k % 300), 9 + k, (5 * k, 255 - 6 * k, 90 + 4 * k), -1)
    file = cv2.imencode(".jpg", picture_)[1].ravel()
    pixels = cv2.resize(cv2.imdecode(file, 1), (256, 256))[14:241, 14:241].astype("f4")
    pixels -= numpy.array([104, 117, 123], "f4")
    return file, numpy.ascontiguousarray(pixels.transpose(2, 0, 1))[None]


def send_file(server, model, file):
    entry = http.InferInput("file", [len(file)], "UINT8")
    entry.set_data_from_numpy(file)
    return server.client.infer(model, [entry])


def a_photo_becomes_classes(server, work):
    if not has_photo():
        skip("a_photo_becomes_classes", "the Python backend has no OpenCV, or a sanitizer")
        return
    file, pixels = photo()
    scores = by_command(work, "squeezenet", pixels)["pool_final"].ravel()
    order = numpy.argsort(-scores, kind="stable")[:5]
    for model in ("photo", "photo_bls"):
        result = send_file(server, model, file)
        report(f"{model}_has_the_classes_of_ferry_run",
               (result.as_numpy("classes") == order).all()
               and result.as_numpy("best").tobytes() == scores[order].tobytes(), str(order))
        try:
            send_file(server, model, numpy.frombuffer(b"not a picture", numpy.uint8))
            error = "it was answered"
        except Exception as failure:
            error = str(failure)
        report(f"{model}_refuses_other_files_in_words", "13 bytes that are not a picture" in error, error)


def check(server, work, repository):
    """Runs all features on a server with the models."""
    a_model_is_warm_before_its_first_request(server, repository)
    the_cache_answers_the_second_request(server, work)
    rate_limits_are_kept(server, work)
    requests_are_joined_to_one_batch(server, work)
    ragged_requests_have_their_own_answers(server, work)
    priorities_are_honoured(server)
    a_request_that_waits_too_long_is_refused_alone(server)
    memory_is_reported(server)
    what_nets_cannot_do_is_refused_in_words(server, repository)
    a_configuration_is_completed(server, work, repository, "lenet_bare", 'backend: "ferry"\n')
    a_configuration_is_completed(server, work, repository, "lenet.ferry", None)
    a_photo_becomes_classes(server, work)

# SPDX-License-Identifier: BSD-2-Clause
"""Compares the reader of prototxt with protobuf's own: the tables of caffe.proto become a descriptor, with which
protobuf reads every text that ferry reads. Run by check-proto.sh."""

import glob
import os
import random
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

TOOL = os.path.join(os.environ["FERRY_TEST_BUILDDIR"], "tests/unit/proto-tool")
DATA = os.environ.get("FERRY_TEST_DATA", "")
SEED = int(os.environ.get("FERRY_TEST_SEED", "20140901"))
MUTANTS = 400 if os.environ.get("FERRY_TEST_QUICK") else 4000

# Texts that ferry and protobuf's C++ reader refuse but Python's reader accepts; and texts that only
# ferry refuses: misspellings, and strings that contain a NUL.
STRICTER = re.compile(
    r"did you mean|NUL byte|control character|not ASCII|is octal|decimal number was expected|"
    r"a space is required|cannot continue in the next|half of a surrogate|no such escape|lacks the required|has no |"
    r"was expected, not [-+]|a field's name was expected|second decimal point|hexadecimal|an exponent|extensions and Any")

# Texts that Python's reader refuses but protobuf's C++ reader accepts: a space after a minus, and
# strings that are not UTF-8.
LAXER = re.compile(r"-\s|\\[0-7x]")

TEXTS = [
    "", "name: 'n'", "name: \"a\" 'b'", "input_dim: [1, 2] input_dim: 3", "layer <name: 'a'>",
    "layer: {name: 'a', phase: TEST; top: ['x', 'y']}", "layers { type: CONVOLUTION blobs_lr: 1.5f }",
    "input_dim: 0x1f input_dim: 017 input_dim: -5", "layer { loss_weight: -.5e-3 loss_weight: inf }",
    "name: '\\101\\x42\\n\\\\' # comment", "state { level: 1 stage: 's' } debug_info: t",
    "layer { blobs { shape { dim: 1 dim: -2 } data: [1, 2.5] double_data: 1e300 } }",
    "layer { clip_param { min: 0 max: 6 } include { phase: TRAIN not_stage: 'a' } }",
    "layer { convolution_param { weight_filler: { type: 'xavier' variance_norm: AVERAGE } } }",
    "layer { pooling_param { pool: AVE kernel_size: 3 global_pooling: false round_mode: FLOOR } }",
    "layer { permute_param { order: [0, 2, 3, 1] } prior_box_param { min_size: 1 clip: true } }",
]

results = {"passed": 0, "failed": 0, "skipped": 0}


def report(name, failures):
    results["failed" if failures else "passed"] += 1
    print(("FAIL " if failures else "pass ") + name)
    for failure in failures[:10]:
        print("     " + failure)


def message_classes():
    """A descriptor of each type, made from ferry's tables."""
    schema = subprocess.run([TOOL, "schema"], check=True, capture_output=True, text=True).stdout
    file = text_format.Parse(schema, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    name = "ferry.%s"
    find = pool.FindMessageTypeByName
    make = getattr(message_factory, "GetMessageClass", None)
    make = make or message_factory.MessageFactory(pool).GetPrototype
    return {m.name: make(find(name % m.name)) for m in file.message_type}


def python_reads(cls, text):
    try:
        return text_format.Parse(text, cls(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, ValueError):
        return None


def has_made_up_number(message):
    """Whether a field has a number that the descriptor invented, so that bytes cannot be compared."""
    for field, value in message.ListFields():
        if field.number >= 900000:
            return True
        if field.message_type:
            for inner in value if field.label == field.LABEL_REPEATED else [value]:
                if has_made_up_number(inner):
                    return True
    return False


def compare(cls, path, text):
    """The difference in ferry's reading of a text, or None."""
    theirs = python_reads(cls, text)
    if os.path.exists(path + ".err"):
        error = open(path + ".err", errors="replace").read()
        if theirs is None or STRICTER.search(error):
            return None
        return "refused: %s\n     %r" % (error, text[:300])
    if theirs is None and LAXER.search(text):
        return None
    if theirs is None:
        return "taken, though protobuf refuses it: %r" % text[:300]
    ours = python_reads(cls, open(path + ".out", encoding="utf-8").read())
    if ours is None or text_format.MessageToString(ours) != text_format.MessageToString(theirs):
        return "another message: %r" % text[:300]
    if not has_made_up_number(theirs) and not theirs.UnknownFields() and \
            open(path + ".bin", "rb").read() != theirs.SerializeToString(deterministic=True):
        return "other bytes: %r" % text[:300]
    return None


def compare_all(cls, type_name, texts):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(texts):
            paths.append(os.path.join(folder, "%d" % i))
            with open(paths[-1], "w", encoding="utf-8", newline="") as file:
                file.write(text)
        for start in range(0, len(paths), 500):
            subprocess.run([TOOL, "read", type_name] + paths[start:start + 500], check=True)
        for path, text in zip(paths, texts):
            failure = compare(cls, path, text)
            if failure:
                failures.append(failure)
    return failures


def mutants(texts, count):
    """Texts with a piece removed, doubled, or replaced by another."""
    chance = random.Random(SEED)
    pieces = [re.findall(r"\w+|\s+|.", text, re.S) for text in texts if text]
    for _ in range(count):
        text = list(chance.choice(pieces))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text)) if text else 0
            kind = chance.randrange(3)
            if kind == 0 and text:
                del text[at]
            elif kind == 1 and text:
                text.insert(at, text[at])
            else:
                text.insert(at, chance.choice(chance.choice(pieces)))
        yield "".join(text)


def main():
    classes = message_classes()
    net, solver = classes["NetParameter"], classes["SolverParameter"]
    report("small_texts_are_read_as_protobuf_reads_them", compare_all(net, "NetParameter", TEXTS))
    report("mutants_are_refused_where_protobuf_refuses_them",
           compare_all(net, "NetParameter", list(mutants(TEXTS, MUTANTS))))
    files = sorted(glob.glob(os.path.join(DATA, "nets", "*", "**", "*.prototxt"), recursive=True))
    if DATA and files:
        texts = {True: [], False: []}
        for path in files:
            texts["solver" in path].append(open(path, encoding="utf-8", newline="").read())
        report("real_nets_are_read_as_protobuf_reads_them",
               compare_all(net, "NetParameter", texts[False]))
        report("real_solvers_are_read_as_protobuf_reads_them",
               compare_all(solver, "SolverParameter", texts[True]))
    else:
        results["skipped"] += 1
        print("SKIP real_texts: FERRY_TEST_DATA names no folder with nets")
    print("ferry-test: proto: %(passed)d passed, %(failed)d failed, %(skipped)d skipped" % results)
    return 1 if results["failed"] else 0


sys.exit(main())

# SPDX-License-Identifier: BSD-2-Clause
"""Checks the lanes of a trace of FERRY_TRACE: usage trace_lanes.py FILE DEVICE COPIES.

The slices of a lane do not overlap, each layer on the host has its slice on the device, which does not begin
before it, and each copy has an arrow to a slice that begins no earlier. There must be at least COPIES copies.
The last word is the result of Perfetto's trace processor, or the reason why it was not run."""
import json
import shutil
import sys

SLACK = 1000  # the error in microseconds of a device's clock relative to the host's


def fail(text):
    sys.exit(f"{sys.argv[1]}: {text}")


def check_lanes(slices):
    lanes = {}
    for e in slices:
        lanes.setdefault((e["pid"], e["tid"]), []).append(e)
    for (pid, tid), lane in lanes.items():
        lane.sort(key=lambda e: e["ts"])
        for a, b in zip(lane, lane[1:]):
            if tid >= 1000 and a["ts"] + a["dur"] > b["ts"] + 0.002:
                fail(f"lane {pid}, {tid}: {a['name']} ends after {b['name']} begins")


def check_layers(slices, device):
    host = [e for e in slices if e["pid"] == 100 and e["cat"] == "layer"]
    there = [e for e in slices if e["pid"] == device and e["cat"] == "layer"]
    if not host or [e["name"] for e in host] != [e["name"] for e in there]:
        fail(f"{len(host)} layers on the host, {len(there)} on the device")
    for a, b in zip(host, there):
        if b["ts"] < a["ts"] - SLACK:
            fail(f"{a['name']} begins on the device before it is submitted")


def check_arrows(events, slices, copies):
    ends = {"s": {}, "f": {}}
    for e in events:
        if e["ph"] in ends:
            if e["id"] in ends[e["ph"]]:
                fail(f"two ends {e['ph']} of arrow {e['id']}")
            ends[e["ph"]][e["id"]] = e
    whole = [(ends["s"][i], f) for i, f in ends["f"].items() if i in ends["s"]]
    if len(whole) != len(ends["f"]) or len(whole) < copies:
        fail(f"{len(whole)} complete arrows of {len(ends['f'])}, expected at least {copies}")
    for s, f in whole:
        if f["ts"] < s["ts"]:
            fail(f"arrow {s['id']} ends before it begins")
        for e in slices:
            if e["tid"] == s["tid"] >= 1000 and e["ts"] <= s["ts"] < e["ts"] + e["dur"] - 0.002 \
                    and f["ts"] < e["ts"] + e["dur"] - 0.002:
                fail(f"arrow {s['id']} ends before its copy has ended")
        for e, cat in ((s, ("copy", "transfer")), (f, ("layer",))):
            if not any(x["cat"] in cat and x["pid"] == e["pid"] and x["tid"] == e["tid"]
                       and x["ts"] - 0.002 <= e["ts"] <= x["ts"] + x["dur"] + 0.002 for x in slices):
                fail(f"end {e['ph']} of arrow {e['id']} is in no {cat[-1]} of its lane")


def ask_perfetto(path, slices, arrows):
    shell = shutil.which("trace_processor_shell")
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    except ImportError:
        return "perfetto: not asked, since Python has no package perfetto"
    if not shell:
        return "perfetto: not asked, since there is no trace_processor_shell on PATH"
    with TraceProcessor(trace=path, config=TraceProcessorConfig(bin_path=shell)) as tp:
        found = next(tp.query("select count(*) as n from slice")).n
        flows = next(tp.query("select count(*) as n from flow")).n
        errors = next(tp.query(
            "select coalesce(sum(value), 0) as n from stats where severity = 'error'")).n
    if (found, flows, errors) != (slices, arrows, 0):
        fail(f"perfetto has {found} slices of {slices}, {flows} arrows of {arrows}, {errors} errors")
    return f"perfetto: {found} slices, {flows} arrows, no error"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    devices = [e["pid"] for e in events
               if e["name"] == "process_name" and e["args"]["name"] == sys.argv[2]]
    if not devices:
        fail(f"no process is called {sys.argv[2]}")
    check_lanes(slices)
    check_layers(slices, devices[0])
    check_arrows(events, slices, int(sys.argv[3]))
    print(ask_perfetto(sys.argv[1], len(slices), len([e for e in events if e["ph"] == "f"])))


main()

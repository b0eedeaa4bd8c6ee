# SPDX-License-Identifier: BSD-2-Clause
"""The declarations of the three libraries that the package calls: structures, constants and functions.

python/tests/test_abi.py compares every line of this file with tests/abi and the headers."""

import ctypes
from collections import namedtuple

CODE = ctypes.c_int
INT = ctypes.c_int
UINT = ctypes.c_uint
INT64 = ctypes.c_int64
UINT64 = ctypes.c_uint64
SIZE = ctypes.c_size_t
BOOL = ctypes.c_bool
DOUBLE = ctypes.c_double
TEXT = ctypes.c_char_p
POINTER = ctypes.c_void_p

READ = 1
WRITE = 2
COPY_DIFF = 1
COPY_RESHAPE = 2
UNSHAPED = -1
STRICT_ON = 1
STRICT_OFF = -1
DLPACK_READ_ONLY = 4
DLPACK_COPY = 8
SOLVER_STOP = 2
LAYER_RESHAPES = 4
LOG_INFO = 2
ADOPT_READONLY = 1
LOAD_NONE = 1

# Constants whose name in the headers is FERRY_ followed by the name here.
CONSTANTS = ("READ", "WRITE", "COPY_DIFF", "COPY_RESHAPE", "UNSHAPED", "STRICT_ON", "STRICT_OFF",
             "DLPACK_READ_ONLY", "DLPACK_COPY", "SOLVER_STOP", "LAYER_RESHAPES", "LOG_INFO", "ADOPT_READONLY")

PRECISIONS = {None: 0, "f32": 1, "bf16": 2}
PHASES = {"default": 0, "train": 1, "test": 2}
HEADS = ("uninitialized", "at_host", "at_device", "synced")


class Ref(ctypes.Structure):
    c_name = "ferry_ref"
    _fields_ = [("handle", POINTER), ("offset", UINT64)]


class RuntimeOptions(ctypes.Structure):
    c_name = "ferry_runtime_options"
    _fields_ = [("struct_size", SIZE), ("conf", TEXT), ("backend", TEXT), ("strict", INT),
                ("plugin_path_last", TEXT)]


class Candidate(ctypes.Structure):
    c_name = "ferry_runtime_candidate_info"
    _fields_ = [("struct_size", SIZE), ("name", TEXT), ("path", TEXT), ("origin", TEXT), ("stage", TEXT),
                ("reason", TEXT), ("hint", TEXT), ("ok", BOOL)]


class DeviceProperties(ctypes.Structure):
    c_name = "ferry_device_properties"
    _fields_ = [("struct_size", SIZE), ("name", TEXT), ("plugin", TEXT), ("description", TEXT),
                ("uuid", TEXT), ("pci", TEXT), ("memory_total", UINT64), ("max_alloc", UINT64), ("host_memory", ctypes.c_uint32),
                ("unified", ctypes.c_uint32), ("discrete", ctypes.c_uint32),
                ("host_processors", ctypes.c_uint32), ("offset_alignment", UINT64),
                ("max_binding", UINT64)]


class Stats(ctypes.Structure):
    c_name = "ferry_device_stats"
    _fields_ = [("struct_size", SIZE)] + [(name, UINT64) for name in (
        "copies_h2d", "copies_d2h", "copies_d2d", "bytes_h2d", "bytes_d2h", "bytes_d2d", "maps",
        "allocs", "frees", "live_bytes", "peak_bytes", "pool_hits", "fallbacks", "evictions")]


class IoEntry(ctypes.Structure):
    c_name = "ferry_io_entry"
    _fields_ = [("struct_size", SIZE), ("index", INT64), ("name", TEXT), ("dtype", INT),
                ("rank", INT), ("shape", ctypes.POINTER(INT64)), ("count", INT64),
                ("layer_name", TEXT), ("layer_type", TEXT), ("has_diff", BOOL), ("diff_dtype", INT),
                ("offset", UINT64), ("stored_bytes", UINT64), ("storage", TEXT),
                ("unreadable", TEXT)]


class OnnxProperty(ctypes.Structure):
    c_name = "ferry_onnx_property"
    _fields_ = [("key", TEXT), ("value", TEXT)]


class OnnxOptions(ctypes.Structure):
    c_name = "ferry_onnx_options"
    _fields_ = [("struct_size", SIZE), ("opset", INT), ("no_fold", BOOL), ("half", BOOL), ("external", BOOL),
                ("dynamic_batch", BOOL), ("doc", TEXT), ("properties", ctypes.POINTER(OnnxProperty)),
                ("property_count", SIZE), ("quantized", BOOL)]


class NetOptions(ctypes.Structure):
    c_name = "ferry_net_options"
    _fields_ = [("struct_size", SIZE), ("phase", INT), ("level", INT),
                ("stages", ctypes.POINTER(TEXT)), ("stage_count", SIZE), ("place", TEXT), ("text", TEXT),
                ("text_size", SIZE), ("seed", UINT64), ("keep", ctypes.POINTER(TEXT)),
                ("keep_count", SIZE), ("no_plan", BOOL), ("no_fuse", BOOL), ("only", BOOL), ("backward", BOOL),
                ("rank", INT), ("ranks", INT), ("allow_write", TEXT), ("segments", TEXT),
                ("ignore_quantization", BOOL), ("precision", INT), ("plan_training", BOOL),
                ("reread_weights", BOOL), ("recompute", BOOL), ("fake_quantize", BOOL)]


class LoadLine(ctypes.Structure):
    c_name = "ferry_net_load_line"
    _fields_ = [("layer", TEXT), ("state", INT), ("blobs", INT)]


class LoadReport(ctypes.Structure):
    c_name = "ferry_net_load_report"
    _fields_ = [("struct_size", SIZE), ("line_count", SIZE), ("lines", ctypes.POINTER(LoadLine))]


class LayerInfo(ctypes.Structure):
    c_name = "ferry_net_layer_info"
    _fields_ = [("struct_size", SIZE), ("name", TEXT), ("type", TEXT), ("device", TEXT), ("tier", INT),
                ("operations", INT), ("ms", DOUBLE), ("flops", DOUBLE), ("bytes_moved", UINT64),
                ("needs_backward", BOOL), ("backward_tier", INT), ("backward_operations", INT),
                ("backward_ms", DOUBLE), ("backward_flops", DOUBLE), ("backward_bytes_moved", UINT64), ("segment", INT),
                ("device_ms", DOUBLE), ("backward_device_ms", DOUBLE), ("precision", TEXT),
                ("weights", TEXT), ("backward_precision", TEXT), ("bytes_accessed", DOUBLE),
                ("backward_bytes_accessed", DOUBLE), ("sub_batch", INT64)]


class SolverOptions(ctypes.Structure):
    c_name = "ferry_solver_options"
    _fields_ = [("struct_size", SIZE), ("text", TEXT), ("text_size", SIZE),
                ("weights", ctypes.POINTER(TEXT)), ("weight_count", SIZE), ("stages", ctypes.POINTER(TEXT)),
                ("stage_count", SIZE), ("level", INT), ("place", TEXT), ("keep", ctypes.POINTER(TEXT)),
                ("keep_count", SIZE), ("team", POINTER), ("allow_write", TEXT),
                ("weights_matched", BOOL), ("plan_training", BOOL), ("recompute", BOOL),
                ("fake_quantize", BOOL), ("precision", INT)]


class SolverScore(ctypes.Structure):
    c_name = "ferry_solver_score"
    _fields_ = [("net", INT), ("name", TEXT), ("value", DOUBLE), ("loss_weight", DOUBLE)]


class SolverEvent(ctypes.Structure):
    c_name = "ferry_solver_iteration"
    _fields_ = [("struct_size", SIZE), ("iter", INT), ("is_last", BOOL), ("lr", DOUBLE),
                ("loss", DOUBLE), ("smoothed_loss", DOUBLE), ("score_count", SIZE),
                ("scores", ctypes.POINTER(SolverScore))]


class LayerType(ctypes.Structure):
    c_name = "ferry_layer_type"
    _fields_ = [("struct_size", SIZE), ("name", TEXT), ("state_size", SIZE), ("min_bottoms", INT),
                ("max_bottoms", INT), ("min_tops", INT), ("max_tops", INT), ("flags", ctypes.c_uint32),
                ("messages", ctypes.POINTER(TEXT))] + [(name, POINTER) for name in (
                    "setup", "prepare", "reshape", "forward", "backward", "destroy", "position", "seek",
                    "refuses", "seed")]


class LayerParam(ctypes.Structure):
    c_name = "ferry_layer_param"
    _fields_ = [("struct_size", SIZE), ("rank", INT), ("shape", ctypes.POINTER(INT64)),
                ("filler", POINTER), ("value", DOUBLE), ("lr_mult", DOUBLE), ("decay_mult", DOUBLE)]


class ProtoField(ctypes.Structure):
    c_name = "ferry_proto_field"
    _fields_ = [("struct_size", SIZE), ("name", TEXT), ("kind", TEXT), ("repeats", BOOL),
                ("number", ctypes.c_uint32), ("number_default", DOUBLE), ("text_default", TEXT),
                ("fork", TEXT), ("required", BOOL), ("packed", BOOL), ("choice_count", INT64)]


STRUCTURES = (Ref, RuntimeOptions, Candidate, DeviceProperties, Stats, IoEntry, OnnxProperty, OnnxOptions,
              NetOptions, LoadLine, LoadReport, LayerInfo, SolverOptions, SolverScore,
              SolverEvent, LayerType, LayerParam, ProtoField)

# How a function reports failure: by a code below 0, by NULL, or not at all.
Function = namedtuple("Function", "fails result arguments")


def code(*arguments, result=CODE):
    return Function("code", result, arguments)


def pointer(*arguments):
    return Function("null", POINTER, arguments)


def plain(result, *arguments):
    return Function(None, result, arguments)


LIBRARIES = {
    "libferry.so.0": {
        "ferry_strerror": plain(TEXT, INT),
        "ferry_log_write": plain(None, INT, TEXT),
        "ferry_last_error": plain(TEXT),
        "ferry_last_error_code": plain(INT),
        "ferry_version": plain(TEXT),
        "ferry_version_number": plain(INT),
        "ferry_runtime_open": code(POINTER, POINTER),
        "ferry_runtime_close": plain(None, POINTER),
        "ferry_runtime_set_option": code(POINTER, TEXT, TEXT, TEXT),
        "ferry_runtime_get_device": code(POINTER, TEXT, POINTER),
        "ferry_runtime_enumerate": code(POINTER, POINTER),
        "ferry_runtime_device_at": code(POINTER, INT, POINTER),
        "ferry_runtime_candidate_count": plain(INT, POINTER),
        "ferry_runtime_candidate_at": code(POINTER, INT, POINTER),
        "ferry_device_name": plain(TEXT, POINTER),
        "ferry_device_get_properties": plain(ctypes.POINTER(DeviceProperties), POINTER),
        "ferry_device_memory_available": code(POINTER, POINTER),
        "ferry_device_synchronize": code(POINTER),
        "ferry_device_get_stats": code(POINTER, POINTER),
        "ferry_device_native": code(POINTER, TEXT, POINTER, SIZE),
        "ferry_blob_create": code(POINTER, INT, POINTER, INT, POINTER),
        "ferry_blob_destroy": plain(None, POINTER),
        "ferry_blob_reshape": code(POINTER, POINTER, INT, POINTER),
        "ferry_blob_rank": plain(INT, POINTER),
        "ferry_blob_shape": plain(ctypes.POINTER(INT64), POINTER),
        "ferry_blob_element_count": plain(INT64, POINTER),
        "ferry_blob_dtype": plain(INT, POINTER),
        "ferry_blob_home": pointer(POINTER),
        "ferry_blob_name": plain(TEXT, POINTER),
        "ferry_blob_set_name": code(POINTER, TEXT),
        "ferry_blob_access": code(POINTER, UINT, POINTER, UINT, POINTER, POINTER),
        "ferry_blob_data_memory": pointer(POINTER),
        "ferry_blob_diff_memory": pointer(POINTER),
        "ferry_blob_fill_data": code(POINTER, DOUBLE),
        "ferry_blob_fill_diff": code(POINTER, DOUBLE),
        "ferry_blob_update": code(POINTER),
        "ferry_blob_asum_data": code(POINTER, POINTER),
        "ferry_blob_asum_diff": code(POINTER, POINTER),
        "ferry_blob_sumsq_data": code(POINTER, POINTER),
        "ferry_blob_sumsq_diff": code(POINTER, POINTER),
        "ferry_blob_scale_data": code(POINTER, DOUBLE),
        "ferry_blob_scale_diff": code(POINTER, DOUBLE),
        "ferry_blob_copy_from": code(POINTER, POINTER, UINT),
        "ferry_blob_move_to": code(POINTER, POINTER),
        "ferry_blob_share_data": code(POINTER, POINTER),
        "ferry_blob_slice": code(POINTER, INT64, INT64, POINTER),
        "ferry_memory_retain": pointer(POINTER),
        "ferry_memory_release": plain(None, POINTER),
        "ferry_memory_mark_lost": plain(None, POINTER),
        "ferry_memory_head": plain(INT, POINTER),
        "ferry_memory_adopt": code(POINTER, POINTER, Ref, SIZE, UINT, POINTER, POINTER),
    },
    "libferryio.so.1": {
        "ferry_io_open": code(TEXT, POINTER),
        "ferry_io_close": plain(None, POINTER),
        "ferry_io_get_format": plain(INT, POINTER),
        "ferry_io_format_name": plain(TEXT, INT),
        "ferry_io_entry_count": plain(INT64, POINTER),
        "ferry_io_entry_at": code(POINTER, INT64, POINTER),
        "ferry_io_metadata_count": plain(INT64, POINTER),
        "ferry_io_metadata_at": code(POINTER, INT64, POINTER, POINTER),
        "ferry_io_read": code(POINTER, POINTER, POINTER),
        "ferry_io_read_values": code(POINTER, POINTER, INT64, INT64, POINTER),
        "ferry_io_read_diff_values": code(POINTER, POINTER, INT64, INT64, POINTER),
        "ferry_blob_to_dlpack": code(POINTER, POINTER, UINT, POINTER),
        "ferry_blob_from_dlpack": code(POINTER, POINTER, POINTER),
        "ferry_blob_to_dlpack_versioned": code(POINTER, POINTER, UINT, POINTER),
        "ferry_blob_from_dlpack_versioned": code(POINTER, POINTER, POINTER),
        "ferry_io_format_find": plain(INT, TEXT),
        "ferry_io_writer_create": code(TEXT, INT, POINTER),
        "ferry_io_writer_declare": code(POINTER, POINTER),
        "ferry_io_writer_set_metadata": code(POINTER, TEXT, TEXT),
        "ferry_io_set_max_bytes": plain(None, UINT64),
        "ferry_io_writer_set_layout": code(POINTER, INT),
        "ferry_io_writer_write_values": code(POINTER, POINTER, SIZE),
        "ferry_io_writer_commit": code(POINTER),
        "ferry_io_writer_abort": plain(None, POINTER),
    },
    "libferrynet.so.0": {
        "ferry_net_open": code(POINTER, TEXT, POINTER, POINTER),
        "ferry_net_close": plain(None, POINTER),
        "ferry_net_load": code(POINTER, TEXT, POINTER),
        "ferry_net_save": code(POINTER, TEXT, INT),
        "ferry_net_save_integers": code(POINTER, TEXT),
        "ferry_net_export_onnx": code(POINTER, TEXT, POINTER),
        "ferry_net_blob_find": pointer(POINTER, TEXT),
        "ferry_net_input_count": plain(INT, POINTER),
        "ferry_net_input_at": pointer(POINTER, INT),
        "ferry_net_output_count": plain(INT, POINTER),
        "ferry_net_output_at": plain(POINTER, POINTER, INT),
        "ferry_net_blob_count": plain(INT, POINTER),
        "ferry_net_blob_at": plain(POINTER, POINTER, INT),
        "ferry_net_layer_count": plain(INT, POINTER),
        "ferry_net_layer_at": pointer(POINTER, INT),
        "ferry_net_get_layer_info": code(POINTER, INT, POINTER),
        "ferry_net_set_measuring": code(POINTER, INT),
        "ferry_layer_name": plain(TEXT, POINTER),
        "ferry_net_param_count": plain(INT, POINTER, INT),
        "ferry_net_param_at": pointer(POINTER, INT, INT),
        "ferry_net_reshape": code(POINTER),
        "ferry_net_forward": code(POINTER, POINTER),
        "ferry_net_backward": code(POINTER),
        "ferry_net_clear_param_diffs": code(POINTER),
        "ferry_net_move_to": code(POINTER, POINTER),
        "ferry_net_device": pointer(POINTER),
        "ferry_net_share": code(POINTER, POINTER),
        "ferry_net_forward_range": code(POINTER, TEXT, TEXT, POINTER),
        "ferry_net_backward_range": code(POINTER, TEXT, TEXT),
        "ferry_layer_get_type": pointer(POINTER),
        "ferry_layer_message": pointer(POINTER),
        "ferry_layer_state": pointer(POINTER),
        "ferry_layer_phase": plain(INT, POINTER),
        "ferry_layer_bottom_count": plain(INT, POINTER),
        "ferry_layer_top_count": plain(INT, POINTER),
        "ferry_layer_bottom_at": pointer(POINTER, INT),
        "ferry_layer_top_at": pointer(POINTER, INT),
        "ferry_layer_loss_weight": plain(DOUBLE, POINTER, INT),
        "ferry_layer_propagates": plain(BOOL, POINTER, INT),
        "ferry_layer_error": plain(CODE, POINTER, INT, TEXT),
        "ferry_layer_declare_param": code(POINTER, POINTER),
        "ferry_layer_param_count": plain(INT, POINTER),
        "ferry_layer_param_at": pointer(POINTER, INT),
        "ferry_layer_register": code(POINTER),
        "ferry_layer_type_find": plain(POINTER, TEXT),
        "ferry_layer_type_count": plain(INT),
        "ferry_layer_type_at": pointer(INT),
        "ferry_proto_open": code(TEXT, TEXT, POINTER, POINTER),
        "ferry_proto_close": plain(None, POINTER),
        "ferry_proto_print": code(POINTER, POINTER, SIZE, POINTER),
        "ferry_proto_message": pointer(POINTER, TEXT, INT64),
        "ferry_proto_integer": plain(INT64, POINTER, TEXT, INT64),
        "ferry_proto_real": plain(DOUBLE, POINTER, TEXT, INT64),
        "ferry_proto_boolean": plain(INT, POINTER, TEXT, INT64),
        "ferry_proto_string": plain(TEXT, POINTER, TEXT, INT64, POINTER),
        "ferry_proto_schema_field_count": plain(INT64, TEXT),
        "ferry_proto_schema_field_at": code(TEXT, INT64, POINTER),
        "ferry_proto_schema_choice_at": code(TEXT, INT64, INT64, POINTER, POINTER),
        "ferry_image_read": code(TEXT, INT, POINTER),
        "ferry_solver_open": code(POINTER, TEXT, POINTER, POINTER),
        "ferry_solver_close": plain(None, POINTER),
        "ferry_solver_request": plain(None, POINTER, UINT),
        "ferry_solver_step": code(POINTER, INT),
        "ferry_solver_solve": code(POINTER),
        "ferry_solver_is_stopped": plain(BOOL, POINTER),
        "ferry_solver_apply_update": code(POINTER),
        "ferry_solver_snapshot": code(POINTER),
        "ferry_solver_restore": code(POINTER, TEXT),
        "ferry_solver_restore_exact": code(POINTER, TEXT),
        "ferry_solver_net": pointer(POINTER),
        "ferry_solver_test_net_count": plain(INT, POINTER),
        "ferry_solver_test_net_at": pointer(POINTER, INT),
        "ferry_solver_iter": plain(INT, POINTER),
        "ferry_solver_max_iter": plain(INT, POINTER),
        "ferry_solver_iter_size": plain(INT, POINTER),
        "ferry_solver_latest_snapshot": plain(TEXT, POINTER),
        "ferry_solver_loss": plain(DOUBLE, POINTER),
        "ferry_solver_learning_rate": plain(DOUBLE, POINTER),
        "ferry_solver_history_count": plain(INT, POINTER),
        "ferry_solver_history_at": pointer(POINTER, INT),
        "ferry_solver_on_iteration": code(POINTER, POINTER, POINTER),
        "ferry_solver_on_gradients": code(POINTER, POINTER, POINTER),
    },
}

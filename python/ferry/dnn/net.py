# SPDX-License-Identifier: BSD-2-Clause
"""cv2.dnn.Net over ferry's nets."""

import ctypes
import itertools
import threading

import numpy as np

from .. import _abi
from .._blob import _int64s
from .._errors import Error
from .._library import lib, out_pointer, string
from . import _text, cost, custom
from ._device import device_of
from ._error import ASSERTION, BAD_ARGUMENT, ERROR, NOT_FOUND, arguments_in_cv2s_form, in_cv2s_form, made, of_ferry
from ._forms import overloaded
from ._graph import INPUT, Graph
from ._runner import Runner, open_net, shape_of
from .constants import DNN_BACKEND_DEFAULT, DNN_TARGET_CPU
from .params import number, scalar

_stamps = itertools.count(1)
# The number of nets that are kept open for requested sets of blobs, besides the net for the outputs.
_KEPT = 4


class Layer:
    """A layer of a net: `name`, `type`, and copies of its parameters in `blobs`. Arrays that are assigned to
    `blobs` become the parameters."""

    def __init__(self, net, number):
        node = net._graph.nodes[number]
        self.name, self.type, self.preferableTarget = node.name, node.type, net._target
        self._net, self._number, self._tops = net, number, node.tops

    @property
    def blobs(self):
        """Copies of the parameters."""
        with self._net._lock:
            return tuple(self._net._param(self._number, k) for k in range(self._net._n_params(self._number)))

    @blobs.setter
    def blobs(self, arrays):
        count = self._net._n_params(self._number)
        if not 0 < len(arrays) <= count:
            raise made(ASSERTION, f"blobs.size() <= {count}: layer \"{self.name}\" gets {len(arrays)}", "blobs")
        for k in range(count):  # a layer without a bias array has no bias
            self._net.setParam(self._number, k, arrays[k] if k < len(arrays) else np.zeros_like(self.blobs[k]))

    def outputNameToIndex(self, outputName):
        """The index of a blob among the layer's outputs; −1 for a blob of another layer."""
        return self._tops.index(outputName) if outputName in self._tops else -1

    def __repr__(self):
        return f"<ferry.dnn.Layer {self.name} ({self.type})>"


#: The argument lists of the functions about a net's cost.
_of_shapes = overloaded("netInputShapes", "netInputShape", "layerId netInputShapes", "layerId netInputShape")


class Net:
    """A net from a prototxt and its weights, with cv2.dnn.Net's methods; readNetFromCaffe creates it.

    A contiguous float32 blob passed to setInput is not copied: it must not be changed until forward. The
    caller owns the arrays that forward returns. Any thread may use the net; only one forward pass may run at
    a time."""

    def __init__(self):
        self._text = self._plain = self._source = self._file = self._graph = None
        self._kinds, self._classes, self._entries, self._version = set(), {}, [], 0
        self._ran = False
        self._name = "net"
        self._target, self._backend, self._fuse = DNN_TARGET_CPU, DNN_BACKEND_DEFAULT, True
        self._given, self._shapes, self._labels = {}, {}, []
        self._runners, self._main = {}, None
        self._without = []
        self._lock = threading.RLock()
        self._plan = self._again = None

    # ---- opening ---------------------------------------------------------------------------------

    def _read(self, text, name, weights, file=None):
        """Opens the text and the path of the weights, or None; `file` is kept until they are read."""
        self._text, self._name, self._source, self._file = text, name, weights, file
        if b"\0" in text:
            raise made(ERROR, f"{name}: a binary file, not a prototxt; the prototxt comes first", "readNetFromCaffe")
        if _text.is_empty(text):
            open_net(device_of(self._target), _text.with_a_layer(text), name)  # an error unless it is a prototxt
            self._text = None
            return self
        self._kinds = _text.types(text)
        if _text.shapeless(text) or custom.unknown(self._kinds):  # the first blob determines the shape, or registerLayer follows
            self._labels = _text.inputs(text)
        else:
            self._open_main(text)
        return self

    def _open_main(self, text):
        self._plain = text
        handle = self._open_plain()
        self._load(handle)
        self._file = None
        self._labels = self._labels or list(self._graph.inputs)
        self._main = Runner(handle)
        self._plan = self._plan_of([self._graph.nodes[-1].name], "forward")

    def _open_plain(self):
        """Opens the net of the text; layers of registered types are objects of those classes."""
        version, classes = custom.Registry.version, custom.classes_of(self._kinds)
        text, entries = custom.rewritten(self._plain, classes)
        handle = open_net(device_of(self._target), text, self._name, fuse=self._fuse)
        self._graph = Graph(handle)
        self._text, self._entries, self._classes, self._version = text, entries, classes, version
        return handle

    def _follow(self):
        """Called after a change of the registered classes, before the first pass: opens the net again if a
        layer has one of the types."""
        if custom.classes_of(self._kinds) == self._classes:
            self._version = custom.Registry.version
            return
        old = self._main
        handle = self._open_plain()
        lib.ferry_net_share(handle, old.handle)
        self._main, self._runners = Runner(handle), {}
        self._plan = self._plan_of([self._graph.nodes[-1].name], "forward")
        for one in self._given.values():
            one[1] = next(_stamps)

    def _load(self, handle):
        """Loads the weights; stores the names of the layers that need some and got none."""
        if self._source is None:
            self._without = [string(lib.ferry_layer_name(lib.ferry_net_layer_at(handle, i)))
                             for i in range(lib.ferry_net_layer_count(handle)) if lib.ferry_net_param_count(handle, i)]
            return
        pointer = out_pointer(lib.ferry_net_load, handle, str(self._source).encode())
        report = _abi.LoadReport.from_address(pointer)
        self._without = [string(line.layer) for line in report.lines[:report.line_count]
                         if line.state == _abi.LOAD_NONE and line.blobs]

    def _opened(self, function):
        """Opens the net, for which the inputs' shapes have to be known now."""
        if self._main is None:
            if self._text is None:
                raise made(ASSERTION, "!empty()", function)
            shapes = {**self._shapes, **{name: array.shape for name, (array, _) in self._given.items()}}
            for name in _text.shapeless(self._text):
                if name not in shapes:
                    raise made(ERROR, f"the text gives input \"{name}\" no shape: setInput or setInputShape "
                               "comes first", function)
            self._open_main(_text.with_shapes(self._text, shapes))
        elif self._version != custom.Registry.version and not self._ran:
            self._follow()
        return self._main

    def _runner(self, key, keep, only):
        """The runner that is open for those blobs; it has the parameters of the first net."""
        found = self._runners.pop(key, None)
        if found is None:
            handle = open_net(device_of(self._target), self._text, self._name, keep, only, self._fuse)
            lib.ferry_net_share(handle, self._main.handle)
            found = Runner(handle)
            while len(self._runners) >= _KEPT:
                del self._runners[next(iter(self._runners))]
        self._runners[key] = found
        return found

    def _whole(self):
        """The runner that keeps all blobs."""
        return self._runner("*", ["*"], False)

    def _reopen(self):
        """Opens the net again after a change of its options; parameters stay."""
        old, self._main, self._runners = self._main, None, {}
        if old is not None:
            handle = open_net(device_of(self._target), self._text, self._name, fuse=self._fuse)
            lib.ferry_net_share(handle, old.handle)
            if lib.ferry_net_device(old.handle) != device_of(self._target)._use()._as_parameter_:
                lib.ferry_net_move_to(handle, device_of(self._target)._use())
            self._main = Runner(handle)
            for one in self._given.values():
                one[1] = next(_stamps)

    # ---- inputs ----------------------------------------------------------------------------------

    def _input_name(self, name, function):
        """The name in the text of an input, which setInputsNames may have renamed; the first input for ""."""
        if self._text is None:
            raise made(ASSERTION, "!empty()", function)
        if name == "":
            return self._inputs()[0]
        if name not in self._labels:
            raise made(NOT_FOUND, f"Requested blob \"{name}\" not found", function)
        return self._inputs()[self._labels.index(name)]

    def _inputs(self):
        return self._graph.inputs if self._graph else _text.inputs(self._text)

    @arguments_in_cv2s_form
    def setInput(self, blob, name="", scalefactor=1.0, mean=()):
        """Sets the next value of an input, or of the first if no name is given: (blob − mean) × scalefactor."""
        if not isinstance(blob, np.ndarray):
            raise made(BAD_ARGUMENT, "blob is not a numpy array", "setInput")
        if blob.dtype != np.float32 or not blob.flags.c_contiguous or scalefactor != 1.0 or mean != ():
            blob = _normalised(blob, number(scalefactor, 1.0), scalar(mean, "setInput"))
        self._given[self._input_name(name or "", "setInput")] = [blob, next(_stamps)]

    def setInputShape(self, inputName, shape):
        """Sets the shape that an input has before setInput."""
        if inputName not in self._labels:
            raise made(ERROR, f"Unknown input: {inputName}", "setInputShape")
        self._shapes[self._input_name(inputName, "setInputShape")] = tuple(int(dim) for dim in shape)

    def setInputsNames(self, inputBlobNames):
        """Sets names that setInput accepts instead of the text's, in the same order."""
        names = list(inputBlobNames)
        self._labels = names + self._labels[len(names):]

    def _check_given(self, function):
        if not self._given:
            raise made(ASSERTION, "!layers[0].outputBlobs.empty(): no input is set", function)
        for name in self._graph.inputs:
            if name not in self._given or not self._given[name][0].size:
                raise made(ASSERTION, f"inp.total(): input \"{name}\" is not set", function)
        if self._without:
            raise made(ASSERTION, f"!blobs.empty(): layer \"{self._without[0]}\" has no weights", function)

    # ---- passes ----------------------------------------------------------------------------------

    def _number(self, name, function, missing=NOT_FOUND):
        number = self._graph.number(name)
        if number < 0:
            raise made(missing, f"Requested layer \"{name}\" not found", function)
        return number

    def _plan_of(self, names, function, missing=NOT_FOUND):
        """The plan for getting the tops of layers: (runner or None, [(layer, blob) in the order of `names`])."""
        numbers = [self._number(name, function, missing) for name in names]
        if 0 in numbers:
            raise made(NOT_FOUND, "Requested blob not found: layer 0 holds the inputs", function)
        wanted = [[top for top in self._graph.nodes[n].tops] for n in numbers]
        if any(self._graph.is_overwritten(n) for n in numbers):
            return None, numbers, wanted
        blobs = sorted({top for tops in wanted for top in tops})
        if all(self._graph.nodes[n].is_end for n in numbers):
            return self._main, numbers, wanted
        return (tuple(blobs), blobs), numbers, wanted

    def _run(self, plan):
        """All tops of the layers of a plan."""
        runner, numbers, wanted = plan
        made_of = self._run_in_place(numbers) if runner is None else self._run_planned(runner, wanted)
        for number, tops in zip(numbers, made_of):
            rows = self._rows(number)
            if rows:
                tops[0] = _padded(tops[0], rows * max(1, next(iter(self._given.values()))[0].shape[0]))
        return made_of

    def _rows(self, number):
        """For DetectionOutput, the number of detections of an image that are kept; 0: unlimited, or another
        layer."""
        node = self._graph.nodes[number]
        if node.type != "DetectionOutput":
            return 0
        message = lib.ferry_layer_message(lib.ferry_net_layer_at(self._main.handle, node.place))
        param = lib.ferry_proto_message(message, b"detection_output_param", 0)
        return max(0, lib.ferry_proto_integer(param, b"keep_top_k", 0))

    def _run_planned(self, runner, wanted):
        if not isinstance(runner, Runner):
            runner = self._runner(runner[0], runner[1], True)
        arrays = iter(runner.run(self._given, [top for tops in wanted for top in tops]))
        return [[next(arrays) for _ in tops] for tops in wanted]

    def _run_in_place(self, numbers):
        """Runs layer by layer, because a later layer overwrites a requested blob."""
        whole = self._whole()
        stops = [(node.place, top) for number in sorted(set(numbers))
                 for node in [self._graph.nodes[number]] for top in node.tops]
        arrays = whole.run_to(self._given, stops)
        return [[arrays[self._graph.nodes[n].place, top] for top in self._graph.nodes[n].tops] for n in numbers]

    def _forward(self, names, function="forward", missing=NOT_FOUND):
        """A list of all tops for each of the layers."""
        with self._lock:
            try:
                self._opened(function)
                self._check_given(function)
                plan = self._plan if names is None else self._plan_of(names, function, missing)
                if plan[0] is not self._main and names is None:  # the net was opened again
                    plan = self._plan = self._plan_of([self._graph.nodes[-1].name], function)
                made_of = self._run(plan)
                self._ran = True  # layers keep their classes from now on
                if names is None:  # one unchanged blob of the main net
                    plain = plan[0] is self._main and len(plan[2][0]) == 1 and not self._rows(plan[1][0])
                    self._again = (self._main, plan[2][0]) if plain else None
                return made_of
            except Error as raised:
                raise of_ferry(raised, function) from raised

    def _forward_again(self):
        """A fast path for forward() after another forward(); None if it does not apply."""
        with self._lock:
            if self._again and self._again[0] is self._main and all(one[0].size for one in self._given.values()):
                try:
                    return self._main.run(self._given, self._again[1])[0]
                except Error as raised:
                    raise of_ferry(raised, "forward") from raised
            return None

    def forward(self, *arguments, outputName="", outBlobNames=None, outputBlobs=None):
        """forward() returns the output of the last layer, forward(name) that of the named layer, and
        forward([names]) a tuple of those of all named layers. forward(outputBlobs, name) returns a tuple of all
        outputs of the layer."""
        if not arguments and outputName == "" and outBlobNames is None and outputBlobs is None:
            found = self._forward_again()
            if found is not None:
                return found
        head, tail = arguments[:1], arguments[1:]
        if head and not tail and (head[0] is None or isinstance(head[0], str)):
            outputName = head[0]
        elif head and _is_list_of(head[0], str):
            outBlobNames = head[0]
        elif head and (head[0] is None or _is_list_of(head[0], np.ndarray, type(None))):
            outputBlobs, outputName = (), tail[0] if tail else outputName
        elif head:
            raise made(BAD_ARGUMENT, "Can't convert object to 'str' for 'outputName', nor to a sequence of names or "
                       "of arrays", "forward")
        if outBlobNames is not None:
            return tuple(_first(tops) for tops in self._forward(list(outBlobNames)))
        tops = self._forward([outputName] if outputName else None, missing=ERROR)[0]
        return tuple(tops) if outputBlobs is not None else _first(tops)

    def forwardAndRetrieve(self, outBlobNames):
        """A tuple of all outputs for each layer."""
        return tuple(map(tuple, self._forward(list(outBlobNames), "forwardAndRetrieve")))

    # ---- layers ----------------------------------------------------------------------------------

    def _known(self, function):
        try:
            self._opened(function)
        except Error as raised:
            raise of_ferry(raised, function) from raised
        return self._graph

    def empty(self):
        """Whether the net has no layers."""
        return self._text is None

    def getLayerNames(self):
        """The names of all layers except layer 0, the inputs, in order."""
        return () if self.empty() else self._known("getLayerNames").names()

    def getLayerId(self, layer):
        """The number of a layer, −1 for an unknown name."""
        return self._known("getLayerId").number(layer)

    def getLayerTypes(self):
        """The types of the layers, sorted."""
        kinds = {node.type for node in self._known("getLayerTypes").nodes[1:]}
        return tuple(sorted(kinds | {"__NetInputLayer__"}))

    def getLayersCount(self, layerType):
        """The number of layers of a type."""
        return sum(node.type == layerType for node in self._known("getLayersCount").nodes)

    def getUnconnectedOutLayers(self):
        """The numbers of the layers whose outputs no layer consumes."""
        return np.array(self._known("getUnconnectedOutLayers").unconnected(), np.int32)

    def getUnconnectedOutLayersNames(self):
        """The names of the layers whose outputs no layer consumes."""
        graph = self._known("getUnconnectedOutLayersNames")
        return tuple(graph.nodes[number].name for number in graph.unconnected())

    def _layer_number(self, layer, function):
        graph = self._known(function)
        number = graph.number(layer) if isinstance(layer, str) else int(layer)
        if not 0 <= number < len(graph.nodes):
            raise made(NOT_FOUND, f"Layer with requested id={number} not found", function)
        return number

    @overloaded("layerName")
    def getLayer(self, layerId):
        """A layer, by name or number."""
        return Layer(self, self._layer_number(layerId, "getLayer"))

    # ---- parameters ------------------------------------------------------------------------------

    def _n_params(self, number):
        place = self._graph.nodes[number].place
        return lib.ferry_net_param_count(self._main.handle, place) if place is not None else 0

    def _param_blob(self, number, index, function):
        if not 0 <= index < self._n_params(number):
            raise made(ASSERTION, f"numParam < (int)layerBlobs.size(): parameter {index} of layer "
                       f"\"{self._graph.nodes[number].name}\"", function)
        return lib.ferry_net_param_at(self._main.handle, self._graph.nodes[number].place, index)

    def _param(self, number, index, function="getParam"):
        """A copy of an array. A copy of an array with one axis gets a second axis, because matrices of cv2 have two."""
        blob = self._param_blob(number, index, function)
        shape, ref = shape_of(blob), _abi.Ref()
        array = np.empty(shape if len(shape) != 1 else (shape[0], 1), np.float32)
        lib.ferry_blob_access(blob, 0, None, _abi.READ, None, ctypes.byref(ref))
        ctypes.memmove(array.ctypes.data, ref.handle + ref.offset, array.nbytes)
        return array

    @overloaded("layerName [numParam]")
    @in_cv2s_form
    def getParam(self, layer, numParam=0):
        """A copy of a layer's parameter."""
        with self._lock:
            return self._param(self._layer_number(layer, "getParam"), numParam)

    @overloaded("layer numParam blob", "layerName numParam blob")
    @in_cv2s_form
    def setParam(self, layer, numParam, blob):
        """Replaces a layer's parameter by one with the same number of elements."""
        with self._lock:
            number = self._layer_number(layer, "setParam")
            to = self._param_blob(number, numParam, "setParam")
            values = np.ascontiguousarray(blob, np.float32)
            if values.size != lib.ferry_blob_element_count(to):
                raise made(ASSERTION, f"a parameter of shape {shape_of(to)} from values of {values.shape}",
                           "setParam")
            ref = _abi.Ref()
            lib.ferry_blob_access(to, 0, None, _abi.WRITE, None, ctypes.byref(ref))
            ctypes.memmove(ref.handle + ref.offset, values.ctypes.data, values.nbytes)
            if numParam == 0:
                name = self._graph.nodes[number].written
                self._without = [one for one in self._without if one != name]

    # ---- shapes and cost -------------------------------------------------------------------------

    def _all_shapes(self, netInputShapes, function):
        """For each layer: its number, the shapes of its bottoms, those of its tops."""
        with self._lock:
            try:
                self._note_shapes(netInputShapes)
                self._opened(function)
                given = _shapes_of(netInputShapes) or list(self._main.input_shapes.values())
                if len(given) != len(self._graph.inputs):
                    raise made(ASSERTION, f"{len(given)} shapes for {len(self._graph.inputs)} inputs", function)
                whole = self._whole()
                whole.reshaped(dict(zip(self._graph.inputs, given)))
                return [self._shapes_at(whole.handle, number, given) for number in range(len(self._graph.nodes))]
            except Error as raised:
                raise of_ferry(raised, function) from raised

    def _note_shapes(self, shapes):
        if self._main is None and self._text is not None:
            self._shapes.update(zip(self._inputs(), _shapes_of(shapes)))

    def _shapes_at(self, handle, number, given):
        place = self._graph.nodes[number].place
        if place is None:
            return 0, given, given
        layer = lib.ferry_net_layer_at(handle, place)
        bottoms = [shape_of(lib.ferry_layer_bottom_at(layer, i)) for i in range(lib.ferry_layer_bottom_count(layer))]
        tops = [shape_of(lib.ferry_layer_top_at(layer, i)) for i in range(lib.ferry_layer_top_count(layer))]
        rows = self._rows(number)
        if self._graph.nodes[number].type == "Silence":
            tops = bottoms
        return number, bottoms, [(1, 1, rows * given[0][0], 7)] if rows else tops

    @arguments_in_cv2s_form
    @overloaded("netInputShape")
    def getLayersShapes(self, netInputShapes):
        """For inputs of these shapes: the numbers of all layers, the shapes of their inputs and outputs."""
        ids, ins, outs = zip(*self._all_shapes(netInputShapes, "getLayersShapes"))
        return np.array(ids, np.int32), _matrices(ins), _matrices(outs)

    @_of_shapes
    def getFLOPS(self, *arguments):
        """getFLOPS(shapes), or getFLOPS(layerId, shapes) for one layer."""
        return sum(self._costs(arguments, "getFLOPS", cost.flops))

    @_of_shapes
    def getMemoryConsumption(self, *arguments):
        """The bytes of weights and of blobs: getMemoryConsumption(shapes), or (layerId, shapes)."""
        def memory(number, _kind, _message, _params, _ins, outs):
            weights = sum(4 * lib.ferry_blob_element_count(self._param_blob(number, k, "getMemoryConsumption"))
                          for k in range(self._n_params(number)))
            return weights, 4 * sum(map(cost.count, outs))

        return tuple(map(sum, zip(*self._costs(arguments, "getMemoryConsumption", memory))))

    def _costs(self, arguments, function, of):
        *layer, shapes = arguments
        lines = self._all_shapes(shapes, function)
        if layer:
            lines = [lines[self._layer_number(layer[0], function)]]
        return [self._cost(line, of) for line in lines]

    def _cost(self, line, of):
        number, ins, outs = line
        node = self._graph.nodes[number]
        message = node.place is not None and lib.ferry_layer_message(
            lib.ferry_net_layer_at(self._main.handle, node.place))
        params = [shape_of(self._param_blob(number, k, "getFLOPS")) for k in range(self._n_params(number))]
        return of(number, node.type, message, params, ins, outs)

    @in_cv2s_form
    def getPerfProfile(self):
        """Runs a pass with the inputs that are set; returns its time and that of each layer, in ticks of
        cv2.getTickFrequency, which are nanoseconds. A fused layer has 0."""
        with self._lock:
            if not self._given:
                return 0, np.zeros((0,), np.float64)
            handle = self._opened("getPerfProfile").handle
            self._check_given("getPerfProfile")
            lib.ferry_net_set_measuring(handle, 1)
            try:
                self._main.run(self._given, ())
                times = [self._milliseconds(handle, node.place) for node in self._graph.nodes[1:]]
            finally:
                lib.ferry_net_set_measuring(handle, 0)
            ticks = np.array(times, np.float64) * 1e6
            return int(ticks.sum()), ticks

    @staticmethod
    def _milliseconds(handle, place):
        info = _abi.LayerInfo(struct_size=ctypes.sizeof(_abi.LayerInfo))
        lib.ferry_net_get_layer_info(handle, place, ctypes.byref(info))
        return info.ms

    # ---- device and fusion -----------------------------------------------------------------------

    @in_cv2s_form
    def setPreferableTarget(self, targetId):
        """Selects the device: the CPU, or ferry's opencl or cuda."""
        with self._lock:
            if targetId != self._target:
                self._target = int(targetId)
                self._reopen()

    def setPreferableBackend(self, backendId):
        """Stores the number. It has no other effect: ferry computes all layers."""
        self._backend = int(backendId)

    @in_cv2s_form
    def enableFusion(self, fusion):
        """Sets whether layers are fused."""
        with self._lock:
            if bool(fusion) != self._fuse:
                self._fuse = bool(fusion)
                self._reopen()

    def enableWinograd(self, useWinograd):
        """Has no effect: ferry selects the algorithm of a convolution, together with fusion."""

    def dump(self):
        """The layers as a digraph for Graphviz, with types and output shapes."""
        graph = self._known("dump")
        lines = self._all_shapes([self._given[name][0].shape if name in self._given
                                  else self._main.input_shapes[name] for name in graph.inputs], "dump")
        makers = {}
        text = ["digraph G {"]
        for (number, _ins, outs), node in zip(lines, graph.nodes):
            shapes = "\\n".join(" x ".join(map(str, shape)) for shape in outs)
            label = f"{node.name}\\n{node.type or 'Input'}\\noutput: {shapes}".replace('"', '\\"')
            text.append(f'\t"{number}" [label="{label}" shape=record]')
            text += [f'\t"{makers[bottom]}" -> "{number}"' for bottom in map(graph.made_by, node.bottoms)]
            makers.update((top, number) for top in node.tops)
        return "\n".join(text + ["}", ""])

    def dumpToFile(self, path):
        """Writes the text of dump() into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.dump())

    def __repr__(self):
        return f"<ferry.dnn.Net {self._name}>"


def _padded(array, rows):
    """Returns detections in the form of cv2: at most `rows` of them, sorted by image and then by descending
    confidence. The remaining rows are zeros."""
    found = array.reshape(-1, 7)
    found = found[found[:, 1] >= 0]
    found = found[np.lexsort((-found[:, 2], found[:, 0]))][:rows]
    out = np.zeros((1, 1, rows, 7), np.float32)
    out[0, 0, :len(found)] = found
    return out


def _is_list_of(value, *kinds):
    """Whether the value is a sequence of these types. An array of numbers, or an empty list, counts as a
    sequence of arrays."""
    if isinstance(value, np.ndarray):
        return (value.dtype.kind == "U") == (str in kinds)
    if not isinstance(value, (list, tuple)) or not value:
        return value in ([], ()) and str not in kinds
    return all(isinstance(one, kinds) for one in value)


def _first(tops):
    if not tops:
        raise made(NOT_FOUND, "Requested blob not found: the layer has no output", "forward")
    return tops[0]


def _normalised(blob, scalefactor, mean):
    """(blob − mean of the channel) × scalefactor as contiguous float32."""
    array = np.array(blob, np.float32, order="C")
    if mean.any():
        if array.ndim < 2 or array.shape[1] > 4:
            raise made(ASSERTION, "inputsData[i].size[1] <= 4: a mean is for up to 4 channels", "setInput")
        array -= mean[:array.shape[1]].astype(np.float32).reshape((1, -1) + (1,) * (array.ndim - 2))
    return array if scalefactor == 1 else np.multiply(array, np.float32(scalefactor), out=array)


def _shapes_of(shapes):
    """A list of shapes, of one or of several."""
    shapes = [shape for shape in shapes] if len(shapes) else []
    if shapes and np.ndim(shapes[0]) == 0:
        shapes = [shapes]
    return [tuple(int(dim) for dim in shape) for shape in shapes]


def _matrices(lists):
    return tuple(tuple(np.array(shape, np.int32) for shape in shapes) for shapes in lists)

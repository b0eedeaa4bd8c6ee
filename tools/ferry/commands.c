/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

/* The table of subcommands and their help texts; completion also reads the options from it. */

const struct tool_command tool_commands[] = {
    { "devices", "[--probe] [--timeout SECONDS] [--json]", "The devices, and which one is selected",
      "\nOpens the plugins that the configuration allows, and the selected device.\n"
      "    --probe              opens each plugin and its devices in a child process first; a\n"
      "                         plugin that crashes or hangs there is reported and not opened\n"
      "    --timeout SECONDS    for each plugin; 10\n"
      "    --json               {\"selected\", \"devices\": [{\"name\", \"plugin\",\n"
      "                         \"description\", \"memory_total\", \"memory_free\",\n"
      "                         \"unified\", ...}]}\n",
      cmd_devices },
    { "plugins", "[--json] [-v]", "The plugins that were found, and why any of them is not usable",
      "\n    --json           {\"candidates\": [{\"name\", \"path\", \"origin\", \"stage\", "
      "\"ok\",\n"
      "                     \"reason\", \"hint\", \"options\": [...]}]}\n"
      "    -v, --verbose    the origin of each, a hint for each failure, and the options of each\n"
      "                     open plugin: their values and where each was set\n",
      cmd_plugins },
    { "check", "NAME[:INDEX]|FILE.so [--quick] [--only GROUP,...] [--set K=V,...] [--json]",
      "Checks a plugin's binary against the plugin contract",
      "\nNAME is a plugin that ferry finds; FILE.so is any file. Each group of checks runs in a\n"
      "process of its own. The result is pass, fail with the first failed case, or not offered;\n"
      "skipped cases are listed with the reason. Exit status: 0 if no group failed, 1 if one\n"
      "failed, 2 for an error. See ferry-plugin(7).\n"
      "    --only GROUP,...     only these of the groups below\n"
      "    --quick              without the groups that take minutes, unless --only names them\n"
      "    --minutes N          that ops-random takes; without it a fixed number of operations\n"
      "    --seed N             of the first operation of ops-random; 1\n"
      "    --set KEY=VALUE,...  options of the plugin, in addition to those of plugins.conf\n"
      "    --timeout SECONDS    for each group; 120\n"
      "    --json               {\"plugin\", \"groups\": [{\"name\", \"result\", \"detail\",\n"
      "                         \"skipped\"}]}\n",
      cmd_check },
    { "new-plugin", "NAME [FOLDER] [--cxx] [--wheel] [--operations] [--template FOLDER]",
      "Copies the plugin template under a new name, ready to build",
      "\nMakes FOLDER, by default ferry-NAME, which must not exist.\n"
      "    --cxx                C++20 instead of C11\n"
      "    --wheel              a Python package that carries the plugin, which pip builds\n"
      "    --operations         every operation of nets, by the kernels of libferrykernels\n"
      "    --template FOLDER    the template's folder; by default the installed one\n",
      cmd_new_plugin },
    { "bench", "[--json] [--quick]", "Measures the selected device beside plain loops and memcpy",
      "\nEach figure is printed with a reference measured in the same seconds, their ratio,\n"
      "and the goal for the ratio. A missed goal is not a failure: the machine may be busy.\n"
      "    --quick    fewer and smaller samples: tests that it runs, not how fast\n"
      "    --json     {\"device\", \"rows\": [{\"figure\", \"unit\", \"value\", \"reference\",\n"
      "               \"ratio\", \"goal\", \"met\"}]}\n",
      cmd_bench },
    { "run", "NET [WEIGHTS[,...]] --input NAME=FILE|FILE ... [--output FILE] [--json]",
      "Computes a net's outputs for given inputs on the device",
      "\nNET is a prototxt, or a caffemodel with its definition; WEIGHTS are loaded by layer "
      "name.\n"
      "    --input NAME=FILE    loads the array of a file into an input, which takes its shape;\n"
      "                         the tops of a data layer are inputs if all of them are given\n"
      "    --input NAME=FILE    a .png or .jpg, resized to that input: B, G, R, 0 to 255\n"
      "    --input NAME=DIR     the pictures of a folder or a list; one line of JSON per file\n"
      "    --input FILE         loads each array into the input of its name (or input/NAME)\n"
      "    --mean FILE|B,G,R    subtracted from pictures; a larger mean is cropped with them\n"
      "    --scale F            multiplies the difference; --swap-rb: order R, G, B\n"
      "    --crop               crops to keep the proportions instead of stretching\n"
      "    --batch N            number of files of DIR or a list per pass; 1\n"
      "    --iterations N       number of passes; the file has the outputs of all, along axis 0\n"
      "    -o, --output FILE    writes the outputs to a .npz, .h5 or .safetensors\n"
      "    --blobs NAMES|all    these blobs instead of the outputs, and only what they need is\n"
      "                         computed; all: every blob and parameter, without fusion\n"
      "    --backward           also runs backward, from the loss weights and the given diffs;\n"
      "                         adds NAME.diff to the file; without fusion\n"
      "    --diff NAME=FILE     loads the array of a file into a blob's diff, before backward\n"
      "    --diff FILE          loads each array into the diff of the blob NAME (or diff/NAME)\n"
      "    --float              computes in F32 in spite of the ranges of a quantized net\n"
      "    --precision P        f32 or bf16: convolutions and inner products on numbers of BF16,\n"
      "                         with sums in F32, where the device gains by it; by default\n"
      "                         FERRY_PRECISION, else f32\n"
      "    --reread-weights     does not store weights beside their packed form, but reads them\n"
      "                         again from their file; forms are at most as large as weights\n"
      "    --no-fuse            does not fuse layers\n"
      "    --no-plan            blobs do not share memory\n"
      "    --top K              the K largest values of each item of an output\n"
      "    --labels FILE        names of the K values, one per line\n"
      "    --phase TRAIN|TEST   by default that of the prototxt, else TEST\n"
      "    --stage NAME         of NetStateRule; may be given more than once; also --level N\n"
      "    --place PLACES       conv*=opencl:0,type:Pooling=cpu: layers on other devices\n"
      "    --layers FILE.so     layer types of a shared object, under the rules for plugins\n"
      "    --allow-write DIR    the only folder that layers may write to (HDF5Output)\n"
      "    --segments DIR       keeps segments that the plugin compiles there\n"
      "    --weights-partial    accepts WEIGHTS without a layer of this net\n"
      "    --max-bytes N        limit of a decoded picture or compressed array; 1073741824\n"
      "    --report             the tier of each layer: own, composed, host, segment N; and\n"
      "                         the precision of convolutions and inner products\n"
      "    --json               {\"device\", \"ms\", \"loss\", \"outputs\": [{\"name\", "
      "\"shape\",\n"
      "                         \"count\", \"values\", \"top\"}]}\n",
      cmd_run },
    { "time",
      "NET [WEIGHTS[,...]] [--iterations N] [--streams N] [--backward] [--device] [--json]",
      "Measures the time of a net and of its layers on the device",
      "\nRuns one pass to warm up, N passes, and N passes with each layer measured alone,\n"
      "which the table shows. Layers fused into others have no time of their own. Inputs that\n"
      "are not given get numbers between 0 and 1.\n"
      "    -n, --iterations N    10\n"
      "    --streams N           also runs N nets with the same weights at once, and shows the\n"
      "                          items of all in a second, and each net's median and worst pass\n"
      "    --work                also counts how the cpu plugin divides a pass among its threads,\n"
      "                          on one thread, and the speed-up that this permits\n"
      "    --backward            each pass includes backward; parameters' diffs accumulate\n"
      "    --recompute           with --backward: as of ferry train\n"
      "    --device              each layer's time on the device's clock, too\n"
      "    --input, --phase, --stage, --level, --place, --layers, --allow-write, --max-bytes,\n"
      "    --segments, --float, --precision, --reread-weights, --no-fuse, --no-plan,\n"
      "    --weights-partial\n"
      "              as of ferry run\n"
      "    --json    {\"device\", \"iterations\", \"ms\", \"ms_best\", \"ms_layers\", \"flops\",\n"
      "              \"bytes_accessed\", \"layers\": [{\"name\", \"type\", \"device\", \"tier\",\n"
      "              \"ms\", \"share\", \"bytes_moved\", \"gflops\", \"bytes_accessed\",\n"
      "              \"precision\", \"backward\": {\"tier\", \"ms\", \"bytes_moved\", "
      "\"gflops\",\n"
      "              \"bytes_accessed\", \"precision\"}}]};\n"
      "              with --device also \"ms_device\", and \"device_ms\" of each layer;\n"
      "              \"sub_batch\" of layers that compute some images of the batch at a time;\n"
      "              with --streams also \"items_per_second\", \"threads_per_stream\" and\n"
      "              \"streams\": [{\"ms_median\", \"ms_worst\"}];\n"
      "              with --work also \"work\": {\"threads\", \"loops\", \"tasks\", \"ms\",\n"
      "              \"ms_in_loops\", \"ms_of_slowest\", \"speed_up\"}\n",
      cmd_time },
    { "train", "SOLVER [--weights F,...|--snapshot F] [--log FILE]",
      "Trains a net with a solver's prototxt on the device",
      "\nCaffe's lines go to standard error, in the form that scripts for its logs read. SIGINT\n"
      "and SIGTERM stop training with a snapshot, a second one exits at once; SIGHUP writes\n"
      "a snapshot.\n"
      "    --weights F,...      starts from these weights instead of the fillers' values\n"
      "    --weights-partial    accepts weights without a layer of this net\n"
      "    --snapshot F         resumes from a .solverstate or .solverstate.h5\n"
      "    --resume exact       with --snapshot: also restores data and random numbers, from the\n"
      "                         .ferrystate beside it; caffe, the default, restarts both\n"
      "    --log FILE           one line of JSON per iteration: {\"iter\", \"lr\", \"loss\",\n"
      "                         \"smoothed_loss\", \"test\": [{\"iter\", OUTPUT: mean}]};\n"
      "                         with --snapshot appended to the file\n"
      "    --recompute          backward computes results of cheap operations again instead of\n"
      "                         keeping them: the same results in less memory\n"
      "    --fake-quantize      trains for int8: rounds in F32 what ferry run computes with 8\n"
      "                         bits, for the ranges that ferry quantize stored in --weights\n"
      "    --precision P        f32 or bf16: convolutions and inner products, forward and\n"
      "                         backward, on numbers of BF16; weights and updates stay F32\n"
      "    --stage NAME         added to train_state, may be given more than once; also --level N\n"
      "    --place, --layers, --allow-write, --max-bytes    as of ferry run\n"
      "    --mpi                fails without MPI; a process that mpirun started joins its ranks\n"
      "                         even without this option, and all ranks train the net together\n",
      cmd_train },
    { "test", "NET WEIGHTS[,...] [--iterations N] [--json]",
      "Computes the means of a net's outputs over several TEST passes",
      "\nFor nets with data layers. Each batch is a line on standard error.\n"
      "    -n, --iterations N    50\n"
      "    --float, --precision, --stage, --level, --place, --layers, --allow-write,\n"
      "    --max-bytes, --weights-partial\n"
      "              as of ferry run\n"
      "    --json    {\"device\", \"iterations\", \"loss\", \"outputs\": {NAME: mean}}\n",
      cmd_test },
    { "quantize", "NET [WEIGHTS[,...]] -o OUT.caffemodel --calibrate [NAME=]DIR|FILE [--report]",
      "Writes weights with the ranges of blobs, for computing with 8 bits",
      "\nRuns the net in F32 on the inputs of --calibrate and writes its weights and the\n"
      "range of each blob. A net with ranges computes convolutions and inner products with\n"
      "integers of 8 bits.\n"
      "    -o, --output FILE    the weights with the ranges\n"
      "    --calibrate DIR      the pictures of a folder or of a list, as of ferry run, for the\n"
      "                         net's only input; NAME=DIR: for that input\n"
      "    --calibrate FILE     arrays of the inputs' names, or NAME=FILE; axis 0 counts items\n"
      "    --method M           minmax (the default), percentile, kl, mse\n"
      "    --percentile P       of the values in a range, 99.99; implies --method percentile\n"
      "    --equalize           first moves factors of channels between layers, so that the\n"
      "                         channels of a blob have more equal ranges\n"
      "    --migration P        the exponent of these factors, 0 to 1; 0.5; implies --equalize\n"
      "    --correct-bias       subtracts the mean errors of outputs from biases\n"
      "    --adaptive-rounding  rounds each weight up or down by the error of its layer's output\n"
      "    --keep LAYER,...     layers that stay in F32\n"
      "    --max-loss DB        leaves more layers in F32, those that disturb the outputs most\n"
      "                         for their multiplications first, until the ratio of signal to\n"
      "                         noise of each output is at least DB decibels\n"
      "    --integers           stores the weights of layers with 8 bits as integers, in a\n"
      "                         quarter of the bytes; other programs than ferry cannot read\n"
      "                         them\n"
      "    --report             the ranges, and the ratios of layers and outputs in decibels\n"
      "    --text FILE          also writes the net's text with the ranges\n"
      "    --table FILE         also writes ncnn's table of scales\n"
      "    --from-table FILE    takes the ranges of inputs from such a table, not from inputs\n"
      "    --batch N            items per pass; by default as in NET\n"
      "    --mean, --scale, --swap-rb, --crop, --stage, --level, --layers, --max-bytes,\n"
      "    --weights-partial\n"
      "              as of ferry run\n"
      "    -q, --quiet          no progress\n"
      "    --json               {\"file\", \"device\", \"inputs\", \"equalized\", \"floats\",\n"
      "                         \"float_part\", \"blobs\":\n"
      "                         [{\"name\", \"min\", \"max\", \"from\", \"to\"}], \"layers\":\n"
      "                         [{\"name\", \"weights_db\", \"input_db\", \"both_db\",\n"
      "                         \"mean_db\", \"nearest_db\", \"chosen_db\", \"alone_db\",\n"
      "                         \"corrected\", \"float\"}],\n"
      "                         \"outputs\": [{\"name\", \"db\"}]}\n",
      cmd_quantize },
    { "export", "NET [WEIGHTS[,...]] OUT.onnx [--opset N] [--check]",
      "Writes a net with its weights as an ONNX model",
      "\nFor onnxruntime, OpenVINO, OpenCV and TensorRT; uses standard operators only. Layers\n"
      "without an equivalent in ONNX are reported together in one error.\n"
      "    --opset N          the operator set's version, 11 to 22; 13\n"
      "    --no-fold          BatchNorm, Scale and Bias remain separate operators\n"
      "    --fp16             weights are stored as FLOAT16; arithmetic stays FLOAT\n"
      "    --external-data    writes weights to OUT.onnx.data, as is always done above 2 GiB\n"
      "    --dynamic-batch    axis 0 of the inputs has any size, \"N\"\n"
      "    --qdq              products whose input has a range (ferry quantize) use 8 bits, by\n"
      "                       QuantizeLinear and DequantizeLinear; opset 13 or later\n    --check  "
      "          "
      "runs the model in onnxruntime, OpenVINO or OpenCV, the first that python3\n"
      "                       can import, and compares; fails above 1e-4 of an output's maximum\n"
      "    --input NAME=FILE  values for --check, by default random; the model has their shapes\n"
      "    --phase, --stage, --level, --layers, --weights-partial\n"
      "              as of ferry run\n",
      cmd_export },
    { "plot", "LOG ... -o FILE.svg [--log-axis]",
      "Draws the losses and scores in logs of ferry train",
      "\nDraws the loss over the smoothed loss, and the losses and scores of each test net.\n"
      "Scores, as accuracy, have the axis on the right. Iterations that a resumed training\n"
      "repeats are drawn once.\n"
      "    -o, --output FILE    the picture\n"
      "    --log-axis           a logarithmic axis of losses\n",
      cmd_plot },
    { "draw", "NET -o FILE.svg|FILE.png|FILE.dot [--phase P] [--stage NAME] [--place PLACES]",
      "Draws a net's layers and the blobs between them",
      "\nA .dot is input for Graphviz; a .svg or .png is made from it by Graphviz's dot, which\n"
      "must be installed.\n"
      "    -o, --output FILE    the picture\n"
      "    --phase, --stage, --level, --layers, --allow-write    as of ferry run; --place:\n"
      "                         devices, by colour\n",
      cmd_draw },
    { "layers", "[TYPE] [--json]", "The layer types, their parameters and tiers",
      "\nThe tier is that of an example of the type on the selected device: own, composed or "
      "host.\n"
      "With TYPE, shows its bottoms, tops and parameters.\n"
      "    --layers FILE.so    also the types of a shared object\n"
      "    --json    {\"device\", \"layers\": [{\"type\", \"bottoms\", \"tops\", \"in_place\",\n"
      "              \"loss\", \"tier\", \"parameters\": [{\"message\", \"name\", \"kind\",\n"
      "              \"repeats\", \"default\", \"fork\"}]}]}\n",
      cmd_layers },
    { "inspect", "FILE [--stats] [--only GLOB] [--sort BY] [--sha256] [--plot OUT.svg] [--json]",
      "Lists the arrays of a file, with norms computed on the device",
      "\nName, dtype, shape, count, sum of absolute values (l1), and sum of squares (sumsq).\n"
      "    --stats           instead minimum, maximum, mean, standard deviation, number of\n"
      "                      zeros, NaNs and infinities, and a histogram\n"
      "    --only GLOB       only arrays whose names match\n"
      "    --sort BY         size, name or l1\n"
      "    --sha256          of each array's values, little-endian\n"
      "    --plot OUT.svg    draws the histograms\n"
      "    --trust           does not check HDF5 files in a child process first\n"
      "    --json            {\"file\", \"device\", \"count\", \"bytes\", \"metadata\", "
      "\"blobs\":\n"
      "                      [{\"name\", \"dtype\", \"shape\", \"count\", \"l1\", \"sumsq\"}]}\n",
      cmd_inspect },
    { "convert",
      "IN OUT [--format F] [--dtype T] [--shard SIZE] [--layout L] [--no-diff] [--quiet]",
      "Copies the arrays of one file into another, of any format",
      "\nOUT's suffix names its format: .caffemodel .binaryproto .solverstate .npy .npz\n"
      ".safetensors .h5. An array that the format cannot hold is an error that names it. IN\n"
      "and OUT may be -, standard input and output.\n"
      "IN.onnx OUT.prototxt OUT.caffemodel writes the layers and parameters of an ONNX model as\n"
      "Caffe's files.\n"
      "    -f, --format F    the format, if the suffix does not imply it\n"
      "    --dtype T         rounds every array to F32, F64, F16, BF16, I8, U8, I32, I64 or U32\n"
      "    --shard SIZE      safetensors in files of at most SIZE (5GB, 500MiB) and their index\n"
      "    --layout L        of .h5: weights (blob i of a layer at /data/LAYER/i, as in Caffe's\n"
      "                      .caffemodel.h5) or plain (each array at its name). Without it\n"
      "                      weights from a .caffemodel, from HDF5 as it is there, else plain\n"
      "    --no-diff         leaves diffs out\n"
      "    -q, --quiet       no notes, no progress\n"
      "    --trust           as of ferry inspect\n",
      cmd_convert },
    { "rename", "IN OUT OLD=NEW ... [--dry-run] [--format F] [--quiet]",
      "Copies the arrays of a file under other names",
      "\nOne asterisk in OLD matches any text, and one in NEW is replaced by that text. The\n"
      "first OLD that matches counts; an array without a match keeps its name; an OLD without a\n"
      "match is an error.\n"
      "    -n, --dry-run     prints the new names and writes nothing\n"
      "    -f, --format F    the format, if OUT's suffix does not imply it; else that of IN\n"
      "    --shard, --no-diff, --quiet, --trust    as of ferry convert\n",
      cmd_rename },
    { "split", "IN GLOB=OUT ... [--drop-rest] [--format F] [--quiet]",
      "Distributes the arrays of a file over several, by name",
      "\nEach array is copied to the OUT of the first GLOB that matches its name; several may\n"
      "name one OUT. An array or a GLOB without a match is an error.\n"
      "    --drop-rest       leaves out arrays that no GLOB matches\n"
      "    -f, --format F    the format, if a suffix does not imply it; else that of IN\n"
      "    --shard, --no-diff, --quiet, --trust    as of ferry convert\n",
      cmd_split },
    { "dataset", "LIST OUT | IMAGES.idx LABELS.idx OUT [--resize HxW] [--encoded] ...",
      "Writes pictures with labels to an LMDB or LevelDB database for Data layers",
      "\nEach line of LIST is a path, a space and a label; idx files are MNIST's. OUT is a folder\n"
      "that must not exist. Records are Caffe's: planes, in the order blue, green, red.\n"
      "    --root DIR       put before the paths of LIST; by default its own folder\n"
      "    --resize HxW     resizes each picture to this height and width\n"
      "    --gray           one channel\n"
      "    --encoded        stores files unchanged; PNG for resized, gray and idx pictures\n"
      "    --shuffle        in random order; --seed N selects the order\n"
      "    --backend B      lmdb or leveldb; lmdb\n"
      "    --mean FILE      writes the mean of all pictures, a .binaryproto for mean_file\n"
      "    --max-bytes N    limit of a decoded picture; 1073741824\n"
      "    --json           {\"database\", \"records\", \"shape\", \"encoded\", \"shuffled\"}\n",
      cmd_dataset },
    { "diff", "A B [--tolerance T] [--quiet] [--json]", "Compares the arrays of two files",
      "\nFor each array, prints the largest absolute and relative difference, its position, and\n"
      "the cosine of the angle between the two; dtypes may differ.\n"
      "Exit status: 0 if all are equal, 1 if some differ, 2 for an error.\n"
      "    -t, --tolerance T    values that differ by at most T, or T times the larger, are equal\n"
      "    -q, --quiet          prints nothing, sets the exit status\n"
      "    --trust              as of ferry inspect\n"
      "    --json               {\"a\", \"b\", \"equal\", \"counts\", \"arrays\": [{\"name\", "
      "\"equal\",\n"
      "                         \"dtypes\", \"max_abs\", \"max_rel\", \"worst\", \"cosine\",\n"
      "                         \"reason\"}]}\n",
      cmd_diff },
    { "merge", "-o OUT [--weights W,...] [--base BASE] [--dtype T] A B ...",
      "Computes a weighted sum of checkpoints on the device",
      "\nOUT = w1 A + w2 B + ..., each weight 1/n by default; with --base\n"
      "OUT = BASE + w1 (A - BASE) + ..., each weight 1 by default.\n"
      "    -o, --output OUT     the result, in the format of its suffix, else of A; - is standard\n"
      "                         output\n"
      "    -w, --weights W,...  one number for each file; 'W,...;GLOB=W,...;...' sets others for\n"
      "                         arrays whose names match; the first match counts\n"
      "    --base BASE          sums differences to BASE\n"
      "    --dtype T            rounds each sum to T; dtypes of the files may then differ\n"
      "    --allow-missing      copies arrays that some files lack instead of failing\n"
      "    --no-diff            leaves diffs out\n"
      "    --shard SIZE         as of ferry convert\n"
      "    -f, --format F       the format, if the suffix does not imply it\n"
      "    -q, --quiet          no notes, no progress, no last line\n"
      "    --trust              as of ferry inspect\n"
      "    --json               {\"file\", \"format\", \"device\", \"inputs\", \"base\", "
      "\"weights\",\n"
      "                         \"globs\", \"arrays\", \"copied\", \"bytes\", \"seconds\"}\n",
      cmd_merge },
    { "upgrade", "IN OUT [SECOND] [--to v1] [--input-dims N,C,H,W] [--split-at LAYER] [--fold]",
      "Upgrades a net or solver of an older Caffe to the current form",
      "\nIN is a prototxt of a net or a solver, or a caffemodel; OUT has the same form, text or "
      "binary.\n"
      "V0 and V1 layers, padding layers, transformations of data layers, input fields and solver\n"
      "types are upgraded as by Caffe's upgrade_net_proto_text, upgrade_net_proto_binary and\n"
      "upgrade_solver_proto_text. A file that needs no change is copied, with its comments.\n"
      "    --to v1|v2           the form of OUT: v1 has layers { type: CONVOLUTION }\n"
      "    --input-dims DIMS    the shape of the input, as 1,3,224,224; NAME=DIMS: of one;\n"
      "                         may be given more than once\n"
      "    --split-at LAYER     OUT gets the layers before LAYER; SECOND gets LAYER and those\n"
      "                         after it, with Input layers for the blobs of the first part\n"
      "    --fold               folds BatchNorm, Scale and Bias into the weights before them\n"
      "    -w, --weights FILE   the weights of a text, for --fold\n"
      "    --weights-out FILE   receives the folded weights of a text\n",
      cmd_upgrade },
    { "triton-model", "NET [WEIGHTS] REPOSITORY/NAME [--max-batch N] [--variable]",
      "Makes a model folder for the Triton server",
      "\nWrites NAME/config.pbtxt and NAME/1, which libtriton_ferry.so serves. An existing\n"
      "config.pbtxt is kept.\n"
      "    --version N      the version's folder, 1 by default\n"
      "    --max-batch N    limit of a batch of requests; by default 8, or 0 if axis 0 of the\n"
      "                     inputs is not a batch\n"
      "    --variable       pictures of any size, if the net accepts them\n"
      "    --instances N    number of nets that run concurrently and share their weights\n"
      "    --threads N      threads per instance, on the CPU\n"
      "    --device NAME    as in FERRY_BACKEND; by default the CPU\n"
      "    --layers         as of ferry run\n",
      cmd_triton_model },
    { "trace", "FILE [--json]", "Sums a file of FERRY_TRACE: copies and their reasons",
      "\nOne row for each device, blob, kind of event and reason: copies first, the most\n"
      "bytes first.\n"
      "    --json    {\"file\", \"events\", \"rows\": [{\"device\", \"blob\", \"what\", "
      "\"reason\",\n"
      "              \"copy\", \"count\", \"bytes\", \"seconds\"}]}\n",
      cmd_trace },
    { "complete", "-- WORD ...", "Prints the completions of the last WORD of a command line",
      "\nOne per line; nothing for a file name. The completions of bash and zsh run this "
      "command.\n",
      cmd_complete },
};

const size_t tool_command_count = sizeof(tool_commands) / sizeof(tool_commands[0]);

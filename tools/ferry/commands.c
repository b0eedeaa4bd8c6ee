/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

/* The subcommands and what --help says of them; completion knows their options from here, too. */

const struct tool_command tool_commands[] = {
    { "devices", "[--probe] [--timeout SECONDS] [--json]",
      "What is there, and which device is selected",
      "\nOpens the plugins that the configuration allows, and the selected device.\n"
      "    --probe              first opens each, and all its devices, in a process of its own:\n"
      "                         one that crashes or hangs there is a line, and is not opened here\n"
      "    --timeout SECONDS    for each of them; 10\n"
      "    --json               {\"selected\", \"devices\": [{\"name\", \"plugin\",\n"
      "                         \"description\", \"memory_total\", \"memory_free\",\n"
      "                         \"unified\", ...}]}\n",
      cmd_devices },
    { "plugins", "[--json] [-v]", "Each plugin that was found, how far it got, and why no further",
      "\n    --json           {\"candidates\": [{\"name\", \"path\", \"origin\", \"stage\", "
      "\"ok\",\n"
      "                     \"reason\", \"hint\", \"options\": [...]}]}\n"
      "    -v, --verbose    where each was found, what would mend it, and each option of what\n"
      "                     could be opened: its value, and where that came from\n",
      cmd_plugins },
    { "check", "NAME[:INDEX]|FILE.so [--only GROUP,...] [--set K=V,...] [--json]",
      "Whether a plugin's binary keeps to the contract",
      "\nNAME is a plugin that ferry finds; FILE.so is any file. Each group of checks runs in a\n"
      "process of its own: pass, fail with the first case that failed, or not offered; a case\n"
      "that could not be tried has a line that says why. Exit status: 0 if none failed, 1 if one\n"
      "did, 2 for trouble. See ferry-plugin(7).\n"
      "    --only GROUP,...     descriptor memory copy memset axpy scal copy-op fill convert dot\n"
      "                         asum sumsq gemv gemm ops queues events import peer threads\n"
      "                         failure leaks fork exit coherence\n"
      "    --set KEY=VALUE,...  options of the plugin, beside those of plugins.conf\n"
      "    --timeout SECONDS    for each group; 120\n"
      "    --json               {\"plugin\", \"groups\": [{\"name\", \"result\", "
      "\"detail\",\n"
      "                         \"skipped\"}]}\n",
      cmd_check },
    { "new-plugin", "NAME [FOLDER] [--cxx] [--template FOLDER]",
      "The plugin template under that name, ready to build",
      "\nMakes FOLDER, ferry-NAME where none is given, which must not be there.\n"
      "    --cxx                C++20 in place of C11\n"
      "    --template FOLDER    where the template is, if not where ferry was installed\n",
      cmd_new_plugin },
    { "bench", "[--json] [--quick]", "How the selected device does, beside plain loops and memcpy",
      "\nEach figure stands beside a reference that was measured in the same seconds, and the "
      "goal\n"
      "for their ratio. A goal that is not met is no failure: the machine may be busy.\n"
      "    --quick    fewer samples of less: whether it runs, rather than how fast\n"
      "    --json     {\"device\", \"rows\": [{\"figure\", \"unit\", \"value\", \"reference\",\n"
      "               \"ratio\", \"goal\", \"met\"}]}\n",
      cmd_bench },
    { "run", "NET [WEIGHTS[,...]] --input NAME=FILE|FILE ... [--output FILE] [--json]",
      "A net's outputs for given inputs, computed on the device",
      "\nNET is a prototxt, or a caffemodel with its definition; WEIGHTS are loaded by layer "
      "name.\n"
      "    --input NAME=FILE    the array of a file into an input, which takes its shape; what a\n"
      "                         layer reads by itself is one if all of its tops are given\n"
      "    --input NAME=FILE    a .png or .jpg, resized to that input: B, G, R, 0 to 255\n"
      "    --input NAME=DIR     its pictures, or those of a list; a line of JSON a file\n"
      "    --input FILE         each array into the input of its name (or of input/NAME)\n"
      "    --mean FILE|B,G,R    subtracted from pictures; a larger one is cropped with them\n"
      "    --scale F            multiplies what is left; --swap-rb: R, G, B\n"
      "    --crop               keeps proportions and crops, where resizing would not\n"
      "    --batch N            how many files of DIR or a list at once; 1\n"
      "    --iterations N       passes; outputs go behind each other in the file\n"
      "    -o, --output FILE    outputs into a .npz, .h5 or .safetensors\n"
      "    --blobs NAMES|all    these blobs in place of the outputs, and no more is computed;\n"
      "                         all: parameters, too, and nothing is fused\n"
      "    --backward           then backward, from the losses' weights and the given diffs; the\n"
      "                         file gets NAME.diff, too; nothing is fused\n"
      "    --diff NAME=FILE     the array of a file into a blob's diff, before backward\n"
      "    --diff FILE          each array into the diff of the blob of its name (or of "
      "diff/NAME)\n"
      "    --no-fuse            layers do not join\n"
      "    --no-plan            blobs do not share memory\n"
      "    --top K              the K largest values of each item of an output\n"
      "    --labels FILE        their names, a line each\n"
      "    --phase TRAIN|TEST   else as the prototxt says, else TEST\n"
      "    --stage NAME         of NetStateRule; may be given more than once; --level N, too\n"
      "    --place PLACES       conv*=opencl:0,type:Pooling=cpu: layers elsewhere\n"
      "    --layers FILE.so     layer types of a shared object, under the rules for plugins\n"
      "    --allow-write DIR    layers may write files there (HDF5Output); else nowhere\n"
      "    --weights-partial    WEIGHTS may have nothing for this net\n"
      "    --max-bytes N        of a decoded picture or compressed array; 1073741824\n"
      "    --report             who computes each layer: own, composed, host\n"
      "    --json               {\"device\", \"ms\", \"loss\", \"outputs\": [{\"name\", "
      "\"shape\",\n"
      "                         \"count\", \"values\", \"top\"}]}\n",
      cmd_run },
    { "time", "NET [WEIGHTS[,...]] [--iterations N] [--backward] [--json]",
      "How long a net takes on the device, and each of its layers",
      "\nA pass to warm up, N as they are, and N with each layer by itself, of which the table "
      "is.\n"
      "Layers that are fused into others have no time of their own. Inputs that are not given get\n"
      "numbers between 0 and 1.\n"
      "    -n, --iterations N    10\n"
      "    --backward            each pass goes back again, too; parameters' diffs add up\n"
      "    --input, --phase, --stage, --level, --place, --layers, --allow-write, --max-bytes,\n"
      "    --no-fuse, --no-plan, --weights-partial\n"
      "              as of ferry run\n"
      "    --json    {\"device\", \"iterations\", \"ms\", \"ms_best\", \"ms_layers\", \"layers\":\n"
      "              [{\"name\", \"type\", \"device\", \"tier\", \"ms\", \"share\", "
      "\"bytes_moved\",\n"
      "              \"gflops\", \"backward\": {\"tier\", \"ms\", \"bytes_moved\", "
      "\"gflops\"}}]}\n",
      cmd_time },
    { "train", "SOLVER [--weights F,...|--snapshot F] [--log FILE]",
      "Trains a net as a solver's prototxt says, on the device",
      "\nCaffe's lines go to standard error, in the form that scripts for its logs read. SIGINT "
      "and\n"
      "SIGTERM end it with a snapshot, a second one at once; SIGHUP makes a snapshot.\n"
      "    --weights F,...      begins with these weights, in place of what fillers make\n"
      "    --weights-partial    they may have nothing for this net\n"
      "    --snapshot F         goes on from a .solverstate or .solverstate.h5\n"
      "    --resume exact       with --snapshot: data and random numbers go on, too, by the\n"
      "                         .ferrystate beside it; caffe: they begin anew, as without it\n"
      "    --log FILE           a line of JSON an iteration: {\"iter\", \"lr\", \"loss\",\n"
      "                         \"smoothed_loss\", \"test\": [{\"iter\", OUTPUT: mean}]};\n"
      "                         with --snapshot behind what is there\n"
      "    --stage NAME         added to train_state, may be given more than once; --level N\n"
      "    --place, --layers, --allow-write, --max-bytes    as of ferry run\n"
      "    --mpi                insists on MPI; where mpirun has started it, it is one of its "
      "ranks\n"
      "                         without, and they train the net together\n",
      cmd_train },
    { "test", "NET WEIGHTS[,...] [--iterations N] [--json]",
      "The mean of a net's outputs over some passes, in TEST",
      "\nFor nets that read their data themselves. Each batch is a line on standard error.\n"
      "    -n, --iterations N    50\n"
      "    --stage, --level, --place, --layers, --allow-write, --max-bytes, --weights-partial\n"
      "              as of ferry run\n"
      "    --json    {\"device\", \"iterations\", \"loss\", \"outputs\": {NAME: mean}}\n",
      cmd_test },
    { "export", "NET [WEIGHTS[,...]] OUT.onnx [--opset N] [--check]",
      "A net with its weights as an ONNX model",
      "\nFor onnxruntime, OpenVINO, OpenCV and TensorRT: standard operators alone. Layers without\n"
      "a meaning in ONNX are one error with all of their lines.\n"
      "    --opset N          the operators' version, 11 to 22; 13\n"
      "    --no-fold          BatchNorm, Scale and Bias stay operators of their own\n"
      "    --fp16             weights are stored as FLOAT16; arithmetic stays FLOAT\n"
      "    --external-data    weights go into OUT.onnx.data, as they do above 2 GiB\n"
      "    --dynamic-batch    axis 0 of the inputs is of any size, \"N\"\n"
      "    --check            runs the model in onnxruntime, OpenVINO or OpenCV, whichever python3 "
      "has,\n"
      "                       beside the net; fails for a difference above 1e-4 of an output\n"
      "    --input NAME=FILE  numbers for it, else random ones; the model has their shapes\n"
      "    --phase, --stage, --level, --layers, --weights-partial\n"
      "              as of ferry run\n",
      cmd_export },
    { "plot", "LOG -o FILE.svg", "The losses of a log of ferry train, as a picture",
      "\nThe loss, the smoothed loss, and dots for scores of tests that are called a loss.\n"
      "    -o, --output FILE    where it goes\n",
      cmd_plot },
    { "draw", "NET -o FILE.svg|FILE.dot [--phase P] [--stage NAME] [--place PLACES]",
      "A net's layers and the blobs between them, as a picture",
      "\nA .dot is for Graphviz; a .svg is made of it by Graphviz's dot, which has to be there.\n"
      "    -o, --output FILE    where it goes\n"
      "    --phase, --stage, --level, --layers, --allow-write    as of ferry run; --place:\n"
      "                         devices, by colour\n",
      cmd_draw },
    { "layers", "[TYPE] [--json]", "The layer types, their parameters, and who computes them",
      "\nThe tier is that of an example of the type on the selected device: own, composed or "
      "host.\n"
      "With TYPE, its bottoms, tops and parameters.\n"
      "    --layers FILE.so    types of a shared object, too\n"
      "    --json    {\"device\", \"layers\": [{\"type\", \"bottoms\", \"tops\", \"in_place\",\n"
      "              \"loss\", \"tier\", \"parameters\": [{\"message\", \"name\", \"kind\",\n"
      "              \"repeats\", \"default\", \"fork\"}]}]}\n",
      cmd_layers },
    { "inspect", "FILE [--stats] [--only GLOB] [--sort BY] [--sha256] [--plot OUT.svg] [--json]",
      "Every array of a file, with norms computed on the device",
      "\nName, dtype, shape, count, sum of absolute values (l1), and sum of squares (sumsq).\n"
      "    --stats           in their place least, greatest, mean, deviation, how many are 0, "
      "NaN,\n"
      "                      infinite, and how they are spread from the least to the greatest\n"
      "    --only GLOB       arrays of such names\n"
      "    --sort BY         size, name or l1\n"
      "    --sha256          of each array's values, little-endian\n"
      "    --plot OUT.svg    how they are spread, as a picture\n"
      "    --trust           HDF5 is not first read by a process of its own, which may crash\n"
      "    --json            {\"file\", \"device\", \"count\", \"bytes\", \"metadata\", "
      "\"blobs\":\n"
      "                      [{\"name\", \"dtype\", \"shape\", \"count\", \"l1\", \"sumsq\"}]}\n",
      cmd_inspect },
    { "convert",
      "IN OUT [--format F] [--dtype T] [--shard SIZE] [--layout L] [--no-diff] [--quiet]",
      "The arrays of one file into another, of any format",
      "\nOUT's suffix names its format: .caffemodel .binaryproto .solverstate .npy .npz\n"
      ".safetensors .h5. What it cannot hold is an error that names the array. IN and OUT may be "
      "-,\n"
      "standard input and output.\n"
      "    -f, --format F    the format, where the suffix does not say\n"
      "    --dtype T         rounds every array to F32, F64, F16, BF16, I8, U8, I32, I64 or U32\n"
      "    --shard SIZE      safetensors in files of at most SIZE (5GB, 500MiB) and their index\n"
      "    --layout L        of .h5: weights (blob i of a layer at /data/LAYER/i, as in Caffe's\n"
      "                      .caffemodel.h5) or plain (each array at its name). Without it\n"
      "                      weights from a .caffemodel, from HDF5 as there, else plain\n"
      "    --no-diff         leaves diffs out\n"
      "    -q, --quiet       no notes, no progress\n"
      "    --trust           as of ferry inspect\n",
      cmd_convert },
    { "rename", "IN OUT OLD=NEW ... [--dry-run] [--format F] [--quiet]",
      "The arrays of a file under other names",
      "\nOne asterisk in OLD stands for any text, and one in NEW for that text; the first OLD "
      "that\n"
      "matches counts, and what none matches keeps its name. One that matches nothing is an "
      "error.\n"
      "    -n, --dry-run     shows what would be renamed, and writes nothing\n"
      "    -f, --format F    the format, where OUT's suffix does not say; else that of IN\n"
      "    --shard, --no-diff, --quiet, --trust    as of ferry convert\n",
      cmd_rename },
    { "split", "IN GLOB=OUT ... [--drop-rest] [--format F] [--quiet]",
      "The arrays of a file into several, by name",
      "\nEach array goes into the OUT of the first GLOB that matches its name; several may name "
      "one\n"
      "OUT. What none matches, and a GLOB that matches nothing, is an error.\n"
      "    --drop-rest       leaves out what no GLOB matches\n"
      "    -f, --format F    the format, where a suffix does not say; else that of IN\n"
      "    --shard, --no-diff, --quiet, --trust    as of ferry convert\n",
      cmd_split },
    { "dataset", "LIST OUT | IMAGES.idx LABELS.idx OUT [--resize HxW] [--encoded] ...",
      "Pictures with labels into an LMDB or LevelDB database for Data layers",
      "\nLIST has a path, a space and a number a line; idx files are MNIST's. OUT is a folder "
      "that\n"
      "is not there yet. Records are Caffe's, values in planes, blue first.\n"
      "    --root DIR       where the paths of LIST begin; else its own folder\n"
      "    --resize HxW     each picture to this height and width\n"
      "    --gray           one channel\n"
      "    --encoded        files as they are, or as PNG what is resized, gray or from idx files\n"
      "    --shuffle        in another order; --seed N: in another one yet\n"
      "    --backend B      lmdb or leveldb; lmdb\n"
      "    --mean FILE      the mean of all pictures, a .binaryproto for mean_file\n"
      "    --max-bytes N    of a decoded picture; 1073741824\n"
      "    --json           {\"database\", \"records\", \"shape\", \"encoded\", \"shuffled\"}\n",
      cmd_dataset },
    { "diff", "A B [--tolerance T] [--quiet] [--json]", "How far the arrays of two files are apart",
      "\nOf each array the largest absolute and relative difference, where it is, and the cosine "
      "of\n"
      "the angle between the two; values are compared, whatever their dtypes.\n"
      "Exit status: 0 where all are equal, 1 where some differ, 2 for trouble.\n"
      "    -t, --tolerance T    what is apart by up to T, or by T of the larger, is equal\n"
      "    -q, --quiet          the exit status alone\n"
      "    --trust              as of ferry inspect\n"
      "    --json               {\"a\", \"b\", \"equal\", \"counts\", \"arrays\": [{\"name\", "
      "\"equal\",\n"
      "                         \"dtypes\", \"max_abs\", \"max_rel\", \"worst\", \"cosine\",\n"
      "                         \"reason\"}]}\n",
      cmd_diff },
    { "merge", "-o OUT [--weights W,...] [--base BASE] [--dtype T] A B ...",
      "A weighted sum of checkpoints, computed on the device",
      "\nOUT = w1 A + w2 B + ..., each weight 1/n where none is given; with --base\n"
      "OUT = BASE + w1 (A - BASE) + ..., each weight 1 where none is given.\n"
      "    -o, --output OUT     the result, in the format of its suffix, else of A; - is standard\n"
      "                         output\n"
      "    -w, --weights W,...  one number for each file; 'W,...;GLOB=W,...;...' has others for "
      "the\n"
      "                         arrays of such names, of which the first that matches counts\n"
      "    --base BASE          sums differences to BASE\n"
      "    --dtype T            what each sum is rounded to; files may then differ in dtypes\n"
      "    --allow-missing      copies what is not in all files instead of stopping\n"
      "    --no-diff            leaves diffs out\n"
      "    --shard SIZE         as of ferry convert\n"
      "    -f, --format F       the format, where the suffix does not say\n"
      "    -q, --quiet          no notes, no progress, no last line\n"
      "    --trust              as of ferry inspect\n"
      "    --json               {\"file\", \"format\", \"device\", \"inputs\", \"base\", "
      "\"weights\",\n"
      "                         \"globs\", \"arrays\", \"copied\", \"bytes\", \"seconds\"}\n",
      cmd_merge },
    { "upgrade", "IN OUT", "A net or a solver of an older Caffe in the form of today's",
      "\nIN is a prototxt of a net or a solver, or a caffemodel; OUT has the same form, text or "
      "binary.\n"
      "V0 and V1 layers, padding layers, transformations of data layers, input fields and solver\n"
      "types are upgraded as by Caffe's upgrade_net_proto_text, upgrade_net_proto_binary and\n"
      "upgrade_solver_proto_text. A file that needs no change is copied, with its comments.\n",
      cmd_upgrade },
    { "triton-model", "NET [WEIGHTS] REPOSITORY/NAME [--max-batch N] [--variable]",
      "A model folder for the Triton server",
      "\nWrites NAME/config.pbtxt and NAME/1, which libtriton_ferry.so serves. A config.pbtxt that "
      "is\n"
      "there is kept.\n"
      "    --version N      the version's folder, 1 by default\n"
      "    --max-batch N    requests that become one batch; by default 8, or 0 where axis 0 of "
      "the\n"
      "                     inputs is not a batch\n"
      "    --variable       pictures of any size, where the net takes them\n"
      "    --instances N    nets that run at once and share their weights\n"
      "    --threads N      threads of each instance, on the CPU\n"
      "    --device NAME    as in FERRY_BACKEND; by default the CPU\n"
      "    --layers         as of ferry run\n",
      cmd_triton_model },
    { "trace", "FILE [--json]", "A file of FERRY_TRACE, summed: what was moved, and why",
      "\nOne row for each device, blob, kind of event and reason: copies first, the most\n"
      "bytes first.\n"
      "    --json    {\"file\", \"events\", \"rows\": [{\"device\", \"blob\", \"what\", "
      "\"reason\",\n"
      "              \"copy\", \"count\", \"bytes\", \"seconds\"}]}\n",
      cmd_trace },
    { "complete", "-- WORD ...", "What could stand for the last WORD of a command line",
      "\nA line each; nothing where a file's name belongs. The completions of bash and zsh ask "
      "this.\n",
      cmd_complete },
};

const size_t tool_command_count = sizeof(tool_commands) / sizeof(tool_commands[0]);

# SPDX-License-Identifier: BSD-2-Clause
"""For check-dnn-scripts.sh. `list TREES` prints the names of the scripts whose projects are in the folder.
`one KIND FILE` makes a file that a project lacks. `prepare NAME TREES FOLDER` copies the project with such
files, and prints the folder, the script and its arguments. `run REPORT PASSES SCRIPT [ARGUMENT…]` runs a
script without windows, with a camera of one picture and at most that many passes, and writes outputs,
pictures and times. `same REPORT REPORT` compares two reports. `times PREFIX OTHER` prints the times."""

import glob
import itertools
import os
import runpy
import shutil
import statistics
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NETS = os.path.join(os.environ.get("FERRY_TEST_DATA", ""), "nets", "prototxt")
RES10, SSD = "res10_300x300_ssd_iter_140000.caffemodel", "MobileNetSSD_deploy.caffemodel"
COLOURS = "colorization_release_v2.caffemodel"

# For each script: project, folder, script, its arguments, and the files that the project lacks: random
# weights for a text ("weights TEXT"; for the colouring nets without the layers that scripts set themselves),
# a copy ("copy FILE"), a text of FERRY_TEST_DATA ("text NAME"), a generated picture ("picture") or video
# ("video").
SCRIPTS = {
    "ssd_of_AkankshaRondla": ("AkankshaRondla+Object-Detection", "", "main.py", "", {
        "models/MobileNetSSD_deploy.prototxt": "copy MobileNetSSD_deploy.prototxt.txt",
        "models/" + SSD: "weights models/MobileNetSSD_deploy.prototxt", "roomwithpeople.png": "picture"}),
    "res10_of_arthvr9": ("arthvr9+cqa-mvp", "", "main.py", "", {
        "res10_300x300_ssd_iter_140000_fp16.caffemodel": "weights deploy.prototxt"}),
    "hed_of_ashukid": ("ashukid+hed-edge-detector", "", "edge_detector.py",
                       "--input p.png --prototxt deploy.prototxt --caffemodel hed.caffemodel --width 160 --height 128",
                       {"hed.caffemodel": "weights deploy.prototxt", "p.png": "picture"}),
    "hed_video_of_ashukid": ("ashukid+hed-edge-detector", "", "edge.py",
                             "--input v.avi --prototxt deploy.prototxt --caffemodel hed.caffemodel "
                             "--width 160 --height 128",
                             {"hed.caffemodel": "weights deploy.prototxt", "v.avi": "video"}),
    "res10_of_BenMiriello": ("BenMiriello+face_monitor", "", "test.py", "", {
        "models/" + RES10: "weights models/deploy.prototxt.txt"}),
    "mtcnn_of_Ekko1992": ("Ekko1992+mtcnn_opencv_python", "", "demo.py", "", {}),
    "ssd_of_enesgokdemir": ("enesgokdemir+OpenCV", "", "dnn_single_image.py", "", {
        "text\\MobileNetSSD_deploy.prototxt": "copy text/MobileNetSSD_deploy.prototxt",
        "text\\" + SSD: "weights text/MobileNetSSD_deploy.prototxt", "img\\dogs.jpg": "picture"}),
    "googlenet_of_enesgokdemir": ("enesgokdemir+OpenCV", "", "image_classification_dnn.py", "", {
        "text\\bvlc_googlenet.prototxt": "copy text/bvlc_googlenet.prototxt",
        "text\\bvlc_googlenet.caffemodel": "weights text/bvlc_googlenet.prototxt",
        "text\\ILSVRC2012.txt": "copy text/ILSVRC2012.txt", "img\\image1.jpg": "copy img/image1.jpg",
        "img\\image2.jpg": "copy img/image1.jpg"}),
    "openpose_of_FLHonker": ("FLHonker+openpose-opencv", "", "openpose.py",
                             "--input v.avi --model coco.caffemodel --width 160 --height 128 --thr 0", {
                                 "coco.caffemodel": "weights pose_deploy_linevec.prototxt", "v.avi": "video"}),
    "googlenet_of_Jimut123": ("Jimut123+rkmveri-labs", "ComputerVision/QUIZ_C3/DNN_basic",
                              "deep_learning_basic.py", "", {
                                  "bvlc_googlenet.caffemodel": "weights bvlc_googlenet.prototxt"}),
    "ssd_of_Jimut123": ("Jimut123+rkmveri-labs", "ComputerVision/QUIZ_C3/object-detection-deep-learning",
                        "deep_learning_object_detection.py",
                        f"--image p.png --prototxt MobileNetSSD_deploy.prototxt.txt --model {SSD} --confidence 0.1",
                        {SSD: "weights MobileNetSSD_deploy.prototxt.txt", "p.png": "picture"}),
    "openpose_of_legolas123": ("legolas123+cv-tricks.com", "OpenCV/Pose_Estimation", "run_pose.py",
                               "--input sample.jpg --proto pose/body_25/body_25_deploy.prototxt --model b.caffemodel "
                               "--dataset body_25 --width 160 --height 128 --thr 0", {
                                   "b.caffemodel": "weights pose/body_25/body_25_deploy.prototxt"}),
    "res10_of_louisdtt": ("louisdtt+CV-face-scrapper", "", "face_scrapper.py", "", {
        "model_data/deploy.prototxt": "text res10_ssd", "images/p.png": "picture",
        "model_data/weights.caffemodel": "weights model_data/deploy.prototxt"}),
    "colours_of_pebblepark": ("pebblepark+sparta_project", "week5", "main.py", "", {
        "models/" + COLOURS: "weights models/colorization_deploy_v2.prototxt"}),
    "age_and_gender_of_pebblepark": ("pebblepark+sparta_project", "week3", "main2.py", "", {
        "models/" + RES10: "weights models/deploy.prototxt",
        "models/age_net.caffemodel": "weights models/deploy_age.prototxt",
        "models/gender_net.caffemodel": "weights models/deploy_gender.prototxt"}),
    "ssd_of_ShahadAlkhattaf": ("ShahadAlkhattaf+Object-Detection-Using-MobileNet-SSD-and-OpenCV", "", "Demo.py", "", {
        SSD: "weights MobileNetSSD_deploy.prototxt", "video.mp4": "video"}),
    "age_and_gender_of_smahesh29": ("smahesh29+Gender-and-Age-Detection", "", "detect.py", "--image girl1.jpg", {
        "age_net.caffemodel": "weights age_deploy.prototxt",
        "gender_net.caffemodel": "weights gender_deploy.prototxt"}),
    "res10_of_sr6033": ("sr6033+face-detection-with-OpenCV-and-DNN", "", "detect_faces.py",
                        f"--image group.jpg --prototxt deploy.prototxt.txt --model {RES10} --confidence 0.1", {
                            RES10: "weights deploy.prototxt.txt", "group.jpg": "picture"}),
    "res10_video_of_sr6033": ("sr6033+face-detection-with-OpenCV-and-DNN", "", "detect_faces_video.py",
                              f"--prototxt deploy.prototxt.txt --model {RES10} --confidence 0.1", {
                                  RES10: "weights deploy.prototxt.txt"}),
    "ssd_of_ylmgrbzz": ("ylmgrbzz+Real-Time-Object-Recognition-Face-Recognition-With-OpenCV-DNN-SSD", "",
                        "dnn_single_image.py", "", {SSD: "weights MobileNetSSD_deploy.prototxt.txt",
                                                    "kopek.jpg": "picture"}),
}


# ---- files that a project lacks ------------------------------------------------------------------

def picture(shift=0):
    """A landscape of colours, 320 × 240."""
    rows, columns = np.mgrid[:240, :320]
    return np.stack([rows, columns * 255 // 320, ((rows + shift) * columns) // 97 % 256], 2).astype(np.uint8)


def weights(text, out):
    """Random weights that preserve the magnitude of values from layer to layer, for the inputs of such
    scripts."""
    import ferry.caffe as caffe
    helpers = runpy.run_path(os.path.join(HERE, "opencv-samples.py"))
    path, random = text, np.random.RandomState(31)
    if "colorization" in text:
        path = helpers["without"](text, helpers["UNSAVED"]["colorization"])
    net = caffe.Net(path, caffe.TEST)
    helpers["fill"](net, random)
    for name in net.inputs:
        net.blobs[name].data[...] = random.randn(*net.blobs[name].shape) * (1 if is_scaled(text) else 60)
    for name in net._layer_names:
        net.forward(start=name, end=name)
        if name in net.params and name in net.top_names and net.params[name][0].data.ndim > 1:
            size = net.blobs[net.top_names[name][0]].data.std()
            for blob in net.params[name]:
                blob.data[...] /= size
            if name.endswith("_mbox_conf"):  # with two classes the background is the likely one
                net.params[name][1].data[::2] += 4
            elif name.endswith("_mbox_loc"):  # boxes near their priors
                net.params[name][0].data[...] *= 0.2
            net.forward(start=name, end=name)
    net.save(out)


def is_scaled(text):
    """Whether scripts divide the pixels for the net."""
    return any(part in text.lower() for part in ("mobilenet", "pose", "body_25"))


def video(out):
    import cv2
    writer = cv2.VideoWriter(out, cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"MJPG"), 25, (320, 240))
    assert writer.isOpened(), out
    for i in range(3):
        writer.write(picture(20 * i))
    writer.release()


def make(kind, path):
    import cv2
    kind, _, of = kind.partition(" ")
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "weights":
        weights(of, path)
    elif kind == "copy":
        shutil.copy(of, path)
    elif kind == "text":
        shutil.copy(os.path.join(NETS, of + ".prototxt"), path)
    elif kind == "picture":
        assert cv2.imwrite(path, picture())
    elif path.endswith(".mp4"):  # the container is given by the name, the format by the content
        video("made.avi")
        os.replace("made.avi", path)
    else:
        video(path)


def prepare(name, trees, folder):
    project, inside, script, arguments, files = SCRIPTS[name]
    shutil.copytree(os.path.join(trees, project), folder, ignore=shutil.ignore_patterns(".git"))
    os.chdir(os.path.join(folder, inside))
    for path, kind in files.items():
        make(kind, path)
    print(os.getcwd(), script, arguments, sep="\n")


# ---- running -------------------------------------------------------------------------------------

class Enough(SystemExit):
    """Raised when the requested number of passes has run."""


class Camera:
    """Replaces cv2.VideoCapture(0)."""

    def read(self):
        time.sleep(0.01)
        return True, picture()

    def get(self, prop):
        return {3: 320.0, 4: 240.0}.get(prop, 0.0)

    def isOpened(self):
        return True

    grab = release = set = open = lambda self, *_: True


class Net:
    """A net that records the inputs and outputs of passes."""

    made = []
    outputs = []
    passes = None

    def __init__(self, net):
        self._net, self._inputs, self._asked = net, {}, []
        Net.made.append(self)

    def __getattr__(self, name):
        return getattr(self._net, name)

    def setInput(self, blob, name="", *rest):
        self._inputs[name] = (blob.copy(), name, *rest)
        self._asked.clear()
        return self._net.setInput(blob, name, *rest)

    def forward(self, *arguments, **named):
        if Net.passes == 0:
            raise Enough(0)
        Net.passes -= 1
        given = self._net.forward(*arguments, **named)
        self._asked.append((arguments, named))
        Net.outputs += [given.copy()] if isinstance(given, np.ndarray) else [one.copy() for one in given]
        return given

    def again(self):
        """The processor time of the latest setInput and its passes, the median of several."""
        taken, begun = [], time.perf_counter()
        while len(taken) < 5 or (time.perf_counter() - begun < 1 and len(taken) < 100):
            start = time.process_time()
            for arguments in self._inputs.values():
                self._net.setInput(*arguments)
            for arguments, named in self._asked:
                self._net.forward(*arguments, **named)
            taken.append(time.process_time() - start)
        return statistics.median(taken)


def noting(read):
    def wrapped(*arguments, **named):
        net = read(*arguments, **named)
        texts = [str(one) for one in (*arguments, *named.values())]
        return Net(net) if any("caffemodel" in one or "prototxt" in one for one in texts) else net
    return wrapped


def without_screen(cv2):
    """Records windows, presses keys after the second picture, and uses the camera for a number."""
    shown, keys = [], itertools.chain([-1, -1], itertools.cycle([27, ord("q")]))
    cv2.imshow = lambda _name, one: shown.append(np.array(one)) if len(shown) < 4 else None
    cv2.waitKey = lambda *_: next(keys)
    for name in "namedWindow", "destroyAllWindows", "destroyWindow", "resizeWindow", "moveWindow":
        setattr(cv2, name, lambda *_, **__: None)
    theirs = cv2.VideoCapture
    cv2.VideoCapture = lambda source=0, *rest: Camera() if isinstance(source, int) else theirs(source, *rest)
    return shown


def run(report, passes, path, *arguments):
    import cv2
    for name, plain in ("float", float), ("int", int), ("bool", bool):  # names that NumPy had when scripts were written
        if name not in np.__dict__:
            setattr(np, name, plain)
    if cv2.__version__.startswith("4"):  # its wheels are built without Halide
        cv2.dnn.DNN_BACKEND_HALIDE = cv2.dnn.DNN_BACKEND_OPENCV
    Net.passes = int(passes)
    shown = without_screen(cv2)
    cv2.dnn.readNetFromCaffe, cv2.dnn.readNet = noting(cv2.dnn.readNetFromCaffe), noting(cv2.dnn.readNet)
    np.random.seed(31)
    sys.argv[:] = [path, *arguments]
    sys.path[0] = os.getcwd()
    try:
        runpy.run_path(path, run_name="__main__")
    except Enough:
        pass
    times = [net.again() for net in Net.made if net._asked]
    np.savez(report, *Net.outputs, **{f"shown{i}": one for i, one in enumerate(shown)}, times=np.array(times))
    print(f"cv2 {cv2.__version__}: {len(Net.outputs)} outputs, {len(shown)} pictures shown", file=sys.stderr)
    os._exit(0)  # a thread of imutils reads its camera until then


# ---- comparing -----------------------------------------------------------------------------------

def distance(a, b):
    """The largest difference of two arrays; for detections regardless of their order, since scores may differ
    in the last digit."""
    if a.shape[:2] == (1, 1) and a.shape[-1] == 7 and a.ndim == 4:
        every = np.abs(a.reshape(-1, 1, 7) - b.reshape(1, -1, 7)).max(2)
        return max(every.min(0).max(), every.min(1).max())
    return np.abs(a - b).max(initial=0)


def same(ours, theirs):
    """Outputs must be within 2e-5 of their largest value or of 1. For pictures it prints the largest fraction
    of pixels that differ by more than a byte's step: OpenCV 5 has another font, and draws detections of equal
    scores in another order."""
    one, other = np.load(ours), np.load(theirs)
    assert set(one.files) == set(other.files), (one.files, other.files)
    outputs = [key for key in one.files if key.startswith("arr_")]
    assert outputs, "no passes"
    worst = 0.0
    for key in outputs:
        a, b = one[key].astype(np.float64), other[key].astype(np.float64)
        assert a.shape == b.shape, f"{key}: {a.shape} and {b.shape}"
        difference = distance(a, b) / max(1.0, np.abs(b).max(initial=0))
        assert difference <= 2e-5, f"{key} of {len(outputs)}, {a.shape}: {difference:.3g}"
        worst = max(worst, difference)
    assert any(np.ptp(other[key]) > 0 for key in outputs), "every output is constant"
    pictures, share = [key for key in one.files if key.startswith("shown")], 0.0
    for key in pictures:
        a, b = one[key].astype(int), other[key].astype(int)
        assert a.shape == b.shape, f"{key}: {a.shape} and {b.shape}"
        share = max(share, (np.abs(a - b) > 1).any(-1).mean())
    print(f"{len(outputs)} outputs, {worst:.1e}; {len(pictures)} pictures, {share:.2%}")


def times(ours, theirs):
    """For reports of several rounds: the medians, and the ratio."""
    taken = [np.median([np.load(path)["times"].sum() for path in glob.glob(prefix + ".*.npz")])
             for prefix in (ours, theirs)]
    print("%.2f %.2f %.2f" % (1e3 * taken[1], 1e3 * taken[0], taken[0] / taken[1]))


def listed(trees):
    print("\n".join(name for name, (project, *_) in SCRIPTS.items() if os.path.isdir(os.path.join(trees, project))))


if __name__ == "__main__":
    {"list": listed, "one": make, "prepare": prepare, "run": run, "same": same,
     "times": times}[sys.argv[1]](*sys.argv[2:])

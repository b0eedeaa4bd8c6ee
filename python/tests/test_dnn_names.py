# SPDX-License-Identifier: BSD-2-Clause
"""Each name of OpenCV 4's dnn module and its classes is in ferry.dnn, or doc/dnn.md has the reason."""

import pathlib
import re

import pytest

import ferry.dnn as dnn

CLASSES = ("Net", "Layer", "Model", "ClassificationModel", "DetectionModel", "KeypointsModel", "SegmentationModel",
           "Image2BlobParams")


def names(of):
    return {name for name in dir(of) if not name.startswith("_")}


def left_out():
    """What doc/dnn.md lists: names of the module, and of classes as (class, name)."""
    page = pathlib.Path(__file__).parents[2] / "doc" / "dnn.md"
    table = page.read_text().split("### Names that are left out")[1].split("\n## ")[0]
    found = set()
    for row in table.split("\n| ")[1:]:
        first = row.split(" | ")[0]
        owner, listed = re.match(r"(?:`(\w+)`: )?(.*)", first).groups()
        found |= {(owner, name) if owner else name for name in re.findall(r"`(\w+)`", listed)}
    return found


@pytest.fixture
def surfaces(cv4):
    """(name of the owner, OpenCV's names, ferry's names), of the module, then of each class."""
    # Attributes of objects are not in the names of their classes.
    objects = {"Layer": {"name", "type", "blobs"}, "Image2BlobParams": names(dnn.Image2BlobParams())}
    return [(None, names(cv4), names(dnn))] + [
        (owner, names(getattr(cv4, owner)), names(getattr(dnn, owner)) | objects.get(owner, set()))
        for owner in CLASSES]


def test_each_name_is_there_or_has_its_reason(surfaces):
    lacking = {(owner, name) if owner else name for owner, theirs, ours in surfaces for name in theirs - ours}
    assert lacking == left_out() & lacking, sorted(map(str, lacking - left_out()))


def test_no_reason_is_out_of_date(surfaces):
    present = {(owner, name) if owner else name for owner, _, ours in surfaces for name in ours}
    assert not left_out() & present

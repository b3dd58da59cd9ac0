"""Drawings as PNG, painted large and made smaller, which smooths their edges. The font is Pillow's own, so that the
same drawing gives the same picture on every machine."""

from __future__ import annotations

import io
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mlagentbench.errors import UsageError
from mlagentbench.reporting.scene import COLOURS, Area, Dot, Line, Picture, Text, outline

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_SCALE = 2
_SMOOTH = 2
_UNKNOWN_TO_FONT = str.maketrans({"–": "-", "—": "-", "−": "-", "×": "x", "≥": ">", "≤": "<", "\u00a0": " "})


def check_png() -> None:
    """Pictures are optional; who lacks what they need is told how to get it."""
    try:
        import PIL.ImageDraw  # noqa: F401
    except ImportError:
        raise UsageError("PNG figures need Pillow: pip install 'mlagentbench[report]'.") from None


def as_png(picture: Picture) -> bytes:
    from PIL import Image, ImageDraw

    by = _SCALE * _SMOOTH
    size = round(picture.width * by), round(picture.height * by)
    image = Image.new("RGB", size, COLOURS["ground"])
    draw = ImageDraw.Draw(image, "RGBA")
    for mark in picture.marks:
        match mark:
            case Line():
                _line(draw, mark, by)
            case Area():
                colour = (*_rgb(COLOURS[mark.paint]), round(255 * mark.opacity))
                draw.polygon([(x * by, y * by) for x, y in mark.points], fill=colour)
            case Dot(shape="circle"):
                ends = (mark.x - mark.size, mark.y - mark.size, mark.x + mark.size, mark.y + mark.size)
                draw.ellipse([each * by for each in ends], fill=COLOURS[mark.paint])
            case Dot():
                draw.polygon([(x * by, y * by) for x, y in outline(mark)], fill=COLOURS[mark.paint])
            case Text():
                _text(draw, mark, by)
    image = image.resize((size[0] // _SMOOTH, size[1] // _SMOOTH), Image.Resampling.BOX)
    file = io.BytesIO()
    image.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        file, "PNG", optimize=True
    )
    return file.getvalue()


def _line(draw: ImageDraw, mark: Line, by: int) -> None:
    points = [(x * by, y * by) for x, y in mark.points]
    width = max(1, round(mark.width * by))
    if not mark.dashed:
        draw.line(points, fill=COLOURS[mark.paint], width=width, joint="curve")
        return
    for (x1, y1), (x2, y2) in pairwise(points):
        length = max(1e-9, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        for start in range(0, int(length), 7 * by):
            a, b = start / length, min(1.0, (start + 4 * by) / length)
            ends = [(x1 + a * (x2 - x1), y1 + a * (y2 - y1)), (x1 + b * (x2 - x1), y1 + b * (y2 - y1))]
            draw.line(ends, fill=COLOURS[mark.paint], width=width)


def _text(draw: ImageDraw, mark: Text, by: int) -> None:
    words = mark.text.translate(_UNKNOWN_TO_FONT)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
    draw.text(
        (mark.x * by, mark.y * by),
        words,
        fill=COLOURS[mark.paint],
        font=_font(mark.size * by),
        anchor=anchor,
        stroke_width=by / 6 if mark.bold else 0,
    )


@lru_cache(maxsize=8)
def _font(size: float) -> FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)

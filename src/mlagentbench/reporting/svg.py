"""Drawings as SVG. In the page, colours are the page's and follow light and dark; in a file, they are fixed."""

from __future__ import annotations

from mlagentbench.reporting.scene import COLOURS, Area, Dot, Line, Mark, Paint, Picture, Text, outline
from mlagentbench.reporting.texts import for_html

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def in_page(picture: Picture, classes: str = "") -> str:
    """Without any style of its own: the page's rules forbid it."""
    head = f'<svg class="{classes}" viewBox="0 0 {_n(picture.width)} {_n(picture.height)}" role="img"'
    return f'{head} aria-label="{for_html(picture.label)}">{_marks(picture, page=True)}</svg>'


def as_file(picture: Picture) -> str:
    size = f'width="{_n(picture.width)}" height="{_n(picture.height)}"'
    view = f'viewBox="0 0 {_n(picture.width)} {_n(picture.height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} font-family="{_FONT}" role="img" '
        f'aria-label="{for_html(picture.label)}"><rect width="100%" height="100%" fill="{COLOURS["ground"]}"/>'
        f"{_marks(picture, page=False)}</svg>\n"
    )


def _marks(picture: Picture, *, page: bool) -> str:
    return "".join(_mark(mark, page) for mark in picture.marks)


def _mark(mark: Mark, page: bool) -> str:
    match mark:
        case Line():
            dashed = ' stroke-dasharray="4 3"' if mark.dashed else ""
            joined = " ".join(f"{_n(x)},{_n(y)}" for x, y in mark.points)
            stroke = _paint("stroke", mark.paint, page)
            return (
                f'<polyline points="{joined}" fill="none" {stroke} stroke-width="{_n(mark.width)}"{dashed}/>'
            )
        case Area():
            seen = f' fill-opacity="{_n(mark.opacity)}"' if mark.opacity < 1 else ""
            return _shape(mark.points, mark.paint, page, mark.title, seen)
        case Dot(shape="circle"):
            circle = f'<circle cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.size)}"'
            return _titled(f"{circle} {_paint('fill', mark.paint, page)}", "circle", mark.title)
        case Dot():
            return _shape(outline(mark), mark.paint, page, mark.title)
        case Text():
            anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
            bold = ' font-weight="600"' if mark.bold else ""
            return (
                f'<text x="{_n(mark.x)}" y="{_n(mark.y)}" font-size="{_n(mark.size)}"{anchor}{bold} '
                f"{_paint('fill', mark.paint, page)}>{for_html(mark.text)}</text>"
            )


def _shape(points: object, paint: Paint, page: bool, title: str, more: str = "") -> str:
    assert isinstance(points, list | tuple)
    joined = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return _titled(f'<polygon points="{joined}" {_paint("fill", paint, page)}{more}', "polygon", title)


def _titled(opening: str, tag: str, title: str) -> str:
    return f"{opening}><title>{for_html(title)}</title></{tag}>" if title else f"{opening}/>"


def _paint(property_: str, paint: Paint, page: bool) -> str:
    return f'class="{property_[0]}-{paint}"' if page else f'{property_}="{COLOURS[paint]}"'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

"""Elements of HTML. What is no element is text, and is escaped: there is no other way to put it in."""

from __future__ import annotations

from collections.abc import Iterable

from mlagentbench.reporting.texts import for_html

_EMPTY = frozenset({"meta", "link", "br", "img", "input"})


class Markup(str):
    """HTML that is made of elements, or that this package has as a file."""

    __slots__ = ()


def tag(name: str, /, *children: Markup | str, class_: str = "", **attributes: str | None) -> Markup:
    """An element. An attribute that is None is left out; `_` in its name stands for `-`."""
    given = {"class": class_ or None, **attributes}
    told = "".join(
        f' {key.replace("_", "-")}="{for_html(value)}"' for key, value in given.items() if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{''.join(map(text, children))}</{name}>")


def text(child: Markup | str) -> str:
    return child if isinstance(child, Markup) else for_html(child)


def join(*children: Markup | str) -> Markup:
    return Markup("".join(map(text, children)))


def joined(children: Iterable[Markup | str]) -> Markup:
    return join(*children)

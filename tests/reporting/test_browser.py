"""The page in a real browser: headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chromium import Browser, browser

from mlagentbench.reporting.report import Written

pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, written: Written) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        found.resize(1200)
        found.open(written.page)
        yield found


def test_the_page_loads_without_a_complaint_and_without_asking_for_anything(opened: Browser) -> None:
    assert opened.complaints() == []
    assert opened.requests() == []


def test_the_policy_stops_what_was_not_written_by_us(
    opened: Browser, written: Written, tmp_path: Path
) -> None:
    """Were a text ever to become a script, it would not run."""
    spoiled = tmp_path / "spoiled.html"
    content = written.page.read_text("utf-8")
    spoiled.write_text(
        content.replace(
            "</main>", "<script>window.spoiled = 1</script><img src=x onerror='window.spoiled = 2'></main>"
        )
    )
    opened.open(spoiled)
    assert opened.run("window.spoiled === undefined")
    assert any("Content Security Policy" in complaint for complaint in opened.complaints())
    opened.open(written.page)


def test_figures_are_there_and_seen(opened: Browser, written: Written) -> None:
    sizes = opened.run(
        "[...document.querySelectorAll('figure svg.wide')].map(e => [e.getBoundingClientRect().width, "
        "e.getBoundingClientRect().height, e.querySelectorAll('polyline, polygon, circle').length])"
    )
    assert len(sizes) == len(list((written.folder / "figures").glob("*.svg")))
    assert all(width > 500 and height > 60 and marks > 3 for width, height, marks in sizes)
    painted = opened.run("getComputedStyle(document.querySelector('figure .f-blue')).fill")
    assert painted == "rgb(0, 114, 178)"


def _table(caption: str) -> str:
    return f"[...document.querySelectorAll('table')].find(t => t.caption.textContent === {caption!r})"


def _column(opened: Browser, caption: str, index: int) -> list[str]:
    return list(
        opened.run(f"[...{_table(caption)}.tBodies[0].rows].map(row => row.cells[{index}].textContent)")
    )


def test_tables_sort_by_mouse_and_keyboard_and_say_so(opened: Browser) -> None:
    caption = "Results by task"
    find = f"{_table(caption)}.tHead.rows[0].cells[3]"
    opened.run(f"{find}.querySelector('button').click()")
    assert opened.run(f"{find}.getAttribute('aria-sort')") == "descending"
    falling = [int(cell.split(" ")[0]) for cell in _column(opened, caption, 3)]
    assert falling == sorted(falling, reverse=True) and len(set(falling)) > 1
    opened.run(f"{find}.querySelector('button').focus()")
    opened.press("Enter")
    assert opened.run(f"{find}.getAttribute('aria-sort')") == "ascending"
    assert [int(cell.split(" ")[0]) for cell in _column(opened, caption, 3)] == sorted(falling)
    opened.run(f"{find}.parentElement.cells[0].querySelector('button').click()")
    assert opened.run(f"{find}.getAttribute('aria-sort')") is None
    names = _column(opened, caption, 0)
    assert names == sorted(names)


def test_cards_are_found_by_their_words(opened: Browser) -> None:
    shown = "[...document.querySelectorAll('.card')].filter(e => e.checkVisibility()).length"
    assert opened.run(shown) == 12
    type_in = (
        "(() => {{ const i = document.querySelector('.filter input'); i.value = {!r}; "
        "i.dispatchEvent(new Event('input')); }})()"
    )
    opened.run(type_in.format("titanic small"))
    assert opened.run(shown) == 3
    assert opened.run("document.querySelector('.filter output').textContent") == "3 shown"
    opened.run(type_in.format(""))
    assert opened.run(shown) == 12


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_can_read_it(opened: Browser, written: Written, scheme: str) -> None:
    opened.resize(390, 844, phone=True)
    opened.scheme(scheme)
    opened.open(written.page)
    assert opened.run("document.documentElement.scrollWidth") == 390
    assert opened.run(
        "[...document.querySelectorAll('svg.narrow')].every(e => e.getBoundingClientRect().width > 300)"
    )
    smallest = opened.run(
        "Math.min(...[...document.querySelectorAll('p, td, li, summary')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 12
    letters = opened.run(
        "(() => { const s = document.querySelector('svg.narrow'); "
        "return 11 * s.getBoundingClientRect().width / s.viewBox.baseVal.width; })()"
    )
    assert letters >= 10
    assert opened.run(_CONTRAST) >= 4.5
    opened.resize(1200)
    opened.scheme("light")
    opened.open(written.page)


_CONTRAST = """
(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!colour.startsWith('rgba(0, 0, 0, 0')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const ratios = [...document.querySelectorAll('p, td, th, a, h2, h3, figcaption, .badge, .label')].map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
  return Math.min(...ratios);
})()
"""


def test_it_prints(opened: Browser) -> None:
    pdf = opened.pdf()
    assert pdf.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 60
    assert opened.run("document.querySelectorAll('details:not([open])').length") > 0

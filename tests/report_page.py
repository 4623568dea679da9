"""Reads a rendered report as a browser would: its elements, its visible text, its figures."""

import json
from html.parser import HTMLParser
from typing import Any


class ReportPage(HTMLParser):
    """elements: tags in order. text: what a reader sees, on one line. figures: their data;
    figures_source: the same as it stands in the page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self._words: list[str] = []
        self.figures_source = ""
        self.feed(page)
        self.close()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    @property
    def figures(self) -> Any:
        return json.loads(self.figures_source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self._open.append("figures" if ("id", "figures") in attrs else tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() not in {tag, "figures"}:
            pass

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "figures":
            self.figures_source += data
        elif inside not in {"script", "style", "title"}:
            self._words.append(data)

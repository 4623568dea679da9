"""Hooks of mkdocs.yml: files of the repository that pages link to become pages of the site themselves.

Links of docs/ are relative paths, so that they hold where the pages are read in the repository. Those that leave docs/
(examples, CHANGELOG) lead to a copy below repository/ on the site; one that leads nowhere fails the build.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath
from posixpath import join as joined

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
COPIES = "repository"
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_LEXERS = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "bash", ".service": "ini"}
_FOREIGN = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a copy of every file that pages link to outside docs/, and of those that such copies link to."""
    unread = list(files.documentation_pages())
    while unread:
        page = unread.pop()
        for target in _targets(_source(page), page.content_string):
            if files.get_file_from_path(_on_site(target)) is None:
                files.append(File.generated(config, _on_site(target), content=_copy(target)))
                unread.append(files.src_uris[_on_site(target)])
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    def on_the_site(link: re.Match[str]) -> str:
        target = _on_site(_file(_source(page.file), link["target"]))
        return relpath(target, dirname(page.file.src_uri) or ".") + (link["anchor"] or "")

    return _outside_code(markdown, lambda text: _LINK.sub(on_the_site, text))


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Raises PluginError where the page would load something from elsewhere: the site works without a network."""
    if foreign := _FOREIGN.search(output):
        raise PluginError(f"{page.file.src_uri} loads {foreign[1]}; keep it in docs/, and name it by a relative path")
    return output


def _source(page: File) -> str:
    """Where a page is in the repository."""
    copied = page.src_uri.startswith(f"{COPIES}/")
    return page.src_uri.removeprefix(f"{COPIES}/") if copied else f"docs/{page.src_uri}"


def _on_site(path: str) -> str:
    """Where a file of the repository is among the sources of the site."""
    if path.startswith("docs/") and (ROOT / path).exists():
        return path.removeprefix("docs/")
    return f"{COPIES}/{path}" if path.endswith(".md") else f"{COPIES}/{path}.md"


def _targets(source: str, text: str) -> Iterator[str]:
    """The files that a page links to."""
    return (_file(source, link["target"]) for link in _LINK.finditer(_CODE_BLOCK.sub("", text)))


def _file(source: str, target: str) -> str:
    """The file that a link means, from the root of the repository; of a folder its README.md, also if it has none."""
    path = normpath(joined(dirname(source), target))
    if path.startswith("..") or not (ROOT / path).exists():
        raise PluginError(f"{source} links to {target}, which is not in the repository; mend the link")
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def _copy(path: str) -> str:
    """A file as a page: Markdown as it is, a folder without a README.md as the list of its files, others as code."""
    here = ROOT / path
    if not here.exists():
        folder = here.parent
        names = [str(each.relative_to(folder)) for each in sorted(folder.rglob("*")) if _is_shown(each)]
        return "\n".join([f"# {dirname(path)}/\n", *(f"- [{name}]({name})" for name in names)])
    text = here.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    return f"# {here.name}\n\n`{path}` of the repository:\n\n```{_LEXERS.get(here.suffix, 'text')}\n{text}\n```\n"


def _is_shown(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for block in _CODE_BLOCK.finditer(markdown):
        parts += [change(markdown[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(markdown[end:])])

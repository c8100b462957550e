"""Our Markdown as HTML for notebooks: headings, tables, lists, details. No script, and the colours of the notebook."""

from __future__ import annotations

import html
import re

LONG = 60
"""Characters above which a cell wraps: others would be cut, or push the table out of the page."""

# The class stands twice where a notebook's own rules are as particular as ours.
_STYLE = (
    "<style>.modelmeter{font-size:.95em;max-width:70em;overflow-x:auto;"
    "scrollbar-color:color-mix(in srgb,currentColor 40%,transparent) transparent}"
    ".modelmeter table{border-collapse:collapse;margin:.5em 0;font-size:inherit}"
    ".modelmeter.modelmeter :is(th,td){white-space:nowrap;padding:.15em .7em;text-align:left;background:none;color:inherit;"
    "border:0;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}"
    ".modelmeter.modelmeter td.long{white-space:normal;min-width:20em}"
    ".modelmeter.modelmeter .right{text-align:right;font-variant-numeric:tabular-nums}"
    ".modelmeter pre{background:none;color:inherit}</style>"
)


def fragment(markdown: str) -> str:
    """A piece of a page. In our Markdown the verdict follows the title."""
    # Not every machine has a font with these signs.
    markdown = markdown.translate({ord("✅"): "✓", ord("❌"): "✗", ord("❔"): "?"})
    return "".join([_STYLE, '<div class="modelmeter">', *_blocks(markdown.splitlines()), "</div>"])


def preformatted(text: str) -> str:
    """Text as it is, for what has no Markdown."""
    return f'{_STYLE}<div class="modelmeter"><pre>{html.escape(text)}</pre></div>'


def _blocks(lines: list[str]) -> list[str]:
    parts: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), len(lines))
            parts.append(f"<pre>{html.escape(chr(10).join(lines[at + 1 : end]))}</pre>")
            at = end + 1
        elif heading := re.match(r"(#{1,6}) (.*)", line):
            level = min(len(heading[1]) + 2, 6)
            parts.append(f"<h{level}>{_inline(heading[2])}</h{level}>")
            at += 1
        elif line.startswith("|"):
            end = _while(lines, at, "|")
            parts.append(_table(lines[at:end]))
            at = end
        elif line.startswith(("- ", "* ")):
            end = _while(lines, at, ("- ", "* ", "  "))
            items = "\n".join(lines[at:end])
            parts.append("".join(["<ul>", *(f"<li>{_inline(item)}</li>" for item in _items(items)), "</ul>"]))
            at = end
        elif line.strip() in ("<details>", "</details>"):
            parts.append(line.strip())
            at += 1
        elif summary := re.fullmatch(r"(<details>)?<summary>(.*)</summary>", line.strip()):
            parts.append(f"{summary[1] or ''}<summary>{_inline(html.unescape(summary[2]))}</summary>")
            at += 1
        elif line.strip():
            parts.append(f"<p>{_inline(line)}</p>")
            at += 1
        else:
            at += 1
    return parts


def _while(lines: list[str], at: int, start: str | tuple[str, ...]) -> int:
    while at < len(lines) and lines[at].startswith(start):
        at += 1
    return at


def _items(text: str) -> list[str]:
    return [re.sub(r"\s*\n\s*", " ", item) for item in re.split(r"(?m)^[-*] ", text) if item.strip()]


def _table(lines: list[str]) -> str:
    head, rule, *body = [_cells(line) for line in lines] if len(lines) > 1 else [_cells(lines[0]), []]
    right = [cell.strip().endswith(":") for cell in rule]
    # A column of words reads from the left, also where the terminal and Markdown align it with numbers.
    for at in range(len(right)):
        given = [row[at] for row in body if at < len(row) and row[at].strip(" -–—")]
        right[at] = right[at] and (not given or sum(map(_is_number, given)) * 2 > len(given))

    def row(kind: str, cells: list[str]) -> str:
        def cell(at: int, text: str) -> str:
            place = ' class="right"' if at < len(right) and right[at] else ' class="long"' if len(text) > LONG else ""
            return f"<{kind}{place}>{_inline(text)}</{kind}>"

        return "<tr>" + "".join(cell(at, text) for at, text in enumerate(cells)) + "</tr>"

    first = row("th", head) if any(cell.strip() for cell in head) else ""
    return "<table>" + first + "".join(row("td", cells) for cells in body) + "</table>"


def _is_number(cell: str) -> bool:
    """Whether a cell is a number, with a unit or not."""
    return re.match(r"[\W_]*[0-9]", cell) is not None and len(cell) <= LONG


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _inline(text: str) -> str:
    text = re.sub(
        r"\\([\\`*_{}\[\]()#+.!<>~-])",
        lambda found: f"&#{ord(found[1])};",
        html.escape(html.unescape(text), quote=False),
    )
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"&lt;(br|/?sub|/?sup)\s*/?&gt;", r"<\1>", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?!\w)", r"<em>\1</em>", text)

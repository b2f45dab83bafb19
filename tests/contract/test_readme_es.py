"""README.es.md says what README.md says: as many headings, paragraphs, rows of tables and items of lists in
each section, in the same order; the same blocks of code; the same commands, names and links in each section."""
import collections
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGLISH, SPANISH = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.es.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ONLY_THERE = "Los demás documentos están en inglés."  # of no use in English
OTHERS = {"README.md", "README.es.md"}  # each names the other


def without_code(text):
    return FENCE.sub("", text)


def sections(text):
    """[(level, text below the heading)], the heading itself left out."""
    parts = re.split(r"^(#+) .+$", without_code(text).replace(ONLY_THERE, ""), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def anchors(text):
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)}


def shape(text):
    """Of a section: how many rows, items and paragraphs it has."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    rows = len(re.findall(r"^\|", text, re.MULTILINE))
    items = len(re.findall(r"^(?:\d+\.|-) ", text, re.MULTILINE))
    bold = len(re.findall(r"\*\*[^*]+\*\*", text))
    return len(blocks), rows, items, bold


def code_words(text):
    return collections.Counter(re.sub(r"\s+", " ", word) for word in re.findall(r"`([^`]+)`", text))


def links(text):
    """Targets but for anchors of the same page, whose headings have other words."""
    found = re.findall(r"\]\(([^)]+)\)", text)
    return collections.Counter("#" if one.startswith("#") else one for one in found if one not in OTHERS)


PAIRS = list(zip(sections(ENGLISH), sections(SPANISH)))


def test_headings():
    assert len(sections(ENGLISH)) == len(sections(SPANISH)) >= 8
    assert [one for one, _ in sections(ENGLISH)] == [one for one, _ in sections(SPANISH)]


def test_code_is_the_same():
    """Also its comments: who copies a line of either gets the same."""
    assert len(FENCE.findall(ENGLISH)) > 10 and FENCE.findall(ENGLISH) == FENCE.findall(SPANISH)


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_a_section_says_the_same(number):
    (_, english), (_, spanish) = PAIRS[number]
    assert shape(english) == shape(spanish)
    assert code_words(english) == code_words(spanish)
    assert links(english) == links(spanish)


def test_anchors_of_the_page():
    for text in (ENGLISH, SPANISH):
        told = set(re.findall(r"\]\(#([^)]+)\)", text))
        assert told and told <= anchors(text), told - anchors(text)


def test_it_is_another_language():
    english = set(re.split(r"(?<=[.:]) |\n\n", re.sub(r"\s+", " ", without_code(ENGLISH))))
    spanish = set(re.split(r"(?<=[.:]) |\n\n", re.sub(r"\s+", " ", without_code(SPANISH))))
    assert not {one for one in english & spanish if len(one.split()) > 5}

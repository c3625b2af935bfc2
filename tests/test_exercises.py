"""Right answers pass; a wrong one is told its likely mistake."""

import answers_attention
import answers_averages
import answers_characters
import answers_modern
import pytest

from attention_lab.teaching import exercises
from attention_lab.teaching.exercises import AnswerError

SETS = (answers_characters, answers_averages, answers_attention, answers_modern)
RIGHT = {name: answer for answers in SETS for name, answer in answers.RIGHT.items()}
WRONG = [case for answers in SETS for case in answers.WRONG]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_and_says_so(name, capsys):
    getattr(exercises, name)(RIGHT[name])
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_told_its_likely_mistake(name, answer, message):
    with pytest.raises(AnswerError, match=message):
        getattr(exercises, name)(answer)


def test_every_check_is_tried_here():
    checks = {name for name in exercises.__all__ if name.startswith("check_")}
    assert checks == set(RIGHT) == {name for name, _answer, _message in WRONG}

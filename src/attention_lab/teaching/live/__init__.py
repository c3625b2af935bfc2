"""Figures that compute in the page itself, with no kernel.

Each is a function here, a module NAME.py and a JavaScript file NAME.js beside it.
"""

from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.next_character import next_character

__all__ = ["LiveFigure", "next_character"]

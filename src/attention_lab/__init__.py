"""The code of the attention_lab course: from a table of letter pairs to attention."""

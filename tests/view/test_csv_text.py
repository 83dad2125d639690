"""CSV: a header, a line a row, and nothing for what is not known."""

from __future__ import annotations

from periplus.view.csv_text import csv_chunks


def test_rows_are_written_in_pieces() -> None:
    """A header also without rows; pieces of a bounded number of rows."""
    assert list(csv_chunks(["a", "b"], [])) == ["a,b\n"]
    assert "".join(csv_chunks(["a", "b"], [[1, None], ["x,y", 2.5]])) == 'a,b\n1,\n"x,y",2.5\n'
    assert len(list(csv_chunks(["a"], ([number] for number in range(2_500))))) == 4

"""A project that several processes of a session need, run once."""

from __future__ import annotations

from oloproof.pytest_plugin.once import Outcome, Source, known_outcome, outcome_of


def test_who_comes_later_is_told_what_became_of_it(tmp_path):
    source = Source(number=0, typed="none.yaml", directory=str(tmp_path))
    assert known_outcome(source, tmp_path) is None
    first = outcome_of(source, tmp_path, ())
    assert (first.exit_code, first.run, first.is_decided) == (2, None, False)
    assert "none.yaml: the configuration does not exist" in first.said
    source.path.write_text("?")  # who would run it again would be told something else
    assert outcome_of(source, tmp_path, ()) == known_outcome(source, tmp_path) == first


def test_a_run_whose_maker_died_is_not_made_again_and_is_no_pass(tmp_path):
    source = Source(number=1, typed="oloproof.yaml", directory=str(tmp_path))
    (tmp_path / "1.begun").touch()
    found = outcome_of(source, tmp_path, ())
    assert (found.exit_code, found.is_decided) == (5, False)
    assert known_outcome(source, tmp_path) is None


def test_only_a_run_that_came_to_a_verdict_is_decided():
    ended = {code: Outcome(exit_code=code, run="20261130T101502-k3f9").is_decided for code in (*range(7), 70, 130, -9)}
    assert [code for code, decided in ended.items() if decided] == [0, 1, 3, 4]
    assert not Outcome(exit_code=0, run=None).is_decided

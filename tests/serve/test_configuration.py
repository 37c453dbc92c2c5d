"""One file holds the whole configuration, and each fault in it is reported with its line."""

from pathlib import Path

import pytest

from regraft.loop.policy import Policy
from regraft.model import BadInput
from regraft.model.setting_kinds import keys_of, secrets_of
from regraft.serve.configuration_file import SECTIONS, read_configuration, reference, starter

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "regraft.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as refused:
        read_configuration(written(folder, text), {})
    return str(refused.value).removeprefix(f"{folder / 'regraft.toml'}: ")


def test_the_starter_file_is_the_defaults(tmp_path: Path) -> None:
    full = read_configuration(written(tmp_path, starter()), {})
    assert full == read_configuration(written(tmp_path, "# nothing\n"), {})
    limits = {"actions_per_hour": 200, "transformations_per_hour": 6}
    assert full.policy == Policy(**limits)  # type: ignore[arg-type]


def test_the_starter_explains_every_key() -> None:
    lines = starter().splitlines()
    for section in SECTIONS.values():
        for key in keys_of(section):
            place = next(number for number, line in enumerate(lines) if line.startswith(f"{key} = "))
            assert lines[place - 1].startswith("# ")


def test_the_reference_in_the_documentation_is_that_of_the_table() -> None:
    assert reference() in DOCS.read_text(encoding="utf-8")


def test_paths_are_seen_from_the_folder_of_the_file(tmp_path: Path) -> None:
    found = read_configuration(written(tmp_path, '[state]\nfolder = "kept"\n'), {})
    assert found.state.folder == tmp_path / "kept"
    assert found.web.audit_log == tmp_path / "kept" / "audit.ndjson"


def test_secrets_come_from_the_environment(tmp_path: Path) -> None:
    environment = {"REGRAFT_ZOOKEEPER_AUTH": "digest:me:secret", "REGRAFT_TOKEN": "canary"}
    found = read_configuration(written(tmp_path, "# nothing\n"), environment)
    assert (found.zookeeper.auth, found.deploy.token) == ("digest:me:secret", "canary")


def test_secrets_are_not_keys_are_not_shown_and_are_documented(tmp_path: Path) -> None:
    assert fault(tmp_path, '[deploy]\ntoken = "canary"').startswith("line 2, deploy.token: expected one of")
    found = read_configuration(written(tmp_path, "# nothing\n"), {"REGRAFT_TOKEN": "canary"})
    assert "'canary'" not in repr(found)
    for section in SECTIONS.values():
        for variable in secrets_of(section).values():
            assert variable in section.__doc__
            assert f"`{variable}`" in DOCS.read_text(encoding="utf-8")


def test_settings_of_spark_are_passed_on(tmp_path: Path) -> None:
    found = read_configuration(written(tmp_path, '[spark]\nconf = ["spark.a=1", "spark.b=c=d"]\n'), {})
    assert found.spark.conf == (("spark.a", "1"), ("spark.b", "c=d"))
    said = fault(tmp_path, '[spark]\nconf = ["executor.memory=8g"]')
    assert said.startswith("line 2, spark.conf: expected a list of settings such as")


def test_values_reach_the_policy(tmp_path: Path) -> None:
    text = '[loop]\nwindow = "5m"\n'
    more = '[automatic]\nmaintenance = ["Sat,Sun 00:00-24:00"]\nmax_actions = 7\n[goals]\nk = 0\n'
    found = read_configuration(written(tmp_path, text + more), {})
    assert found.policy.window_seconds == 300.0
    assert str(found.policy.maintenance[0]) == "Sat,Sun 00:00-24:00"
    assert found.policy.max_actions == 7
    assert found.goals.k is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[loop]\n\nconfirm = "three"',
            'line 3, loop.confirm: expected a whole number from 1 to 100, found "three"',
        ),
        ("[loop]\nconfirm = 0", "line 2, loop.confirm: expected a whole number from 1 to 100, found 0"),
        ("[loop]\nconfirm = true", "line 2, loop.confirm: expected a whole number from 1 to 100, found true"),
        ("[loop]\nheal = 1", "line 2, loop.heal: expected true or false, found 1"),
        (
            '[loop]\nwindow = "1 fortnight"',
            'line 2, loop.window: expected a length of time such as "500ms", "60s"',
        ),
        (
            '[loop]\nmode = "bold"',
            'line 2, loop.mode: expected one of "observe", "propose", "automatic", found "bold"',
        ),
        ('[automatic]\nmaintenance = ["noon"]', "line 2, automatic.maintenance: expected a list of times"),
        ("[automatic]\nmaintenance = [1]", "line 2, automatic.maintenance: expected a list of times"),
        (
            '[state]\nleast_free = "much"',
            'line 2, state.least_free: expected a size such as "200MB", found "much"',
        ),
        ("[loop]\npayback_windows = inf", "line 2, loop.payback_windows: expected a number from 0"),
        (f'[loop]\nwindow = "{10**400}s"', "line 2, loop.window: expected a length of time"),
        ('[telemetry]\nfolder = "a\\u0000b"', "line 2, telemetry.folder: expected"),
        (f"[loop]\nconfirm = {'9' * 5000}", "is not TOML: "),
        ("[loop]\nconfrim = 3", "line 2, loop.confrim: expected one of mode, window"),
        ("[lop]\nconfirm = 3", "line 1, [lop]: expected one of the sections overlay"),
        ("loop = 3", "line 1, loop: expected a section [loop], found 3"),
    ],
)
def test_a_wrong_key_or_value_is_said_with_place_expected_and_found(
    tmp_path: Path, text: str, message: str
) -> None:
    assert fault(tmp_path, text).startswith(message)


def test_a_misspelt_name_comes_with_the_one_that_may_be_meant(tmp_path: Path) -> None:
    assert fault(tmp_path, "[loop]\nconfrim = 3").endswith('(did you mean "confirm"?)')


def test_a_file_that_is_not_toml_is_refused_with_the_place(tmp_path: Path) -> None:
    assert "is not TOML" in fault(tmp_path, "[loop\n")
    assert "line 1" in fault(tmp_path, "[loop\n")

"""Only whole steps survive."""

import sqlite3
from pathlib import Path

import pytest

from regraft.loop.decisions import Decision
from regraft.loop.policy import Policy
from regraft.loop.state import first_state
from regraft.model import BadInput
from regraft.serve import views as v
from regraft.serve.store import Document, Store, StoreFault
from regraft.testing.loop_world import LoopWorld


def operation(number: int) -> v.OperationView:
    return v.OperationView(
        id=f"op-{number}",
        kind="deploy",
        state="running",
        by="ann",
        plan=None,
        run=None,
        began=float(number),
        changed_at=0.0,
        ended=None,
    )


def test_every_state_that_a_loop_comes_to_is_read_back_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite")
    for seed in range(60):
        world = LoopWorld(seed, "automatic")
        world.run(60)
        store.write(world.state)
        assert store.state() == world.state
    store.close()


def test_decisions_are_numbered_and_found_by_kind_and_number(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite")
    said = [Decision(at=float(n), kind=("kept", "judged")[n % 2], text=str(n)) for n in range(6)]
    told = store.write(None, [(each, "op-1") for each in said])
    assert [each.text for each in store.decisions(10, None, None)] == ["5", "4", "3", "2", "1", "0"]
    assert [each.text for each in store.decisions(10, told[3].id, "kept")] == ["2", "0"]
    assert store.decisions(1, None, None)[0].operation == "op-1"
    store.close()
    again = Store(tmp_path / "state.sqlite")
    assert again.write(None, [(said[0], None)])[0].id > told[-1].id
    again.close()


def test_documents_come_newest_first_and_within_their_time(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite")
    views = [operation(number) for number in range(5)]
    store.write(None, (), [Document("operation", each.id, each.began, each) for each in views])
    found = store.documents("operation", v.OperationView, 2)
    assert [each.id for each in found] == ["op-4", "op-3"]
    found = store.documents("operation", v.OperationView, 9, since=1.0, before=3.0)
    assert [each.id for each in found] == ["op-2", "op-1"]
    assert store.document("operation", "op-9", v.OperationView) is None
    store.forget(3.0)
    assert len(store.documents("operation", v.OperationView, 9)) == 2
    store.close()


def test_a_step_that_cannot_be_written_is_not_written_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite")
    state = first_state(Policy(), "propose", 0.0)
    store.write(state)
    store._connection.execute("PRAGMA max_page_count = 1")
    big = [(Decision(at=0.0, kind="kept", text="x" * 100_000), None)]
    with pytest.raises(StoreFault, match="full"):
        store.write(first_state(Policy(), "observe", 5.0), big)
    assert store.state() == state
    assert store.decisions(10, None, None) == ()
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.write(None, big)
    assert len(store.decisions(10, None, None)) == 1
    store.close()


def test_a_second_user_of_the_file_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "state.sqlite")
    store.write(first_state(Policy(), "propose", 0.0))
    with pytest.raises(BadInput, match="another loop uses it"):
        Store(tmp_path / "state.sqlite")
    store.close()


def test_a_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_bytes(b"not a database, by any means" * 100)
    with pytest.raises(BadInput, match="cannot be used"):
        Store(tmp_path / "state.sqlite")
    newer = sqlite3.connect(tmp_path / "newer.sqlite")
    newer.execute("PRAGMA user_version = 99")
    newer.commit()
    newer.close()
    with pytest.raises(BadInput, match="it has version 99"):
        Store(tmp_path / "newer.sqlite")


def overwritten(path: Path, table: str, document: bytes) -> None:
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE {table} SET document = ?", (document,))
    base.close()


@pytest.mark.parametrize("document", [b'{"phase": 5}', b"not JSON", b'{"mode": "\xff"}'])
def test_a_state_that_cannot_be_read_is_named_and_kept(tmp_path: Path, document: bytes) -> None:
    path = tmp_path / "state.sqlite"
    store = Store(path)
    store.write(first_state(Policy(), "propose", 0.0))
    store.close()
    overwritten(path, "state", document)
    store = Store(path)
    with pytest.raises(BadInput, match=r"state.sqlite: the state of the loop .* move the file away") as fault:
        store.state()
    assert "\n" not in str(fault.value)
    store.close()
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT document FROM state").fetchall() == [(document,)]
    base.close()


def test_a_decision_and_a_document_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    store = Store(path)
    said = [(Decision(at=0.0, kind="kept", text="x"), None)]
    store.write(None, said, [Document("operation", "op-1", 0.0, operation(1))])
    store.close()
    for table in ("decisions", "documents"):
        overwritten(path, table, b"{}")
    store = Store(path)
    with pytest.raises(StoreFault, match=r"state.sqlite: what it holds of kind 'decision' cannot be read"):
        store.decisions(10, None, None)
    with pytest.raises(StoreFault, match=r"state.sqlite: what it holds of kind 'operation' cannot be read"):
        store.document("operation", "op-1", v.OperationView)
    store.close()

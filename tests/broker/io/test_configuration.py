"""What a broker is told before it starts."""

import pytest

from regraft.broker.io.configuration import Configuration
from regraft.model import BadInput


@pytest.mark.parametrize("id", ["@x", "!x", "a/b", "a#1"])
def test_a_broker_is_not_called_like_a_client(id: str) -> None:
    with pytest.raises(BadInput, match=r"^broker '.*': a broker's id does not begin with '@' or '!'"):
        Configuration(id)
    with pytest.raises(BadInput, match=f"^broker '{id}'"):
        Configuration("b0", ("b1", id))


def test_other_ids_are_fine() -> None:
    assert Configuration("b-0@site", ("b!",)).broker == "b-0@site"

"""dz-expressions as addresses."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.flows.block import DEFAULT_BLOCK_IPV4, AddressBlock, Prefix, text
from regraft.model import BadInput

BLOCKS = [AddressBlock.of(), AddressBlock.of("ff0e:b400::/32"), AddressBlock.of(DEFAULT_BLOCK_IPV4)]
expressions = st.text("01", max_size=18)


def test_an_expression_is_a_prefix_behind_the_block() -> None:
    block = AddressBlock.of("ff0e:b400::/32")
    assert text(6, block.prefix("01")) == "ff0e:b400:4000::/34"
    assert text(4, AddressBlock.of("239.0.0.0/8").prefix("0110")) == "239.96.0.0/12"
    assert text(6, block.prefix("")) == "ff0e:b400::/32"


def test_an_event_is_sent_to_its_digits_and_zeros() -> None:
    assert ip_address(AddressBlock.of().event("0110")) == ip_address("ff18:6000::")


@given(st.sampled_from(BLOCKS), expressions)
def test_a_prefix_gives_its_expression_back(block: AddressBlock, dz: str) -> None:
    assert block.dz(block.prefix(dz)) == dz
    whole = Prefix(block.event(dz), block.network.max_prefixlen)
    assert block.dz(whole) == dz.ljust(block.digits, "0")


@given(st.sampled_from(BLOCKS), expressions, expressions)
def test_an_expression_covers_another_as_the_prefixes_do(block: AddressBlock, one: str, other: str) -> None:
    wide, narrow = block.prefix(one), block.prefix(other)
    width = block.network.max_prefixlen
    within = narrow.length >= wide.length and (wide.address ^ narrow.address) >> (width - wide.length) == 0
    assert within == other.startswith(one)


def test_the_longest_expression_is_what_the_block_leaves() -> None:
    block = AddressBlock.of(DEFAULT_BLOCK_IPV4)
    assert block.prefix("1" * 18).length == 32
    with pytest.raises(BadInput, match=r"has 19 digits, the block 239\.192\.0\.0/14 has room for 18"):
        block.prefix("1" * 19)


@pytest.mark.parametrize(
    ("block", "rule"),
    [
        ("fd00::/16", "multicast"),
        ("10.0.0.0/8", "multicast"),
        ("ff18::1/128", "leaves no digit"),
        ("ff18::1/16", "host bits"),
        ("nonsense", "not an address block"),
    ],
)
def test_a_block_must_be_multicast_and_have_room(block: str, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        AddressBlock.of(block)


def test_other_digits_and_foreign_prefixes_are_refused() -> None:
    block = AddressBlock.of()
    with pytest.raises(BadInput, match="other than 0 and 1"):
        block.prefix("012")
    with pytest.raises(BadInput, match="not within"):
        block.dz(Prefix(0xFF19 << 112, 20))
    with pytest.raises(BadInput, match="behind its length"):
        block.dz(Prefix(0xFF18 << 112 | 1, 20))

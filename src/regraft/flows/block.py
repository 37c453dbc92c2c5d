"""dz-expressions as addresses: a reserved multicast block and the digits behind it (Content routes §4.3).

The structure of a dz-expression is that of an address prefix: `01` in the block ff18::/16 is
ff18:4000::/18, and the event whose expression is `0110` is sent to ff18:6000::. The longest expression
has as many digits as the block leaves of an address (4.32). Addresses are integers here, as in the rules.
"""

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, NamedTuple

from regraft.model import BadInput

Family = Literal[4, 6]

WIDTH: dict[Family, int] = {4: 32, 6: 128}
"""How many bits an address has."""

DEFAULT_BLOCK = "ff18::/16"
"""Groups that are not permanently assigned, within one organisation (RFC 4291 §2.7: flag T, scope 8)."""

DEFAULT_BLOCK_IPV4 = "239.192.0.0/14"
"""The block for IPv4 (RFC 2365 §6.2); it leaves 18 digits."""


class Prefix(NamedTuple):
    """The addresses that begin with the first `length` bits of `address`; all bits after them are 0."""

    address: int
    length: int


@dataclass(frozen=True)
class AddressBlock:
    """The block that belongs to events; nothing else in the network may be sent to its addresses."""

    network: IPv4Network | IPv6Network

    @classmethod
    def of(cls, text: str = DEFAULT_BLOCK) -> "AddressBlock":
        try:
            network = ip_network(text)
        except ValueError as fault:
            raise BadInput("address block", f"{text!r} is not an address block: {fault}") from None
        if not network.is_multicast:
            raise BadInput("address block", f"{text!r} must lie within 224.0.0.0/4 or ff00::/8 (multicast)")
        if network.prefixlen == network.max_prefixlen:
            raise BadInput("address block", f"{text!r} leaves no digit for dz-expressions")
        return cls(network)

    @property
    def family(self) -> Family:
        return 6 if isinstance(self.network, IPv6Network) else 4

    @cached_property
    def whole(self) -> Prefix:
        """The block itself: the expression without digits."""
        return Prefix(int(self.network.network_address), self.network.prefixlen)

    @cached_property
    def digits(self) -> int:
        """The most digits that an expression may have."""
        return self.network.max_prefixlen - self.network.prefixlen

    def prefix(self, dz: str) -> Prefix:
        """The addresses of all events of this part of the space."""
        if dz.strip("01"):
            raise BadInput("dz-expression", f"{dz!r} has digits other than 0 and 1")
        if len(dz) > self.digits:
            rule = f"{dz!r} has {len(dz)} digits, the block {self.network} has room for {self.digits}"
            raise BadInput("dz-expression", rule)
        start, length = self.whole
        if not dz:
            return self.whole
        return Prefix(start | int(dz, 2) << (self.digits - len(dz)), length + len(dz))

    def holds(self, prefix: Prefix) -> bool:
        """Whether the prefix lies within the block."""
        start, length = self.whole
        count = prefix.length - length
        return 0 <= count <= self.digits and (prefix.address ^ start) >> self.digits == 0

    def dz(self, prefix: Prefix) -> str:
        """The expression that has this prefix."""
        start, length = self.whole
        count = prefix.length - length
        if not self.holds(prefix):
            raise BadInput("prefix", f"{text(self.family, prefix)} is not within the block {self.network}")
        own = prefix.address - start
        if own & ((1 << (self.digits - count)) - 1):
            raise BadInput("prefix", f"{text(self.family, prefix)} has bits set behind its length")
        return f"{own >> (self.digits - count):0{count}b}" if count else ""

    def event(self, dz: str) -> int:
        """The address that an event is sent to: digits that its expression does not have are 0."""
        return self.prefix(dz).address


def text(family: Family, prefix: Prefix) -> str:
    """The prefix as people write it: ff18:4000::/18."""
    network = IPv6Network if family == 6 else IPv4Network
    return str(network((prefix.address & ~((1 << (WIDTH[family] - prefix.length)) - 1), prefix.length)))

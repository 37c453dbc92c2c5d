"""Content routes in real switches: routes -> OpenFlow rules -> Open vSwitch (Content routes §2.2, §4.3).

`render` makes the rules of every switch; `change` makes the messages that lead from one rule set to the next
without losing, doubling or looping an event; `install` sends them. Only `connection` and `installing` touch
the network; everything else is pure.
"""

from regraft.flows.block import DEFAULT_BLOCK, DEFAULT_BLOCK_IPV4, AddressBlock
from regraft.flows.changing import RuleChange, change
from regraft.flows.connection import Patience, RuleRefused, SwitchFault, SwitchUnreachable
from regraft.flows.installing import install, installed, update
from regraft.flows.rendering import FlowRules, render
from regraft.flows.switch_files import Switches, read_switches, switches_document
from regraft.flows.wiring import Host, Wiring, wire

__all__ = [
    "DEFAULT_BLOCK",
    "DEFAULT_BLOCK_IPV4",
    "AddressBlock",
    "FlowRules",
    "Host",
    "Patience",
    "RuleChange",
    "RuleRefused",
    "SwitchFault",
    "SwitchUnreachable",
    "Switches",
    "Wiring",
    "change",
    "install",
    "installed",
    "read_switches",
    "render",
    "switches_document",
    "update",
    "wire",
]

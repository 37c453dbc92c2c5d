"""Self-healing (Mimosa Pudica): notices failures, decides by rules what to do about them, and records it.

`core` decides what one node does, with `detection`, `election`, `rules`, `limits`, `reaction` and `repair`;
all of that is pure. `database` holds the destination database: its decisions are pure, its servers are thin.
Healing changes no links itself: it emits Intents.
"""

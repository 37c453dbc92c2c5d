"""Real interest data, as their publishers wrote them: who follows, likes or listens to what."""

import gzip
import json
from pathlib import Path

SETS = {
    "Facebook": "ego_facebook_edges.txt.gz",
    "last.fm": "lastfm_user_artists.tsv.gz",
    "last.fm friends": "lastfm_user_friends.tsv.gz",
    "Twitch PTBR": "twitch_PTBR_features.jsonl.gz",
    "Twitch RU": "twitch_RU_features.jsonl.gz",
    "Twitch ES": "twitch_ES_features.jsonl.gz",
    "Twitch FR": "twitch_FR_features.jsonl.gz",
    "Deezer RO": "deezer_RO_genres.jsonl.gz",
}


def read_set(path: Path) -> dict[str, frozenset[str]]:
    """Topic -> nodes. Of friends, everybody is a topic that friends subscribe to."""
    wanted: dict[str, set[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if path.name.endswith(".jsonl.gz"):
                row = json.loads(line)
                for topic in row["topics"]:
                    wanted.setdefault(str(topic), set()).add(f"n{row['node']}")
            elif path.name.endswith(".tsv.gz"):
                user, artist, *_ = line.split()
                if user != "userID":
                    wanted.setdefault(artist, set()).add(f"n{user}")
            else:
                one, other = line.split()
                wanted.setdefault(one, set()).add(f"n{other}")
                wanted.setdefault(other, set()).add(f"n{one}")
    return {topic: frozenset(nodes) for topic, nodes in wanted.items()}

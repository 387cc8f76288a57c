"""What an outsider who knows something about a person can find out, before and after."""

from timeveil.attack.adversary import Adversary
from timeveil.attack.breach import Breach, Risk
from timeveil.attack.judge import attack
from timeveil.attack.pattern_adversary import PatternAdversary
from timeveil.attack.pattern_breach import BoundAttack, PatternBreach, SmallGroup, SolveAttack
from timeveil.attack.posterior import Posterior
from timeveil.attack.series_adversary import SeriesAdversary
from timeveil.attack.series_breach import SeriesBreach
from timeveil.attack.stream_adversary import StreamAdversary
from timeveil.attack.stream_breach import StreamBreach

__all__ = [
    "Adversary",
    "BoundAttack",
    "Breach",
    "PatternAdversary",
    "PatternBreach",
    "Posterior",
    "Risk",
    "SeriesAdversary",
    "SeriesBreach",
    "SmallGroup",
    "SolveAttack",
    "StreamAdversary",
    "StreamBreach",
    "attack",
]

"""What an outsider who knows something about a person can find out, before and after."""

from timeveil.evidence.breach import Breach, Risk
from timeveil.evidence.posterior import Posterior
from timeveil.judging.attack_judge import attack
from timeveil.models.events.judges.adversary import Adversary
from timeveil.models.patterns.judges.adversary import PatternAdversary
from timeveil.models.patterns.judges.breach import BoundAttack, PatternBreach, SmallGroup, SolveAttack
from timeveil.models.series.judges.adversary import SeriesAdversary
from timeveil.models.series.judges.breach import SeriesBreach
from timeveil.models.stream.judges.adversary import StreamAdversary
from timeveil.models.stream.judges.breach import StreamBreach

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

"""What an outsider who knows something about a person can find out, before and after."""

from timeveil.attack.adversary import Adversary
from timeveil.attack.breach import Breach, Risk
from timeveil.attack.linkage import attack

__all__ = ["Adversary", "Breach", "Risk", "attack"]

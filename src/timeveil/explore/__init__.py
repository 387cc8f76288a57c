"""One parameter at several settings, each tried in memory and judged: what it costs and what it gives."""

from timeveil.domain.parameter import Parameters, parameter


class ExploreParameters(Parameters):
    """How settings are judged and compared."""

    loss: str | None = parameter(
        "Loss to compare by, a column of the table.", default=None, example="withheld", metavar="NAME"
    )
    risk: str | None = parameter(
        "Risk to compare by.", default=None, example="mean", metavar="worst|mean|promised"
    )
    max_loss: float | None = parameter(
        "Largest acceptable loss, as a share.", default=None, at_least=0, example=0.2
    )
    max_risk: float | None = parameter(
        "Largest acceptable risk, as a share.", default=None, at_least=0, example=0.1
    )
    workers: int | None = parameter(
        "Settings tried at a time; one per core if not set.", default=None, at_least=1, example=1
    )

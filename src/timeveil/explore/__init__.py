"""One parameter at several settings, each tried in memory and judged: what it costs and what it gives."""

from timeveil.domain.parameter import Parameters, optional


class ExploreParameters(Parameters):
    """How settings are judged and compared."""

    loss: str | None = optional("Loss to compare by, a column of the table.", "withheld", "NAME")
    risk: str | None = optional("Risk to compare by.", "mean", "worst|mean|promised")
    max_loss: float | None = optional("Largest acceptable loss, as a share or in bits.", 0.2, at_least=0)
    max_risk: float | None = optional("Largest acceptable risk, as a share.", 0.1, at_least=0)
    workers: int | None = optional("Settings tried at a time; one per core if not set.", 1, at_least=1)

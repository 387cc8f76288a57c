"""The parameters of streams (Wang et al. 2010), at once, by `push` or in service, one line each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timeveil.domain import lines
from timeveil.domain.lines import READING, AnyAdversary, Reading
from timeveil.domain.parameter import Parameters, Problem, parameter, rule
from timeveil.errors import InputError, ParameterError, raising

if TYPE_CHECKING:
    from timeveil.models.stream.judges.attack import StreamBreach  # noqa: F401 what an attack gives

Knowledge = Literal["published-slot", "true-slot", "several-slots", "correlation"]
KNOWLEDGE = {
    "published-slot": "the slot in which a record was published",
    "true-slot": "the true slot of a record",
    "several-slots": "every slot in which a person was published",
    "correlation": "the slot in which a record was published, and what the release shows of who has what",
}
MOST_SLOTS = 10_000
"""No window and no jitter is longer: a week of minutes, a year of hours, a generation of days."""


def costs_from_text(text: str) -> str | tuple[float, ...]:
    """The name of a cost, or numbers separated by commas."""
    if not text[:1].isdigit() and not text.startswith(("-", ".", "+")):
        return text
    hint = "use linear, quadratic, or the cost of moving by 0, 1, 2 ... slots, such as 0,1,3"
    error = ParameterError("`move_cost` is neither a name nor numbers separated by commas", hint=hint)
    with raising(error, on=ValueError):
        return tuple(float(number) for number in text.split(","))


def reach_of(stated: Mapping[str, Any]) -> int:
    """A record is published fewer than this many slots late, by the stated parameters."""
    return int(stated["window"] + stated.get("jitter", 0))


class StreamParameters(Reading):
    """Publish small snapshots so that no sensitive value is held by more than 1 in l records of a bucket.

    A bucket is a few records, with their sensitive values listed separately. Collects a window of slots,
    moves a few records to a later slot, withholds as few as it can, and publishes every slot in order. With
    a folder for IN and --state it runs as a service: each file is a snapshot, each final slot becomes a
    folder, and after an interruption it continues where it was.

    Example: timeveil publish-stream cases.csv --out published --respondent person --time day
    --quasi district --sensitive diagnosis --drop-rest --l 3 --window 7
    """

    model = "stream"
    command = "publish-stream"
    needs = ("time", "sensitive")
    roles = ("quasi", "keep", "respondent", "drop")
    have = ("A stream", "A small snapshot every day or hour: case reports, alarms.")
    promised = "Nobody's sensitive value can be inferred with a chance above 1 in l."
    contents = "a stream"
    reads = "Table to read, such as cases.csv; or, with --state, an inbox folder of snapshot files."
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "as far as a recipient can see",
        "with ledger": "by following every record, with the ledger",
    }
    explored = ("l", "window", "protect_slot")
    stated = ("l", "window", "slot", "move_cost", "first_window", "fill_empty", "filler", "jitter",
              "protect_slot", "spread", "fillers", "buckets", "late", "nulls")
    unstated = (*READING, "hierarchies", "after", "force")
    secret = ("seed",)
    repeating: ClassVar = {
        "seed": "add the --seed you used, to move the same records",
        "": "a new seed is drawn, so other records may move",
    }

    l: int = parameter("No value may be held by more than 1 in l records of a bucket.", at_least=2, example=3)
    window: int = parameter(
        "Number of slots collected before one is published; a record is fewer than this many slots late.",
        at_least=1, at_most=MOST_SLOTS, example=7)
    slot: Any = parameter("Period that is published at once.", default="day", example="week", metavar="NAME")
    move_cost: Any = parameter("Cost of publishing a record late: a name, or the costs of 0, 1, 2 ... slots.",
        default="linear", example=(0, 1, 3), metavar="linear|quadratic|N,N,...", read=costs_from_text)
    withhold_cost: Any = parameter("Cost of withholding a record; that of moving it by a window if not set.",
        default=None, example=10, metavar="X", private=True, read=float)
    seed: int | None = parameter(
        "Secret number that decides which records move; a new one is drawn if not set.",
        default=None, at_least=0, at_most=2**128 - 1, example=271828, private=True)
    first_window: Literal["grow", "exact"] = parameter(
        "How the first window is filled: slot by slot, or solved exactly.", default="grow", example="exact")
    fill_empty: bool = parameter("Whether an empty slot may receive records of earlier ones.",
        default=True, option="--keep-empty", off="Do not move records into empty slots.")
    filler: Literal["never", "last_chance", "always"] = parameter(
        "When to also move records that their slot can spare, so that fewer are withheld.",
        default="never", example="always")
    jitter: int = parameter("Largest random delay of every record, in slots.",
        default=0, at_least=0, at_most=MOST_SLOTS, example=1)
    protect_slot: int | None = parameter(
        "Also promise a chance of at most 1 in N against anyone who knows when it happened; N is below l.",
        default=None, at_least=2, example=2)
    spread: int = parameter(
        "With {protect_slot}, which moves records in small packets: number of later slots over which packets "
        "are spread at random.",
        default=1, at_least=1, at_most=MOST_SLOTS, example=6, applies_with="protect_slot")
    fillers: int = parameter(
        "With {protect_slot}: number of packets that may move along, so that having been moved reveals less.",
        default=0, at_least=0, at_most=MOST_SLOTS, example=8, applies_with="protect_slot")
    groups: Literal["buckets", "generalize"] = parameter(
        "How a slot is published: exact quasi-identifiers in buckets, or groups of records whose "
        "quasi-identifiers are made equal.",
        default="buckets", example="generalize")
    hierarchies: Mapping[str, Any] | None = parameter(
        "How a quasi-identifier may be coarsened: a file, intervals, log, calendar, prefixes or suppression.",
        default=None, example={"age": "intervals:5,10"}, option="--hierarchy", metavar="C=HOW")
    k: int | None = parameter(
        "Number of records of a slot that must share their quasi-identifiers; l if not set.",
        default=None, at_least=2, example=5)
    buckets: Literal["anatomy", "none"] = parameter(
        "How values are published: a second table lists those of each bucket, or each record has its own.",
        default="anatomy", example="none")
    late: Literal["refuse", "move"] = parameter(
        "Records that arrive after their slot was published: refuse them, or move them to a later one.",
        default="refuse", example="move")
    nulls: Literal["error", "withhold"] = parameter(
        "Records without a time, a person or a sensitive value: refuse or withhold.",
        default="error", example="withhold")
    recurring: Literal["ignore", "withhold", "invariant"] = parameter(
        "People who come back: publish every record regardless, publish each person once, or publish them "
        "with the same values every time.",
        default="ignore", example="invariant")
    forget_after: int | None = parameter(
        "With {recurring}: number of slots after which a person is forgotten, at least twice the window; "
        "never if not set.",
        default=None, at_least=2, at_most=MOST_SLOTS, example=365)
    fold_spellings: bool = lines.fold_spellings()
    accept_risk: list[str] = lines.accept_risk()
    allow_loss: bool = lines.allow_loss()
    after: list[Any] = lines.after()
    force: bool = lines.force()

    def lasting(self) -> dict[str, Any]:
        """What a stream keeps to from its first record on; the seed is compared on its own."""
        free = ("seed", "fold_spellings", "accept_risk", "allow_loss", "after", "force", *READING[2:])
        return {name: value for name, value in self.as_arguments().items() if name not in free}

    @property
    def reach(self) -> int:
        """A record is published fewer than this many slots late."""
        return reach_of(self.as_arguments())

    @property
    def generalized(self) -> bool:
        """Whether records are published in groups with equal quasi-identifiers."""
        return self.groups == "generalize"

    def refuse_after(self, end: int, slot: int) -> None:
        """Refuse a record of this slot that might be published after the last slot with a label, `end`."""
        if slot + self.jitter > end:
            hint = "check for wrong dates, or lower {jitter}"
            raise InputError("records would be published after the year 9999", hint=hint, code="bad-time")

    @property
    def grows(self) -> bool:
        """Whether the first window grows slot by slot, or is solved at once."""
        return self.first_window == "grow"

    @rule("slot")
    def a_slot_is_a_granularity(self) -> Problem:
        if isinstance(self.slot, str) or type(self.slot).__name__ == "Granularity":
            return None
        problem = f"`slot` must be a granularity or the name of one, got {type(self.slot).__name__}"
        return problem, 'use {slot="day"}; `timeveil granularities` lists the names'

    @rule("protect_slot", "l")
    def the_true_slot_is_promised_less(self) -> Problem:
        if self.protect_slot is None or self.protect_slot < self.l:
            return None
        hint = f"use {{protect_slot={self.l - 1}}}" if self.l > 2 else "raise {l} to at least 3"
        return f"`protect_slot` must be from 2 to l - 1 = {self.l - 1}, got {self.protect_slot}", hint

    @rule("protect_slot", "window", "spread")
    def packets_need_later_slots(self) -> Problem:
        if self.protect_slot is None or self.spread < self.window:
            return None
        if self.window < 2:
            problem = f"`window` must be at least 2 with `protect_slot`, got {self.window}"
            return problem, "use {window=7}, or 14 for slots of fewer than 50 records"
        problem = f"`spread` must be below `window`, which is {self.window}, got {self.spread}"
        return problem, "lower {spread}, or raise {window}"

    @rule("groups", "hierarchies", "k", "buckets")
    def groups_are_generalised(self) -> Problem:
        defaults = {name: type(self).table()[name].default for name in ("hierarchies", "k", "buckets")}
        changed = [name for name, default in defaults.items() if getattr(self, name) != default]
        if self.generalized and "buckets" in changed:
            hint = "leave {buckets} out: every group shows its values beside its records"
            return "generalised groups and `buckets` exclude each other", hint
        if not self.generalized and changed not in ([], ["buckets"]):
            hint = f'add {{groups="generalize"}}, or leave {{{changed[0]}}} out'
            return f"`{changed[0]}` applies to generalised groups only", hint
        return None

    @rule("k", "l")
    def a_group_has_l_values(self) -> Problem:
        if self.k is None or self.k >= self.l:
            return None
        problem = f"`k` must be at least l, which is {self.l}, got {self.k}"
        return problem, f"use {{k={self.l}}} or more: a group has at least l records anyway"

    @rule("protect_slot", "filler", "jitter", "first_window", "groups", "buckets", "late")
    def packets_exclude_the_plain_method(self) -> Problem:
        if self.protect_slot is None:
            return None
        reasons = {
            "filler": "packets that wait are counted by {fillers}",
            "jitter": "packets are spread over later slots by {spread}",
            "first_window": "packets need no first window",
            "groups": "a packet holds because its records share a bucket, and groups would divide it",
            "buckets": "a packet holds because its records share a bucket",
            "late": "a packet holds records of one true slot; put late records into the next stream",
        }
        for name, reason in reasons.items():
            if getattr(self, name) != type(self).table()[name].default:
                return f"`protect_slot` and `{name}` exclude each other", f"leave {{{name}}} out: {reason}"
        return None

    @rule("recurring", "groups", "protect_slot", "buckets")
    def people_are_followed_through_buckets_without_packets(self) -> Problem:
        if self.generalized and self.recurring != "ignore":
            hint = "leave {recurring} out: it keeps a person's buckets the same, and groups are formed anew"
            return "generalised groups and `recurring` exclude each other", hint
        if self.recurring == "invariant" and self.buckets != "anatomy":
            hint = 'leave {buckets} out, or use {recurring="withhold"}'
            return "without buckets nobody can have the same values every time", hint
        if self.recurring != "ignore" and self.protect_slot is not None:
            problem = "`protect_slot` and `recurring` exclude each other"
            return problem, "leave {recurring} out: a packet protects people who have one record"
        return None

    @rule("forget_after", "recurring", "window")
    def people_are_forgotten_once_all_is_final(self) -> Problem:
        if self.forget_after is None:
            return None
        if self.recurring == "ignore":
            problem = "`forget_after` is about people who are followed, and `recurring` is `ignore`"
            return problem, 'leave {forget_after} out, or use {recurring="invariant"}'
        if self.forget_after < 2 * self.window:
            problem = f"`forget_after` must be at least twice the window of {self.window} slots"
            return f"{problem}, got {self.forget_after}", f"use {{forget_after={2 * self.window}}} or more"
        return None


class ServiceParameters(Parameters):
    """How an inbox folder of snapshot files, or the records of a broker, are published as they arrive."""

    model = "stream"
    command = "publish-stream"

    state: str | None = parameter("In service: private state file.",
        default=None, example="stream.db", metavar="PATH", path=True)
    stream_by: str | None = parameter("In service: column with a separate stream for each value.",
        default=None, example="hospital", metavar="C")
    follow: bool = parameter("In service: keep watching the inbox.", default=False)
    poll: float | None = parameter("With {follow}: seconds between looks at the inbox; 5 if not set.",
        default=None, above=0, at_most=86_400, example=60, metavar="SECONDS", applies_with="follow")
    close: bool = parameter("In service: publish the rest of the window and end the stream.", default=False)
    max_gap: int | None = parameter(
        "In service: quarantine a file that skips more slots than this; 31 or the window if not set.",
        default=None, at_least=0, example=60)
    settle: float | None = parameter(
        "In service: seconds to wait for the rest of a CSV file without a final line break; 2 if not set.",
        default=None, at_least=0, at_most=86_400, example=10, metavar="SECONDS")

    close_after: int | None = parameter(
        "Records of a broker: a slot is complete when one comes this many seconds after its end, by "
        "their own times; 0 if not set. Where times are slot numbers, this many slots.",
        default=None, at_least=0, example=3600, metavar="SECONDS")
    metrics: str | None = parameter(
        "In service: numbers for Prometheus, on a port of this machine or in a file that ends in .prom.",
        default=None, example="9464", metavar="PORT|FILE")
    log_json: bool = parameter("In service: log lines as JSON.", default=False)

    @rule("follow", "close")
    def a_stream_that_ends_is_not_followed(self) -> Problem:
        if self.follow and self.close:
            return "`follow` and `close` exclude each other", "stop the run that follows, then close once"
        return None


@dataclass(frozen=True, slots=True)
class StreamAdversary(AnyAdversary["StreamBreach"]):
    """Knows a person's quasi-identifiers, and when.

    `published-slot`: the slot that the person's record was published in. `true-slot`: the slot that it
    belongs to, and so whether it was moved or is missing. `several-slots`: every slot that the same person
    was published in. `correlation`: the published slot, and has learnt from the release which values come
    with which quasi-identifiers.

    >>> StreamAdversary("true-slot").as_dict()
    {'knows': 'true-slot'}
    """

    knows: Knowledge = parameter(
        "Slot that the outsider knows: that of publication, that of the event, or all of a person's; or that "
        "of publication, and which values go with which quasi-identifiers (correlation).",
        default="published-slot", example="true-slot")


PARAMETERS, ADVERSARY = StreamParameters, StreamAdversary

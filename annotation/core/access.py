"""Access to a study: from a user and a URL to an object, or 404 or 403, with roles and blindness."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Lower

from accounts.models import User
from annotation.core.errors import Blind, Forbidden, Invalid, NotFound, WrongState
from annotation.core.member_lists import member_named
from annotation.models import (
    Arrival,
    Assignment,
    Export,
    Invitation,
    Item,
    Membership,
    Plan,
    ReaderLink,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    SampleIssue,
    Study,
    Workbook,
)
from annotation.models.assignment_kinds import EXTRA_RATERS, RATERS
from ingest.access import present_identifiers
from ingest.identifiers import full_name, parse_identifier
from ingest.models import Repository
from shared.compiled_queries import CompiledQuery
from taxonomy.models import Taxonomy, TaxonomyVersion

OWNER, ADJUDICATOR, RATER, READER = (role.value for role in Membership.Role)

_changing: ContextVar[bool] = ContextVar("changing", default=False)


def set_changing(is_so: bool) -> None:
    """Says, inside `changing`, whether what is asked for changes studies."""
    _changing.set(is_so)


@contextmanager
def changing(is_so: bool = True) -> Iterator[None]:
    """While something is asked for that changes studies, or not: one that is archived gives no seat for it.

    The seats of which roles are required in the block are known, so that they are looked at again (`require_roles_of`).
    """
    token, acting = _changing.set(is_so), _acting.set({})
    try:
        yield
    finally:
        _changing.reset(token)
        _acting.reset(acting)


_acting: ContextVar[dict[tuple[int, int], "Seat"] | None] = ContextVar("acting", default=None)


def require_roles_of(study: int, user: int) -> None:
    """Raises Forbidden where someone who changes a study has lost a role that was required of them for it.

    What they did may have waited for a lock. One query; none where nothing was required since the study was locked.
    """
    seat = (_acting.get() or {}).get((study, user))
    if seat is not None:
        seat.require_again()


_reads_open_rounds: ContextVar[dict[int, "Seat"] | None] = ContextVar("reads_open_rounds", default=None)


@contextmanager
def noting_deciders() -> Iterator[dict[int, "Seat"]]:
    """Notes the seats of an owner or adjudicator in the block, who reads the open rounds that they are not blind in.

    By study (id) the first one, which knows least of what changed.
    """
    found: dict[int, Seat] = {}
    token = _reads_open_rounds.set(found)
    try:
        yield found
    finally:
        _reads_open_rounds.reset(token)


def require_at_work(study: Study) -> None:
    """Raises WrongState for a study that is archived."""
    if study.archived_at is not None:
        raise WrongState(
            f"The study “{study.slug}” is archived and read-only. Its owner can unarchive it in its settings.",
            code="archived",
        )


def require_changeable(study: Study) -> None:
    """Raises WrongState where a request that changes studies finds this one archived."""
    if _changing.get():
        require_at_work(study)


@dataclass
class Seat:
    """Someone's place at a study: who they are there, what they may do, and what is hidden from them.

    Who came by a reader link is nobody known: `user` and `membership` stand for no row, and what is not closed is
    hidden, for it may be a rater of it.
    """

    user: User
    study: Study
    membership: Membership | None
    link: ReaderLink | None = None
    required: list[tuple[str, ...]] = field(default_factory=list, repr=False)
    """The roles of which one was required each time."""
    found: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)
    """What was asked of the database about this seat once, by the name of the function that asked."""

    def has_role(self, *roles: str) -> bool:
        return self.membership is not None and self.membership.has_role(*roles)

    def require(self, *roles: str) -> None:
        """Raises Forbidden unless the person holds one of the roles."""
        self.required.append(roles)
        if _changing.get() and (acting := _acting.get()) is not None and self.user.pk:
            acting[self.study.pk, self.user.pk] = self
        if not self.has_role(*roles):
            wanted = " or ".join(roles)
            raise Forbidden(f"You need the role {wanted} in the study “{self.study.slug}”. Ask its owner.")

    def require_again(self) -> None:
        """Raises Forbidden where a role that was required before is gone. One query, none where none was required.

        Call it under a lock: who waited for it knows only the roles of before.
        """
        if self.membership is None or not self.required:
            return
        row = _roles_now.first(self.membership.pk, self.user.pk)
        self.membership.roles = list(row[0]) if row else []
        required, self.required = self.required, []
        for roles in dict.fromkeys(required):
            self.require(*roles)

    def require_reading(self) -> None:
        """Raises Forbidden unless the person may read results: any role, or staff."""
        if self.membership is None and not self.user.is_staff:
            raise Forbidden("Only members of the study can see results.")

    @property
    def sees_issues(self) -> bool:
        """Whether titles, bodies, comments and quotes of issues may be shown."""
        return self.link is None or self.link.with_issues

    def require_issues(self) -> None:
        """Raises Forbidden for who came by a link that leaves out the texts of issues."""
        if not self.sees_issues:
            raise Forbidden("Your reader link hides issue texts.")

    @cached_property
    def blind_round_ids(self) -> frozenset[int]:
        """Open rounds in which this person rates; nothing that others said there may reach them. One query.

        A rater is blind before their first item, too: the next one that is reassigned may be any of them. Members who
        left a round stay blind in it if they have an answer there.
        """
        if self.link is not None:
            return frozenset(pk for (pk,) in _under_way.all(self.study.pk))
        if self.user.pk is None:
            return frozenset()
        rated = _rated_now if self.membership else _rated_without_seat
        if self.has_role(OWNER, ADJUDICATOR) and (noted := _reads_open_rounds.get()) is not None:
            noted.setdefault(self.study.pk, self)
        return frozenset(pk for (pk,) in rated.all(self.study.pk, self.user.pk))

    def still_decides(self) -> bool:
        """Whether an owner or adjudicator is one at present, and rates in no open round that `blind_round_ids` lacks.

        Answers that came in before this was so may be shown: whoever is asked to rate later counts as having read
        them. One query.
        """
        present = {pk for (pk,) in _decides_now.all(self.study.pk, self.user.pk)}
        return _DECIDES in present and present - {_DECIDES} <= self.blind_round_ids

    @property
    def hidden_answers(self) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
        """The sealed rounds, and the withheld (round, item): to be compared later, see `reads_less_than`."""
        return self.sealed_round_ids, self.withheld

    def reads_less_than(self, sealed: frozenset[int], withheld: frozenset[tuple[int, int]]) -> bool:
        """Whether answers are hidden from this person at present that were not among these. Reads the seat again."""
        slug = self.study.slug
        present = get_seat_by_link(self.link.pk, slug) if self.link else get_seat(self.user, slug)
        return not (present.sealed_round_ids <= sealed and present.withheld <= withheld)

    @cached_property
    def sealed_round_ids(self) -> frozenset[int]:
        """Rounds whose single answers this person does not read: those they are blind in, and those for others only.

        Owners and adjudicators read answers of open rounds, raters of a round once it is over, everyone else once it is
        closed. One query more than `blind_round_ids`, none for owners and adjudicators.
        """
        return self.blind_round_ids | frozenset(self._not_closed)

    @cached_property
    def hidden_round_ids(self) -> frozenset[int]:
        """Rounds of which no result reaches this person, neither labels nor agreement nor a count of what was said.

        Those they are blind in, and every open round for everyone but owners and adjudicators: numbers about few items
        show single answers. No query in addition to that of `sealed_round_ids`.
        """
        return self.blind_round_ids | {pk for pk, state in self._not_closed.items() if state == Round.State.OPEN}

    def sees_all_answers(self, round_id: int) -> bool:
        """Whether the person reads the answers of a round on every item; only then is a number about them no leak."""
        return round_id not in self.sealed_round_ids | self.unsettled_round_ids

    def sees_all_results(self, round_id: int) -> bool:
        """Whether the results of a round reach the person for every item; only then do its third raters."""
        return round_id not in self.hidden_round_ids | self.unsettled_round_ids

    @property
    def only_rates(self) -> bool:
        """Whether the person has no role but that of a rater, so that they may still join an open round."""
        return not self.has_role(OWNER, ADJUDICATOR, READER) and not self.user.is_staff

    @cached_property
    def _not_closed(self) -> Mapping[int, str]:
        """Rounds under way, and their state, of which only others read the answers.

        A relabeling queue carries answers of rounds before it, so it is among them while one of these is. It does not
        depend on the items that they share, which can be hidden.
        """
        if self.link is not None or self.user.pk is None or self.has_role(OWNER, ADJUDICATOR):
            return {}
        who = self.study.pk, self.membership.pk if self.membership else 0
        found = dict(_not_closed_here.all(*who))
        if Round.State.RESOLVING in found.values():
            found |= {pk: Round.State.RESOLVING for (pk,) in _queues_after_resolving.all(*who)}
        return found

    @cached_property
    def closed_numbers(self) -> frozenset[int]:
        """The numbers of the study's rounds that are closed; one query."""
        closed = Round.objects.filter(study=self.study, state=Round.State.CLOSED)
        return frozenset(closed.values_list("number", flat=True))

    def require_answers(self, round_: Round) -> None:
        """Raises Blind or Forbidden where this person does not read the single answers of this round."""
        self.require_sight(round_)
        if round_.pk in self.sealed_round_ids:
            raise self._for_others(round_)

    def hides_undone(self, round_: Round) -> bool:
        """Whether a relabeling queue that was undone before it closed is hidden: its items can be labeled again."""
        is_rater = self.has_role(RATER) and not self.has_role(OWNER, ADJUDICATOR)
        is_unclosed = round_.state == Round.State.UNDONE and round_.closed_at is None
        return is_unclosed and (self.link is not None or is_rater)

    @staticmethod
    def _for_others(round_: Round) -> Forbidden:
        if round_.state not in (Round.State.OPEN, Round.State.RESOLVING):
            return Forbidden(
                f"Round {round_.number} can have labels of an earlier round that is being resolved. Until that one "
                "closes, only owners and adjudicators can see them."
            )
        if round_.state == Round.State.RESOLVING and round_.kind == Round.Kind.RELABEL:
            return Forbidden(
                f"Round {round_.number} is resolving, and can have labels of an earlier round. Until both are closed, "
                "only owners and adjudicators can see its labels."
            )
        return Forbidden(
            f"Round {round_.number} is {round_.state}. Until it closes, only owners and adjudicators can see "
            "its labels."
        )

    def require_sight(self, round_: Round) -> None:
        """Raises Blind when the person rates in this round while it is open, Forbidden where its results are hidden."""
        if round_.pk in self.blind_round_ids:
            if self.link is not None:
                raise Blind(f"Reader links show closed rounds only, and round {round_.number} is {round_.state}.")
            raise Blind(
                f"You are a rater in round {round_.number}, so the labels of others are hidden until the round closes."
            )
        if self.hides_undone(round_):
            raise Forbidden(
                f"Round {round_.number} was undone before it was closed, and its items can be labeled again, so its "
                "results are hidden from raters and reader links."
            )
        if round_.pk in self.hidden_round_ids and not self.only_rates:
            raise self._for_others(round_)
        if round_.pk in self.hidden_round_ids:
            raise Forbidden(
                f"Round {round_.number} is open, and you could still become one of its raters, so its results "
                "are hidden from you until it closes."
            )

    @cached_property
    def arbitrated(self) -> frozenset[tuple[int, int]]:
        """Round and item where this person is asked as an arbiter and has not answered yet; one query."""
        if self.membership is None or not (self.membership.code or self.has_role(RATER)):
            return frozenset()
        return frozenset(_asked_extra.all(self.membership.pk))

    @cached_property
    def withheld(self) -> frozenset[tuple[int, int]]:
        """Round and item of which nothing that others said reaches this person before their own answer is final.

        Those of `arbitrated`, and the same items in other rounds under the same taxonomy. So are there the items of the
        open rounds that they rate in, until those are over, except of relabeling rounds, which show earlier labels on
        purpose. Who came by a reader link may be a rater, or a third rater, of any round under way, so the items of all
        of these are withheld. In relabeling rounds they are withheld whether they are there or not: what is there
        follows from labels, so nothing may answer differently by it. One query more than `arbitrated` and
        `blind_round_ids`, none for someone who is blind nowhere.
        """
        rates = [*self.blind_round_ids]
        if not rates and not self.arbitrated:
            return self.arbitrated
        member = self.membership.pk if self.membership else 0
        elsewhere = _elsewhere(len(rates), is_asked=bool(self.arbitrated), is_link=self.link is not None)
        asked = (member,) if self.arbitrated else ()
        return self.arbitrated | frozenset(elsewhere.all(self.study.pk, *asked, *rates))

    @cached_property
    def unsettled_round_ids(self) -> frozenset[int]:
        """Rounds in which something is withheld from this person: of third answers nothing is counted there.

        By a link also those under way, whose items may be labeled again in one another.
        """
        under_way = self.blind_round_ids if self.link is not None else frozenset[int]()
        return under_way | frozenset(round_id for round_id, _ in self.withheld)

    @cached_property
    def withheld_queues(self) -> Mapping[int, Sequence[int]]:
        """Relabeling rounds with the items whose being there, or not, would show a label that is withheld; one query.

        No query where nothing is withheld.
        """
        if not self.withheld:
            return {}
        queues = Round.objects.filter(pk__in=self.unsettled_round_ids, kind=Round.Kind.RELABEL).order_by()
        return {
            pk: sorted(item for round_id, item in self.withheld if round_id == pk)
            for pk in queues.values_list("pk", flat=True)
        }

    @cached_property
    def unseen_queue_raters(self) -> frozenset[tuple[int, int]]:
        """Round and rater (membership's id) of others who have only withheld items of a relabeling round; one query.

        No query where nothing is withheld.
        """
        if not self.withheld_queues:
            return frozenset()
        asked = Assignment.objects.filter(round__in=self.withheld_queues).order_by().values_list("round_id", "rater_id")
        shown = asked.annotate(n_shown=Count("pk", filter=self.not_queued())).filter(n_shown=0)
        own = self.membership.pk if self.membership else None
        return frozenset((round_id, rater) for round_id, rater, _ in shown if rater != own)

    def not_queued(self) -> Q:
        """The condition that excludes the places of `withheld_queues`."""
        found = Q()
        for pk, items in self.withheld_queues.items():
            found &= ~Q(round=pk, item__in=items)
        return found

    def as_shown(self, round_: Round) -> Round:
        """The round as pages show it: by a link, a relabeling queue looks the same whether it is open or resolving.

        Its last answer moves it on, so its state would tell of items that are withheld. What came by a link is never
        saved.
        """
        if self.link and round_.kind == Round.Kind.RELABEL and round_.state == Round.State.RESOLVING:
            round_.state, round_.resolving_at = Round.State.OPEN, None
        return round_

    def require_queue(self, round_: Round) -> None:
        """Raises Blind where items of a relabeling round can be withheld: what it holds, and whose, shows labels."""
        if round_.pk in self.withheld_queues:
            raise Blind(
                f"Items that you label in another round can be in round {round_.number}, a relabeling queue. What it "
                "holds stays hidden from you, and you can’t change it, until your labels there are final. Ask another "
                "owner."
            )

    def withheld_in(self, round_: Round) -> frozenset[int]:
        """The items (ids) of a round of which what others said is withheld from this person."""
        return frozenset(item for round_id, item in self.withheld if round_id == round_.pk)

    def not_withheld(self) -> Q:
        """The condition that excludes every item of which what others said is withheld from this person."""
        found = Q()
        by_round: dict[int, list[int]] = {}
        for round_id, item_id in sorted(self.withheld):
            by_round.setdefault(round_id, []).append(item_id)
        for round_id, items in by_round.items():
            found &= ~Q(round=round_id, item__in=items)
        return found

    def require_nothing_withheld(self, what: str) -> None:
        """Raises Blind while answers are withheld from the person: `what` counts answers that it can't omit."""
        if n := len(self.arbitrated):
            items = "1 item" if n == 1 else f"{n} items"
            raise Blind(
                f"You are assigned to {items} as a third rater. {what} stays hidden until you submit your "
                "labels, because it includes labels of others."
            )
        if n := len({item for _, item in self.withheld}):
            if self.link is not None:
                raise Blind(f"{what} stays hidden from reader links until all rounds are closed.")
            items = "1 item that was" if n == 1 else f"{n} items that were"
            raise Blind(
                f"In an open round you label {items} labeled in another round before. {what} stays hidden "
                "until your round closes, because it includes labels of others."
            )

    def hides(self, round_: Round, item: int) -> bool:
        """Whether what others said of this item (its id) in this round must not reach this person yet."""
        is_hidden = round_.pk in self.hidden_round_ids or self.hides_undone(round_)
        return is_hidden or (round_.pk, item) in self.withheld

    def hides_answers(self, round_: Round, item: int) -> bool:
        """Whether single answers on this item (its id) in this round must not reach this person yet."""
        return round_.pk in self.sealed_round_ids or self.hides(round_, item)

    def require_sight_of(self, round_: Round, item: Item) -> None:
        """Raises Blind where the round is hidden, or where what others said of this very item is withheld."""
        self.require_sight(round_)
        if (round_.pk, item.pk) in self.arbitrated:
            raise Blind(
                f"You are assigned to {item.identifier} as a third rater, so the labels of others are hidden "
                "until you submit yours."
            )
        if self.hides(round_, item.pk):
            if self.link is not None:
                raise Blind(
                    f"{item.identifier} is in another round, too, so its labels are hidden from reader links until "
                    "that round is closed."
                )
            raise Blind(
                f"You label {item.identifier} in another round, too, so the labels of others are hidden until "
                "that round closes."
            )

    def require_discussion(self, round_: Round) -> None:
        """Raises Forbidden unless the person decides in the study, or rated in this round and it is over; or Blind.

        Raters of a relabeling queue discuss it when they read the answers of the rounds before it, which it carries.
        """
        self.require_sight(round_)
        if self.has_role(ADJUDICATOR, OWNER):
            return
        if (
            self.membership is None
            or round_.state not in Round.OVER
            or not RoundRater.objects.filter(round=round_, rater=self.membership).exists()
        ):
            raise Forbidden(
                f"The discussion of round {round_.number} is for its raters, once all of them have finished, and "
                f"for adjudicators and owners of the study “{self.study.slug}”."
            )
        if round_.pk in self.sealed_round_ids:
            raise self._for_others(round_)


def get_seat(user: User, slug: str) -> Seat:
    """The study and the person's place in it; staff see every study. Raises NotFound.

    It raises WrongState where something is asked for that would change a study which is archived.
    """
    membership = _membership.first(slug, user.pk)
    if membership is not None:
        membership.user = user
        study: Study | None = membership.study
    else:
        study = _study.first(slug) if user.is_staff else None
    if study is None:
        raise NotFound(f"Study “{slug}” not found, or you are not a member.")
    require_changeable(study)
    return Seat(user, study, membership)


def made_by_an_owner(maker: str = "created_by") -> Exists:
    """The condition on rows of studies that the account which made them (a column) owns the study now.

    Whatever an owner hands out, so that others come in or read, is good for as long.
    """
    owners = Membership.objects.filter(study=OuterRef("study"), user=OuterRef(maker), user__is_active=True)
    return Exists(owners.filter(roles__contains=[OWNER]))


_link = CompiledQuery(
    lambda pk, slug: (
        ReaderLink.objects.select_related("study__taxonomy")
        .filter(made_by_an_owner(), pk=pk, study__slug=slug, study__deleted_at=None)
        .order_by()
    ),
    int,
    str,
)


def get_seat_by_link(pk: int, slug: str) -> Seat:
    """The place of who came by a reader link of this study; one query. Raises NotFound where it holds no more."""
    link = _link.first(pk, slug)
    if link is None or not link.holds:
        raise NotFound("Your reader link was revoked or has expired. Ask the person who sent it for a new one.")
    reader = Membership(pk=0, study=link.study, name="Reviewer", roles=[READER])
    return Seat(User(pk=0), link.study, reader, link)


_membership = CompiledQuery(
    lambda slug, user: (
        Membership.objects.select_related("study__taxonomy").filter(study__slug=slug, user=user).order_by()
    ),
    str,
    int,
)
_roles_now = CompiledQuery(
    lambda member, user: (
        Membership.objects.filter(pk=member, user=user, user__is_active=True).order_by().values_list("roles")
    ),
    int,
    int,
)
_study = CompiledQuery(
    lambda slug: Study.objects.select_related("taxonomy").filter(slug=slug, deleted_at=None).order_by(), str
)
_round = CompiledQuery(
    lambda study, number: (
        Round.objects.select_related("taxonomy_version__taxonomy").filter(study=study, number=number).order_by()
    ),
    int,
    int,
)


def _open_rounds_of(study: int, whose: Q) -> QuerySet[Any, tuple[int]]:
    """Those with the person among the raters, and those that they left with an answer or item of their own.

    What they are asked as a third rater is withheld by item (`Seat.arbitrated`): whether there is such a thing depends
    on what others answered, so no more may depend on it.
    """
    own = Q(rater__study=study, round__state=Round.State.OPEN) & whose
    given = Assignment.objects.filter(RATERS, own).exclude(state=Assignment.State.WITHDRAWN).order_by()
    present = RoundRater.objects.filter(own, left_at__isnull=True).order_by()
    return given.values_list("round_id").union(present.values_list("round_id"))


def _not_closed_for(study: int, member: int) -> QuerySet[Round, tuple[int, str]]:
    rated = RoundRater.objects.filter(round=OuterRef("pk"), rater=member)
    not_closed = Q(state=Round.State.OPEN) | (Q(state=Round.State.RESOLVING) & ~Exists(rated))
    return Round.objects.filter(not_closed, study=study).order_by().values_list("pk", "state")


def resolving_without(member: Any, *, study: Any, before: Any) -> QuerySet[Round]:
    """The rounds of a study with a number below `before` that are being resolved and in which a member does not rate.

    A relabeling queue after one of them is sealed for the member, because it carries answers of it. Each argument may
    be a reference to an outer query: that of the member is resolved one query deeper.
    """
    rated = RoundRater.objects.filter(round=OuterRef("pk"), rater=member)
    return Round.objects.filter(~Exists(rated), study=study, state=Round.State.RESOLVING, number__lt=before)


def _queues_of_resolving(study: int, member: int) -> QuerySet[Round, tuple[int]]:
    over = Round.State.RESOLVING, Round.State.CLOSED, Round.State.UNDONE
    queues = Round.objects.filter(study=study, kind=Round.Kind.RELABEL, state__in=over)
    earlier = resolving_without(member, study=study, before=OuterRef("number"))
    return queues.filter(Exists(earlier)).order_by().values_list("pk")


_under_way = CompiledQuery(
    lambda study: (
        Round.objects.filter(study=study, state__in=(Round.State.OPEN, Round.State.RESOLVING))
        .order_by()
        .values_list("pk")
    ),
    int,
)
_rated_now = CompiledQuery(lambda study, user: _open_rounds_of(study, Q(rater__user=user)), int, int)
_rated_without_seat = CompiledQuery(  # staff see a study that they left, or that they were invited to
    lambda study, user: _open_rounds_of(study, Q(rater__former_user=user) | Q(rater__invited_user=user)), int, int
)
_DECIDES = 0
"""The number that stands among those of rounds for the role of an owner or adjudicator."""


def _role_and_open_rounds(study: int, user: int) -> QuerySet[Any, tuple[int]]:
    holders = Membership.objects.filter(study=study, user=user, user__is_active=True)
    decides = holders.filter(roles__overlap=[OWNER, ADJUDICATOR]).order_by().values_list(Value(_DECIDES))
    return decides.union(_open_rounds_of(study, Q(rater__user=user)))


_decides_now = CompiledQuery(_role_and_open_rounds, int, int)
_not_closed_here = CompiledQuery(_not_closed_for, int, int)
_queues_after_resolving = CompiledQuery(_queues_of_resolving, int, int)
_asked_extra = CompiledQuery(
    lambda member: (
        Assignment.objects.filter(EXTRA_RATERS, rater=member, state__in=Assignment.UNFINISHED)
        .order_by()
        .values_list("round_id", "item_id")
    ),
    int,
)


@lru_cache(maxsize=64)
def _elsewhere(n_rates: int, *, is_asked: bool, is_link: bool) -> CompiledQuery[tuple[int, int]]:
    """Places of the items that someone rates in `n_rates` rounds, or is asked about as an arbiter, in other rounds.

    With each relabeling round of the same taxonomy, be it a place of the item or not; for a link, which counts as a
    rater of every round under way, also where the item is in these alone, and the items of a queue under way in later
    queues. Its arguments are the study, the member if `is_asked`, and the rounds.
    """

    def places(study: int, *more: int) -> QuerySet[RoundItem, tuple[int, int]]:
        rates = more[is_asked:]
        taxonomy = "round__taxonomy_version__taxonomy"
        same = {"item": OuterRef("item"), taxonomy: OuterRef(taxonomy)}
        again = Q()
        if rates:
            own = RoundItem.objects.filter(round__in=rates, **same).exclude(round__kind=Round.Kind.RELABEL)
            again |= Q(Exists(own))
        if is_asked:
            asked = {"rater": more[0], "state__in": Assignment.UNFINISHED, **same}
            again |= Q(Exists(Assignment.objects.filter(EXTRA_RATERS, **asked)))
        every = RoundItem.objects.filter(again, round__study=study).order_by()
        others = every.exclude(round__in=rates)
        # What is in a relabeling queue follows from labels of other rounds, also for who rates in it.
        queue = f"{taxonomy}__versions__rounds"
        is_queue = {f"{queue}__study": study, f"{queue}__kind": Round.Kind.RELABEL}
        queues = [(every if is_link else others).filter(**is_queue)]
        if is_link:  # so does what is in a queue after one that is under way
            of_queues = RoundItem.objects.filter(round__in=rates, round__kind=Round.Kind.RELABEL).order_by()
            queues.append(of_queues.filter(**is_queue, **{f"{queue}__number__gt": F("round__number")}))
        rows = (each.values_list(queue, "item_id") for each in queues)
        return others.values_list("round_id", "item_id").union(*rows, all=True)

    return CompiledQuery(places, *[int] * (1 + is_asked + n_rates))


def get_whole_study(slug: str) -> Seat:
    """A study as the operator of the shell sees it, blind in no round. Raises NotFound."""
    study = _study.first(slug)
    if study is None:
        raise NotFound(f"Study “{slug}” not found.")
    return Seat(User(is_staff=True), study, None)


def snapshots_of_own_studies(user: User) -> Any:
    """The ids of the snapshots that studies of this person have pinned: their members read them, and nothing newer."""
    return Item.objects.filter(study__memberships__user=user, snapshot__isnull=False).order_by().values("snapshot")


def issues_without_a_reader(repository_id: int) -> Any:
    """The ids of a private repository's issues that studies have, or drew, none of whose members may read it."""
    readers = Repository.readers.through.objects.filter(repository_id=repository_id).values("user_id")
    may_read = Q(user__is_staff=True) | Q(user__in=readers)
    members = Membership.objects.filter(may_read, user__is_active=True)
    own = Item.objects.filter(~Exists(members.filter(study=OuterRef("study"))), issue__repository=repository_id)
    drawn = SampleIssue.objects.filter(
        ~Exists(members.filter(study=OuterRef("sample__study"))), issue__repository=repository_id
    )
    return own.order_by().values("issue").union(drawn.order_by().values("issue"))


def taxonomies_of_own_studies(user: User) -> Any:
    """The ids of the taxonomies by which this person's studies label and screen."""
    own = Study.objects.filter(memberships__user=user).order_by()
    screening = own.filter(screening_taxonomy__isnull=False).values_list("screening_taxonomy")
    return own.values_list("taxonomy").union(screening)


def get_round(seat: Seat, number: int) -> Round:
    found = _round.first(seat.study.pk, number)
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no round {number}.")
    found.study = seat.study
    return seat.as_shown(found)


def get_round_rater(round_: Round, name: str, seat: Seat | None = None) -> RoundRater:
    """A rater of a round, also one who left, by code or user name; raises NotFound.

    With a `seat` nobody is found who has only withheld items of a relabeling round.
    """
    rows = RoundRater.objects.select_related("rater__user", "rater__invited_user").filter(round=round_)
    if seat is not None:
        rows = rows.exclude(rater__in=[rater for round_id, rater in seat.unseen_queue_raters if round_id == round_.pk])
    found = rows.filter(rater__code__iexact=name).first()
    if found is None and (member := member_named(round_.study, name)) is not None:
        found = rows.filter(rater=member).first()
    if found is None:
        raise NotFound(f"Round {round_.number} has no rater “{name[:40]}”.")
    return found


def get_member_at(seat: Seat, pk: int) -> Membership:
    """The member at an address of the study; raises NotFound."""
    found = Membership.objects.select_related("user").filter(study=seat.study, pk=pk).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no such member.")
    return found


def get_own_invitation(user: User, key: str) -> Membership:
    """The membership that this very person is invited to; raises NotFound for anybody else's, or one that is over."""
    rows = Membership.objects.select_related("study", "invited_by").filter(study__deleted_at=None)
    rows = rows.filter(made_by_an_owner("invited_by"))
    found = rows.filter(invited_user=user, invitation_key=key, study__archived_at=None).first()
    if found is None:
        raise NotFound("Invitation not found. It may have been answered or withdrawn.")
    return found


def get_invitation(seat: Seat, pk: int) -> Invitation:
    """An invitation of the study, for its owners; raises Forbidden, NotFound."""
    seat.require(OWNER)
    found = Invitation.objects.filter(study=seat.study, pk=pk).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no such invitation.")
    return found


def items_by_identifier(study: Study, names: Iterable[str]) -> dict[str, Item]:
    """The items of a study by these identifiers, also by those of before their repository was renamed.

    Names of issues have no case: of two items, the one whose identifier is the same is taken, else one with an issue.
    An item without an issue has one name: whether a repository has it now, may be hidden. One query, and two more where
    some issues are not found.
    """
    wanted = list(dict.fromkeys(names))
    rows = Item.objects.filter(study=study)
    found = {item.identifier: item for item in rows.filter(identifier__in=wanted)}
    lowered: dict[str, str] = {}
    for name in wanted:
        with suppress(Invalid):
            if name not in found:
                *home, number = parse_identifier(name)
                lowered[name] = f"{full_name(*home)}#{number}".lower()
    if not lowered:
        return found
    present = {name: now.lower() for name, now in present_identifiers(lowered).items()}
    called = rows.annotate(lowered=Lower("identifier")).filter(lowered__in={*lowered.values(), *present.values()})
    by_name: dict[str, Item] = {}
    for item in sorted(called, key=lambda item: (item.issue_id is None, item.pk)):
        by_name.setdefault(item.identifier.lower(), item)
    for name, lower in lowered.items():
        renamed = by_name.get(present.get(name, ""))
        if lower in by_name:
            found[name] = by_name[lower]
        elif renamed is not None and renamed.issue_id is not None:
            found[name] = renamed
    return found


def get_item(seat: Seat, identifier: str) -> Item:
    """The item of the study with this identifier, as `items_by_identifier` finds it; raises NotFound."""
    rows = Item.objects.select_related("issue__repository").filter(study=seat.study)
    found = rows.filter(identifier=identifier).first()
    found = found or items_by_identifier(seat.study, [identifier]).get(identifier)
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no item “{identifier}”.")
    return found


_item_at = CompiledQuery(
    lambda study, pk: (
        Item.objects.select_related("issue__repository", "snapshot").filter(study=study, pk=pk).order_by()
    ),
    int,
    int,
)


def get_item_at(seat: Seat, pk: int) -> Item:
    """The item at an address of the study; raises NotFound."""
    item = _item_at.first(seat.study.pk, pk)
    if item is None:
        raise NotFound(f"The study “{seat.study.slug}” has no such item.")
    return item


def get_sample(seat: Seat, identifier: object) -> Sample:
    """A sample of the study by what stands in an address; raises NotFound."""
    number = row_number(identifier)
    found = None if number is None else Sample.objects.defer("frame").filter(study=seat.study, pk=number).first()
    if found is None:
        raise NotFound(
            f"The study “{seat.study.slug}” has no sample with the ID {str(identifier)[:40]}.{_numbered(seat, number)}"
        )
    return found


def _numbered(seat: Seat, number: int | None) -> str:
    """A hint to the sample that pages show under this number."""
    other = None if number is None else Sample.objects.filter(study=seat.study, number=number)
    found = None if other is None else other.values_list("pk", flat=True).first()
    return f" Sample number {number} has the ID {found}." if found else ""


def get_export_at(seat: Seat, number: int) -> Export:
    """An export of the study by its number, for its owners and staff; raises Forbidden, NotFound."""
    if not seat.user.is_staff:
        seat.require(OWNER)
    found = Export.objects.select_related("study", "created_by").filter(study=seat.study, number=number).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no export {number}.")
    found.study = seat.study
    return found


def get_export(user: User, identifier: object) -> tuple[Seat, Export]:
    """An export by what stands in a request, and the seat of who asks in its study.

    Raises NotFound, also for who may not know of the study, and Forbidden for members who don't own it.
    """
    number = Export.number_of(identifier)
    row = Export.objects.filter(pk=number).values_list("study__slug", "number").first() if number is not None else None
    missing = NotFound(f"Export {str(identifier)[:40]} not found.")
    if row is None:
        raise missing
    try:
        seat = get_seat(user, row[0])
    except NotFound:
        raise missing from None
    return seat, get_export_at(seat, row[1])


def hidden_drafts(seat: Seat) -> Any:
    """The drafts (ids) of what the study labels and screens by that this person does not read, lazily."""
    taxonomies = (seat.study.taxonomy_id, seat.study.screening_taxonomy_id)
    drafts = TaxonomyVersion.objects.filter(taxonomy__in=[pk for pk in taxonomies if pk is not None])
    drafts = drafts.filter(state=TaxonomyVersion.State.DRAFT)
    if seat.link is None:
        drafts = drafts.exclude(pk__in=TaxonomyVersion.objects.readable_by(seat.user).values("pk"))
    return drafts.order_by().values("pk")


def hides_version(seat: Seat, number: int, made_at: datetime, round_number: int | None = None) -> bool:
    """Whether a file with labels migrated to a version, made at that time, is hidden from this person.

    The version is one of that round's taxonomy (a screening round has another one), else of the study's. While a
    version is a draft, files contain the draft's categories, whatever is published or discarded later, and remain for
    those who see drafts. One query, one more for such a file.
    """
    taxonomies = Taxonomy.objects.filter(pk=seat.study.taxonomy_id)
    if round_number is not None:
        rounds = Round.objects.filter(study=seat.study, number=round_number)
        taxonomies = Taxonomy.objects.filter(pk__in=rounds.values("taxonomy_version__taxonomy"))
    there = TaxonomyVersion.objects.filter(taxonomy__in=taxonomies, number=number, published_at__lte=made_at)
    if there.exists():
        return False
    maintained = taxonomies.filter(maintainers=seat.user.pk)
    return seat.link is not None or not (seat.user.is_staff or maintained.exists())


def get_plan(seat: Seat, identifier: object) -> Plan:
    """A plan of the study by what stands in a request.

    Raises NotFound, also where it names a draft of the taxonomy that the person does not read, and Blind for someone
    who still has to answer as a third rater: a plan counts labels.
    """
    number = row_number(identifier)
    rows = Plan.objects.select_related("from_version", "to_version__taxonomy", "worklist", "run_by", "undone_by")
    rows = rows.exclude(to_version__in=hidden_drafts(seat))
    found = None if number is None else rows.filter(study=seat.study, pk=number).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no migration {str(identifier)[:40]}.")
    seat.require_nothing_withheld("A plan")
    found.study = seat.study
    return found


def get_plan_at(seat: Seat, number: int) -> Plan:
    """A plan of the study by its number, as its address has it; raises NotFound."""
    found = Plan.objects.filter(study=seat.study, number=number).values_list("pk", flat=True).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no migration {number}.")
    return get_plan(seat, found)


def get_workbook(seat: Seat, number: int) -> Workbook:
    """A file that this very owner uploaded into the study; raises NotFound or Forbidden.

    Other owners don't see it: it may hold answers of rounds in which they are blind.
    """
    seat.require(OWNER)
    rows = Workbook.objects.select_related("created_by").filter(study=seat.study, created_by=seat.user, pk=number)
    found = rows.first()
    if found is None:
        raise NotFound(f"You have no import {number} in the study “{seat.study.slug}”.")
    found.study = seat.study
    return found


def get_own_workbook(user: User, number: int) -> Workbook:
    """A file that this very person uploaded for a new study; raises NotFound."""
    found = Workbook.objects.select_related("created_by", "study").filter(created_by=user, pk=number).first()
    if found is None:
        raise NotFound(f"You have no upload {number}.")
    return found


def get_arrival(user: User, number: int) -> Arrival:
    """A study's file that this very person brought; raises NotFound."""
    found = Arrival.objects.select_related("study", "created_by").filter(created_by=user, pk=number).first()
    if found is None:
        raise NotFound(f"You have no import {number} of a study.")
    return found


def get_own_assignment(
    seat: Seat, identifier: object, *, lock: bool = False, round_number: int | None = None
) -> Assignment:
    """An assignment of this very person, by its public id; another's is not found, nor one of another round than named.

    With `lock` it is held until the commit, and so is the state of its round; a rater who was removed while they waited
    does not have it any more. Then it carries as `known` what is known of a training item, which is for the answer to
    a submit alone, and as `has_no_blind` whether its rater is unblinded.
    """
    number = Assignment.number_of(identifier)
    found = None
    if number is not None and seat.membership is not None:
        if lock:
            _held_by_assignment.first(number)
            found = _held_assignment.first(number, seat.membership.pk, seat.user.pk)
        else:
            found = _assignment.first(number, seat.membership.pk)
    if found is None or round_number not in (None, found.round.number):
        where = "" if round_number is None else f"round {round_number} of "
        raise NotFound(f"You have no assignment {str(identifier)[:40]} in {where}the study “{seat.study.slug}”.")
    assert seat.membership is not None
    found.rater = seat.membership
    found.round.study = seat.study
    return found


def get_own_assignment_of(seat: Seat, round_: Round, identifier: str) -> Assignment:
    """This very person's assignment of an item in a round; raises NotFound."""
    item = items_by_identifier(round_.study, [identifier]).get(identifier)
    rows = Assignment.objects.filter(round=round_, item=item, rater=seat.membership)
    found = None if seat.membership is None or item is None else rows.first()
    if found is None:
        raise NotFound(f"You have no assignment of {identifier[:80]} in round {round_.number}.")
    return found


def row_number(identifier: object) -> int | None:
    """The number of a row that stands in an address or a request; None for what can't be one."""
    text = str(identifier)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def hold_state(round_id: int) -> str | None:
    """The state of a round, which stays so until the commit: whoever moves the round on waits, other raters do not.

    It comes before every other lock, as it does where a round is moved on; so nobody waits for each other.
    """
    row = _held.first(round_id)
    return row[0] if row else None


def _own_assignment(number: int, member: int) -> QuerySet[Assignment]:
    return Assignment.objects.select_related("round", "item").filter(pk=number, rater=member).order_by()


def _own_assignment_held(number: int, member: int, user: int) -> QuerySet[Assignment]:
    places = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"))
    unblinded = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"), unblinded=True)
    found = _own_assignment(number, member).filter(rater__user=user).select_for_update(of=("self",))
    return found.annotate(known=places.values("known"), has_no_blind=Q(unblinded=True) | Exists(unblinded))


def _states(**which: object) -> QuerySet[Round, tuple[str]]:
    return Round.objects.filter(**which).order_by().values_list("state")


_assignment = CompiledQuery(_own_assignment, int, int)
_held_assignment = CompiledQuery(_own_assignment_held, int, int, int)
_held = CompiledQuery(lambda pk: _states(pk=pk), int, lock="FOR SHARE OF annotation_round")
_held_by_assignment = CompiledQuery(lambda pk: _states(assignments=pk), int, lock="FOR SHARE OF annotation_round")


def may_decide(seat: Seat, round_: Round) -> bool:
    """Whether this person may decide in the round now."""
    if not seat.has_role(OWNER, ADJUDICATOR) or round_.pk in seat.blind_round_ids:
        return False
    is_open = round_.state == Round.State.OPEN and seat.study.is_resolved_by_item
    return is_open or round_.state == Round.State.RESOLVING

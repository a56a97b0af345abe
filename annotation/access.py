"""The only road from an address to an object of a study: found and allowed, or 404, or 403."""

from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Q

from accounts.models import User
from annotation.errors import Blind, Forbidden, NotFound
from annotation.models import Assignment, Item, Membership, Plan, Round, RoundRater, Sample, Study

OWNER, ADJUDICATOR, RATER, READER = (role.value for role in Membership.Role)


@dataclass
class Seat:
    """Somebody's place at a study: who they are there, what they may do, and what is hidden from them."""

    user: User
    study: Study
    membership: Membership | None

    def has_role(self, *roles: str) -> bool:
        return self.membership is not None and self.membership.has_role(*roles)

    def require(self, *roles: str) -> None:
        """Raises Forbidden unless the person holds one of the roles."""
        if not self.has_role(*roles):
            wanted = " or ".join(roles)
            raise Forbidden(f"This needs the role {wanted} in the study “{self.study.slug}”; ask its owner for it.")

    def require_reading(self) -> None:
        """Raises Forbidden unless the person may read results: any role, or staff."""
        if self.membership is None and not self.user.is_staff:
            raise Forbidden("Results are for members of the study.")

    @cached_property
    def blind_round_ids(self) -> frozenset[int]:
        """Open rounds in which this person has an assignment; nothing that others said there may reach them.

        A pool's raters are blind in it before they take their first item, too: the next one may be any of them.
        """
        if self.membership is None or not self._may_be_blind:
            return frozenset()
        own = {"rater__study": self.study, "rater__user": self.user, "round__state": Round.State.OPEN}
        given = Assignment.objects.filter(**own).exclude(state=Assignment.State.WITHDRAWN)
        in_pools = RoundRater.objects.filter(round__mode=Round.Mode.POOL, **own)
        rounds = given.order_by().values_list("round_id", flat=True)
        return frozenset(rounds.union(in_pools.order_by().values_list("round_id", flat=True)))

    @cached_property
    def _may_be_blind(self) -> bool:
        return Round.objects.filter(study=self.study, state=Round.State.OPEN).exists()

    def require_sight(self, round_: Round) -> None:
        """Raises Blind when the person rates in this round while it is open."""
        if round_.pk in self.blind_round_ids:
            raise Blind(
                f"You rate in round {round_.number}, so what others said there stays hidden until the round is over."
            )


def get_seat(user: User, slug: str) -> Seat:
    """The study and the person's place in it; staff see every study. Raises NotFound."""
    study = Study.objects.select_related("taxonomy").filter(slug=slug).first()
    membership = Membership.objects.select_related("user").filter(study=study, user=user).first() if study else None
    if study is None or (membership is None and not user.is_staff):
        raise NotFound(f"There is no study “{slug}”, or you are not a member of it.")
    return Seat(user, study, membership)


def get_whole_study(slug: str) -> Seat:
    """A study as the operator of the shell sees it, blind in no round. Raises NotFound."""
    study = Study.objects.select_related("taxonomy").filter(slug=slug).first()
    if study is None:
        raise NotFound(f"There is no study “{slug}”.")
    return Seat(User(is_staff=True), study, None)


def issues_of_own_studies(user: User | AnonymousUser) -> Q:
    """Issues that a study of this person uses, for lists of visible issues: private ones are seen by its members."""
    if not user.is_authenticated:
        return Q(pk__in=[])
    return Q(pk__in=Item.objects.filter(study__memberships__user=user, issue__isnull=False).values("issue"))


def get_round(seat: Seat, number: int) -> Round:
    found = Round.objects.select_related("taxonomy_version__taxonomy").filter(study=seat.study, number=number).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no round {number}.")
    found.study = seat.study
    return found


def get_item(seat: Seat, identifier: str) -> Item:
    found = Item.objects.select_related("issue__repository").filter(study=seat.study, identifier=identifier).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no item “{identifier}”.")
    return found


def get_item_at(seat: Seat, pk: int) -> Item:
    """The item at an address of the study; raises NotFound."""
    found = Item.objects.select_related("issue__repository", "snapshot").filter(study=seat.study, pk=pk)
    item = found.first()
    if item is None:
        raise NotFound(f"The study “{seat.study.slug}” has no such item.")
    return item


def get_sample(seat: Seat, identifier: object) -> Sample:
    """A sample of the study by what stands in an address; raises NotFound."""
    number = row_number(identifier)
    found = None if number is None else Sample.objects.defer("frame").filter(study=seat.study, pk=number).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no sample {str(identifier)[:40]}.")
    return found


def get_plan(seat: Seat, identifier: object) -> Plan:
    """A plan of the study by what stands in a request; raises NotFound."""
    number = row_number(identifier)
    rows = Plan.objects.select_related("from_version", "to_version__taxonomy", "worklist", "run_by", "undone_by")
    found = None if number is None else rows.filter(study=seat.study, pk=number).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no plan {str(identifier)[:40]}.")
    found.study = seat.study
    return found


def get_plan_at(seat: Seat, number: int) -> Plan:
    """A plan of the study by its number, as its address has it; raises NotFound."""
    found = Plan.objects.filter(study=seat.study, number=number).values_list("pk", flat=True).first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no plan {number}.")
    return get_plan(seat, found)


def get_own_assignment(seat: Seat, identifier: object, *, lock: bool = False) -> Assignment:
    """An assignment of this very person in this study; another's is not found.

    With `lock` it is held until the commit, and so is the state of its round.
    """
    number = row_number(identifier)
    found = None
    if number is not None:
        assignments = Assignment.objects.select_related("round", "item", "rater")
        if lock:
            hold_state(assignments=number)
            assignments = assignments.select_for_update(of=("self",))
        found = assignments.filter(
            Q(pk=number), round__study=seat.study, rater__study=seat.study, rater__user=seat.user
        ).first()
    if found is None:
        raise NotFound(f"You have no assignment {str(identifier)[:40]} in the study “{seat.study.slug}”.")
    return found


def row_number(identifier: object) -> int | None:
    """The number of a row that stands in an address or a request; None for what can't be one."""
    text = str(identifier)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def hold_state(**which: object) -> str | None:
    """The state of a round, which stays so until the commit: whoever moves the round on waits, other raters do not.

    It comes before every other lock, as it does where a round is moved on; so nobody waits for each other.
    """
    sql, values = Round.objects.filter(**which).order_by().values_list("state").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} FOR SHARE OF annotation_round", values)
        row = cursor.fetchone()
    return row[0] if row else None

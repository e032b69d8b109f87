"""Monitors: one URL under watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from monitoring.models.page_type import PageType
from monitoring.models.site import Site
from monitoring.models.team import Team
from monitoring.models.vantage import Vantage
from monitoring.scheduling import Rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class MonitorQuerySet(models.QuerySet["Monitor"]):
    """Monitors, by who may see them and by whether work is due."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> MonitorQuerySet:
        """The monitors of the user's teams; for a superuser all of them but the canaries, which have a page of their own."""
        if getattr(user, "is_superuser", False):
            return self.filter(is_canary=False)
        return self.filter(team__in=Team.objects.filter(members=user.pk).values("pk"), is_canary=False)

    def real(self) -> MonitorQuerySet:
        """Pages that somebody wants watched: neither the sample nor canaries count where we learn, promise or raise alarm."""
        return self.filter(is_sample=False, is_canary=False)


def of_visible[M: models.Model](
    rows: models.QuerySet[M], user: AbstractBaseUser | AnonymousUser, path: str = "monitor"
) -> models.QuerySet[M]:
    """The rows whose monitor, at `path`, is one of the user's teams; for a superuser all of them but the canaries'.

    EXISTS is asked per row, in the order of the rows' own index. A list of the monitors would be made first, and of a
    million monitors nobody wants a list.
    """
    if getattr(user, "is_superuser", False):
        return rows.exclude(**{f"{path}__in": Monitor.objects.filter(is_canary=True).values("pk")})
    teams = Team.objects.filter(members=user.pk).values("pk")
    return rows.filter(models.Exists(Monitor.objects.filter(pk=models.OuterRef(path), team_id__in=teams)))


class Renderer(models.TextChoices):
    """How the page is fetched."""

    HTTP = "http", _("HTTP")
    BROWSER = "browser", _("browser")
    AUTO = "auto", _("HTTP, or a browser where that is not enough")


class DocumentKind(models.TextChoices):
    """As what a document is read and compared; `auto`: as what the site says and the bytes show."""

    AUTO = "auto", _("found by itself")
    HTML = "html", _("page (HTML)")
    TEXT = "text", _("plain text")
    JSON = "json", _("JSON")
    XML = "xml", _("XML")
    FEED = "feed", _("feed (RSS, Atom)")
    PDF = "pdf", _("PDF")
    FILE = "file", _("file, by its digest")


class MonitorState(models.TextChoices):
    """What the last visits found; `unread` until a first good capture is the baseline."""

    UNREAD = "unread", _("not yet read")
    OK = "ok", _("read")
    BLOCKED = "blocked", _("blocked")
    ERROR = "error", _("error")
    GONE = "gone", _("gone")


_DECIDES_CLASS = {"renderer", "learned_renderer", "steps"}


TROUBLED = [MonitorState.UNREAD, MonitorState.BLOCKED, MonitorState.ERROR, MonitorState.GONE]


class Monitor(models.Model):
    """One URL under watch: what to fetch, how to compare, and when next."""

    # what
    name = models.CharField(_("name"), max_length=200)
    url = models.CharField(_("address"), max_length=2000)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="monitors", verbose_name=_("site"))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="monitors", verbose_name=_("team"))
    page_type = models.ForeignKey(
        PageType, on_delete=models.PROTECT, related_name="monitors", verbose_name=_("page type")
    )
    vantage = models.ForeignKey(Vantage, on_delete=models.PROTECT, related_name="monitors", verbose_name=_("vantage"))
    confirm_vantage = models.ForeignKey(
        Vantage,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="confirms",
        verbose_name=_("confirmed from"),
        help_text=_("A second vantage that is asked before a change is raised; empty: none."),
    )
    enabled = models.BooleanField(_("active"), default=True)
    is_sample = models.BooleanField(_("sample"), default=False, editable=False)
    # A page with a known schedule of changes (services.canaries): what it brings is proof of the watch and nobody's work.
    is_canary = models.BooleanField(_("canary"), default=False, db_default=False, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    # Nothing of it is let go, whatever the page type says (services.holds).
    legal_hold = models.BooleanField(_("legal hold"), default=False, db_default=False, editable=False)

    # how
    renderer = models.CharField(_("fetched by"), max_length=10, choices=Renderer.choices, default=Renderer.HTTP)
    wait_selector = models.CharField(_("wait for selector"), max_length=400, blank=True)
    steps = models.JSONField(
        _("steps"),
        default=list,
        blank=True,
        help_text=_("What a browser does on the page before it is captured; a list as JSON."),
    )
    # What “auto” found out, and when it last tried the other way.
    learned_renderer = models.CharField(max_length=10, blank=True, editable=False)
    learned_since = models.DateTimeField(null=True, blank=True, editable=False)
    browser_tried_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Whose queue its visits go to: `uses_browser` as a column, and true as well where HTTP was not enough this time.
    by_browser = models.BooleanField(default=False, db_default=False, editable=False)
    main_selector = models.CharField(
        _("main region"), max_length=400, blank=True, help_text=_("CSS selector; empty: found by itself.")
    )
    charset_override = models.CharField(
        _("character encoding"),
        max_length=40,
        blank=True,
        help_text=_("For example windows-1251; empty: as the page says, else as it was read before."),
    )
    document_type = models.CharField(
        _("document type"),
        max_length=10,
        choices=DocumentKind.choices,
        default=DocumentKind.AUTO,
        help_text=_("Another type than the one pinned here is told, and never compared."),
    )
    json_path = models.CharField(
        _("JSON path"), max_length=400, blank=True, help_text=_("For example $.items[*].price; empty: all of it.")
    )
    link_selector = models.CharField(
        _("link to follow"),
        max_length=400,
        blank=True,
        help_text=_("CSS selector of a link on the page: the document that it leads to is watched, not the page."),
    )
    order_matters = models.BooleanField(
        _("order matters"), null=True, blank=True, help_text=_("Unknown: as the page type says.")
    )
    case_matters = models.BooleanField(
        _("case matters"), null=True, blank=True, help_text=_("Unknown: as the page type says.")
    )
    threshold = models.PositiveSmallIntegerField(
        _("threshold"), null=True, blank=True, help_text=_("Bits; empty: as the page type says.")
    )
    cut = models.FloatField(_("cut"), null=True, blank=True, help_text=_("0 to 1; empty: as the page type says."))
    weight = models.FloatField(_("weight"), null=True, blank=True, help_text=_("Empty: as the page type says."))

    # when
    interval_s = models.PositiveIntegerField(
        _("interval, seconds"), null=True, blank=True, help_text=_("Empty: as the page type says.")
    )
    min_interval_s = models.PositiveIntegerField(_("minimum interval, seconds"), default=300)
    max_interval_s = models.PositiveIntegerField(_("maximum interval, seconds"), default=604_800)
    next_check_at = models.DateTimeField(_("next check"), null=True, blank=True, editable=False)
    plan_reason = models.CharField(max_length=30, blank=True, editable=False)
    # What is known of the rate of change: the fold of the checks (services.rates), changes per day as Gamma(a, b days).
    rate_a = models.FloatField(default=0.5, db_default=0.5, editable=False)
    rate_b = models.FloatField(default=5.0, db_default=5.0, editable=False)
    prior_b = models.FloatField(default=5.0, db_default=5.0, editable=False)  # days for half a change, as it began with
    rate_stale = models.BooleanField(default=False, db_default=False, editable=False)  # a verdict turned a result
    plan_price = models.FloatField(null=True, blank=True, editable=False)  # null: planned by a fixed interval
    planned_s = models.PositiveIntegerField(null=True, blank=True, editable=False)  # interval of the last plan
    deadline_at = models.DateTimeField(null=True, blank=True, editable=False)  # read again by then, as promised
    gives_304 = models.BooleanField(
        default=False, db_default=False, editable=False
    )  # the site answers "not modified" when asked
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.CharField(max_length=32, blank=True, editable=False)
    check_no = models.PositiveBigIntegerField(default=0, editable=False)
    fail_no = models.PositiveIntegerField(default=0, editable=False)
    last_checked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_ok_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_full_at = models.DateTimeField(null=True, blank=True, editable=False)  # the whole page came, and not a 304
    last_audit_at = models.DateTimeField(null=True, blank=True, editable=False)
    stage = models.CharField(max_length=20, blank=True, editable=False)
    stage_failures = models.PositiveSmallIntegerField(default=0, editable=False)
    quarantined_at = models.DateTimeField(_("quarantined"), null=True, blank=True, editable=False)

    # what it looked like
    state = models.CharField(
        _("state"), max_length=10, choices=MonitorState.choices, default=MonitorState.UNREAD, editable=False
    )
    state_since = models.DateTimeField(null=True, blank=True, editable=False)
    baseline = models.ForeignKey(
        "monitoring.Snapshot", on_delete=models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    baseline_raw_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    baseline_text_hash = models.CharField(max_length=32, blank=True, editable=False)
    mould = models.BinaryField(default=b"", blank=True)  # see services.moulds; at most 2 KB
    baseline_fingerprint = models.CharField(max_length=16, blank=True, editable=False)
    etag = models.CharField(max_length=500, blank=True, editable=False)
    last_modified = models.CharField(max_length=100, blank=True, editable=False)
    # A site said "not modified" of a page that had changed: until then it is asked without conditions.
    distrusted_until = models.DateTimeField(null=True, blank=True, editable=False)
    charset = models.CharField(max_length=40, blank=True, editable=False)
    region_path = models.CharField(max_length=1000, blank=True, editable=False)
    fields = models.JSONField(default=dict, blank=True, editable=False)
    rebaseline = models.CharField(
        max_length=60, blank=True, editable=False, help_text="Why the next good capture becomes a new baseline."
    )
    # A gone page, a new final host, a changed charset, a change seen from one place only: believed after several
    # checks over some time.
    suspect = models.CharField(max_length=20, blank=True, editable=False)
    suspect_detail = models.CharField(max_length=300, blank=True, editable=False)
    suspect_since = models.DateTimeField(null=True, blank=True, editable=False)
    suspect_count = models.PositiveSmallIntegerField(default=0, editable=False)

    objects = MonitorQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        verbose_name = _("monitor")
        verbose_name_plural = _("monitors")
        constraints = [
            models.UniqueConstraint(fields=["team", "url", "vantage"], name="monitor_once_per_team_and_vantage"),
            models.CheckConstraint(
                condition=models.Q(threshold__isnull=True) | models.Q(threshold__lte=64), name="monitor_threshold_bits"
            ),
            models.CheckConstraint(
                condition=models.Q(cut__isnull=True) | models.Q(cut__gte=0, cut__lte=1), name="monitor_cut_range"
            ),
            models.CheckConstraint(
                condition=models.Q(min_interval_s__lte=models.F("max_interval_s")), name="monitor_interval_order"
            ),
        ]
        indexes = [
            # the ticker: WHERE enabled AND quarantined_at IS NULL AND next_check_at <= now ORDER BY next_check_at
            models.Index(
                fields=["next_check_at"],
                name="monitor_due",
                condition=models.Q(enabled=True, quarantined_at__isnull=True, next_check_at__isnull=False),
            ),
            # the claim of a class: the same AND by_browser = ...; the one above serves the release before, and counts of both
            models.Index(
                fields=["by_browser", "next_check_at"],
                name="monitor_due_class",
                condition=models.Q(enabled=True, quarantined_at__isnull=True, next_check_at__isnull=False),
            ),
            # broken promises: WHERE enabled AND deadline_at < now ORDER BY deadline_at; overload: deadline_at BETWEEN ..
            models.Index(
                fields=["deadline_at"],
                name="monitor_deadline",
                condition=models.Q(enabled=True, deadline_at__isnull=False),
            ),
            # the reconciler: expired leases, WHERE lease_until <= now
            models.Index(fields=["lease_until"], name="monitor_leased", condition=models.Q(lease_until__isnull=False)),
            # the list by name, and from a name on: ORDER BY name, id
            models.Index(fields=["name", "id"], name="monitor_by_name"),
            # who is in trouble, and since when: WHERE state = .. ORDER BY state_since. Not partial: SQLite does not see that a
            # bound state is one of a list.
            models.Index(fields=["state", "state_since", "id"], name="monitor_troubled"),
            # who was set aside: WHERE quarantined_at IS NOT NULL
            models.Index(
                fields=["quarantined_at"],
                name="monitor_set_aside",
                condition=models.Q(quarantined_at__isnull=False),
            ),
            # rates to be folded again: WHERE rate_stale
            models.Index(fields=["id"], name="monitor_rate_stale", condition=models.Q(rate_stale=True)),
            # the sample's pages, of which there are few: WHERE is_sample
            models.Index(fields=["created_at"], name="monitor_of_sample", condition=models.Q(is_sample=True)),
            # the canaries: WHERE is_canary
            models.Index(fields=["id"], name="monitor_canary", condition=models.Q(is_canary=True)),
            # who is to be told that a page can't be read: WHERE fail_no >= .. AND enabled
            models.Index(fields=["fail_no"], name="monitor_failing", condition=models.Q(fail_no__gt=0)),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:  # Any: what Django's own takes
        """Saved, with the class of workers that its settings ask for."""
        fields: Iterable[str] | None = kwargs.get("update_fields")
        if fields is None or _DECIDES_CLASS & set(fields):
            self.by_browser = self.uses_browser
            if fields is not None:
                kwargs["update_fields"] = {*fields, "by_browser"}
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        """The monitor's page."""
        return reverse("monitor", args=[self.pk])

    @property
    def uses_browser(self) -> bool:
        """Whether the next visit is a browser's: as set, or as “auto” learned, or because only a browser does steps."""
        return self.would_use_browser(self.learned_renderer)

    def would_use_browser(self, learned: str) -> bool:
        """The same once “auto” has learned something else."""
        return self.renderer == Renderer.BROWSER or (
            self.renderer == Renderer.AUTO and (learned == Renderer.BROWSER or bool(self.steps))
        )

    @property
    def quarantine_words(self) -> str:
        """Why the monitor was set aside, or the empty string when it was not."""
        if self.quarantined_at is None:
            return ""
        return {
            "fetch": gettext("work on it broke off three times while it was fetched"),
            "render": gettext("work on it broke off three times while the browser had it"),
            "judge": gettext("work on it broke off three times while it was read and compared"),
        }.get(self.stage, gettext("work on it broke off three times"))

    @property
    def effective_threshold(self) -> int:
        """Bits in force: the monitor's own, else the page type's."""
        return self.page_type.threshold if self.threshold is None else self.threshold

    @property
    def effective_cut(self) -> float:
        """Cut in force: the monitor's own, else the page type's."""
        return self.page_type.cut if self.cut is None else self.cut

    @property
    def effective_weight(self) -> float:
        """Weight in force: the monitor's own, else the page type's."""
        return self.page_type.weight if self.weight is None else self.weight

    @property
    def effective_interval_s(self) -> int:
        """Interval in force, within the monitor's minimum and maximum."""
        wanted = self.page_type.default_interval_s if self.interval_s is None else self.interval_s
        return min(max(wanted, self.effective_min_s), self.effective_max_s)

    @property
    def effective_min_s(self) -> int:
        """Least interval in force: the longer one of the monitor's and the page type's."""
        return min(max(self.min_interval_s, self.page_type.min_interval_s or 0), self.effective_max_s)

    @property
    def effective_max_s(self) -> int:
        """The promise in force, "at least every": the shorter one of the monitor's and the page type's."""
        return min(self.max_interval_s, self.page_type.max_interval_s or self.max_interval_s)

    @property
    def usual_interval_s(self) -> int:
        """Seconds between two visits when all goes well: as last planned by price, else the interval in force."""
        return self.effective_interval_s if self.plan_price is None else (self.planned_s or self.effective_interval_s)

    @property
    def rate(self) -> Rate:
        """What is known of how often the page changes."""
        return Rate(self.rate_a, self.rate_b)

    @property
    def effective_order_matters(self) -> bool:
        """Whether a reordering is a change here."""
        return self.page_type.order_matters if self.order_matters is None else self.order_matters

    @property
    def effective_case_matters(self) -> bool:
        """Whether a change of case alone is a change here."""
        return self.page_type.case_matters if self.case_matters is None else self.case_matters


class MonitorMemory(models.Model):
    """What a monitor has shown before; a fold over the deltas of its checks, in a row of its own because it is large."""

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, primary_key=True, related_name="memory")
    data = models.BinaryField(default=b"")
    folded_check_no = models.PositiveBigIntegerField(default=0)  # checks after this one are folded when next needed
    # The fold as it was when the oldest checks were let go: from there it can be built again without them.
    base = models.BinaryField(default=b"", db_default=b"")
    base_check_no = models.PositiveBigIntegerField(default=0, db_default=0)
    base_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"memory of monitor {self.monitor_id}"


class SettingChange(models.Model):
    """Who changed which setting of a monitor, page type, site or team, and when. Append-only."""

    monitor = models.ForeignKey(
        Monitor, on_delete=models.CASCADE, null=True, blank=True, related_name="setting_changes"
    )
    page_type = models.ForeignKey(
        PageType, on_delete=models.CASCADE, null=True, blank=True, related_name="setting_changes"
    )
    site = models.ForeignKey(Site, on_delete=models.CASCADE, null=True, blank=True, related_name="setting_changes")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="setting_changes")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    actor_name = models.CharField(max_length=150, blank=True)
    name = models.CharField(_("setting"), max_length=80)
    old = models.TextField(_("before"), blank=True)
    new = models.TextField(_("after"), blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    at = models.DateTimeField(_("when"), auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = _("setting change")
        verbose_name_plural = _("setting changes")

    def __str__(self) -> str:
        return f"{self.name}: {self.old} -> {self.new}"

"""DUST, "different URLs with similar text": rules that rename a URL to another URL of the same page.

A rule is one of nine kinds (`rules`): drop a parameter or one value of it, sort the query, drop a prefix or a suffix of
the path, replace a segment, lower-case the path, or use another host or scheme. Rules are learnt site by site from
pairs of pages that were both read and whose URLs differ by exactly one rule (Bar-Yossef, Keidar & Schonfeld
2007; Koppula et al. 2010). Equal and unequal pairs are counted; a rule is accepted when a Beta posterior says that it
holds (`evidence`), is probed permanently with a small share of the URLs that it would rename, and is withdrawn when
probes contradict it (`learning`). `renaming` applies the rules of a site to a URL.

Other sources of rules: `Clean-param` of robots.txt and a file that people edit (`given`), the rules of
duplicate-url-discarder (`discarder`), and names that held on many domains, which then need fewer pairs.

Everything is pure. What is learnt of a site is one bounded value, `SiteDust`, stored with what filters learn of it.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .discarder import from_discarder
    from .evidence import lower_quantile
    from .given import GivenRule, GivenRules, RuleFile, clean_params, priors_of, read_rule_file, write_rule_file
    from .learning import (
        Observation,
        Pair,
        RuleChange,
        SiteDust,
        adopt,
        checked,
        count_pair,
        is_awaited,
        is_looked_up,
        learn,
        note_target,
        redirected_back,
        remember,
        target_failed,
        target_read,
    )
    from .renaming import Renamed, anchor_of, anchored, is_probe, looked_for, open_operations, renamed, wanted_anchors
    from .rules import (
        KINDS,
        PREFIXES,
        Operation,
        Rule,
        apply,
        describe,
        operation_between,
        operations,
        parse_rule,
    )
    from .settings import DustSettings
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "KINDS",
    "PREFIXES",
    "DustSettings",
    "GivenRule",
    "GivenRules",
    "Observation",
    "Operation",
    "Pair",
    "Renamed",
    "Rule",
    "RuleChange",
    "RuleFile",
    "SiteDust",
    "adopt",
    "anchor_of",
    "anchored",
    "apply",
    "checked",
    "clean_params",
    "count_pair",
    "describe",
    "from_discarder",
    "is_awaited",
    "is_looked_up",
    "is_probe",
    "learn",
    "looked_for",
    "lower_quantile",
    "note_target",
    "open_operations",
    "operation_between",
    "operations",
    "parse_rule",
    "priors_of",
    "read_rule_file",
    "redirected_back",
    "remember",
    "renamed",
    "target_failed",
    "target_read",
    "wanted_anchors",
    "write_rule_file",
]

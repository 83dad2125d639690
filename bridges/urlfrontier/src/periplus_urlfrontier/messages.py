"""The messages of the URLFrontier API 2.6 by field number, and its calls; the classes are made when this is imported.

A field is `number name type`; `*` after a type: repeated, `?`: optional, `{}`: a map from strings. `a|b` before the
fields of a `oneof`. Names of messages and enumerations are types like the scalar ones.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE: Final = "urlfrontier"
SERVICE: Final = f"{PACKAGE}.URLFrontier"

OK, SKIPPED, FAIL = 0, 1, 2
"""Status of an acknowledgement: done; never send this again; it may be sent again."""

_ENUMS: Final = {
    "AckMessage.Status": ("OK", "SKIPPED", "FAIL"),
    "LogLevelParams.Level": ("TRACE", "DEBUG", "INFO", "WARN", "ERROR"),
}

_MESSAGES: Final = """
    Empty:
    AnyCrawlID:
    Local: 1 local bool
    Active: 1 state bool, 2 local bool
    Boolean: 1 state bool
    Long: 1 value uint64
    StringList: 1 values string*
    URLInfo: 1 url string, 2 key string, 3 metadata StringList{}, 4 crawlID string
    DiscoveredURLItem: 1 info URLInfo
    KnownURLItem: 1 info URLInfo, 2 refetchable_from_date uint64
    URLItem: item| 1 discovered DiscoveredURLItem, item| 2 known KnownURLItem, 3 ID string, 4 creation_date uint64
    AckMessage: 1 ID string, 2 status AckMessage.Status
    DiscoveredBatch: 1 ID string, 2 items URLInfo*
    BatchAck: 1 ID string, 2 statuses AckMessage.Status*
    GetParams: 1 max_urls_per_queue uint32, 2 max_queues uint32, 3 key string, 4 delay_requestable uint32, \
item| 5 anyCrawlID AnyCrawlID, item| 6 crawlID string
    Stats: 1 size uint64, 2 inProcess uint32, 3 counts uint64{}, 4 numberOfQueues uint64, 5 crawlID string
    Pagination: 1 start uint32, 2 size uint32, 3 include_inactive bool, 4 crawlID string, 5 local bool
    QueueList: 1 values string*, 2 total uint64, 3 start uint32, 4 size uint32, 5 crawlID string
    QueueWithinCrawlParams: 1 key string, 2 crawlID string, 3 local bool
    QueueDelayParams: 1 key string, 2 delay_requestable uint32, 3 crawlID string, 4 local bool
    BlockQueueParams: 1 key string, 2 time uint64, 3 crawlID string, 4 local bool
    DeleteCrawlMessage: 1 value string, 2 local bool
    CrawlLimitParams: 1 key string, 2 limit uint32, 3 crawlID string, 4 local bool
    URLStatusRequest: 1 url string, 2 key string, 3 crawlID string
    ListUrlParams: 1 start uint32, 2 size uint32, 3 key string, 4 crawlID string, 5 local bool, \
6 filter string?, 7 ignoreCase bool?
    CountUrlParams: 1 key string, 2 crawlID string, 3 filter string?, 4 ignoreCase bool?, 5 local bool?
    PurgeUrlParams: 1 key string, 2 crawlID string, 3 days uint32
    LogLevelParams: 1 package string, 2 level LogLevelParams.Level, 3 local bool
"""

CALLS: Final = {
    "ListNodes": ("Empty", "StringList"),
    "ListCrawls": ("Local", "StringList"),
    "DeleteCrawl": ("DeleteCrawlMessage", "Long"),
    "ListQueues": ("Pagination", "QueueList"),
    "GetURLs": ("GetParams", "stream URLInfo"),
    "PutURLs": ("stream URLItem", "stream AckMessage"),
    "PutDiscovered": ("stream DiscoveredBatch", "stream BatchAck"),
    "GetStats": ("QueueWithinCrawlParams", "Stats"),
    "DeleteQueue": ("QueueWithinCrawlParams", "Long"),
    "BlockQueueUntil": ("BlockQueueParams", "Empty"),
    "SetActive": ("Active", "Empty"),
    "GetActive": ("Local", "Boolean"),
    "SetDelay": ("QueueDelayParams", "Empty"),
    "SetLogLevel": ("LogLevelParams", "Empty"),
    "SetCrawlLimit": ("CrawlLimitParams", "Empty"),
    "GetURLStatus": ("URLStatusRequest", "URLItem"),
    "ListURLs": ("ListUrlParams", "stream URLItem"),
    "CountURLs": ("CountUrlParams", "Long"),
    "PurgeURLs": ("PurgeUrlParams", "Long"),
}
"""Each call with the message that it takes and the one that it returns."""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}


def _set_type(field: Any, kind: str) -> None:
    field.label = _Field.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{kind}"


def _add_map(message: Any, field: Any, kind: str) -> None:
    """A map is a repeated message of keys and values, nested in its message under a fixed name."""
    entry = message.nested_type.add(name=f"{field.name.title()}Entry")
    entry.options.map_entry = True
    key, value = entry.field.add(name="key", number=1), entry.field.add(name="value", number=2)
    _set_type(key, "string")
    _set_type(value, kind)
    field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"


def _add_field(message: Any, words: list[str]) -> None:
    choice = words.pop(0)[:-1] if words[0].endswith("|") else ""
    number, name, kind = words
    field = message.field.add(name=name, number=int(number))
    if kind.endswith("{}"):
        _add_map(message, field, kind[:-2])
        return
    _set_type(field, kind.rstrip("*?"))
    if kind.endswith("*"):
        field.label = _Field.LABEL_REPEATED
    if kind.endswith("?"):  # an optional field is alone in a choice of its own
        field.proto3_optional, choice = True, f"_{name}"
    if choice:
        names = [each.name for each in message.oneof_decl]
        if choice not in names:
            message.oneof_decl.add(name=choice)
            names.append(choice)
        field.oneof_index = names.index(choice)


def _described() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="urlfrontier.proto", package=PACKAGE, syntax="proto3")
    for line in _MESSAGES.strip().splitlines():
        name, _, fields = line.strip().partition(":")
        message = file.message_type.add(name=name)
        for field in filter(None, fields.split(",")):
            _add_field(message, field.split())
        for enum, values in _ENUMS.items():
            if enum.startswith(f"{name}."):
                kind = message.enum_type.add(name=enum.removeprefix(f"{name}."))
                for number, value in enumerate(values):
                    kind.value.add(name=value, number=number)
    return file


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_described())
    file = pool.FindFileByName("urlfrontier.proto")
    return {name: message_factory.GetMessageClass(kind) for name, kind in file.message_types_by_name.items()}


MESSAGES: Final[dict[str, Any]] = _classes()
"""The class of each message, by its name."""

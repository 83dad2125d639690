/* The attributes of a tag. */
#ifndef PERIPLUS_ATTRIBUTES_H
#define PERIPLUS_ATTRIBUTES_H

#include "tags.h"

/* Names that the scanner asks for, or that are so frequent that their Python strings are made once. */
#define ATTRIBUTES(X)                \
    X(action, "action")              \
    X(alt, "alt")                    \
    X(aria_hidden, "aria-hidden")    \
    X(aria_label, "aria-label")      \
    X(as, "as")                      \
    X(async, "async")                \
    X(autocomplete, "autocomplete")  \
    X(charset, "charset")            \
    X(checked, "checked")            \
    X(class, "class")                \
    X(color, "color")                \
    X(colspan, "colspan")            \
    X(content, "content")            \
    X(crossorigin, "crossorigin")    \
    X(disabled, "disabled")          \
    X(enctype, "enctype")            \
    X(face, "face")                  \
    X(for, "for")                    \
    X(form, "form")                  \
    X(hidden, "hidden")              \
    X(href, "href")                  \
    X(hreflang, "hreflang")          \
    X(http_equiv, "http-equiv")      \
    X(id, "id")                      \
    X(itemprop, "itemprop")          \
    X(lang, "lang")                  \
    X(list, "list")                  \
    X(media, "media")                \
    X(method, "method")              \
    X(multiple, "multiple")          \
    X(name, "name")                  \
    X(placeholder, "placeholder")    \
    X(poster, "poster")              \
    X(property, "property")          \
    X(rel, "rel")                    \
    X(required, "required")          \
    X(role, "role")                  \
    X(rowspan, "rowspan")            \
    X(selected, "selected")          \
    X(size, "size")                  \
    X(sizes, "sizes")                \
    X(src, "src")                    \
    X(srcset, "srcset")              \
    X(start, "start")                \
    X(style, "style")                \
    X(title, "title")                \
    X(type, "type")                  \
    X(value, "value")                \
    X(xlink_href, "xlink:href")      \
    X(xml_lang, "xml:lang")

enum AttributeName {
    ATTR_other,
#define X(name, written) ATTR_##name,
    ATTRIBUTES(X)
#undef X
    ATTR_COUNT
};

_Static_assert(ATTR_COUNT <= 64, "read_attributes has a bit for each name");

static const char *const ATTRIBUTE_NAMES[ATTR_COUNT] = {
    "",
#define X(name, written) written,
    ATTRIBUTES(X)
#undef X
};

#define MAX_ATTRIBUTES 256     /* of a tag; more are read over */
#define MAX_ATTRIBUTE_NAME 64  /* bytes; longer ones are read over */

typedef struct {
    Span name;
    Span value; /* as written; `at` is NULL where none is written */
    u8 known;   /* ATTR_... */
} Attribute;

typedef struct {
    Attribute items[MAX_ATTRIBUTES];
    u32 count;
    bool is_self_closing;
} Attributes;

static NameSlot ATTRIBUTE_TABLE[NAME_SLOTS];

static void init_attributes(void) {
    for (u8 name = 1; name < ATTR_COUNT; name++) {
        add_name(ATTRIBUTE_TABLE, ATTRIBUTE_NAMES[name], name);
    }
}

/* The value behind "=" and white space. Returns what follows it, or the end if the page ends first. */
static const u8 *read_value(const u8 *at, const u8 *end, Span *value) {
    const u8 *start = at;
    if (*at == '"' || *at == '\'') {
        start = at + 1;
        const u8 *quote = start < end ? find_byte(start, end, *at) : end;
        *value = (Span){start, (u32)(quote - start)};
        return quote < end ? quote + 1 : end;
    }
    while (!IS_SPACE[*at] && *at != '>') {
        at++;
    }
    *value = (Span){start, (u32)(at - start)};
    return at;
}

/* Read attributes up to the ">" that ends a tag, and return what follows it; NULL if the page ends first.
   `into` may be NULL, for end tags. A ">" stands behind the end of the page, so that every loop ends there. */
static const u8 *read_attributes(const u8 *at, const u8 *end, Attributes *into) {
    u32 count = 0;
    u64 seen = 0; /* a bit for each known name: of two attributes with one name the first counts */
    bool is_self_closing = false;
    for (;;) {
        while (IS_SPACE[*at] || *at == '/') {
            is_self_closing = *at == '/';
            at++;
        }
        if (at >= end) {
            return NULL;
        }
        if (*at == '>') {
            break;
        }
        is_self_closing = false;
        const u8 *name = at;
        at++; /* a name may begin with "=" */
        while (!ENDS_ATTRIBUTE[*at]) {
            at++;
        }
        Attribute found = {{name, (u32)(at - name)}, {NULL, 0}, ATTR_other};
        while (IS_SPACE[*at]) {
            at++;
        }
        if (*at == '=') {
            do {
                at++;
            } while (IS_SPACE[*at]);
            at = read_value(at, end, &found.value);
        }
        if (at >= end) {
            return NULL;
        }
        if (into && count < MAX_ATTRIBUTES && found.name.size <= MAX_ATTRIBUTE_NAME) {
            found.known = find_name(ATTRIBUTE_TABLE, name_key(name, found.name.size));
            bool is_repeated = found.known && (seen >> found.known & 1);
            seen |= (u64)1 << found.known;
            into->items[count] = found;
            count += !is_repeated;
        }
    }
    if (into) {
        into->count = count;
        into->is_self_closing = is_self_closing;
    }
    return at + 1;
}

/* The first attribute of a name, or NULL. */
static inline const Attribute *find_attribute(const Attributes *attributes, enum AttributeName name) {
    for (u32 i = 0; i < attributes->count; i++) {
        if (attributes->items[i].known == name) {
            return &attributes->items[i];
        }
    }
    return NULL;
}

static inline bool has_attribute(const Attributes *attributes, enum AttributeName name) {
    return find_attribute(attributes, name) != NULL;
}

/* The value of an attribute; no bytes where the attribute or its value is missing. */
static inline Span value_of(const Attributes *attributes, enum AttributeName name) {
    const Attribute *found = find_attribute(attributes, name);
    return found ? found->value : (Span){NULL, 0};
}

#endif

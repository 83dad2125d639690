/* What a page says about itself: <html lang>, <meta>, <link>, <base>, small scripts, the title. */
#ifndef PERIPLUS_HEAD_H
#define PERIPLUS_HEAD_H

#include "scanner.h"

static bool has_value(const Attributes *attributes, enum AttributeName name) {
    return value_of(attributes, name).size > 0;
}

/* A link is relative to the first base with an href, but not to one for browsers without scripts. */
static bool is_base(Scanner *scanner) {
    bool is_first = !scanner->head.has_base && !scanner->is_in_noscript;
    if (!is_first || !has_attribute(&scanner->attributes, ATTR_href)) {
        return false;
    }
    scanner->head.has_base = true;
    return true;
}

static bool is_first_language(Scanner *scanner) {
    const Attributes *attributes = &scanner->attributes;
    bool has_language = has_attribute(attributes, ATTR_lang) || has_attribute(attributes, ATTR_xml_lang);
    if (!has_language || scanner->head.has_language) {
        return false;
    }
    scanner->head.has_language = true;
    return true;
}

/* White space of ASCII that `str.strip` removes. */
static inline bool is_stripped(u8 byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1C && byte <= 0x1F);
}

/* Whether a name, perhaps with white space around it, may be one of some words. One with references or beyond ASCII may
   be: Python decides. */
static bool may_be_one_of(Span name, const char *const *words, u32 count) {
    for (u32 i = 0; i < name.size; i++) {
        if (name.at[i] == '&' || name.at[i] >= 0x80) {
            return true;
        }
    }
    while (name.size && is_stripped(name.at[0])) {
        name = (Span){name.at + 1, name.size - 1};
    }
    while (name.size && is_stripped(name.at[name.size - 1])) {
        name.size--;
    }
    for (u32 i = 0; i < count; i++) {
        if (is_word(name, words[i], (u32)strlen(words[i]))) {
            return true;
        }
    }
    return false;
}

/* `columns.META_NAMES` and `columns.META_EQUIVALENTS`. */
static const char *const META_NAMES[] = {
    "description", "og:description", "twitter:description", "robots", "periplus", "tdm-reservation", "tdm-policy",
};
static const char *const META_EQUIVALENTS[] = {"refresh", "content-language"};

#define MAY_BE_ONE_OF(name, words) may_be_one_of(name, words, sizeof(words) / sizeof *(words))

static bool is_reported_meta(Scanner *scanner) {
    const Attributes *attributes = &scanner->attributes;
    Span name = value_of(attributes, ATTR_name);
    name = name.size ? name : value_of(attributes, ATTR_property);
    Span equivalent = value_of(attributes, ATTR_http_equiv);
    if (!(name.size || equivalent.size) || !has_value(attributes, ATTR_content) || scanner->head.metas++ >= MAX_METAS) {
        return false;
    }
    return MAY_BE_ONE_OF(name, META_NAMES) || MAY_BE_ONE_OF(equivalent, META_EQUIVALENTS);
}

static bool is_relation(Span word) {
    return IS_WORD(word, "canonical") || IS_WORD(word, "next") || IS_WORD(word, "prev") || IS_WORD(word, "previous") ||
           IS_WORD(word, "amphtml") || IS_WORD(word, "alternate") || IS_WORD(word, "feed");
}

/* Whether one word of a rel concerns another page; most links are to stylesheets and icons. */
static bool has_relation(Span rel) {
    const u8 *at = rel.at;
    const u8 *end = rel.at + rel.size;
    while (at < end) {
        const u8 *word = at;
        while (at < end && !IS_SPACE[*at]) {
            at++;
        }
        if (is_relation((Span){word, (u32)(at - word)})) {
            return true;
        }
        at++;
    }
    return false;
}

static bool is_reported_link(Scanner *scanner) {
    Span rel = value_of(&scanner->attributes, ATTR_rel);
    return rel.size && has_relation(rel) && scanner->head.links++ < MAX_HEAD_LINKS;
}

static bool is_reported_head(Scanner *scanner, u8 tag) {
    switch (tag) {
        case TAG_html:
            return is_first_language(scanner);
        case TAG_meta:
            return is_reported_meta(scanner);
        case TAG_link:
            return is_reported_link(scanner);
        case TAG_base:
            return is_base(scanner);
        default:
            return true;
    }
}

static void add_head_element(Scanner *scanner, u8 tag, Span content) {
    Head *head = &scanner->head;
    if (is_reported_head(scanner, tag) && HAS_ROOM(&head->list, &scanner->has_failed)) {
        HeadElement element = {.tag = tag, .content = content, .is_in_noscript = scanner->is_in_noscript};
        element.attributes = keep_attributes(scanner, NULL);
        head->list.items[head->list.count++] = element;
    }
}

static bool contains(Span text, const char *word) {
    u32 size = (u32)strlen(word);
    const u8 *end = text.at + text.size;
    for (const u8 *at = find_byte(text.at, end, (u8)word[0]); at < end; at = find_byte(at + 1, end, (u8)word[0])) {
        if (end - at >= (ptrdiff_t)size && memcmp(at, word, size) == 0) {
            return true;
        }
    }
    return false;
}

/* A small script in a small page may redirect its reader, by its location. Characters are counted where it is decoded. */
static void add_script(Scanner *scanner, Span content) {
    bool is_small = content.size && content.size <= 4 * MAX_SCRIPT &&
                    scanner->end - scanner->start <= (ptrdiff_t)MAX_SCRIPTED_PAGE;
    if (is_small && !has_attribute(&scanner->attributes, ATTR_src) && contains(content, "location")) {
        add_head_element(scanner, TAG_script, content);
    }
}

static void add_title(Scanner *scanner, Span content) {
    if (!scanner->has_title) {
        scanner->has_title = true;
        scanner->title = content;
    }
}

#endif

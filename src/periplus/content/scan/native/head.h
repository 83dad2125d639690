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

static bool is_reported_meta(Scanner *scanner) {
    const Attributes *attributes = &scanner->attributes;
    bool is_named = has_value(attributes, ATTR_name) || has_value(attributes, ATTR_property) ||
                    has_value(attributes, ATTR_http_equiv);
    return is_named && has_value(attributes, ATTR_content) && scanner->head.metas++ < MAX_METAS;
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

/* A small script in a small page may redirect its reader. Characters are counted where it is decoded. */
static void add_script(Scanner *scanner, Span content) {
    bool is_small = content.size && content.size <= 4 * MAX_SCRIPT &&
                    scanner->end - scanner->start <= (ptrdiff_t)MAX_SCRIPTED_PAGE;
    if (is_small && !has_attribute(&scanner->attributes, ATTR_src)) {
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

/* The tags of a page that say something of it, with their lines, attributes and content: what an audit looks at.
   Left out are links with a text that only lead to another page, or to a place that this page has, or that an earlier
   one leads to; of links with a text only the href is listed, of headings no attribute.
   `scan/tag_list.py` does the same in Python. Nothing is built of blocks, text or links here. */
#ifndef PERIPLUS_TAG_LIST_H
#define PERIPLUS_TAG_LIST_H

#include "page.h"

#define MAX_LISTED 20000  /* tags of a page, the rest is not listed; `tag_list.py` has the same limits */
#define MAX_SAMPLE 3000   /* bytes of text by which a language can be told */
#define MIN_RUN 24        /* bytes of a text that is more than a label */

typedef struct {
    Kept attributes;
    const u8 *content;
    const u8 *content_end;
    u32 line;
    u8 tag;
    bool is_named; /* a link or heading with text, or with the name of a picture in it */
    bool is_in_noscript;
    bool is_scripted; /* a link that a script takes over */
    u8 link;          /* LINK_... */
} ListedTag;

/* What a link says by its href: where it leads; a place in a page; more, as a script or another protocol. */
enum { LINK_PLAIN, LINK_INTO_PAGE, LINK_ODD };

typedef struct {
    LIST(ListedTag) tags;
    LIST(Span) ids;
    u8 sample[MAX_SAMPLE];
    u32 sample_size;
    u32 foreign;
    u32 line;
    const u8 *counted; /* lines are counted up to here */
    i32 link;          /* the open ones, or NONE */
    i32 heading;
    bool has_items;    /* microdata or RDFa */
} TagList;

static bool is_listed_tag(u8 tag) {
    switch (tag) {
        case TAG_html: case TAG_base: case TAG_title: case TAG_meta: case TAG_link: case TAG_script: case TAG_img:
        case TAG_source: case TAG_video: case TAG_audio: case TAG_track: case TAG_iframe: case TAG_frame:
        case TAG_embed: case TAG_object: case TAG_form: case TAG_a: case TAG_area: case TAG_body: case TAG_image:
            return true;
        default:
            return is_heading(tag);
    }
}

/* How many bytes of white space that is not of HTML begin here: no-break and zero-width spaces, as written. */
static u32 blank_size(const u8 *at) {
    if (at[0] == 0xC2 && at[1] == 0xA0) {
        return 2;
    }
    if ((at[0] == 0xE2 && at[1] == 0x80 && at[2] == 0x8B) || (at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF)) {
        return 3;
    }
    if (at[0] == '&') {
        return starts_with(at + 1, "nbsp;", 5) || starts_with(at + 1, "#160;", 5) || starts_with(at + 1, "#xa0;", 5) ? 6 : 0;
    }
    return 0;
}

static bool has_ink(const u8 *at, const u8 *end) {
    while (at < end) {
        u32 size = *at <= ' ' ? 1 : blank_size(at);
        if (!size) {
            return true;
        }
        at += size;
    }
    return false;
}

static void mark_named(TagList *list) {
    if (list->link != NONE) {
        list->tags.items[list->link].is_named = true;
    }
    if (list->heading != NONE) {
        list->tags.items[list->heading].is_named = true;
    }
}

static void list_text(TagList *list, const u8 *at, const u8 *end) {
    if ((list->link != NONE || list->heading != NONE) && has_ink(at, end)) {
        mark_named(list);
    }
    u32 size = (u32)(end - at);
    if (size >= MIN_RUN && !list->foreign && list->sample_size + size < MAX_SAMPLE) {
        memcpy(list->sample + list->sample_size, at, size);
        list->sample_size += size;
        list->sample[list->sample_size++] = ' ';
    }
}

static bool is_other_name(const Attribute *attribute, const char *name, u32 size) {
    return attribute->name.size == size && starts_with(attribute->name.at, name, size);
}

/* Identifiers, structured data and names among the attributes of a tag. Returns whether they name what is around. */
static bool list_attributes(Scanner *scanner, TagList *list, u8 tag) {
    bool is_naming = false;
    for (u32 i = 0; i < scanner->attributes.count; i++) {
        const Attribute *attribute = &scanner->attributes.items[i];
        Span value = attribute->value;
        switch (attribute->known) {
            case ATTR_id:
                if (value.size && HAS_ROOM(&list->ids, &scanner->has_failed)) {
                    list->ids.items[list->ids.count++] = value;
                }
                break;
            case ATTR_name:
                if (tag == TAG_a && value.size && HAS_ROOM(&list->ids, &scanner->has_failed)) {
                    list->ids.items[list->ids.count++] = value;
                }
                break;
            case ATTR_alt:
            case ATTR_title:
            case ATTR_aria_label:
                is_naming |= value.size && has_ink(value.at, value.at + value.size);
                break;
            case ATTR_other:
                is_naming |= is_other_name(attribute, "aria-labelledby", 15);
                list->has_items |= is_other_name(attribute, "itemscope", 9) || is_other_name(attribute, "typeof", 6);
                break;
            default:
                break;
        }
    }
    return is_naming;
}

/* Whether the host of an https URL is more than letters, digits, dots and hyphens. */
static bool has_odd_host(Span href) {
    for (u32 i = 8; i < href.size; i++) {
        u8 byte = href.at[i];
        if (byte == '/' || byte == '?' || byte == '#') {
            return i == 8;
        }
        bool is_letter = LOWER[byte] >= 'a' && LOWER[byte] <= 'z';
        if (!is_letter && !(byte >= '0' && byte <= '9') && byte != '.' && byte != '-') {
            return true;
        }
    }
    return false;
}

static bool is_odd_href(Span href) {
    if (memchr(href.at, '&', href.size)) {
        return true;
    }
    if (href.size > 8 && starts_with(href.at, "https://", 8)) {
        return has_odd_host(href);
    }
    return starts_with(href.at, "ht", 2) || starts_with(href.at, "hh", 2) || starts_with(href.at, "hp", 2) ||
           starts_with(href.at, "tt", 2) || starts_with(href.at, "www.", 4) ||
           starts_with(href.at, "//", 2) || href.at[0] == ' ' || memchr(href.at, ':', href.size);
}

static u8 link_of(Span href) {
    return is_odd_href(href) ? LINK_ODD : memchr(href.at, '#', href.size) ? LINK_INTO_PAGE : LINK_PLAIN;
}

/* Whether a script takes the link over: then what is behind # is no place in a page. */
static bool is_scripted_link(const Attributes *attributes) {
    static const char *const names[] = {"onclick", "data-toggle", "data-bs-toggle", "data-target", "aria-controls"};
    for (u32 i = 0; i < attributes->count; i++) {
        const Attribute *attribute = &attributes->items[i];
        if (attribute->known == ATTR_role) {
            return true;
        }
        for (u32 j = 0; attribute->known == ATTR_other && j < sizeof names / sizeof *names; j++) {
            if (is_other_name(attribute, names[j], (u32)strlen(names[j]))) {
                return true;
            }
        }
    }
    return false;
}

/* Of a link that has a name only the href is asked for. */
static void keep_href(const Scanner *scanner, ListedTag *tag) {
    for (u32 i = 0; i < tag->attributes.count; i++) {
        if (scanner->kept.items[tag->attributes.first + i].known == ATTR_href) {
            tag->attributes = (Kept){tag->attributes.first + i, 1};
            return;
        }
    }
}

/* The end of a link or heading. A link of which nothing is notable is not listed: most are not. */
static void close_listed(Scanner *scanner, TagList *list, i32 *open, const u8 *end) {
    if (*open == NONE) {
        return;
    }
    ListedTag *tag = &list->tags.items[*open];
    tag->content_end = end;
    bool is_last = (u32)*open + 1 == list->tags.count;
    bool is_plain = tag->link == LINK_PLAIN || (tag->link == LINK_INTO_PAGE && tag->is_scripted);
    if (tag->tag == TAG_a && tag->is_named && is_plain && is_last) {
        list->tags.count--;
        scanner->kept.count = tag->attributes.first;
    } else if (tag->tag == TAG_a && tag->is_named && !tag->is_scripted) {
        keep_href(scanner, tag);
    }
    *open = NONE;
}

static const bool NO_ATTRIBUTE[ATTR_COUNT] = {false};

static void add_listed(Scanner *scanner, TagList *list, u8 tag, const u8 *markup, const u8 *at, const u8 *content_end) {
    if (list->tags.count >= MAX_LISTED || !HAS_ROOM(&list->tags, &scanner->has_failed)) {
        return;
    }
    list->line += count_byte((Span){list->counted, (u32)(markup - list->counted)}, '\n');
    list->counted = markup;
    ListedTag *listed = &list->tags.items[list->tags.count++];
    *listed = (ListedTag){.content = at, .content_end = content_end, .line = list->line, .tag = tag};
    listed->is_in_noscript = scanner->is_in_noscript;
    if (tag == TAG_a) {
        listed->link = link_of(value_of(&scanner->attributes, ATTR_href));
        listed->is_scripted = listed->link != LINK_PLAIN && is_scripted_link(&scanner->attributes);
    }
    listed->attributes = keep_attributes(scanner, is_heading(tag) ? NO_ATTRIBUTE : NULL);
}

static void open_listed(Scanner *scanner, TagList *list, u8 tag, const u8 *markup, const u8 *at) {
    i32 *open = tag == TAG_a ? &list->link : is_heading(tag) ? &list->heading : NULL;
    if (open) {
        close_listed(scanner, list, open, markup);
    }
    if (tag == TAG_a && !value_of(&scanner->attributes, ATTR_href).size) { /* a place, not a link */
        return;
    }
    u32 before = list->tags.count;
    add_listed(scanner, list, tag, markup, at, at);
    if (open && list->tags.count > before) {
        *open = (i32)before;
    }
}

static const u8 *list_start_tag(Scanner *scanner, TagList *list, u8 tag, const u8 *markup, const u8 *at) {
    const u8 *content_end = at;
    const u8 *after = at;
    bool is_raw = TAG_FLAGS[tag] & (RAW | RCDATA) && !(list->foreign && tag == TAG_title);
    if (is_raw) {
        content_end = find_content_end(scanner, at, tag, &after);
    }
    if (scanner->templates || tag == TAG_template) {
        scanner->templates += tag == TAG_template;
        return after;
    }
    if (TAG_FLAGS[tag] & BREAKOUT) { /* the end tag of a drawing was forgotten */
        list->foreign = 0;
    }
    bool is_naming = list_attributes(scanner, list, tag);
    if (tag == TAG_svg || tag == TAG_math) {
        list->foreign += !scanner->attributes.is_self_closing;
    } else if (tag == TAG_noscript) {
        scanner->is_in_noscript = true;
    } else if (is_raw) {
        if (is_listed_tag(tag) && !list->foreign) {
            add_listed(scanner, list, tag, markup, at, content_end);
        }
        return after;
    } else if (is_listed_tag(tag) && !list->foreign) {
        open_listed(scanner, list, tag, markup, at);
    }
    if (is_naming) {
        mark_named(list);
    }
    return after;
}

static void list_end_tag(Scanner *scanner, TagList *list, u8 tag, const u8 *markup) {
    if (scanner->templates) {
        scanner->templates -= tag == TAG_template;
    } else if (tag == TAG_svg || tag == TAG_math) {
        list->foreign -= list->foreign > 0;
    } else if (tag == TAG_noscript) {
        scanner->is_in_noscript = false;
    } else if (tag == TAG_a && !list->foreign) {
        close_listed(scanner, list, &list->link, markup);
    } else if (is_heading(tag)) {
        close_listed(scanner, list, &list->heading, markup);
    }
}

static const u8 *list_tag(Scanner *scanner, TagList *list, const u8 *markup, bool is_end) {
    u8 tag;
    const u8 *at = open_tag(scanner, markup + 1 + is_end, is_end, &tag);
    if (!at) {
        return scanner->end;
    }
    if (is_end) {
        list_end_tag(scanner, list, tag, markup);
        return at;
    }
    return list_start_tag(scanner, list, tag, markup, at);
}

/* A set of texts of the page. */
typedef struct {
    Span *slots;
    u32 mask;
} SpanSet;

/* Add a text; false if it is there already. There are at least twice as many slots as texts. */
static bool add_span(SpanSet *set, Span text) {
    u32 slot = hash_bytes(text) & set->mask;
    while (set->slots[slot].at) {
        if (set->slots[slot].size == text.size && !memcmp(set->slots[slot].at, text.at, text.size)) {
            return false;
        }
        slot = (slot + 1) & set->mask;
    }
    set->slots[slot] = text;
    return true;
}

/* Leave out links into a page that an earlier one has led to, and those to places that this page has. */
static void drop_known_places(Scanner *scanner, TagList *list) {
    u32 size = 64;
    while (size < 2 * (list->ids.count + list->tags.count)) {
        size *= 2;
    }
    SpanSet places = {calloc(size, sizeof(Span)), size - 1};
    if (!places.slots) {
        scanner->has_failed = true;
        return;
    }
    for (u32 i = 0; i < list->ids.count; i++) {
        add_span(&places, list->ids.items[i]);
    }
    SpanSet hrefs = {calloc(size, sizeof(Span)), size - 1};
    u32 count = 0;
    for (u32 i = 0; hrefs.slots && i < list->tags.count; i++) {
        ListedTag *tag = &list->tags.items[i];
        bool is_known = false;
        if (tag->link == LINK_INTO_PAGE && tag->is_named && !tag->is_scripted) {
            Span href = scanner->kept.items[tag->attributes.first].value;
            is_known = !add_span(&hrefs, href);
            if (!is_known && href.at[0] == '#' && href.size > 1) {
                is_known = !add_span(&places, (Span){href.at + 1, href.size - 1});
            }
        }
        if (!is_known) {
            list->tags.items[count++] = *tag;
        }
    }
    scanner->has_failed |= !hrefs.slots;
    list->tags.count = count;
    free(places.slots);
    free(hrefs.slots);
}

/* Read the page between `start` and `end`, behind which are a ">" and PADDING zero bytes. */
static void list_page(Scanner *scanner, TagList *list) {
    const u8 *at = scanner->start;
    const u8 *end = scanner->end;
    list->link = list->heading = NONE;
    list->counted = at;
    list->line = 1;
    while (at < end && !scanner->has_failed) {
        const u8 *markup = find_markup(at, end);
        if (markup > at && !scanner->templates) {
            list_text(list, at, markup);
        }
        if (markup >= end) {
            break;
        }
        if (IS_LETTER[markup[1]]) {
            at = list_tag(scanner, list, markup, false);
        } else if (markup[1] == '/') {
            at = IS_LETTER[markup[2]] ? list_tag(scanner, list, markup, true) : skip_bogus_comment(markup + 2, end);
        } else if (markup[1] == '!' && markup[2] == '-' && markup[3] == '-') {
            at = skip_comment(markup + 4, end);
        } else {
            at = skip_bogus_comment(markup, end);
        }
    }
    close_listed(scanner, list, &list->link, end);
    close_listed(scanner, list, &list->heading, end);
    if (!scanner->has_failed) {
        drop_known_places(scanner, list);
    }
}

#endif

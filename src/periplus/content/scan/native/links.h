/* Links as written: <a>, <area>, <iframe>, <frame>. Where they lead is in urls.h. */
#ifndef PERIPLUS_LINKS_H
#define PERIPLUS_LINKS_H

#include "hints.h"
#include "scanner.h"

/* What the element around a link says of it. */
static inline u8 mark_of_element(const Element *element) {
    _Static_assert(LOOKS_NEXT >> (HINT_ONWARD - 1) == IN_NEXT && LOOKS_PREVIOUS >> (HINT_ONWARD - 1) == IN_PREVIOUS, "");
    return element->hints >> (HINT_ONWARD - 1) & (IN_NEXT | IN_PREVIOUS);
}

/* Whether a value has the word "next" in it; the letter "x" is rare. */
static bool says_next(Span value) {
    const u8 *end = value.at + value.size;
    for (const u8 *at = value.at; (at = find_byte(at, end, 'x')) < end; at++) {
        bool is_inside = at - value.at >= 2 && at + 1 < end;
        if (is_inside && LOWER[at[-2]] == 'n' && at[-1] == 'e' && at[1] == 't') {
            return true;
        }
    }
    return false;
}

/* Whether an <a> says that it leads to the next page. */
static bool is_marked_next(const Attributes *attributes) {
    for (u32 i = 0; i < attributes->count; i++) {
        const Attribute *attribute = &attributes->items[i];
        switch (attribute->known) {
            case ATTR_class:
            case ATTR_id:
            case ATTR_title:
            case ATTR_aria_label:
                if (attribute->value.size && says_next(attribute->value)) {
                    return true;
                }
                break;
            default:
                break;
        }
    }
    return false;
}

/* Whether a link is to the page itself, as far as that can be seen without a URL parser. */
static inline bool is_to_itself(Span href) {
    return !href.size || href.at[0] == '#';
}

/* A new link, or NULL if there are too many or there is no memory. Links to the page itself have a bound of their own: a
   long table of contents must not push out the links to other pages. */
static Link *add_link(Scanner *scanner, Span href, u8 kind) {
    Links *links = &scanner->links;
    bool is_own = is_to_itself(href);
    u32 others = links->list.count - links->own_count;
    bool is_too_many = is_own ? links->own_count >= MAX_OWN_LINKS : others >= MAX_LINKS;
    if (is_too_many || !HAS_ROOM(&links->list, &scanner->has_failed)) {
        return NULL;
    }
    links->own_count += is_own;
    Link *link = &links->list.items[links->list.count++];
    u32 element = top_of(scanner)->element;
    u8 mark = mark_of_element(&scanner->elements.items[element]);
    *link = (Link){.href = href, .kind = kind, .mark = mark, .is_own = is_own, .element = element};
    return link;
}

static inline bool is_in_link(const Scanner *scanner) {
    return scanner->links.current != NONE || scanner->links.is_uncounted;
}

static void close_link(Scanner *scanner) {
    scanner->links.current = NONE;
    scanner->links.is_split = false;
    scanner->links.is_uncounted = false;
}

/* Text from here on belongs to the link that was added last; NULL: to one too many. */
static void follow_link(Scanner *scanner, const Link *link) {
    Links *links = &scanner->links;
    close_link(scanner);
    links->is_uncounted = !link;
    links->current = link ? (i32)links->list.count - 1 : NONE;
    links->depth = scanner->stack.size;
}

/* An element around the open link has ended before it. The HTML Standard opens the link again for the next text. */
static void open_link_again(Scanner *scanner) {
    const Link *old = &scanner->links.list.items[scanner->links.current];
    Span rel = old->rel;
    u8 mark = old->mark & MARKED_NEXT;
    Link *link = add_link(scanner, old->href, old->kind);
    if (link) {
        link->rel = rel;
        link->mark |= mark;
    }
    follow_link(scanner, link);
}

/* <a>: also without href it ends the link before it. */
static void start_anchor(Scanner *scanner) {
    const Attributes *attributes = &scanner->attributes;
    close_link(scanner);
    const Attribute *href = find_attribute(attributes, ATTR_href);
    if (!href || !href->value.size) {
        const Attribute *drawn = find_attribute(attributes, ATTR_xlink_href);
        href = drawn && drawn->value.size ? drawn : href;
    }
    if (!href) {
        return;
    }
    scanner->links.is_own = is_to_itself(href->value);
    scanner->links.classes = value_of(attributes, ATTR_class);
    Link *link = add_link(scanner, href->value, LINK_ANCHOR);
    if (link) {
        link->rel = value_of(attributes, ATTR_rel);
        link->mark |= is_marked_next(attributes) ? MARKED_NEXT : 0;
    }
    follow_link(scanner, link);
}

/* <area>, <iframe>, <frame>: an area leads to the page itself if its href is empty, a frame nowhere. */
static void add_other_link(Scanner *scanner, u8 tag) {
    const Attributes *attributes = &scanner->attributes;
    bool is_area = tag == TAG_area;
    const Attribute *target = find_attribute(attributes, is_area ? ATTR_href : ATTR_src);
    if (!target || (!is_area && !target->value.size)) {
        return;
    }
    u8 kind = is_area ? LINK_AREA : tag == TAG_iframe ? LINK_IFRAME : LINK_FRAME;
    Link *link = add_link(scanner, target->value, kind);
    if (link) {
        link->rel = value_of(attributes, ATTR_rel);
        link->label = value_of(attributes, is_area ? ATTR_alt : ATTR_title);
    }
}

/* A picture stands for the text of the link around it, if it is the first with an alt. */
static void add_picture(Scanner *scanner) {
    Links *links = &scanner->links;
    const Attribute *alt = find_attribute(&scanner->attributes, ATTR_alt);
    if (links->current == NONE || !alt) {
        return;
    }
    Link *link = &links->list.items[links->current];
    if (!link->has_picture) {
        link->has_picture = true;
        link->picture = alt->value;
    }
}

static void add_medium(Scanner *scanner, u8 tag) {
    if (tag == TAG_img) {
        add_picture(scanner);
    }
    if (scanner->media.count >= MAX_MEDIA || !HAS_ROOM(&scanner->media, &scanner->has_failed)) {
        return;
    }
    const Attributes *attributes = &scanner->attributes;
    scanner->media.items[scanner->media.count++] = (Medium){
        value_of(attributes, ATTR_src),
        value_of(attributes, ATTR_poster),
        value_of(attributes, ATTR_srcset),
        value_of(attributes, ATTR_alt),
        tag,
    };
}

#endif

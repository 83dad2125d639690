/* The sections of a page: its headings and terms of definitions, each with what leads to it.

   The anchor of a section is the id of its heading or term, else the first id inside it, else the last one before it
   with no text in between: that of an empty <a>, or of the element around the heading. The same as `scan/sections.py`. */
#ifndef PERIPLUS_SECTIONS_H
#define PERIPLUS_SECTIONS_H

#include "scanner.h"

#define TERM_LEVEL 7

/* What an element is called by links to it. */
static Span section_anchor(const Scanner *scanner, u8 tag) {
    Span id = value_of(&scanner->attributes, ATTR_id);
    return id.size || tag != TAG_a ? id : value_of(&scanner->attributes, ATTR_name);
}

static inline u8 section_level(u8 tag) {
    return is_heading(tag) ? tag - TAG_h1 + 1 : tag == TAG_dt ? TERM_LEVEL : 0;
}

/* An element begins. */
static void note_opened(Scanner *scanner, u8 tag) {
    Sections *sections = &scanner->sections;
    Span anchor = section_anchor(scanner, tag);
    u8 level = section_level(tag);
    if (level && HAS_ROOM(&sections->list, &scanner->has_failed)) {
        u32 first = scanner->blocks.count;
        bool is_behind = sections->anchored_at == scanner->text.size;
        sections->open = (i32)sections->list.count++;
        sections->has_own = anchor.size;
        Span found = anchor.size ? anchor : is_behind ? sections->anchor : anchor;
        sections->list.items[sections->open] = (Section){found, first, first + 1, level};
    } else if (anchor.size && sections->open != NONE && !sections->has_own) {
        sections->list.items[sections->open].anchor = anchor;
        sections->has_own = true;
    }
    if (anchor.size) {
        sections->anchor = anchor;
        sections->anchored_at = scanner->text.size;
    }
}

/* An element ends. */
static void note_closed(Scanner *scanner, u8 tag) {
    Sections *sections = &scanner->sections;
    if (sections->open != NONE && section_level(tag)) {
        sections->list.items[sections->open].end = scanner->blocks.count;
        sections->open = NONE;
    }
}

#endif

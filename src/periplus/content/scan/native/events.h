/* Layout events, for writers of Markdown and text. */
#ifndef PERIPLUS_EVENTS_H
#define PERIPLUS_EVENTS_H

#include "scanner.h"

/* Attributes that writers use. */
static const bool IS_EVENT_ATTRIBUTE[ATTR_COUNT] = {
    [ATTR_alt] = true, [ATTR_class] = true,   [ATTR_colspan] = true, [ATTR_href] = true,  [ATTR_id] = true,
    [ATTR_src] = true, [ATTR_rowspan] = true, [ATTR_start] = true,   [ATTR_title] = true,
};

/* Elements of the body that a writer may care about; drawings only as a whole. */
static inline bool has_events(const Scanner *scanner, u8 tag) {
    if (!scanner->wants_events) {
        return false;
    }
    bool is_reported = tag != TAG_unknown && !(TAG_FLAGS[tag] & HEAD) && tag != TAG_body && tag != TAG_foreignobject &&
                       tag != TAG_desc && tag != TAG_frameset && tag != TAG_frame;
    return is_reported && !scanner->is_in_noscript;
}

static Event *add_event(Scanner *scanner, u8 kind) {
    if (scanner->events.count >= MAX_EVENTS || !HAS_ROOM(&scanner->events, &scanner->has_failed)) {
        return NULL;
    }
    Event *event = &scanner->events.items[scanner->events.count++];
    *event = (Event){.kind = kind};
    return event;
}

/* Whether the element is reported. */
static inline bool add_open_event(Scanner *scanner, u8 tag) {
    Event *event = has_events(scanner, tag) ? add_event(scanner, EVENT_OPEN) : NULL;
    if (event) {
        event->tag = tag;
        event->attributes = keep_attributes(scanner, IS_EVENT_ATTRIBUTE);
    }
    return event != NULL;
}

static void add_close_event(Scanner *scanner, u8 tag) {
    Event *event = add_event(scanner, EVENT_CLOSE);
    if (event) {
        event->tag = tag;
    }
}

static void add_text_event(Scanner *scanner, Span source, bool is_raw) {
    Event *event = scanner->wants_events ? add_event(scanner, EVENT_TEXT) : NULL;
    if (event) {
        event->text = source;
        event->is_raw = is_raw;
        event->block = scanner->text.is_block_open ? scanner->blocks.count : 0;
    }
}

#endif

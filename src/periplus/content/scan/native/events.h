/* Layout events, for writers of Markdown and text. */
#ifndef PERIPLUS_EVENTS_H
#define PERIPLUS_EVENTS_H

#include "scanner.h"
#include "sections.h"

/* Attributes that writers use. */
static const bool IS_EVENT_ATTRIBUTE[ATTR_COUNT] = {
    [ATTR_alt] = true, [ATTR_class] = true,   [ATTR_colspan] = true, [ATTR_href] = true,  [ATTR_id] = true,
    [ATTR_name] = true,
    [ATTR_src] = true, [ATTR_rowspan] = true, [ATTR_start] = true,   [ATTR_title] = true,
};

/* Elements of the body that a writer may care about; drawings only as a whole. */
static inline bool has_events(const Scanner *scanner, u8 tag) {
    if (!scanner->wants_layout) {
        return false;
    }
    bool is_reported = tag != TAG_unknown && !(TAG_FLAGS[tag] & HEAD) && tag != TAG_body && tag != TAG_foreignobject &&
                       tag != TAG_desc && tag != TAG_annotation && tag != TAG_frameset && tag != TAG_frame;
    return is_reported && !scanner->is_in_noscript && !is_in_fallback(scanner);
}

/* Whether there is room for another event: as many are counted as would be kept if they were asked for. */
static inline bool count_event(Scanner *scanner) {
    return scanner->event_count < MAX_EVENTS && ++scanner->event_count;
}

static void keep_event(Scanner *scanner, Event event) {
    if (scanner->wants_events && HAS_ROOM(&scanner->events, &scanner->has_failed)) {
        scanner->events.items[scanner->events.count++] = event;
    }
}

/* Whether the element is reported. */
static inline bool add_open_event(Scanner *scanner, u8 tag) {
    if (!has_events(scanner, tag) || !count_event(scanner)) {
        return false;
    }
    if (scanner->wants_events) {
        keep_event(scanner, (Event){.kind = EVENT_OPEN, .tag = tag, .attributes = keep_attributes(scanner, IS_EVENT_ATTRIBUTE)});
    }
    if (scanner->wants_sections) {
        note_opened(scanner, tag);
    }
    return true;
}

static void add_close_event(Scanner *scanner, u8 tag) {
    if (!count_event(scanner)) {
        return;
    }
    keep_event(scanner, (Event){.kind = EVENT_CLOSE, .tag = tag});
    if (scanner->wants_sections) {
        note_closed(scanner, tag);
    }
}

static void add_text_event(Scanner *scanner, Span source, bool is_raw) {
    if (scanner->wants_layout && count_event(scanner)) {
        u32 block = scanner->text.is_block_open ? scanner->blocks.count : 0;
        keep_event(scanner, (Event){.kind = EVENT_TEXT, .text = source, .is_raw = is_raw, .block = block});
    }
}

#endif

/* Content blocks: what stands under each way, for `content.blocks`, which masks and digests it. */
#ifndef PERIPLUS_BLOCKS_H
#define PERIPLUS_BLOCKS_H

#include "scanner.h"
#include "ways.h"

#define MAX_WAY_ELEMENTS 20000 /* a page with more has no content blocks: what is not looked at cannot be compared */

/* A part of what stands under a way: the text of a block, or where a link leads. */
typedef struct {
    Span content;
    u32 way;
    u32 number; /* in the order of the page, texts before links */
} WayPart;

typedef struct {
    WayPart *items;
    u32 count;
} WayParts;

static int compare_parts(const void *one, const void *other) {
    const WayPart *a = one;
    const WayPart *b = other;
    if (a->way != b->way) {
        return a->way < b->way ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void add_part(WayParts *parts, const Element *element, Span content) {
    if (content.size && !element->is_silent) {
        parts->items[parts->count] = (WayPart){content, element->way, parts->count};
        parts->count++;
    }
}

/* All parts, sorted by way. Of navigation and the like only the links count: its text is not main text either. Returns
   false if there is no memory. */
static bool gather_parts(const Scanner *scanner, WayParts *parts) {
    const Element *elements = scanner->elements.items;
    u32 links = scanner->links.list.count;
    if (!scanner->wants_blocks || scanner->elements.count > MAX_WAY_ELEMENTS) {
        return true;
    }
    parts->items = malloc((scanner->blocks.count + links + 1) * sizeof *parts->items);
    if (!parts->items) {
        return false;
    }
    for (u32 i = 0; i < scanner->blocks.count; i++) {
        const Block *block = &scanner->blocks.items[i];
        const Element *element = &elements[block->element];
        if (!element->is_aside) {
            add_part(parts, element, (Span){scanner->text.bytes + block->start, block->end - block->start});
        }
    }
    for (u32 i = 0; i < links; i++) {
        const Link *link = &scanner->links.list.items[i];
        if (link->kind == LINK_ANCHOR) {
            add_part(parts, &elements[link->element], link->href);
        }
    }
    qsort(parts->items, parts->count, sizeof *parts->items, compare_parts);
    return true;
}

#endif

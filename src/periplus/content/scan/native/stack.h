/* The stack of open elements: blocks, cells, lists, forms, ...; inline elements are not on it.

   There is no tree. What the parsing algorithm of the HTML Standard does with its stack is followed where it decides
   what text and links belong to: implied end tags, and elements beyond which an end tag does not reach. */
#ifndef PERIPLUS_STACK_H
#define PERIPLUS_STACK_H

#include "events.h"
#include "forms.h"
#include "hints.h"
#include "links.h"
#include "regions.h"
#include "text.h"
#include "ways.h"

/* Where main part, navigation, header or form begins or ends, a block of text ends too. */
static void cross_region(Scanner *scanner, u8 from, u8 to) {
    if ((from ^ to) & ~IN_FALLBACK) {
        end_block(scanner);
    }
}

/* The hints of an attribute, found only once for each value on a page. */
static u32 hints_of_attribute(Scanner *scanner, const Attribute *attribute) {
    Span value = attribute->value;
    const char *name = ATTRIBUTE_NAMES[attribute->known];
    if (!value.size || value.size > LONGEST_MEMO) {
        return attribute_hints((const u8 *)name, strlen(name), value.at, value.size);
    }
    HintMemo *memo = &scanner->hints[(hash_bytes(value) + attribute->known) % HINT_MEMOS];
    if (memo->name != attribute->known || !is_same(memo->value, value)) {
        u32 hints = attribute_hints((const u8 *)name, strlen(name), value.at, value.size);
        *memo = (HintMemo){value, hints, attribute->known};
    }
    return memo->hints;
}

/* Hints of the attributes that the main text rule looks at, and the region of the role. */
static u32 hints_of(Scanner *scanner, u8 *region) {
    u32 hints = 0;
    for (u32 i = 0; i < scanner->attributes.count; i++) {
        const Attribute *attribute = &scanner->attributes.items[i];
        switch (attribute->known) {
            case ATTR_role:
                *region |= attribute->value.at ? region_of_role(attribute->value) : 0;
                hints |= hints_of_attribute(scanner, attribute);
                break;
            case ATTR_aria_hidden:
            case ATTR_class:
            case ATTR_hidden:
            case ATTR_id:
            case ATTR_itemprop:
            case ATTR_style:
                hints |= hints_of_attribute(scanner, attribute);
                break;
            default:
                break;
        }
    }
    return hints;
}

/* The nearest place of a kind: that of a new element itself, or what it was for the one above it. */
static inline u16 nearest(bool is_of_kind, u32 place, u16 outer) {
    return is_of_kind ? (u16)place : outer;
}

/* Put an element on the stack. */
static Open *open_element(Scanner *scanner, u8 tag, u8 region) {
    Stack *stack = &scanner->stack;
    u32 place = stack->size++;
    static const Open nothing;
    Open *opened = &scanner->open[place];
    const Open *above = place ? opened - 1 : &nothing;
    bool is_special = TAG_FLAGS[tag] & SPECIAL;
    bool is_container = is_special && tag != TAG_address && tag != TAG_div && tag != TAG_p;
    *opened = (Open){
        .element = scanner->elements.count++,
        .previous = stack->last[tag],
        .barrier = nearest(TAG_FLAGS[tag] & BARRIER, place, above->barrier),
        .special = nearest(is_special, place, above->special),
        .container = nearest(is_container, place, above->container),
        .tag = tag,
        .region = region,
        .is_foreign = tag == TAG_svg || tag == TAG_math || tag == TAG_annotation,
    };
    stack->last[tag] = (u16)place;
    return opened;
}

/* Open an element. Beyond MAX_OPEN nothing happens: such pages are made by mistake or to harm. */
static void push(Scanner *scanner, u8 tag) {
    Stack *stack = &scanner->stack;
    if (stack->size >= MAX_OPEN || !HAS_ROOM(&scanner->elements, &scanner->has_failed)) {
        return;
    }
    const Open *above = stack->size ? top_of(scanner) : NULL;
    u8 outer = above ? above->region : 0;
    u8 region = outer | region_of_tag(tag);
    u32 hints = hints_of(scanner, &region);
    cross_region(scanner, outer, region);
    Element *element = &scanner->elements.items[scanner->elements.count];
    *element = (Element){.parent = above ? above->element : 0, .hints = hints, .tag = tag, .region = region};
    if (scanner->wants_blocks && above) {
        find_way(element, &scanner->elements.items[element->parent], &scanner->attributes);
    }
    Open *opened = open_element(scanner, tag, region);
    enter_form_part(scanner, opened);
    opened->has_event = add_open_event(scanner, tag);
}

/* Close elements until `size` are open. The first, the body, stays. */
static void pop_to(Scanner *scanner, u32 size) {
    Stack *stack = &scanner->stack;
    Links *links = &scanner->links;
    while (stack->size > size && stack->size > 1) {
        const Open *closed = &scanner->open[--stack->size];
        stack->last[closed->tag] = closed->previous;
        cross_region(scanner, closed->region, top_of(scanner)->region);
        leave_form_part(scanner, closed);
        if (closed->has_event) {
            add_close_event(scanner, closed->tag);
        }
        if (links->current != NONE && stack->size < links->depth) {
            if (TAG_FLAGS[closed->tag] & BARRIER) {
                close_link(scanner);
            } else {
                links->is_split = true;
                links->depth = 0;
            }
        }
    }
}

static inline u16 larger(u16 one, u16 other) {
    return one > other ? one : other;
}

/* Close an element and all above it, unless there is none (0), or something above it stops that. */
static void close_at(Scanner *scanner, u16 place, u16 stop) {
    if (place && stop <= place) {
        pop_to(scanner, place);
    }
}

/* ---- implied end tags ---- */

static void close_paragraph(Scanner *scanner) {
    const u16 *last = scanner->stack.last;
    close_at(scanner, last[TAG_p], larger(top_of(scanner)->barrier, last[TAG_button]));
}

/* A list item, a term or a description ends the one before it. */
static void close_item(Scanner *scanner, u8 one, u8 other) {
    const u16 *last = scanner->stack.last;
    close_at(scanner, larger(last[one], last[other]), top_of(scanner)->container);
}

static inline bool is_cell(u8 tag) {
    return tag == TAG_td || tag == TAG_th;
}

static inline bool is_row_group(u8 tag) {
    return tag == TAG_tbody || tag == TAG_thead || tag == TAG_tfoot;
}

static inline bool is_table_part(u8 tag) {
    return is_cell(tag) || is_row_group(tag) || tag == TAG_tr || tag == TAG_table || tag == TAG_caption;
}

/* A cell ends the cell before it, a row the row, a group of rows the group. */
static void close_table_part(Scanner *scanner, u8 started) {
    const u16 *last = scanner->stack.last;
    u16 place = last[TAG_tr];
    if (is_cell(started)) {
        place = larger(last[TAG_td], last[TAG_th]);
    } else if (is_row_group(started)) {
        place = larger(larger(last[TAG_tbody], last[TAG_thead]), last[TAG_tfoot]);
    }
    close_at(scanner, place, last[TAG_table]);
}

static void close_implied(Scanner *scanner, u8 started) {
    if (TAG_FLAGS[started] & CLOSES_P) {
        close_paragraph(scanner);
    }
    switch (started) {
        case TAG_li:
            close_item(scanner, TAG_li, TAG_li);
            break;
        case TAG_dd:
        case TAG_dt:
            close_item(scanner, TAG_dd, TAG_dt);
            break;
        case TAG_td:
        case TAG_th:
        case TAG_tr:
        case TAG_tbody:
        case TAG_thead:
        case TAG_tfoot:
            close_table_part(scanner, started);
            break;
        case TAG_option:
        case TAG_optgroup:
            if (top_of(scanner)->tag == TAG_option) {
                pop_to(scanner, scanner->stack.size - 1);
            }
            break;
        default:
            break;
    }
}

/* ---- end tags ---- */

/* The place beyond which an end tag does not reach. */
static u16 stop_of(Scanner *scanner, u8 ended) {
    const u16 *last = scanner->stack.last;
    const Open *top = top_of(scanner);
    u16 stop = is_table_part(ended) ? last[TAG_table] : top->barrier;
    if (!(TAG_FLAGS[ended] & SPECIAL)) {
        stop = larger(stop, top->special);
    } else if (ended == TAG_p) {
        stop = larger(stop, last[TAG_button]);
    } else if (ended == TAG_li) {
        stop = larger(stop, larger(last[TAG_ol], last[TAG_ul]));
    }
    return stop;
}

/* The end tag of a heading ends whichever heading is open. */
static u8 open_heading(const Stack *stack) {
    u8 tag = TAG_h1;
    while (tag < TAG_h6 && !stack->last[tag]) {
        tag++;
    }
    return tag;
}

static void close_element(Scanner *scanner, u8 ended) {
    const u16 *last = scanner->stack.last;
    if (is_heading(ended) && !last[ended]) {
        ended = open_heading(&scanner->stack);
    }
    if (last[ended]) {
        close_at(scanner, last[ended], stop_of(scanner, ended));
    }
}

#endif

/* The stack of open elements: blocks, cells, lists, forms, ...; inline elements are not on it.

   There is no tree. What the parsing algorithm of the HTML Standard does with its stack is followed where it decides
   what text and links belong to: implied end tags, and elements beyond which an end tag does not reach. */
#ifndef PERIPLUS_STACK_H
#define PERIPLUS_STACK_H

#include "events.h"
#include "forms.h"
#include "links.h"
#include "regions.h"
#include "text.h"
#include "ways.h"
#if __has_include("main_text.h")
#include "main_text.h"
#else
#include "main_text_pending.h"
#endif

/* Where main part, navigation, header or form begins or ends, a block of text ends too. */
static void cross_region(Scanner *scanner, u8 from, u8 to) {
    if (from != to) {
        scanner->text.gap = SPACE;
        end_block(scanner);
    }
}

/* Hints of the attributes that the main text rule looks at, and the region of the role. */
static u32 hints_of(const Attributes *attributes, u8 *region) {
    u32 hints = 0;
    for (u32 i = 0; i < attributes->count; i++) {
        const Attribute *attribute = &attributes->items[i];
        switch (attribute->known) {
            case ATTR_role:
                *region |= attribute->value.at ? region_of_role(attribute->value) : 0;
                break;
            case ATTR_aria_hidden:
            case ATTR_class:
            case ATTR_hidden:
            case ATTR_id:
            case ATTR_itemprop:
            case ATTR_itemtype:
            case ATTR_rel:
            case ATTR_style:
                break;
            default:
                continue;
        }
        const char *name = ATTRIBUTE_NAMES[attribute->known];
        hints |= attribute_hints((const u8 *)name, strlen(name), attribute->value.at, attribute->value.size);
    }
    return hints;
}

/* Open an element. Beyond MAX_OPEN nothing happens: such pages are made by mistake or to harm. */
static void push(Scanner *scanner, u8 tag) {
    Stack *stack = &scanner->stack;
    if (stack->size >= MAX_OPEN || !HAS_ROOM(&scanner->elements, &scanner->has_failed)) {
        return;
    }
    Open *above = stack->size ? top_of(scanner) : NULL;
    u8 outer = above ? above->region : 0;
    u8 region = outer | region_of_tag(tag);
    u32 hints = hints_of(&scanner->attributes, &region);
    cross_region(scanner, outer, region);
    Element *element = &scanner->elements.items[scanner->elements.count];
    *element = (Element){.parent = above ? above->element : 0, .hints = hints, .tag = tag, .region = region};
    if (scanner->wants_blocks && above) {
        find_way(element, &scanner->elements.items[element->parent], &scanner->attributes);
    }
    stack->open[stack->size++] = (Open){
        .element = scanner->elements.count++,
        .tag = tag,
        .region = region,
        .is_foreign = tag == TAG_svg || tag == TAG_math,
    };
    stack->count[tag]++;
    enter_form_part(scanner, top_of(scanner));
    top_of(scanner)->has_event = add_open_event(scanner, tag);
}

/* Close elements until `size` are open. The first, the body, stays. */
static void pop_to(Scanner *scanner, u32 size) {
    Stack *stack = &scanner->stack;
    Links *links = &scanner->links;
    while (stack->size > size && stack->size > 1) {
        const Open *closed = &stack->open[--stack->size];
        stack->count[closed->tag]--;
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

/* ---- implied end tags ---- */

static void close_paragraph(Scanner *scanner) {
    Stack *stack = &scanner->stack;
    if (!stack->count[TAG_p]) {
        return;
    }
    for (u32 place = stack->size - 1; place > 0; place--) {
        u8 tag = stack->open[place].tag;
        if (tag == TAG_p) {
            pop_to(scanner, place);
            return;
        }
        if ((TAG_FLAGS[tag] & BARRIER) || tag == TAG_button) {
            return;
        }
    }
}

/* A list item, a term or a description ends the one before it. */
static void close_item(Scanner *scanner, u8 one, u8 other) {
    Stack *stack = &scanner->stack;
    if (!stack->count[one] && !stack->count[other]) {
        return;
    }
    for (u32 place = stack->size - 1; place > 0; place--) {
        u8 tag = stack->open[place].tag;
        if (tag == one || tag == other) {
            pop_to(scanner, place);
            return;
        }
        if ((TAG_FLAGS[tag] & SPECIAL) && tag != TAG_address && tag != TAG_div && tag != TAG_p) {
            return;
        }
    }
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
    Stack *stack = &scanner->stack;
    for (u32 place = stack->size - 1; place > 0; place--) {
        u8 tag = stack->open[place].tag;
        if (tag == TAG_table) {
            return;
        }
        bool is_same_part = is_cell(started)        ? is_cell(tag)
                            : is_row_group(started) ? is_row_group(tag)
                                                    : tag == TAG_tr;
        if (is_same_part) {
            pop_to(scanner, place);
            return;
        }
    }
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

/* Whether an end tag does not reach beyond an open element. */
static bool is_stopped(u8 ended, u8 tag) {
    if (is_table_part(ended) ? tag == TAG_table : (TAG_FLAGS[tag] & BARRIER) != 0) {
        return true;
    }
    if (!(TAG_FLAGS[ended] & SPECIAL) && (TAG_FLAGS[tag] & SPECIAL)) {
        return true;
    }
    return (ended == TAG_p && tag == TAG_button) || (ended == TAG_li && (tag == TAG_ol || tag == TAG_ul));
}

/* The end tag of a heading ends whichever heading is open. */
static u8 open_heading(const Stack *stack) {
    for (u8 tag = TAG_h1; tag <= TAG_h6; tag++) {
        if (stack->count[tag]) {
            return tag;
        }
    }
    return TAG_unknown;
}

static void close_element(Scanner *scanner, u8 ended) {
    Stack *stack = &scanner->stack;
    if (!stack->count[ended] && is_heading(ended)) {
        ended = open_heading(stack);
    }
    if (!stack->count[ended]) {
        return;
    }
    for (u32 place = stack->size - 1; place > 0; place--) {
        u8 tag = stack->open[place].tag;
        if (tag == ended) {
            pop_to(scanner, place);
            return;
        }
        if (is_stopped(ended, tag)) {
            return;
        }
    }
}

#endif

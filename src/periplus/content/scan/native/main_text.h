/* Which blocks of a page are its main text: the same rule as `scan/main_text.py`, where it is explained.

   Both choose the same blocks of every page: only integers are used, and comparisons are written the same way. */
#ifndef PERIPLUS_MAIN_TEXT_H
#define PERIPLUS_MAIN_TEXT_H

#include "hints.h"
#include "layout.h"
#include "tags.h"

#define LEAST_PROSE 25      /* characters of the shortest block that counts as prose */
#define LEAST_LEAD 60       /* characters of the shortest block of an introduction */
#define LEAST_EDGE 15       /* characters below which blocks at the edges are left out */
#define LARGEST_CAPTION 200 /* characters from which on a text in a place for a picture is more than a caption */
#define FEW_CHARACTERS 1000 /* of main text below which a page may be a page of links */

enum Weight { /* of prose in the choice of the container */
    NO_WEIGHT = 0,
    SLIGHT_WEIGHT = 2,
    DOUBTFUL_WEIGHT = 6,
    LIST_WEIGHT = 11,
    FULL_WEIGHT = 16,
    PARAGRAPH_WEIGHT = 24,
};

#define LOOKS_LIKE_CLUTTER (LOOKS_CLUTTER | LOOKS_SIDE | LOOKS_TEASER | LOOKS_CAPTION)
static const u32 DOUBTED_HINTS[] = {LOOKS_CLUTTER, LOOKS_SIDE, LOOKS_TEASER, LOOKS_CAPTION, LOOKS_HIDDEN};
#define DOUBTED_COUNT (sizeof DOUBTED_HINTS / sizeof *DOUBTED_HINTS)

/* A block and what the rule knows about it. */
typedef struct {
    u32 size;   /* characters, wide ones counted twice */
    u32 linked; /* characters in links */
    u32 element;
    u8 tag;
    bool is_prose;
} MeasuredBlock;

/* An element and what the rule knows about it. */
typedef struct {
    u64 score; /* its prose, by weight */
    u64 alike; /* the scores of children that are prose, and of the same kind as the heaviest one */
    u32 total; /* characters of all blocks in it */
    u32 linked;
    u32 prose;
    u32 titles; /* h1 elements with text */
    u32 parent;
    u32 hints;    /* as found */
    u32 kinds;    /* those that are believed */
    u32 seen;     /* those of its own and of all around it */
    u32 heaviest; /* the child with the highest score; 0 if there is none */
    u32 list;     /* the list or table it is or stands in; 0 if there is none */
    u8 tag;
    u8 weight;
    bool is_code;  /* is <pre>, or in one */
    bool is_first; /* the page begins in it */
    bool is_lead;
    bool is_clutter;
    bool is_in_clutter;
    bool is_above; /* is the container, or around it */
    bool is_inside;
    bool is_cut;
} MeasuredElement;

typedef struct {
    MeasuredBlock *blocks;
    u32 block_count;
    MeasuredElement *elements;
    u32 element_count;
    u32 container;
    u8 *is_main; /* by block */
} MainText;

/* ---- tags ---- */

static bool is_form_control(u8 tag) {
    return tag == TAG_button || tag == TAG_label || tag == TAG_legend || tag == TAG_option || tag == TAG_select ||
           tag == TAG_datalist;
}

static bool is_aside_tag(u8 tag) {
    return tag == TAG_nav || tag == TAG_aside || tag == TAG_footer || tag == TAG_menu || tag == TAG_dialog ||
           tag == TAG_search;
}

static bool is_list_or_table(u8 tag) {
    return tag == TAG_ul || tag == TAG_ol || tag == TAG_dl || tag == TAG_table;
}

/* Parts of a text, which are not its container. */
static bool is_text_part(u8 tag) {
    switch (tag) {
        case TAG_p: case TAG_pre: case TAG_blockquote: case TAG_ul: case TAG_ol: case TAG_li: case TAG_dl: case TAG_dt:
        case TAG_dd: case TAG_tbody: case TAG_thead: case TAG_tfoot: case TAG_tr: case TAG_td:
            return true;
        default:
            return false;
    }
}

static u32 tag_weight(u8 tag) {
    switch (tag) {
        case TAG_p: case TAG_pre: case TAG_blockquote:
            return PARAGRAPH_WEIGHT;
        case TAG_li: case TAG_dd: case TAG_dt: case TAG_td: case TAG_th: case TAG_ul: case TAG_ol:
            return LIST_WEIGHT;
        default:
            return FULL_WEIGHT;
    }
}

/* ---- blocks, and sums over the tree ---- */

/* Characters; those that begin with the bytes of U+3000 to U+DFFF (Chinese, Japanese, Korean) count twice. */
static u32 text_size(const u8 *text, u32 start, u32 end) {
    u32 size = 0;
    for (u32 at = start; at < end;) {
        u32 count = end - at < 8 ? end - at : 8;
        if (!(first_bytes(eight_bytes(text + at), count) & 0x8080808080808080ULL)) { /* ASCII, as nearly always */
            size += count;
            at += count;
            continue;
        }
        size += (text[at] & 0xC0) != 0x80;
        size += text[at] >= 0xE3 && text[at] <= 0xED;
        at++;
    }
    return size;
}

static MeasuredBlock measured_block(const u8 *text, const Block *block, u8 tag) {
    MeasuredBlock measured = {.size = text_size(text, block->start, block->end), .element = block->element, .tag = tag};
    measured.linked = block->link ? (u32)((u64)block->link * measured.size / (block->end - block->start)) : 0;
    measured.is_prose = measured.size >= LEAST_PROSE && (u64)measured.linked * 2 < measured.size && !is_heading(tag) &&
                        !is_form_control(tag);
    return measured;
}

static void measure_page(MainText *page, const u8 *text, const Block *blocks, const Element *elements) {
    for (u32 i = 0; i < page->element_count; i++) {
        page->elements[i].parent = elements[i].parent;
        page->elements[i].tag = elements[i].tag;
        page->elements[i].hints = elements[i].hints;
    }
    for (u32 i = 0; i < page->block_count; i++) {
        MeasuredElement *element = &page->elements[blocks[i].element];
        MeasuredBlock block = page->blocks[i] = measured_block(text, &blocks[i], element->tag);
        element->total += block.size;
        element->linked += block.linked;
        element->prose += block.is_prose ? block.size : 0;
        element->titles += block.tag == TAG_h1;
    }
    for (u32 at = blocks[0].element; at; at = page->elements[at].parent) {
        page->elements[at].is_first = true;
    }
    for (u32 i = page->element_count - 1; i > 0; i--) {
        MeasuredElement *element = &page->elements[i], *parent = &page->elements[element->parent];
        parent->total += element->total;
        parent->linked += element->linked;
        parent->prose += element->prose;
        parent->titles += element->titles;
    }
}

/* ---- hints ---- */

/* The hints of an element, with those of its id where it can be believed. */
static u32 kinds_of(u32 hints, u8 tag, bool is_code) {
    if (is_code) {
        return hints & LOOKS_HIDDEN;
    }
    if (is_heading(tag)) {
        return hints & (LOOKS_HIDDEN | LOOKS_COMMENT);
    }
    u32 kinds = hints & (HINTS_BY_NAME | LOOKS_ASIDE);
    bool is_named_by_content = tag == TAG_section || tag == TAG_p || tag == TAG_li || tag == TAG_dt;
    if (!(hints & LOOKS_SECTION) && !is_named_by_content) {
        kinds |= hints >> HINTS_BY_ID & HINTS_BY_NAME;
    }
    return kinds;
}

/* The hints that would make clutter of more than three quarters of the prose. */
static u32 doubted_hints(const MainText *page) {
    u64 covered[DOUBTED_COUNT] = {0};
    for (u32 i = 0; i < page->block_count; i++) {
        const MeasuredBlock *block = &page->blocks[i];
        u32 seen = page->elements[block->element].seen;
        for (u32 k = 0; k < DOUBTED_COUNT; k++) {
            covered[k] += block->is_prose && (seen & DOUBTED_HINTS[k]) ? block->size : 0;
        }
    }
    u32 doubted = 0;
    for (u32 k = 0; k < DOUBTED_COUNT; k++) {
        doubted |= covered[k] * 4 > (u64)page->elements[0].prose * 3 ? DOUBTED_HINTS[k] : 0;
    }
    return doubted;
}

/* Whether an element is prose nearly without links: the boxes of a book are sidebars too. */
static bool reads_like_text(const MeasuredElement *element) {
    return (u64)element->prose * 4 >= (u64)element->total * 3 && (u64)element->linked * 10 < element->total;
}

/* How much prose counts by what an element itself is. */
static u8 own_weight(const MeasuredElement *element) {
    u32 kinds = element->kinds;
    if (kinds & LOOKS_HIDDEN) {
        return NO_WEIGHT;
    }
    if (kinds & LOOKS_COMMENT) {
        return SLIGHT_WEIGHT;
    }
    if (element->titles) {
        return FULL_WEIGHT;
    }
    if (is_aside_tag(element->tag) || (kinds & LOOKS_ASIDE) || ((kinds & LOOKS_FOOTER) && !element->is_first)) {
        return NO_WEIGHT;
    }
    if (element->is_lead) {
        kinds &= ~(u32)LOOKS_TEASER;
    }
    if ((kinds & LOOKS_SIDE) && reads_like_text(element)) {
        kinds &= ~(u32)LOOKS_SIDE;
    }
    bool is_caption = (kinds & LOOKS_PICTURE) && element->total < LARGEST_CAPTION;
    bool is_clutter = (kinds & LOOKS_LIKE_CLUTTER) || is_caption || element->tag == TAG_form ||
                      element->tag == TAG_figcaption;
    return is_clutter ? DOUBTFUL_WEIGHT : FULL_WEIGHT;
}

/* Find out which elements are clutter, and how much prose counts in each. */
static void weigh_elements(MainText *page) {
    MeasuredElement *elements = page->elements;
    for (u32 i = 0; i < page->element_count; i++) {
        elements[i].is_code = elements[i].tag == TAG_pre || (i && elements[elements[i].parent].is_code);
        elements[i].kinds = elements[i].seen = kinds_of(elements[i].hints, elements[i].tag, elements[i].is_code);
        elements[i].seen |= i ? elements[elements[i].parent].seen : 0;
    }
    u32 doubted = doubted_hints(page);
    elements[0].weight = FULL_WEIGHT;
    for (u32 i = 1; i < page->element_count; i++) {
        MeasuredElement *element = &elements[i], *parent = &elements[element->parent];
        element->kinds &= ~doubted;
        element->is_lead = parent->is_lead || (element->kinds & LOOKS_LEAD);
        u8 weight = own_weight(element);
        element->is_clutter = weight < FULL_WEIGHT;
        element->is_in_clutter = element->is_clutter || parent->is_in_clutter;
        element->weight = weight < parent->weight ? weight : parent->weight;
    }
}

/* ---- the container ---- */

static void score_elements(MainText *page) {
    MeasuredElement *elements = page->elements;
    for (u32 i = 0; i < page->block_count; i++) {
        const MeasuredBlock *block = &page->blocks[i];
        MeasuredElement *element = &elements[block->element];
        if (block->is_prose) {
            element->score += (u64)(block->size - block->linked) * tag_weight(block->tag) * element->weight;
        }
    }
    for (u32 i = page->element_count - 1; i > 0; i--) {
        elements[elements[i].parent].score += elements[i].score;
    }
    for (u32 i = 1; i < page->element_count; i++) {
        MeasuredElement *parent = &elements[elements[i].parent];
        if (elements[i].score > (parent->heaviest ? elements[parent->heaviest].score : 0)) {
            parent->heaviest = i;
        }
    }
}

/* Whether two elements have the same tag and classes; a <div> without a class has no kind. */
static bool is_same_kind(const MeasuredElement *element, const MeasuredElement *other) {
    u32 kind = element->hints >> HINT_KIND;
    return element->tag == other->tag && kind == other->hints >> HINT_KIND &&
           (kind || element->tag == TAG_section || element->tag == TAG_article);
}

static bool is_prose_section(const MeasuredElement *element) {
    return !element->is_clutter && (u64)element->prose * 5 >= (u64)element->total * 3 &&
           (u64)element->linked * 5 <= element->total;
}

static void find_container(MainText *page) {
    MeasuredElement *elements = page->elements;
    for (u32 i = 1; i < page->element_count; i++) {
        MeasuredElement *parent = &elements[elements[i].parent];
        u32 child = parent->heaviest;
        if (child && child != i && is_same_kind(&elements[i], &elements[child]) && is_prose_section(&elements[i])) {
            parent->alike += elements[i].score;
        }
    }
    u32 at = 0;
    while (elements[at].heaviest && elements[elements[at].heaviest].score * 4 >= elements[at].score * 3 &&
           elements[at].alike * 10 <= elements[at].score) {
        at = elements[at].heaviest;
    }
    while (at && (is_text_part(elements[at].tag) || elements[at].is_code)) {
        at = elements[at].parent;
    }
    page->container = at;
}

/* ---- what is chosen ---- */

/* Find out what is in the container, what is cut away, and which list or table things are in. */
static void cut_clutter(MainText *page) {
    MeasuredElement *elements = page->elements;
    for (u32 at = page->container; at; at = elements[at].parent) {
        elements[at].is_above = true;
    }
    elements[page->container].is_inside = true;
    u64 most = elements[page->container].prose;
    for (u32 i = 1; i < page->element_count; i++) {
        MeasuredElement *element = &elements[i], *parent = &elements[element->parent];
        element->is_inside |= parent->is_inside;
        bool is_little = element->weight == NO_WEIGHT || (u64)element->prose * 2 <= most;
        bool is_clutter = element->is_clutter && !element->is_above && is_little;
        element->is_cut = parent->is_cut || is_clutter;
        element->list = is_list_or_table(element->tag) && !element->is_above ? i : parent->list;
    }
}

/* Whether a block of the container is a control, or mostly links; in a list, whether the list is, too. */
static bool is_dropped(const MainText *page, const MeasuredBlock *block) {
    u64 size = block->size, linked = block->linked;
    const MeasuredElement *element = &page->elements[block->element];
    if (is_form_control(block->tag) || element->is_code) {
        return is_form_control(block->tag);
    }
    u32 within = element->list;
    if (within) {
        const MeasuredElement *list = &page->elements[within];
        return (u64)list->linked * 2 > list->total && (linked * 2 > size || size < LEAST_PROSE);
    }
    bool is_paragraph = block->tag == TAG_p || block->tag == TAG_blockquote;
    return is_paragraph ? linked * 5 > size * 4 : linked * 2 > size;
}

/* Drop headings of which the text behind was not chosen. */
static void drop_empty_headings(MainText *page) {
    bool is_next_main = false;
    for (u32 i = page->block_count; i-- > 0;) {
        if (!page->elements[page->blocks[i].element].is_inside) {
            continue;
        }
        if (is_heading(page->blocks[i].tag)) {
            page->is_main[i] &= is_next_main;
        } else {
            is_next_main = page->is_main[i];
        }
    }
}

/* The last h1 before a block; if the page has none, the last h2; otherwise the block itself. */
static u32 title_before(const MainText *page, u32 first) {
    for (u8 title = TAG_h1; title <= TAG_h2; title++) {
        for (u32 i = first; i-- > 0;) {
            const MeasuredBlock *block = &page->blocks[i];
            if (block->tag == title && !page->elements[block->element].is_cut) {
                return i;
            }
        }
        for (u32 i = 0; i < page->block_count; i++) {
            if (page->is_main[i] && page->blocks[i].tag == title) {
                return first;
            }
        }
    }
    return first;
}

/* Choose what is long enough between the title and the container. */
static void add_introduction(MainText *page) {
    u32 first = 0;
    while (first < page->block_count && !page->elements[page->blocks[first].element].is_inside) {
        first++;
    }
    if (first == page->block_count) {
        first = 0;
    }
    for (u32 i = title_before(page, first) + 1; i < first; i++) {
        const MeasuredBlock *block = &page->blocks[i];
        page->is_main[i] = block->size >= LEAST_LEAD && (u64)block->linked * 3 < block->size &&
                           !page->elements[block->element].is_cut && !is_form_control(block->tag);
    }
}

/* Whether a block ends the short ones at an edge: prose, a heading, not so short; beside prose code or a cell. */
static bool is_edge(const MainText *page, const MeasuredBlock *block, bool has_prose) {
    bool is_cell = block->tag == TAG_td || block->tag == TAG_th || block->tag == TAG_dd || block->tag == TAG_dt;
    return block->is_prose || block->size >= LEAST_EDGE || is_heading(block->tag) ||
           (has_prose && (is_cell || page->elements[block->element].is_code));
}

/* Drop short blocks at both edges. */
static void trim_edges(MainText *page) {
    bool has_prose = false;
    for (u32 i = 0; i < page->block_count && !has_prose; i++) {
        has_prose = page->is_main[i] && page->blocks[i].is_prose;
    }
    for (u32 i = 0; i < page->block_count && !(page->is_main[i] && is_edge(page, &page->blocks[i], has_prose)); i++) {
        page->is_main[i] = 0;
    }
    for (u32 i = page->block_count; i-- > 0 && !(page->is_main[i] && is_edge(page, &page->blocks[i], has_prose));) {
        page->is_main[i] = 0;
    }
}

/* On a page of links or of very short texts, choose all that is not clutter; if all is, what is where prose has weight. */
static void choose_links(MainText *page) {
    u64 size = 0, uncluttered = 0, weighty = 0;
    for (u32 i = 0; i < page->block_count; i++) {
        const MeasuredElement *element = &page->elements[page->blocks[i].element];
        size += page->is_main[i] ? page->blocks[i].size : 0;
        uncluttered += element->is_in_clutter ? 0 : page->blocks[i].size;
        weighty += element->weight ? page->blocks[i].size : 0;
    }
    u64 rest = uncluttered ? uncluttered : weighty;
    if (size == 0 || (size < FEW_CHARACTERS && size * 2 < rest)) {
        for (u32 i = 0; i < page->block_count; i++) {
            const MeasuredElement *element = &page->elements[page->blocks[i].element];
            page->is_main[i] = uncluttered ? !element->is_in_clutter : element->weight != NO_WEIGHT;
        }
    }
}

static void choose_blocks(MainText *page) {
    for (u32 i = 0; i < page->block_count; i++) {
        const MeasuredElement *element = &page->elements[page->blocks[i].element];
        page->is_main[i] = element->is_inside && !element->is_cut && !is_dropped(page, &page->blocks[i]);
    }
    drop_empty_headings(page);
    add_introduction(page);
    trim_edges(page);
    choose_links(page);
}

/* Write for each block whether it is main text. Returns false if there is no memory. */
static bool choose_main(const u8 *text, u32 text_bytes, const Block *blocks, u32 block_count, const Element *elements,
                        u32 element_count, u8 *is_main) {
    (void)text_bytes;
    if (!block_count || !element_count) {
        return true;
    }
    MainText page = {.block_count = block_count, .element_count = element_count, .is_main = is_main};
    page.blocks = malloc(block_count * sizeof *page.blocks);
    page.elements = calloc(element_count, sizeof *page.elements);
    bool has_memory = page.blocks && page.elements;
    if (has_memory) {
        measure_page(&page, text, blocks, elements);
        weigh_elements(&page);
        score_elements(&page);
        find_container(&page);
        cut_clutter(&page);
        choose_blocks(&page);
    }
    free(page.blocks);
    free(page.elements);
    return has_memory;
}

#endif

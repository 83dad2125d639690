/* The way to an element: the names and classes of the elements from the body down, in 24 bits.

   So all items of a list have one way, on all pages of a site. Elements inside a line do not count, nor do figures in
   classes, nor classes that no person wrote: they differ from page to page. `blocks.h` gathers what stands under each. */
#ifndef PERIPLUS_WAYS_H
#define PERIPLUS_WAYS_H

#include "attributes.h"
#include "layout.h"

#define WAY_BITS 0xFFFFFFu
#define MAX_CLASSES 200      /* bytes of a class attribute that are looked at */
#define MADE_UP 40           /* bytes from which on a class is a hash, not a name... */
#define MADE_UP_FIGURES 12   /* ...and from which on if it has a figure */

static u32 CRC_TABLE[256];

static void init_ways(void) {
    for (u32 byte = 0; byte < 256; byte++) {
        u32 value = byte;
        for (int bit = 0; bit < 8; bit++) {
            value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
        }
        CRC_TABLE[byte] = value;
    }
}

/* `zlib.crc32`, which Python has as well. */
static u32 crc32_of(const u8 *bytes, u32 size, u32 start) {
    u32 value = ~start;
    for (u32 i = 0; i < size; i++) {
        value = value >> 8 ^ CRC_TABLE[(value ^ bytes[i]) & 0xFF];
    }
    return ~value;
}

/* Elements inside a line; of those that are on the stack there is only this one. */
static bool is_inline_way(u8 tag) {
    return tag == TAG_label;
}

static bool is_made_up(const u8 *word, u32 size) {
    bool has_figure = false;
    for (u32 i = 0; i < size; i++) {
        has_figure |= IS_DIGIT[word[i]];
    }
    return size >= MADE_UP || (size >= MADE_UP_FIGURES && has_figure);
}

/* Write a class without figures, dashes and underscores. */
static u32 write_lasting(const u8 *word, u32 size, u8 *out) {
    u32 written = 0;
    for (u32 i = 0; i < size; i++) {
        if (!IS_DIGIT[word[i]] && word[i] != '-' && word[i] != '_') {
            out[written++] = word[i];
        }
    }
    return written;
}

static int compare_spans(const void *one, const void *other) {
    const Span *a = one;
    const Span *b = other;
    int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* The lasting classes, sorted, with a space between them. `out` has room for MAX_CLASSES. */
static u32 write_classes(Span classes, u8 *out) {
    u8 bytes[MAX_CLASSES];
    Span words[MAX_CLASSES / 2 + 1];
    u32 count = 0;
    u32 used = 0;
    const u8 *at = classes.at;
    const u8 *end = at + (classes.size < MAX_CLASSES ? classes.size : MAX_CLASSES);
    while (at < end) {
        const u8 *word = at;
        while (at < end && !IS_SPACE[*at]) {
            at++;
        }
        u32 size = (u32)(at - word);
        if (size && !is_made_up(word, size)) {
            words[count] = (Span){bytes + used, write_lasting(word, size, bytes + used)};
            used += words[count++].size;
        }
        at++;
    }
    qsort(words, count, sizeof *words, compare_spans);
    u32 written = 0;
    for (u32 i = 0; i < count; i++) {
        if (i) {
            out[written++] = ' ';
        }
        memcpy(out + written, words[i].at, words[i].size);
        written += words[i].size;
    }
    return written;
}

/* One step further than the parent. */
static void find_way(Element *element, const Element *parent, const Attributes *attributes) {
    u8 tag = element->tag;
    bool is_in_main = parent->region & (IN_MAIN | IN_ARTICLE);
    bool is_aside = tag == TAG_nav || tag == TAG_footer || tag == TAG_aside || tag == TAG_form;
    element->is_aside = parent->is_aside || is_aside || (tag == TAG_header && !is_in_main);
    element->is_silent = parent->is_silent || tag == TAG_svg || tag == TAG_option;
    element->way = parent->way;
    if (is_inline_way(tag)) {
        return;
    }
    u8 step[MAX_KEY + 1 + MAX_CLASSES];
    u32 size = (u32)strlen(TAG_NAMES[tag]);
    memcpy(step, TAG_NAMES[tag], size);
    step[size++] = '.';
    Span classes = value_of(attributes, ATTR_class);
    if (classes.size) {
        size += write_classes(classes, step + size);
    }
    u32 way = crc32_of(step, size, parent->way) & WAY_BITS;
    element->way = way ? way : 1;
}

#endif

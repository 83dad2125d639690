/* The visible text, white space folded, in blocks.

   Of a run of white space one space is left. A border between two elements is a space too, unless punctuation is beside
   it: "<a>a link</a>, and" is "a link, and". */
#ifndef PERIPLUS_TEXT_H
#define PERIPLUS_TEXT_H

#include "events.h"
#include "links.h"
#include "scanner.h"

enum TextKind {
    PLAIN,
    BLANK,     /* ASCII white space and control characters */
    AMPERSAND,
    WIDE_LEAD, /* may begin a no-break, zero-width or ideographic space */
};
static u8 TEXT_KIND[256];

static void init_text(void) {
    for (int byte = 0; byte <= ' '; byte++) {
        TEXT_KIND[byte] = BLANK;
    }
    TEXT_KIND['&'] = AMPERSAND;
    TEXT_KIND[0xC2] = TEXT_KIND[0xE2] = TEXT_KIND[0xE3] = WIDE_LEAD;
}

/* The bytes of the no-break (U+00A0), zero-width (U+200B) or ideographic (U+3000) space that is here; 0: none is. */
static inline u32 wide_space(const u8 *at) {
    if (at[0] == 0xC2) {
        return at[1] == 0xA0 ? 2 : 0;
    }
    if (at[0] == 0xE2) {
        return at[1] == 0x80 && at[2] == 0x8B ? 3 : 0;
    }
    return at[0] == 0xE3 && at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
}

static inline bool is_opening(u8 byte) {
    return byte == '(' || byte == '[' || byte == '{';
}

static inline bool is_closing(u8 byte) {
    switch (byte) {
        case ',':
        case '.':
        case ';':
        case ':':
        case '!':
        case '?':
        case ')':
        case ']':
        case '}':
            return true;
        default:
            return false;
    }
}

static void open_block(Scanner *scanner, u32 start) {
    if (HAS_ROOM(&scanner->blocks, &scanner->has_failed)) {
        scanner->blocks.items[scanner->blocks.count++] = (Block){start, start, 0, top_of(scanner)->element};
        scanner->text.is_block_open = true;
    }
}

/* A border of a block element: what follows is another block. */
static inline void end_block(Scanner *scanner) {
    scanner->text.is_block_open = false;
}

/* Write what stands before the character that begins with `first`, and return where it goes. */
static inline u8 *before_character(Scanner *scanner, u8 *out, u8 first) {
    Text *text = &scanner->text;
    if (text->gap != NO_GAP) {
        bool is_space = text->gap == SPACE || !(is_opening(text->last) || is_closing(first));
        if (is_space && out > text->bytes) {
            *out++ = ' ';
        }
        text->gap = NO_GAP;
    }
    if (!text->is_block_open) {
        open_block(scanner, (u32)(out - text->bytes));
    }
    return out;
}

/* Write a reference, or "&" where there is none. Returns what follows it. */
static const u8 *write_reference(Scanner *scanner, const u8 *at, const u8 *end, u8 **out, bool *is_node) {
    Text *text = &scanner->text;
    u8 character[MAX_CHARACTER + 2] = {0};
    u32 size = 1;
    const u8 *next = read_reference(at, end, false, character, &size);
    if (!next) {
        character[0] = '&';
        size = 1;
        next = at + 1;
    }
    if (size == 1 && character[0] <= ' ') {
        text->gap = SPACE;
        return next;
    }
    *is_node = true;
    if (size > 1 && wide_space(character) == size) {
        text->gap = SPACE;
        return next;
    }
    *out = before_character(scanner, *out, character[0]);
    memcpy(*out, character, size);
    *out += size;
    text->last = character[size - 1];
    return next;
}

/* Which of 8 bytes cannot be copied as they are: all but ASCII words with single spaces between them. */
static inline u64 not_words(u64 bytes, u8 before) {
    u64 spaces = are_equal(bytes, ' ');
    u64 repeated = spaces & (spaces << 8 | (before == ' ') * 0x80);
    return (are_from(bytes, ' ') ^ HIGH_BITS) | are_equal(bytes, '&') | repeated;
}

/* Copy visible characters and single spaces between them; `at` is a visible one. Bytes are copied by eights, more than
   needed: what follows is written over the rest. */
static inline const u8 *write_words(const u8 *at, const u8 *end, u8 **out) {
    u8 *to = *out;
    *to++ = *at++;
    while (at < end) {
        u64 bytes = eight_bytes(at);
        u64 special = not_words(bytes, to[-1]);
        ptrdiff_t size = special ? first_marked(special) : 8;
        write_eight_bytes(to, bytes);
        size = size < end - at ? size : end - at;
        at += size;
        to += size;
        if (size == 8 || at == end) {
            continue;
        }
        if (TEXT_KIND[*at] == BLANK && to[-1] != ' ') {
            *to++ = ' ';
            at++;
        } else if (TEXT_KIND[*at] == PLAIN) { /* letters beyond ASCII come in runs */
            do {
                *to++ = *at++;
            } while (at < end && *at >= 0x80 && TEXT_KIND[*at] == PLAIN);
        } else {
            break;
        }
    }
    *out = to;
    return at;
}

/* Write a run of text; if it is raw, references are not decoded. A run of white space alone is as good as none. */
static void write_text(Scanner *scanner, const u8 *at, const u8 *end, bool is_raw) {
    Text *text = &scanner->text;
    if (text->size > MAX_TEXT) {
        text->is_cut = true;
        return;
    }
    u8 *start = text->bytes + text->size;
    u8 *out = start;
    u8 gap_before = text->gap;
    bool is_node = false;
    if (text->gap == NO_GAP) {
        text->gap = BORDER;
    }
    while (at < end) {
        u8 kind = TEXT_KIND[*at];
        u32 size = kind == WIDE_LEAD ? wide_space(at) : 0;
        if (kind == BLANK || size) {
            is_node |= size > 0;
            text->gap = SPACE;
            at += size ? size : 1;
        } else if (kind == AMPERSAND && !is_raw) {
            at = write_reference(scanner, at, end, &out, &is_node);
        } else {
            is_node = true;
            out = before_character(scanner, out, *at);
            at = write_words(at, end, &out);
            if (out[-1] == ' ') {
                out--;
                text->gap = SPACE;
            }
            text->last = out[-1];
        }
    }
    if (!is_node) {
        text->gap = gap_before;
    }
    text->size = (u32)(out - text->bytes);
    if (out > start && scanner->blocks.count) {
        Block *block = &scanner->blocks.items[scanner->blocks.count - 1];
        block->end = text->size;
        if (is_in_link(scanner)) {
            u32 from = (u32)(start - text->bytes);
            block->link += text->size - (from > block->start ? from : block->start);
        }
    }
}

static inline bool is_visible(const Scanner *scanner) {
    return !scanner->is_in_noscript && !scanner->is_frameset;
}

/* Text that a reader sees, unless it is for browsers without scripts or frames. */
static void show_text(Scanner *scanner, const u8 *at, const u8 *end, bool is_raw) {
    if (at >= end || !is_visible(scanner)) {
        return;
    }
    write_text(scanner, at, end, is_raw);
    add_text_event(scanner, (Span){at, (u32)(end - at)}, is_raw);
}

static bool is_blank(const u8 *at, const u8 *end) {
    while (at < end && IS_SPACE[*at]) {
        at++;
    }
    return at == end;
}

/* Text between tags: for the page, for the open link, and for the open label, option or button. */
static void add_text(Scanner *scanner, const u8 *at, const u8 *end, bool is_raw) {
    if (at >= end || scanner->templates) {
        return;
    }
    if (!scanner->is_in_body) {
        if (is_blank(at, end) || !is_visible(scanner)) {
            return;
        }
        scanner->is_in_body = true;
    }
    Span source = {at, (u32)(end - at)};
    Links *links = &scanner->links;
    if (links->is_split) {
        open_link_again(scanner);
    }
    if (links->current != NONE) {
        add_piece(scanner, &links->list.items[links->current].text, source, is_raw);
    }
    if (scanner->forms.text_owner != NONE) {
        add_piece(scanner, &scanner->forms.list.items[scanner->forms.text_owner].text, source, is_raw);
    }
    show_text(scanner, at, end, is_raw);
}

/* Keep at most MAX_TEXT bytes, and no half of a character: at most 3 bytes less. */
static void cut_text(Scanner *scanner) {
    Text *text = &scanner->text;
    if (text->size <= MAX_TEXT) {
        return;
    }
    u32 size = MAX_TEXT;
    while (size > MAX_TEXT - 3 && (text->bytes[size] & 0xC0) == 0x80) {
        size--;
    }
    text->size = size;
    text->is_cut = true;
    while (scanner->blocks.count && scanner->blocks.items[scanner->blocks.count - 1].start >= size) {
        scanner->blocks.count--;
    }
    if (scanner->blocks.count) {
        Block *last = &scanner->blocks.items[scanner->blocks.count - 1];
        last->end = last->end < size ? last->end : size;
        u32 length = last->end - last->start;
        last->link = last->link < length ? last->link : length;
    }
}

#endif

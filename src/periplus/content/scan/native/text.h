/* The visible text, white space folded, in blocks.

   Of a run of white space one space is left; another is between two blocks, and where a line break, a control or a
   picture stands. Elements inside a line add none: "<b>json</b>.<i>dumps</i>(" is "json.dumps(". */
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

/* A tag: what follows may be another block, or at least another word. */
static inline void part_text(Scanner *scanner, u32 flags) {
    if (flags & BLOCK) {
        end_block(scanner);
    } else if (flags & SPACED) {
        scanner->text.has_gap = true;
    }
}

/* Write what stands before a visible character, and return where that goes. */
static inline u8 *before_character(Scanner *scanner, u8 *out) {
    Text *text = &scanner->text;
    if ((text->has_gap || !text->is_block_open) && out > text->bytes) {
        *out++ = ' ';
    }
    text->has_gap = false;
    if (!text->is_block_open) {
        open_block(scanner, (u32)(out - text->bytes));
    }
    return out;
}

/* Write a reference, or "&" where there is none. Returns what follows it. */
static const u8 *write_reference(Scanner *scanner, const u8 *at, const u8 *end, u8 **out) {
    u8 character[MAX_CHARACTER + 2] = {0};
    u32 size = 1;
    const u8 *next = read_reference(at, end, false, character, &size);
    if (!next) {
        character[0] = '&';
        size = 1;
        next = at + 1;
    }
    if ((size == 1 && character[0] <= ' ') || (size > 1 && wide_space(character) == size)) {
        scanner->text.has_gap = true;
        return next;
    }
    *out = before_character(scanner, *out);
    memcpy(*out, character, size);
    *out += size;
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

/* Write a run of text; if it is raw, references are not decoded. */
static void write_text(Scanner *scanner, const u8 *at, const u8 *end, bool is_raw) {
    Text *text = &scanner->text;
    if (text->size > MAX_TEXT) {
        text->is_cut = true;
        return;
    }
    u8 *start = text->bytes + text->size;
    u8 *out = start;
    while (at < end) {
        u8 kind = TEXT_KIND[*at];
        u32 size = kind == WIDE_LEAD ? wide_space(at) : 0;
        if (kind == BLANK || size) {
            text->has_gap = true;
            at += size ? size : 1;
        } else if (kind == AMPERSAND && !is_raw) {
            at = write_reference(scanner, at, end, &out);
        } else {
            out = before_character(scanner, out);
            at = write_words(at, end, &out);
            if (out[-1] == ' ') {
                out--;
                text->has_gap = true;
            }
        }
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
    return !scanner->is_in_noscript && !scanner->is_frameset && !is_in_fallback(scanner);
}

/* Text that a reader sees, unless it is for browsers that cannot do something. */
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

#define LONGEST_SIGN 16 /* bytes of a sign, as written */

static const char *const PERMALINK_CLASSES[] = {
    "anchor",          "anchor-link",  "anchorjs-link", "hash-link",     "header-anchor",  "header-link",  "headeranchor",
    "headeranchor-link", "headerlink", "heading-anchor", "heading-link", "headinganchor", "headinglink", "permalink",
};

/* Whether a class says that a link is there to be copied. */
static bool has_permalink_class(Span classes) {
    const u8 *at = classes.at, *end = classes.at + classes.size;
    while (at < end) {
        const u8 *start = at;
        while (at < end && !IS_SPACE[*at]) {
            at++;
        }
        for (u32 i = 0; i < sizeof PERMALINK_CLASSES / sizeof *PERMALINK_CLASSES; i++) {
            size_t size = strlen(PERMALINK_CLASSES[i]);
            if ((size_t)(at - start) == size && memcmp(start, PERMALINK_CLASSES[i], size) == 0) {
                return true;
            }
        }
        at += at < end;
    }
    return false;
}

/* Whether a text is "#", a pilcrow, a section sign, or a chain, perhaps with a variation selector. */
static bool is_sign(const u8 *at, u32 size) {
    if (size > 3 && at[size - 3] == 0xEF && at[size - 2] == 0xB8 && (at[size - 1] & 0xFE) == 0x8E) {
        size -= 3;
    }
    return (size == 1 && at[0] == '#') || (size == 2 && at[0] == 0xC2 && (at[1] == 0xB6 || at[1] == 0xA7)) ||
           (size == 4 && memcmp(at, "\xF0\x9F\x94\x97", 4) == 0);
}

/* Whether a text in a link is only the sign by which the link of a heading is copied. */
static bool is_permalink_sign(const Scanner *scanner, Span text, bool is_raw) {
    while (text.size && IS_SPACE[*text.at]) {
        text.at++;
        text.size--;
    }
    while (text.size && IS_SPACE[text.at[text.size - 1]]) {
        text.size--;
    }
    if (!text.size || text.size > LONGEST_SIGN) {
        return false;
    }
    u8 decoded[LONGEST_SIGN + LONGEST_SIGN / 4 + MAX_CHARACTER + 8];
    if (*text.at == '&' && !is_raw) {
        text = (Span){decoded, decode_references(text, false, decoded)};
    }
    return is_sign(text.at, text.size) && (scanner->links.is_own || has_permalink_class(scanner->links.classes));
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
    if (!is_in_link(scanner) || !is_permalink_sign(scanner, source, is_raw)) {
        show_text(scanner, at, end, is_raw);
    }
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

/* The words of a link, a label or an option: white space folded as `str.split` and `" ".join` do, cut after MAX_WORDS
   characters by the code that makes a string of them. */
#ifndef PERIPLUS_WORDS_H
#define PERIPLUS_WORDS_H

#include "scanner.h"

/* Bytes after which MAX_WORDS characters are surely complete: none has more than four. */
#define ENOUGH_BYTES (4 * MAX_WORDS + 8)

/* The bytes of the white space of Unicode that is here; 0: there is none. */
static inline u32 space_size(const u8 *at) {
    u8 byte = at[0];
    if (byte < 0x80) {
        return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1C && byte <= 0x1F);
    }
    switch (byte) {
        case 0xC2: /* U+0085, U+00A0 */
            return at[1] == 0x85 || at[1] == 0xA0 ? 2 : 0;
        case 0xE1: /* U+1680 */
            return at[1] == 0x9A && at[2] == 0x80 ? 3 : 0;
        case 0xE2: /* U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F */
            if (at[1] == 0x80) {
                return (at[2] >= 0x80 && at[2] <= 0x8A) || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF ? 3 : 0;
            }
            return at[1] == 0x81 && at[2] == 0x9F ? 3 : 0;
        case 0xE3: /* U+3000 */
            return at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
        default:
            return 0;
    }
}

typedef struct {
    u8 bytes[ENOUGH_BYTES + PADDING];
    u32 size;
    bool is_after_space;
} Words;

static inline void add_character(Words *words, const u8 *character, u32 size) {
    if (words->is_after_space) {
        words->is_after_space = false;
        if (words->size) {
            words->bytes[words->size++] = ' ';
        }
    }
    memcpy(words->bytes + words->size, character, size);
    words->size += size;
}

/* Append a reference; returns what follows it, or NULL if there is none. */
static const u8 *add_reference(Words *words, const u8 *at, const u8 *end, bool is_in_attribute) {
    u8 character[MAX_CHARACTER + 2] = {0};
    u32 size = 0;
    const u8 *next = read_reference(at, end, is_in_attribute, character, &size);
    if (next && space_size(character)) {
        words->is_after_space = true;
    } else if (next) {
        add_character(words, character, size);
    }
    return next;
}

/* Append a piece of text as written, until there is enough. A tag within the bytes of a character ends the character:
   its rest, at the beginning of a piece, does not complete it. */
static void add_words_of(Words *words, Span source, bool is_raw, bool is_in_attribute) {
    const u8 *at = source.at;
    const u8 *end = source.at + source.size;
    if (at < end && (*at & 0xC0) == 0x80 && words->size < ENOUGH_BYTES) {
        add_character(words, (const u8 *)"\xEF\xBF\xBD", 3); /* U+FFFD, as for every byte that is not in a character */
        at++;
    }
    while (at < end && words->size < ENOUGH_BYTES) {
        const u8 *next = *at == '&' && !is_raw ? add_reference(words, at, end, is_in_attribute) : NULL;
        u32 space = next ? 0 : space_size(at);
        if (space) {
            words->is_after_space = true;
        } else if (!next) {
            add_character(words, at, 1);
        }
        at = next ? next : at + (space ? space : 1);
    }
}

/* Whether text needs no folding: ASCII words with one space between them, and no references. */
static bool is_folded(Span source) {
    u8 before = ' ';
    for (u32 i = 0; i < source.size; i++) {
        u8 byte = source.at[i];
        if (byte < ' ' || byte >= 0x7F || byte == '&' || (byte == ' ' && before == ' ')) {
            return false;
        }
        before = byte;
    }
    return before != ' ';
}

#endif

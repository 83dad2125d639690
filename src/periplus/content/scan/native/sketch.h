/* The MinHash sketch of the main text: as `content.words` and `content.sketch`, in one pass over the bytes. */
#ifndef PERIPLUS_SKETCH_H
#define PERIPLUS_SKETCH_H

#include "base.h"
#include "tables.h"

#define BINS 128
#define SKETCH_SIZE (4 * BINS) /* bytes */
#define SHINGLE 4              /* words */
#define EMPTY_BIN 0xFFFFFFFFu

static const u64 WORD_FACTORS[2] = {0x9E3779B97F4A7C15ULL, 0xC2B2AE3D27D4EB4FULL};
static const u64 PLACE_FACTORS[SHINGLE] = {
    0xBF58476D1CE4E5B9ULL,
    0x94D049BB133111EBULL,
    0xD6E8FEB86659FD93ULL,
    0xA0761D6478BD642FULL,
};

static u8 FOLDED[256]; /* letters, figures and "_" in small letters; a space for the rest of ASCII */

static void init_sketch(void) {
    for (int byte = 0; byte < 256; byte++) {
        bool is_word = byte >= 0x80 || IS_LETTER[byte] || IS_DIGIT[byte] || byte == '_';
        FOLDED[byte] = is_word ? LOWER[byte] : ' ';
    }
}

typedef struct {
    u64 sums[SHINGLE]; /* of shingles that lack 1, 2, 3 words yet */
    u32 count;         /* of words */
    u32 bins[BINS];
    u8 *word; /* the current word, folded */
    u8 *out;  /* where it goes on */
} Sketcher;

static inline u64 mix(u64 hash) {
    hash ^= hash >> 32;
    hash *= 0xFF51AFD7ED558CCDULL;
    hash ^= hash >> 32;
    return hash * PLACE_FACTORS[1];
}

static inline void add_shingle(Sketcher *sketcher, u64 hash) {
    hash = mix(hash);
    u32 value = (u32)(hash >> 25);
    u32 *bin = &sketcher->bins[hash >> 57];
    if (value < *bin) {
        *bin = value;
    }
}

/* A word by its number: it ends one shingle and belongs to three others. */
static inline void add_word(Sketcher *sketcher, u64 number) {
    u64 *sums = sketcher->sums;
    u64 hash = sums[0] + number * PLACE_FACTORS[3];
    sums[0] = sums[1] + number * PLACE_FACTORS[2];
    sums[1] = sums[2] + number * PLACE_FACTORS[1];
    sums[2] = number * PLACE_FACTORS[0];
    if (++sketcher->count >= SHINGLE) {
        add_shingle(sketcher, hash);
    }
}

/* The current word, if there is one, has ended. Its number is made of its first 8 bytes, its last 8 and its length. */
static inline void end_word(Sketcher *sketcher) {
    u64 size = (u64)(sketcher->out - sketcher->word);
    if (!size) {
        return;
    }
    memset(sketcher->out, 0, 8);
    u64 number = first_bytes(eight_bytes(sketcher->word), size < 8 ? (u32)size : 8) * WORD_FACTORS[0];
    if (size > 8) {
        number += eight_bytes(sketcher->out - 8) * WORD_FACTORS[1] + size;
    }
    sketcher->out = sketcher->word;
    add_word(sketcher, number);
}

enum CharacterKind { LETTER, SIGN, ALONE };

/* What a character of three or four bytes is, by its first two and, among wide ones, its third. */
static enum CharacterKind kind_of(const u8 *at) {
    u32 pair = (u32)at[0] << 8 | at[1];
    if (pair >= 0xE280 && pair <= 0xE2AF) {
        return SIGN; /* dashes, quotes, arrows, boxes, ... */
    }
    if (pair >= 0xE381 && pair <= 0xE9BF) {
        return ALONE; /* kana, ideographs */
    }
    if (pair == 0xE380 || pair == 0xEFB8 || pair == 0xF09F) {
        return SIGN; /* ideographic space and brackets; what tells pictures from letters; pictures */
    }
    if (pair == 0xEFBC || pair == 0xEFBD) { /* as wide as an ideograph: U+FF00 to U+FF7F */
        u32 code = (u32)(at[1] & 1) << 6 | (at[2] & 0x3F);
        return code && WIDE_SIGNS[code - 1] ? SIGN : LETTER;
    }
    bool is_alone = (pair >= 0xE0B8 && pair <= 0xE0BB) || /* Thai, Lao */
                    (pair >= 0xE2BA && pair <= 0xE2BF) || /* radicals */
                    (pair >= 0xF0A0 && pair <= 0xF0AF);   /* ideographs beyond the basic plane */
    return is_alone ? ALONE : LETTER;
}

static inline bool is_continuation(u8 byte) {
    return (byte & 0xC0) == 0x80;
}

/* The bytes of the character that begins with this byte. */
static inline u32 character_size(u8 lead) {
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static bool is_whole(const u8 *at, const u8 *end) {
    u32 size = character_size(*at);
    if (end - at < (ptrdiff_t)size) {
        return false;
    }
    for (u32 i = 1; i < size; i++) {
        if (!is_continuation(at[i])) {
            return false;
        }
    }
    return true;
}

/* A character beyond ASCII. Returns its size; 0: `content.words` has to look at this text as a whole, because it has
   letters whose capitals have another length (0xE1), or is not UTF-8. */
static u32 add_wide_character(Sketcher *sketcher, const u8 *at, const u8 *end) {
    if (*at == 0xE1 || *at < 0xC2 || *at >= 0xF5 || !is_whole(at, end)) {
        return 0;
    }
    u32 size = character_size(*at);
    if (size == 2) {
        u32 pair = SMALL_PAIRS[((u32)(at[0] & 0x1F) << 6 | (at[1] & 0x3F)) - 0x80];
        if (pair == 0x2020) {
            end_word(sketcher);
        } else {
            *sketcher->out++ = (u8)(pair >> 8);
            *sketcher->out++ = (u8)pair;
        }
        return size;
    }
    enum CharacterKind kind = kind_of(at);
    if (kind != LETTER) {
        end_word(sketcher);
    }
    if (kind != SIGN) {
        memcpy(sketcher->out, at, size);
        sketcher->out += size;
    }
    if (kind == ALONE) {
        end_word(sketcher);
    }
    return size;
}

/* ASCII letters, of which there is at least one here: up to 8 at once. Returns how many. Most words are as short as that
   and surrounded by ASCII, and need not be copied. At least 8 bytes can be read; those behind the text are 0. */
static inline u32 add_letters(Sketcher *sketcher, const u8 *at) {
    u64 bytes = eight_bytes(at);
    u64 letters = are_between(bytes | 0x20 * EACH, 'a', 'z'); /* of either case */
    u64 others = (letters | are_between(bytes, '0', '9') | are_equal(bytes, '_')) ^ HIGH_BITS;
    bytes |= letters >> 2; /* in small letters */
    u32 size = others ? first_marked(others) : 8;
    bool goes_on = !others || (others & -others & bytes); /* with letters, or something beyond ASCII */
    if (!goes_on && sketcher->out == sketcher->word) {
        add_word(sketcher, first_bytes(bytes, size) * WORD_FACTORS[0]);
    } else {
        write_eight_bytes(sketcher->out, bytes);
        sketcher->out += size;
    }
    return size;
}

/* Words of a text; false: see `add_wide_character`. */
static bool add_words(Sketcher *sketcher, Span text) {
    const u8 *at = text.at;
    const u8 *end = text.at + text.size;
    while (at < end) {
        u32 size = 1;
        if (FOLDED[*at] == ' ') {
            end_word(sketcher);
        } else if (*at < 0x80) {
            size = add_letters(sketcher, at);
        } else {
            size = add_wide_character(sketcher, at, end);
        }
        if (!size) {
            return false;
        }
        at += size;
    }
    end_word(sketcher);
    return true;
}

#define FEW_BINS 12 /* filled ones, up to which it is quicker to look at each of them than to go through an order */

/* The first filled bin in the order of an empty one. */
static u32 first_in_order(const Sketcher *sketcher, u32 bin) {
    const u8 *order = &BIN_ORDERS[bin * BINS];
    while (sketcher->bins[*order] == EMPTY_BIN) {
        order++;
    }
    return *order;
}

/* The same, given which are filled. */
static u32 first_by_rank(const u8 *filled, u32 count, u32 bin) {
    const u8 *ranks = &BIN_RANKS[bin * BINS];
    u32 first = filled[0];
    for (u32 i = 1; i < count; i++) {
        if (ranks[filled[i]] < ranks[first]) {
            first = filled[i];
        }
    }
    return first;
}

/* Write the bins, little-endian. Those that stayed empty borrow from others, each in an order of its own (optimal
   densification). */
static void write_bins(const Sketcher *sketcher, u8 *out) {
    u8 filled[BINS] = {0}; /* of none, the first: a value can be that of an empty bin by chance */
    u32 count = 0;
    for (u32 bin = 0; bin < BINS; bin++) {
        if (sketcher->bins[bin] != EMPTY_BIN) {
            filled[count++] = (u8)bin;
        }
    }
    for (u32 bin = 0; bin < BINS; bin++) {
        u32 lender = bin;
        if (sketcher->bins[bin] == EMPTY_BIN) {
            lender = count <= FEW_BINS ? first_by_rank(filled, count, bin) : first_in_order(sketcher, bin);
        }
        for (u32 byte = 0; byte < 4; byte++) {
            out[4 * bin + byte] = (u8)(sketcher->bins[lender] >> 8 * byte);
        }
    }
}

enum SketchResult { NO_WORDS, SKETCHED, LEFT_TO_PYTHON };

/* The sketch of a text, behind which are 8 zero bytes. `buffer` has room for the text and PADDING more, `out` for
   SKETCH_SIZE. */
static enum SketchResult write_sketch(Span text, u8 *buffer, u8 *out) {
    Sketcher sketcher = {.word = buffer, .out = buffer};
    memset(sketcher.bins, 0xFF, sizeof sketcher.bins);
    if (!add_words(&sketcher, text)) {
        return LEFT_TO_PYTHON;
    }
    if (!sketcher.count) {
        return NO_WORDS;
    }
    if (sketcher.count < SHINGLE) { /* shorter than a shingle: it is one */
        add_shingle(&sketcher, sketcher.sums[SHINGLE - 1 - sketcher.count]);
    }
    write_bins(&sketcher, out);
    return SKETCHED;
}

#endif

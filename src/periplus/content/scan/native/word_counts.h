/* The words of the beginning of a text: how many there are, how many differ, how often the most used one occurs, and how
   many are among the commonest of a language. `content.statistics` counts the same in Python. */
#ifndef PERIPLUS_WORD_COUNTS_H
#define PERIPLUS_WORD_COUNTS_H

#include "base.h"
#include "tables.h"

/* Bytes of the main text whose words are compared: `statistics.SHAPE_BYTES`. */
#define MAX_COMPARED 1024
#define MAX_COMPARED_WORDS (MAX_COMPARED / 2)
/* Bytes of the text whose spaces are counted: `statistics.COUNTED_BYTES`. */
#define MAX_COUNTED 2048
/* At most half of the slots are used. */
#define COUNT_SLOTS 1024
#define COMMON_SLOTS 1024

typedef struct {
    u32 words;
    u32 distinct;
    u32 top;
    u32 common;
} WordCounts;

typedef struct {
    Span word;
    u32 hash;
    u32 count;
} CountedWord;

static u16 COMMON_WORD_AT[COMMON_SLOTS]; /* number of a common word, from 1; 0: none */

static Span common_word(u32 number) {
    return (Span){COMMON_BYTES + COMMON_STARTS[number], (u32)(COMMON_STARTS[number + 1] - COMMON_STARTS[number])};
}

static void init_word_counts(void) {
    for (u32 number = 0; number < COMMON_COUNT; number++) {
        u32 slot = hash_bytes(common_word(number)) % COMMON_SLOTS;
        while (COMMON_WORD_AT[slot]) {
            slot = (slot + 1) % COMMON_SLOTS;
        }
        COMMON_WORD_AT[slot] = (u16)(number + 1);
    }
}

static bool is_common(const CountedWord *counted) {
    for (u32 slot = counted->hash % COMMON_SLOTS; COMMON_WORD_AT[slot]; slot = (slot + 1) % COMMON_SLOTS) {
        if (is_same(common_word(COMMON_WORD_AT[slot] - 1), counted->word)) {
            return true;
        }
    }
    return false;
}

/* White space of `bytes.split`. */
static inline bool splits_words(u8 byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void count_word(WordCounts *counts, CountedWord *known, u16 *slots, Span word) {
    u32 hash = hash_bytes(word);
    u32 slot = hash % COUNT_SLOTS;
    while (slots[slot]) {
        CountedWord *other = &known[slots[slot] - 1];
        if (other->hash == hash && is_same(other->word, word)) {
            other->count++;
            return;
        }
        slot = (slot + 1) % COUNT_SLOTS;
    }
    known[counts->distinct] = (CountedWord){word, hash, 1};
    slots[slot] = (u16)++counts->distinct;
}

/* The spaces at the beginning of a text. */
static u32 count_spaces(Span text) {
    return count_byte((Span){text.at, text.size < MAX_COUNTED ? text.size : MAX_COUNTED}, ' ');
}

/* The words at the beginning of a text; capitals of ASCII count as small letters. */
static WordCounts count_words(Span text) {
    WordCounts counts = {0, 0, 0, 0};
    u32 end = text.size < MAX_COMPARED ? text.size : MAX_COMPARED;
    u8 small[MAX_COMPARED];
    CountedWord known[MAX_COMPARED_WORDS];
    u16 slots[COUNT_SLOTS] = {0};
    u32 start = 0;
    for (u32 at = 0; at <= end; at++) {
        if (at < end && !splits_words(text.at[at])) {
            small[at] = LOWER[text.at[at]];
            continue;
        }
        if (at > start) {
            counts.words++;
            count_word(&counts, known, slots, (Span){small + start, at - start});
        }
        start = at + 1;
    }
    for (u32 i = 0; i < counts.distinct; i++) {
        counts.top = known[i].count > counts.top ? known[i].count : counts.top;
        counts.common += is_common(&known[i]) ? known[i].count : 0;
    }
    return counts;
}

#endif

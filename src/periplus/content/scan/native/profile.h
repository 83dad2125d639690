/* What the next version of a page is compared with (`content.versions`): the number of words of its main text, the sum of
   the hashes of where its links lead, and how often the words of its main text, and those of all its text that do not begin
   with a digit, occur, in counters by the word's hash. */
#ifndef PERIPLUS_PROFILE_H
#define PERIPLUS_PROFILE_H

#include "base.h"

#define COUNTERS 128
#define PROFILE_SIZE (4 + 8 + 2 * COUNTERS)
#define PROFILE_LEAD 8     /* bytes before a text that can be read */
#define PROFILE_PADDING 80 /* bytes behind a text that are separators, so that those behind its last part can be read at once */
static const u64 HASH_FACTORS[2] = {0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu};

/* The hash of a word: of its first eight bytes, its last eight, and its length. */
static inline u64 hash_word(const u8 *at, u32 size) {
    u64 last = eight_bytes(at + size - 8) & -(u64)(size > 8);
    return first_bytes(eight_bytes(at), size) * HASH_FACTORS[0] + (last + size) * HASH_FACTORS[1];
}

/* The hash of a line: of all its bytes. */
static inline u64 hash_line(const u8 *at, u32 size) {
    u64 hash = size;
    for (u32 i = 0; i < size; i += 8) {
        hash = (hash ^ hash >> 32 ^ first_bytes(eight_bytes(at + i), size - i)) * HASH_FACTORS[0];
    }
    return hash;
}

/* Which of 64 bytes are a separator, a bit each. Where parts end is known before they are read: words are short, and to
   wait for each to find the next takes longer than to hash it. */
static inline u64 separators_of(const u8 *at, u8 separator) {
    u64 found = 0;
    for (u32 i = 0; i < 8; i++) {
        found |= ((are_equal(eight_bytes(at + 8 * i), separator) >> 7) * 0x0102040810204080u >> 56) << 8 * i;
    }
    return found;
}

/* Call `with(part, size)` for each part of a text that has padding behind it. */
#define EACH_PART(text, length, separator, with)                                                                               \
    for (const u8 *block = (text), *part = block; block <= (text) + (length); block += 64) {                                   \
        for (u64 left = separators_of(block, separator); left; left &= left - 1) {                                             \
            const u8 *at = block + __builtin_ctzll(left);                                                                      \
            if (at > part) {                                                                                                   \
                with(part, (u32)(at - part));                                                                                  \
            }                                                                                                                  \
            part = at + 1;                                                                                                     \
        }                                                                                                                      \
    }

/* Count the words of a text, but for those that `is_left_out` by their first byte. Returns the number of words. */
static u32 count_hashed(const u8 *text, u32 length, const u8 *is_left_out, u8 *counters) {
    u32 count = 0;
#define COUNT(part, size)                                                                                                      \
    bool is_counted = !is_left_out[*(part)];                                                                                   \
    counters[hash_word(part, size) >> 57] += is_counted;                                                                       \
    count += is_counted
    EACH_PART(text, length, ' ', COUNT)
#undef COUNT
    return count;
}

/* The sum of the hashes of lines. */
static u64 sum_hashed(const u8 *text, u32 length) {
    u64 sum = 0;
#define ADD(part, size) sum += hash_line(part, size)
    EACH_PART(text, length, '\n', ADD)
#undef ADD
    return sum;
}

static const u8 *padded(u8 *buffer, Span text, u8 separator) {
    buffer += PROFILE_LEAD;
    memcpy(buffer, text.at, text.size);
    memset(buffer + text.size, separator, PROFILE_PADDING);
    return buffer;
}

/* `masked` is the main text with volatile words masked, `links` has a newline between two; `buffer` has as much room as
   the longest of the three, PROFILE_LEAD and PROFILE_PADDING more. */
static void write_profile(Span text, Span masked, Span links, u8 *buffer, u8 *out) {
    memset(out, 0, PROFILE_SIZE);
    u64 sum = sum_hashed(padded(buffer, links, '\n'), links.size);
    static const u8 none[256] = {0};
    u32 words = count_hashed(padded(buffer, masked, ' '), masked.size, none, out + 12);
    count_hashed(padded(buffer, text, ' '), text.size, IS_DIGIT, out + 12 + COUNTERS);
    for (u32 i = 0; i < 4; i++) {
        out[i] = (u8)(words >> 8 * i);
    }
    for (u32 i = 0; i < 8; i++) {
        out[4 + i] = (u8)(sum >> 8 * i);
    }
}

/* Whether a page may have structured data. */
static bool has_json_ld(Span body) {
    const u8 *at = body.at, *end = body.at + body.size;
    while ((at = memchr(at, '+', (size_t)(end - at)))) {
        if (at - body.at >= 2 && end - at >= 5 && !memcmp(at - 2, "ld+json", 7)) {
            return true;
        }
        at++;
    }
    return false;
}

#endif

/* What the next version of a page is compared with (`content.versions`): the number of words of its main text, the sum of
   the hashes of where its links lead, and how often the words of its main text, and those of all its text that do not begin
   with a digit, occur, in counters by the word's hash. */
#ifndef PERIPLUS_PROFILE_H
#define PERIPLUS_PROFILE_H

#include "base.h"

#define COUNTERS 128
#define PROFILE_SIZE (4 + 8 + 2 * COUNTERS)
#define PROFILE_PADDING 16 /* bytes behind a text that are separators, so that sixteen can be read at once */
#define HASH_FACTOR 0xD6E8FEB86659FD93u

/* The bytes of eight that equal one of which all eight are the same: their highest bits, correct up to the first. */
static inline u64 equal_bytes(u64 bytes, u64 all) {
    u64 different = bytes ^ all;
    return (different - 0x0101010101010101u) & ~different & 0x8080808080808080u;
}

static inline u64 mixed(u64 hash, u64 bytes) {
    hash = (hash ^ bytes) * HASH_FACTOR;
    return hash ^ hash >> 32;
}

/* The bytes before the first of eight that ends a part; 8: none does. */
static inline u32 bytes_before(u64 ends) {
    return ends ? (u32)__builtin_ctzll(ends) / 8 : 8;
}

/* The hash of the part that begins here and ends before a separator; `*at` is moved to that. Most parts have fewer than
   sixteen bytes, which are read without a branch. */
static inline u64 hash_part(const u8 **at, u64 separators) {
    u64 first = eight_bytes(*at), second = eight_bytes(*at + 8);
    u32 size = bytes_before(equal_bytes(first, separators));
    u32 more = bytes_before(equal_bytes(second, separators));
    more = size < 8 ? 0 : more;
    u64 hash = mixed(mixed(0, first_bytes(first, size)), first_bytes(second, more));
    *at += size + more;
    while (size + more == 16) {
        first = eight_bytes(*at);
        more = bytes_before(equal_bytes(first, separators));
        hash = more ? mixed(hash, first_bytes(first, more)) : hash;
        *at += more;
        size = more == 8 ? 8 : 0;
    }
    return hash;
}

/* Count the words of a text with padding behind it, but for those that `is_left_out` by their first byte. Returns the number
   of words. */
static u32 count_hashed(const u8 *at, u32 size, const u8 *is_left_out, u8 *counters) {
    const u8 *end = at + size;
    u32 count = 0;
    while (at < end) {
        if (*at == ' ') {
            at++;
        } else {
            bool is_counted = !is_left_out[*at];
            counters[hash_part(&at, 0x2020202020202020u) >> 57] += is_counted;
            count += is_counted;
        }
    }
    return count;
}

/* The sum of the hashes of lines, with padding behind them. */
static u64 sum_hashed(const u8 *at, u32 size) {
    const u8 *end = at + size;
    u64 sum = 0;
    while (at < end) {
        if (*at == '\n') {
            at++;
        } else {
            sum += hash_part(&at, 0x0A0A0A0A0A0A0A0Au);
        }
    }
    return sum;
}

static const u8 *padded(u8 *buffer, Span text, u8 separator) {
    memcpy(buffer, text.at, text.size);
    memset(buffer + text.size, separator, PROFILE_PADDING);
    return buffer;
}

/* `masked` is the main text with volatile words masked, `links` has a newline between two; `buffer` has as much room as
   the longest of the three, and PROFILE_PADDING more. */
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

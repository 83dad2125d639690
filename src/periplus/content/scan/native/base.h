/* Numbers, pieces of bytes, lists that grow, and what kinds of bytes there are. */
#ifndef PERIPLUS_BASE_H
#define PERIPLUS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;

/* Bytes of the page or of a buffer. `at` is NULL where there is nothing, which is not the same as no bytes:
   `<input value>` has no value, `<input value="">` has an empty one. */
typedef struct {
    const u8 *at;
    u32 size;
} Span;

/* Zero bytes behind the page and behind each buffer, so that a look at the next few bytes needs no check. */
#define PADDING 64

/* ---- lists ---- */

#define LIST(Type)   \
    struct {         \
        Type *items; \
        u32 count;   \
        u32 room;    \
    }

#define FIRST_ROOM 64

/* The items in twice the room; as they were, with `*has_failed` set, if there is no memory. */
static void *grown(void *items, u32 *room, size_t item_size, bool *has_failed) {
    u32 wanted = *room ? *room * 2 : FIRST_ROOM;
    void *moved = realloc(items, wanted * item_size);
    if (!moved) {
        *has_failed = true;
        return items;
    }
    *room = wanted;
    return moved;
}

/* Whether one more item fits into a list, which grows if need be. */
#define HAS_ROOM(list, has_failed)                                                                              \
    ((list)->count < (list)->room ||                                                                            \
     ((list)->items = grown((list)->items, &(list)->room, sizeof *(list)->items, (has_failed)), !*(has_failed)))

/* ---- bytes ---- */

static u8 IS_SPACE[256];   /* white space of HTML */
static u8 ENDS_NAME[256];  /* ends the name of a tag */
static u8 ENDS_ATTRIBUTE[256]; /* ends the name of an attribute */
static u8 IS_LETTER[256];
static u8 IS_DIGIT[256];
static u8 LOWER[256];

/* Tables are written once, when the module is loaded, and only read from then on. */
static void init_bytes(void) {
    for (int byte = 0; byte < 256; byte++) {
        bool is_upper = byte >= 'A' && byte <= 'Z';
        IS_SPACE[byte] = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
        ENDS_NAME[byte] = IS_SPACE[byte] || byte == '/' || byte == '>';
        ENDS_ATTRIBUTE[byte] = ENDS_NAME[byte] || byte == '=';
        IS_LETTER[byte] = is_upper || (byte >= 'a' && byte <= 'z');
        IS_DIGIT[byte] = byte >= '0' && byte <= '9';
        LOWER[byte] = (u8)(is_upper ? byte + 'a' - 'A' : byte);
    }
}

/* The 8 bytes at a place, the first one in the lowest bits. */
static inline u64 eight_bytes(const u8 *at) {
    u64 bytes;
    memcpy(&bytes, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* The first of 8 bytes, the others 0. */
static inline u64 first_bytes(u64 bytes, u32 count) {
    return count >= 8 ? bytes : bytes & (((u64)1 << 8 * count) - 1);
}

/* Eight bytes are looked at at once: answers have the highest bit of each byte for which they are true. */
#define EACH 0x0101010101010101ULL
#define HIGH_BITS (0x80 * EACH)

/* Which of 8 bytes are this one, of ASCII. */
static inline u64 are_equal(u64 bytes, u8 byte) {
    u64 differences = bytes ^ byte * EACH;
    return ~(((differences & ~HIGH_BITS) + ~HIGH_BITS) | differences) & HIGH_BITS;
}

/* Which of 8 bytes are ASCII from this one on. */
static inline u64 are_from(u64 bytes, u8 first) {
    return ((bytes & ~HIGH_BITS) + (0x80 - first) * EACH) & ~bytes & HIGH_BITS;
}

/* Which of 8 bytes are from `first` to `last`; both are ASCII. */
static inline u64 are_between(u64 bytes, u8 first, u8 last) {
    u64 seven_bits = bytes & ~HIGH_BITS;
    u64 is_from_first = seven_bits + (0x80 - first) * EACH;
    u64 is_beyond_last = seven_bits + (0x7F - last) * EACH;
    return ~bytes & (is_from_first ^ is_beyond_last) & HIGH_BITS;
}

/* The place of the first byte for which an answer is true; there is one. */
static inline u32 first_marked(u64 answer) {
    return (u32)__builtin_ctzll(answer) / 8;
}

/* 8 bytes with ASCII capitals made small. */
static inline u64 lower_bytes(u64 bytes) {
    return bytes | are_between(bytes, 'A', 'Z') >> 2;
}

static inline void write_eight_bytes(u8 *at, u64 bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    memcpy(at, &bytes, 8);
}

static inline bool is_same(Span a, Span b) {
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

/* How often a byte of ASCII occurs. */
static u32 count_byte(Span bytes, u8 byte) {
    u32 count = 0;
    u32 at = 0;
    for (; bytes.size - at >= 8; at += 8) {
        count += (u32)((are_equal(eight_bytes(bytes.at + at), byte) >> 7) * EACH >> 56); /* the sum of the bytes */
    }
    for (; at < bytes.size; at++) {
        count += bytes.at[at] == byte;
    }
    return count;
}

static u32 hash_bytes(Span bytes) {
    u64 hash = bytes.size;
    u32 at = 0;
    for (; at + 8 <= bytes.size; at += 8) {
        hash = (hash ^ eight_bytes(bytes.at + at)) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    for (; at < bytes.size; at++) {
        hash = (hash ^ bytes.at[at]) * 0xC2B2AE3D27D4EB4FULL;
    }
    return (u32)(hash >> 32 ^ hash);
}

/* Whether the bytes at a place are this word, whatever the case; `word` is in small letters. */
static inline bool starts_with(const u8 *at, const char *word, u32 size) {
    for (u32 i = 0; i < size; i++) {
        if (LOWER[at[i]] != (u8)word[i]) {
            return false;
        }
    }
    return true;
}

static inline bool is_word(Span value, const char *word, u32 size) {
    return value.size == size && starts_with(value.at, word, size);
}
#define IS_WORD(value, word) is_word(value, word, sizeof(word) - 1)

/* The next of a byte, or the end. */
static inline const u8 *find_byte(const u8 *at, const u8 *end, u8 byte) {
    const u8 *found = memchr(at, byte, (size_t)(end - at));
    return found ? found : end;
}

#endif

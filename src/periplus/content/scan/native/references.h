/* Character references: &amp; &#38; &#x26; (HTML Standard, 13.2.5.72 and following). */
#ifndef PERIPLUS_REFERENCES_H
#define PERIPLUS_REFERENCES_H

#include "base.h"
#include "tables.h"

#define MAX_CHARACTER 8      /* bytes that a reference stands for, at most: two characters */
#define MAX_ENTITY_NAME 32   /* bytes, without "&" */
#define MAX_BARE_ENTITY 6    /* bytes of the longest name that needs no semicolon */
#define MIN_BARE_ENTITY 2
#define REPLACEMENT 0xFFFD

/* What 0x80 to 0x9F mean in a numeric reference: the characters of windows-1252. */
static const u16 WINDOWS_1252[32] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
};

static u32 write_utf8(u8 *out, u32 code) {
    if (code < 0x80) {
        out[0] = (u8)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (u8)(0xC0 | code >> 6);
        out[1] = (u8)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (u8)(0xE0 | code >> 12);
        out[1] = (u8)(0x80 | (code >> 6 & 0x3F));
        out[2] = (u8)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (u8)(0xF0 | code >> 18);
    out[1] = (u8)(0x80 | (code >> 12 & 0x3F));
    out[2] = (u8)(0x80 | (code >> 6 & 0x3F));
    out[3] = (u8)(0x80 | (code & 0x3F));
    return 4;
}

static inline i32 digit_value(u8 byte, bool is_hex) {
    if (IS_DIGIT[byte]) {
        return byte - '0';
    }
    u8 lower = LOWER[byte];
    return is_hex && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Behind "&#". Returns what follows, or NULL if there are no digits. */
static const u8 *read_number(const u8 *at, const u8 *end, u8 *out, u32 *written) {
    bool is_hex = at < end && LOWER[*at] == 'x';
    at += is_hex;
    const u8 *first = at;
    u32 code = 0;
    i32 digit;
    while (at < end && (digit = digit_value(*at, is_hex)) >= 0) {
        if (code <= 0x10FFFF) { /* larger is wrong, however much */
            code = code * (is_hex ? 16 : 10) + (u32)digit;
        }
        at++;
    }
    if (at == first) {
        return NULL;
    }
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        code = REPLACEMENT;
    } else if (code >= 0x80 && code < 0xA0) {
        code = WINDOWS_1252[code - 0x80];
    }
    *written = write_utf8(out, code);
    return at < end && *at == ';' ? at + 1 : at;
}

/* The entity of a name (with its semicolon, if it has one), or NULL. */
static const Entity *find_entity(const u8 *name, u32 size) {
    i32 low = 0;
    i32 high = ENTITY_COUNT - 1;
    while (low <= high) {
        i32 middle = (low + high) / 2;
        const Entity *entity = &ENTITIES[middle];
        u32 common = size < entity->name_size ? size : entity->name_size;
        i32 order = memcmp(name, ENTITY_BYTES + entity->offset, common);
        if (order == 0) {
            order = (i32)size - (i32)entity->name_size;
        }
        if (order == 0) {
            return entity;
        }
        if (order < 0) {
            high = middle - 1;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

static u32 write_entity(const Entity *entity, u8 *out) {
    memcpy(out, ENTITY_BYTES + entity->offset + entity->name_size, entity->value_size);
    return entity->value_size;
}

/* The few names that make up nearly all references, without a search. Names end with a semicolon at `size`. */
static u32 write_frequent(const u8 *name, u32 size, u8 *out) {
    if (size == 2 && name[1] == 't' && (name[0] == 'l' || name[0] == 'g')) {
        out[0] = name[0] == 'l' ? '<' : '>';
        return 1;
    }
    if (size == 3 && memcmp(name, "amp", 3) == 0) {
        out[0] = '&';
        return 1;
    }
    if (size == 4 && memcmp(name, "quot", 4) == 0) {
        out[0] = '"';
        return 1;
    }
    if (size == 4 && memcmp(name, "nbsp", 4) == 0) {
        out[0] = 0xC2;
        out[1] = 0xA0;
        return 2;
    }
    return 0;
}

/* Behind "&" and before a letter. Returns what follows, or NULL if no name is known. */
static const u8 *read_name(const u8 *name, const u8 *end, bool is_in_attribute, u8 *out, u32 *written) {
    const u8 *at = name;
    while (at < end && at - name < MAX_ENTITY_NAME && (IS_LETTER[*at] || IS_DIGIT[*at])) {
        at++;
    }
    u32 size = (u32)(at - name);
    if (at < end && *at == ';') {
        *written = write_frequent(name, size, out);
        if (*written) {
            return at + 1;
        }
        const Entity *entity = find_entity(name, size + 1);
        if (entity) {
            *written = write_entity(entity, out);
            return at + 1;
        }
    }
    for (u32 bare = size < MAX_BARE_ENTITY ? size : MAX_BARE_ENTITY; bare >= MIN_BARE_ENTITY; bare--) {
        const Entity *entity = find_entity(name, bare);
        if (entity) { /* in an attribute, "&copy=1" is the start of a parameter */
            bool goes_on = bare < size || (at < end && *at == '=');
            if (is_in_attribute && goes_on) {
                return NULL;
            }
            *written = write_entity(entity, out);
            return name + bare;
        }
    }
    return NULL;
}

/* Read the reference that begins with the "&" at `at`: writes at most MAX_CHARACTER bytes and returns what follows it.
   NULL: the "&" is a mere "&". */
static const u8 *read_reference(const u8 *at, const u8 *end, bool is_in_attribute, u8 *out, u32 *written) {
    const u8 *next = at + 1;
    if (next >= end) {
        return NULL;
    }
    if (*next == '#') {
        return read_number(next + 1, end, out, written);
    }
    return IS_LETTER[*next] ? read_name(next, end, is_in_attribute, out, written) : NULL;
}

/* More bytes than `size` bytes can become: "&nGt;" stands for 6. */
static inline size_t decoded_room(size_t size) {
    return size + size / 4 + MAX_CHARACTER;
}

/* The value of an attribute, or text, with its references decoded; `out` has room for `decoded_room(source.size)`. */
static u32 decode_references(Span source, bool is_in_attribute, u8 *out) {
    const u8 *at = source.at;
    const u8 *end = source.at + source.size;
    u8 *start = out;
    while (at < end) {
        const u8 *reference = find_byte(at, end, '&');
        memcpy(out, at, (size_t)(reference - at));
        out += reference - at;
        at = reference;
        if (at < end) {
            u32 written = 0;
            const u8 *next = read_reference(at, end, is_in_attribute, out, &written);
            if (!next) {
                *out = '&';
                written = 1;
                next = at + 1;
            }
            out += written;
            at = next;
        }
    }
    return (u32)(out - start);
}

#endif

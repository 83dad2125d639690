/* The form elements of a page as MessagePack: an array of the fields of `FormElement` for each. Pages of a site have the
   same forms, which `content.forms` reads once, so that no objects are made of them for each page. Sizes are written in
   as few bytes as possible, as the encoder of the Python scanner does. */
#ifndef PERIPLUS_PACKING_H
#define PERIPLUS_PACKING_H

#include "columns.h"

#define MAX_COMPARED_NAMES 8 /* attributes of other names that are compared with each other, without a dictionary */

typedef struct {
    u8 *bytes;
    size_t size;
    size_t room;
    bool has_failed; /* there is no memory, or Python has set an error */
} Packed;

/* Where to write some bytes, which count as written; NULL if there is no memory. */
static u8 *add_room(Packed *packed, size_t size) {
    if (packed->size + size > packed->room) {
        size_t room = 2 * (packed->size + size) + SMALL_BUFFER;
        u8 *moved = realloc(packed->bytes, room);
        if (!moved) {
            packed->has_failed = true;
            return NULL;
        }
        packed->bytes = moved;
        packed->room = room;
    }
    u8 *at = packed->bytes + packed->size;
    packed->size += size;
    return at;
}

static void pack_byte(Packed *packed, u8 byte) {
    u8 *at = add_room(packed, 1);
    if (at) {
        *at = byte;
    }
}

/* A sign and a number of 1, 2 or 4 bytes, the highest first. */
static void pack_sized(Packed *packed, u8 sign, u32 number, u32 size) {
    u8 *at = add_room(packed, 1 + size);
    if (at) {
        *at++ = sign;
        for (u32 shift = 8 * size; shift; shift -= 8) {
            *at++ = (u8)(number >> (shift - 8));
        }
    }
}

/* The size of an array or a map, by its signs for at most 15 and for 2 bytes. */
static void pack_count(Packed *packed, u8 small, u8 sign, u32 count) {
    if (count < 16) {
        pack_byte(packed, (u8)(small | count));
    } else {
        pack_sized(packed, count <= UINT16_MAX ? sign : (u8)(sign + 1), count, count <= UINT16_MAX ? 2 : 4);
    }
}

static void pack_array(Packed *packed, u32 count) {
    pack_count(packed, 0x90, 0xDC, count);
}

static void pack_map(Packed *packed, u32 count) {
    pack_count(packed, 0x80, 0xDE, count);
}

/* A number from -1 on. */
static void pack_number(Packed *packed, i32 number) {
    u32 value = (u32)number;
    if (number < 0x80) {
        pack_byte(packed, (u8)number); /* -1 is 0xFF */
    } else if (value <= UINT8_MAX) {
        pack_sized(packed, 0xCC, value, 1);
    } else {
        pack_sized(packed, value <= UINT16_MAX ? 0xCD : 0xCE, value, value <= UINT16_MAX ? 2 : 4);
    }
}

static void pack_nothing(Packed *packed) {
    pack_byte(packed, 0xC0);
}

/* A string in UTF-8. */
static void pack_bytes(Packed *packed, Span bytes) {
    if (bytes.size < 32) {
        pack_byte(packed, (u8)(0xA0 | bytes.size));
    } else if (bytes.size <= UINT8_MAX) {
        pack_sized(packed, 0xD9, bytes.size, 1);
    } else {
        pack_sized(packed, bytes.size <= UINT16_MAX ? 0xDA : 0xDB, bytes.size, bytes.size <= UINT16_MAX ? 2 : 4);
    }
    u8 *at = bytes.size ? add_room(packed, bytes.size) : NULL;
    if (at) {
        memcpy(at, bytes.at, bytes.size);
    }
}

/* A string of Python, which is not taken over; NULL: an error is set. */
static void pack_object(Packed *packed, PyObject *string) {
    Py_ssize_t size = 0;
    const char *bytes = string ? PyUnicode_AsUTF8AndSize(string, &size) : NULL;
    if (bytes) {
        pack_bytes(packed, (Span){(const u8 *)bytes, (u32)size});
    } else {
        packed->has_failed = true;
    }
}

/* The same, taken over. */
static void pack_string(Packed *packed, PyObject *string) {
    pack_object(packed, string);
    Py_XDECREF(string);
}

static bool is_ascii(Span bytes) {
    u32 at = 0;
    for (; bytes.size - at >= 8; at += 8) {
        if (eight_bytes(bytes.at + at) & HIGH_BITS) {
            return false;
        }
    }
    for (; at < bytes.size; at++) {
        if (bytes.at[at] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* ---- attributes ---- */

static void pack_value(const State *state, Packed *packed, Span value) {
    if (!value.at) {
        pack_nothing(packed);
    } else if (!value.size || (!memchr(value.at, '&', value.size) && is_ascii(value))) {
        pack_bytes(packed, value);
    } else {
        pack_string(packed, decoded_string(state, value, true));
    }
}

static void pack_name(Packed *packed, const Attribute *attribute) {
    u8 lower[MAX_ATTRIBUTE_NAME];
    for (u32 i = 0; i < attribute->name.size; i++) {
        lower[i] = LOWER[attribute->name.at[i]];
    }
    pack_bytes(packed, (Span){lower, attribute->name.size});
}

static bool is_same_name(Span one, Span other) {
    if (one.size != other.size) {
        return false;
    }
    for (u32 i = 0; i < one.size; i++) {
        if (LOWER[one.at[i]] != LOWER[other.at[i]]) {
            return false;
        }
    }
    return true;
}

/* Whether all names differ and are of ASCII, as far as that can be seen at once; those the scanner knows differ. */
static bool are_plain_names(const Attribute *attributes, u32 count) {
    Span others[MAX_COMPARED_NAMES];
    u32 other_count = 0;
    for (u32 i = 0; i < count; i++) {
        if (attributes[i].known) {
            continue;
        }
        if (other_count == MAX_COMPARED_NAMES || !is_ascii(attributes[i].name)) {
            return false;
        }
        for (u32 other = 0; other < other_count; other++) {
            if (is_same_name(attributes[i].name, others[other])) {
                return false;
            }
        }
        others[other_count++] = attributes[i].name;
    }
    return true;
}

/* Attributes that a dictionary has made different. */
static void pack_dictionary(Packed *packed, PyObject *dict) {
    Py_ssize_t place = 0;
    PyObject *name;
    PyObject *value;
    if (!dict) {
        packed->has_failed = true;
        return;
    }
    pack_map(packed, (u32)PyDict_Size(dict));
    while (PyDict_Next(dict, &place, &name, &value)) {
        pack_object(packed, name);
        if (value == Py_None) {
            pack_nothing(packed);
        } else {
            pack_object(packed, value);
        }
    }
    Py_DECREF(dict);
}

static void pack_attributes(const State *state, const Scanner *scanner, Packed *packed, Kept kept) {
    const Attribute *attributes = scanner->kept.items + kept.first;
    if (kept.count && !are_plain_names(attributes, kept.count)) {
        pack_dictionary(packed, attributes_of(state, scanner, kept));
        return;
    }
    pack_map(packed, kept.count);
    for (u32 i = 0; i < kept.count; i++) {
        pack_name(packed, &attributes[i]);
        pack_value(state, packed, attributes[i].value);
    }
}

/* ---- elements ---- */

static void pack_content(const State *state, const Scanner *scanner, Packed *packed, const FormElement *element) {
    if (element->tag == TAG_textarea) {
        pack_string(packed, textarea_content(state, scanner, element->text));
        return;
    }
    Pieces pieces = element->text;
    Span source = pieces.first ? scanner->pieces.items[pieces.first - 1].source : (Span){NULL, 0};
    bool is_plain = pieces.first == pieces.last && source.size <= MAX_WORDS && is_folded(source);
    if (is_plain || !pieces.first) {
        pack_bytes(packed, source);
    } else {
        u32 spaces = 0;
        pack_string(packed, folded_pieces(state, scanner, pieces, &spaces));
    }
}

/* The elements of the forms of a page; no bytes if it has no form. */
static PyObject *forms_column(const State *state, const Scanner *scanner) {
    const Forms *forms = &scanner->forms;
    Packed packed = {NULL, 0, 0, false};
    if (forms->count) {
        pack_array(&packed, forms->list.count);
    }
    for (u32 i = 0; forms->count && i < forms->list.count && !packed.has_failed; i++) {
        const FormElement *element = &forms->list.items[i];
        Span tag = {(const u8 *)TAG_NAMES[element->tag], (u32)strlen(TAG_NAMES[element->tag])};
        pack_array(&packed, FORM_FIELDS);
        pack_bytes(&packed, tag);
        pack_attributes(state, scanner, &packed, element->attributes);
        pack_number(&packed, element->form);
        pack_number(&packed, element->inside);
        pack_content(state, scanner, &packed, element);
    }
    PyObject *column = NULL;
    if (!packed.has_failed) {
        column = PyBytes_FromStringAndSize((const char *)packed.bytes, (Py_ssize_t)packed.size);
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    free(packed.bytes);
    return column;
}

#endif

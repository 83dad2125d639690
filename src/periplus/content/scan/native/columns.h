/* Python objects of what was found: the fields of `Columns`. Everything here needs the GIL. */
#ifndef PERIPLUS_COLUMNS_H
#define PERIPLUS_COLUMNS_H

#include "blocks.h"
#include "urls.h"
#include "words.h"

/* Fields of the named tuples of columns.py. */
#define HEAD_FIELDS 4
#define HEAD_LISTS 5
#define MEDIUM_FIELDS 5
#define FORM_FIELDS 5
#define EVENT_FIELDS 4
#define SECTION_FIELDS 4

/* What the module keeps: types of columns.py, and strings that are made once. */
typedef struct {
    newfunc new_tuple; /* tuple.__new__ */
    PyObject *columns_type;
    PyObject *head_type;
    PyObject *head_element_type;
    PyObject *medium_type;
    PyObject *event_type;
    PyObject *section_type;
    PyObject *event_kinds[3];
    PyObject *empty;
    u32 text_rule; /* `TEXT_RULE` */
    PyObject *tags[TAG_COUNT];
    PyObject *attributes[ATTR_COUNT];
} State;

/* One reference more; `Py_NewRef` of the limited API is a call. */
static inline PyObject *held(PyObject *object) {
    Py_INCREF(object);
    return object;
}

/* ---- rows ---- */

/* Put values into a tuple, which takes them over. Returns NULL, and lets go of all of them, if one is NULL. */
static PyObject *tuple_of(PyObject **values, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    bool is_complete = tuple != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        is_complete &= values[i] != NULL;
        if (tuple) {
            PyTuple_SetItem(tuple, i, values[i]);
        } else {
            Py_XDECREF(values[i]);
        }
    }
    if (!is_complete) {
        Py_CLEAR(tuple);
    }
    return tuple;
}

/* An instance of a named tuple with these values, which it takes over. */
static PyObject *row_of(const State *state, PyObject *type, PyObject **values, Py_ssize_t count) {
    PyObject *row = NULL;
    PyObject *tuple = tuple_of(values, count);
    PyObject *arguments = tuple ? tuple_of(&tuple, 1) : NULL;
    if (arguments) {
        row = state->new_tuple((PyTypeObject *)type, arguments, NULL);
        Py_DECREF(arguments);
    }
    return row;
}

/* Put an item, which is taken over, into a list of the right size. */
static inline bool set_item(PyObject *list, u32 place, PyObject *item) {
    return item && PyList_SetItem(list, place, item) == 0;
}

/* ---- strings ---- */

static inline PyObject *string_of(const State *state, Span bytes) {
    return bytes.size ? PyUnicode_DecodeUTF8((const char *)bytes.at, bytes.size, "replace") : held(state->empty);
}

/* At most `limit` characters of a string, which is taken over. */
static PyObject *first_characters(PyObject *string, Py_ssize_t limit) {
    if (!string || PyUnicode_GetLength(string) <= limit) {
        return string;
    }
    PyObject *first = PyUnicode_Substring(string, 0, limit);
    Py_DECREF(string);
    return first;
}

#define SMALL_BUFFER 1024 /* bytes on the stack, enough for nearly every attribute with references */

/* A string with its references decoded. */
static PyObject *decoded_string(const State *state, Span source, bool is_in_attribute) {
    if (!source.size || !memchr(source.at, '&', source.size)) {
        return string_of(state, source);
    }
    u8 small[SMALL_BUFFER];
    size_t room = decoded_room(source.size);
    u8 *buffer = room > sizeof small ? malloc(room) : small;
    if (!buffer) {
        return PyErr_NoMemory();
    }
    u32 size = decode_references(source, is_in_attribute, buffer);
    PyObject *string = string_of(state, (Span){buffer, size});
    if (buffer != small) {
        free(buffer);
    }
    return string;
}

/* The first MAX_WORDS characters of words; `*spaces` grows by the spaces between them. */
static PyObject *words_string(const State *state, const Words *words, u32 *spaces) {
    Span bytes = {words->bytes, words->size};
    PyObject *string = first_characters(string_of(state, bytes), MAX_WORDS);
    if (bytes.size <= MAX_WORDS) {
        *spaces += count_byte(bytes, ' ');
        return string;
    }
    for (Py_ssize_t i = 0, size = string ? PyUnicode_GetLength(string) : 0; i < size; i++) {
        *spaces += PyUnicode_ReadChar(string, i) == ' ';
    }
    return string;
}

/* The words of an attribute; `*spaces` grows by the spaces between them. */
static PyObject *folded_string(const State *state, Span source, u32 *spaces) {
    if (source.size <= MAX_WORDS && is_folded(source)) {
        *spaces += count_byte(source, ' ');
        return string_of(state, source);
    }
    Words words;
    words.size = 0;
    words.is_after_space = false;
    add_words_of(&words, source, false, true);
    return words_string(state, &words, spaces);
}

/* The words of text in several pieces; `*spaces` grows by the spaces between them. */
static PyObject *folded_pieces(const State *state, const Scanner *scanner, Pieces pieces, u32 *spaces) {
    if (!pieces.first) {
        return held(state->empty);
    }
    const Piece *all = scanner->pieces.items;
    if (pieces.first == pieces.last) {
        Span source = all[pieces.first - 1].source;
        if (source.size <= MAX_WORDS && is_folded(source)) {
            *spaces += count_byte(source, ' ');
            return string_of(state, source);
        }
    }
    Words words;
    words.size = 0;
    words.is_after_space = false;
    for (u32 number = pieces.first; number && words.size < ENOUGH_BYTES; number = all[number - 1].next) {
        add_words_of(&words, all[number - 1].source, all[number - 1].is_raw, false);
    }
    return words_string(state, &words, spaces);
}

/* ---- attributes ---- */

static PyObject *attribute_name(const State *state, const Attribute *attribute) {
    if (attribute->known) {
        return held(state->attributes[attribute->known]);
    }
    u8 lower[MAX_ATTRIBUTE_NAME];
    for (u32 i = 0; i < attribute->name.size; i++) {
        lower[i] = LOWER[attribute->name.at[i]];
    }
    return PyUnicode_DecodeUTF8((const char *)lower, attribute->name.size, "replace");
}

/* Add an attribute, unless there is one of its name. */
static bool add_attribute(const State *state, PyObject *dict, const Attribute *attribute) {
    PyObject *name = attribute_name(state, attribute);
    if (!name) {
        return false;
    }
    int is_known = PyDict_Contains(dict, name);
    bool is_done = is_known > 0;
    if (is_known == 0) {
        PyObject *value = attribute->value.at ? decoded_string(state, attribute->value, true) : held(Py_None);
        is_done = value && PyDict_SetItem(dict, name, value) == 0;
        Py_XDECREF(value);
    }
    Py_DECREF(name);
    return is_done;
}

static PyObject *attributes_of(const State *state, const Scanner *scanner, Kept kept) {
    PyObject *dict = PyDict_New();
    for (u32 i = 0; dict && i < kept.count; i++) {
        if (!add_attribute(state, dict, &scanner->kept.items[kept.first + i])) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

/* ---- links ---- */

typedef struct {
    PyObject *urls;
    PyObject *anchors;
    PyObject *rels;
    PyObject *kinds;
    PyObject *marks;
    PyObject *unresolved;
    u32 anchor_words; /* split at spaces; an anchor without text counts as one */
} LinkColumns;

static void release_link_columns(LinkColumns *columns) {
    Py_CLEAR(columns->urls);
    Py_CLEAR(columns->anchors);
    Py_CLEAR(columns->rels);
    Py_CLEAR(columns->kinds);
    Py_CLEAR(columns->marks);
    Py_CLEAR(columns->unresolved);
}

/* Strings of the different targets; NULL for those that are left to Python. */
static PyObject **target_strings(const Targets *targets) {
    PyObject **strings = calloc(targets->uniques.count + 1, sizeof *strings);
    for (u32 i = 0; strings && i < targets->uniques.count; i++) {
        const Unique *unique = &targets->uniques.items[i];
        if (unique->url_size) {
            const char *url = (const char *)targets->urls + unique->url;
            strings[i] = PyUnicode_DecodeASCII(url, unique->url_size, NULL);
            if (!strings[i]) {
                while (i > 0) {
                    Py_XDECREF(strings[--i]);
                }
                free(strings);
                return NULL;
            }
        }
    }
    return strings;
}

static bool add_unresolved(const State *state, LinkColumns *columns, u32 place, Span href) {
    PyObject *values[] = {PyLong_FromUnsignedLong(place), string_of(state, href)};
    PyObject *row = tuple_of(values, 2);
    bool is_done = row && PyList_Append(columns->unresolved, row) == 0;
    Py_XDECREF(row);
    return is_done && set_item(columns->urls, place, held(Py_None));
}

/* dict[place] = value, which is taken over. */
static bool set_at(PyObject *dict, u32 place, PyObject *value) {
    PyObject *key = value ? PyLong_FromUnsignedLong(place) : NULL;
    bool is_done = key && PyDict_SetItem(dict, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return is_done;
}

static PyObject *anchor_of(const State *state, const Scanner *scanner, const Link *link, u32 *spaces) {
    if (link->kind != LINK_ANCHOR) {
        return folded_string(state, link->label, spaces);
    }
    PyObject *text = folded_pieces(state, scanner, link->text, spaces);
    if (text && link->picture.size && PyUnicode_GetLength(text) == 0) {
        Py_DECREF(text);
        return folded_string(state, link->picture, spaces);
    }
    return text;
}

static bool add_link_row(const State *state, const Scanner *scanner, LinkColumns *columns, u32 place, PyObject *url) {
    const Link *link = &scanner->links.list.items[place];
    bool is_done = url ? set_item(columns->urls, place, held(url)) : add_unresolved(state, columns, place, link->href);
    is_done = is_done && set_item(columns->anchors, place, anchor_of(state, scanner, link, &columns->anchor_words));
    if (is_done && link->rel.size) {
        is_done = set_at(columns->rels, place, decoded_string(state, link->rel, true));
    }
    if (is_done && link->kind != LINK_ANCHOR) {
        is_done = set_at(columns->kinds, place, PyLong_FromLong(link->kind));
    }
    if (is_done && link->mark) {
        is_done = set_at(columns->marks, place, PyLong_FromLong(link->mark));
    }
    return is_done;
}

static bool make_link_columns(const State *state, const Scanner *scanner, const Targets *targets, LinkColumns *columns) {
    u32 count = scanner->links.list.count;
    *columns = (LinkColumns){
        PyList_New(count), PyList_New(count), PyDict_New(), PyDict_New(), PyDict_New(), PyList_New(0), count,
    };
    PyObject **strings = target_strings(targets);
    bool is_done = columns->urls && columns->anchors && columns->rels && columns->kinds && columns->marks &&
                   columns->unresolved && strings;
    for (u32 place = 0; is_done && place < count; place++) {
        u32 number = scanner->links.list.items[place].unique;
        is_done = add_link_row(state, scanner, columns, place, number ? strings[number - 1] : NULL);
    }
    for (u32 i = 0; strings && i < targets->uniques.count; i++) {
        Py_XDECREF(strings[i]);
    }
    free(strings);
    if (!is_done) {
        release_link_columns(columns);
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
    }
    return is_done;
}

/* The numbers of the links to the page itself. */
static PyObject *own_links_column(const Scanner *scanner) {
    const Links *links = &scanner->links;
    PyObject *list = PyList_New(links->own_count);
    for (u32 place = 0, number = 0; list && place < links->list.count; place++) {
        if (links->list.items[place].is_own && !set_item(list, number++, PyLong_FromUnsignedLong(place))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- the other columns ---- */

static PyObject *media_column(const State *state, const Scanner *scanner) {
    PyObject *list = PyList_New(scanner->media.count);
    for (u32 i = 0; list && i < scanner->media.count; i++) {
        const Medium *medium = &scanner->media.items[i];
        PyObject *values[] = {
            held(state->tags[medium->tag]),
            decoded_string(state, medium->src, true),
            decoded_string(state, medium->poster, true),
            decoded_string(state, medium->srcset, true),
            decoded_string(state, medium->alt, true),
        };
        if (!set_item(list, i, row_of(state, state->medium_type, values, MEDIUM_FIELDS))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static bool add_head_row(const State *state, const Scanner *scanner, const HeadElement *element, PyObject *list) {
    PyObject *content = string_of(state, element->content);
    if (content && PyUnicode_GetLength(content) > MAX_SCRIPT) {
        Py_DECREF(content);
        return true;
    }
    PyObject *values[] = {
        held(state->tags[element->tag]),
        attributes_of(state, scanner, element->attributes),
        PyBool_FromLong(element->is_in_noscript),
        content,
    };
    PyObject *row = row_of(state, state->head_element_type, values, HEAD_FIELDS);
    bool is_done = row && PyList_Append(list, row) == 0;
    Py_XDECREF(row);
    return is_done;
}

/* The list of `Head` that an element belongs to. */
static u32 head_list(u8 tag) {
    switch (tag) {
        case TAG_html:
            return 0;
        case TAG_meta:
            return 1;
        case TAG_link:
            return 2;
        case TAG_base:
            return 3;
        default:
            return 4;
    }
}

static PyObject *head_column(const State *state, const Scanner *scanner) {
    PyObject *lists[HEAD_LISTS];
    bool is_done = true;
    for (u32 i = 0; i < HEAD_LISTS; i++) {
        lists[i] = PyList_New(0);
        is_done = is_done && lists[i];
    }
    for (u32 i = 0; is_done && i < scanner->head.list.count; i++) {
        const HeadElement *element = &scanner->head.list.items[i];
        is_done = add_head_row(state, scanner, element, lists[head_list(element->tag)]);
    }
    if (!is_done) {
        Py_CLEAR(lists[0]);
    }
    return row_of(state, state->head_type, lists, HEAD_LISTS);
}

/* What a textarea begins with: as written, but for a line break right behind the tag. */
static PyObject *textarea_content(const State *state, const Scanner *scanner, Pieces pieces) {
    if (!pieces.first) {
        return held(state->empty);
    }
    PyObject *text = decoded_string(state, scanner->pieces.items[pieces.first - 1].source, false);
    Py_ssize_t size = text ? PyUnicode_GetLength(text) : 0;
    Py_UCS4 first = size > 0 ? PyUnicode_ReadChar(text, 0) : 0;
    Py_UCS4 second = size > 1 ? PyUnicode_ReadChar(text, 1) : 0;
    Py_ssize_t skipped = first == '\r' && second == '\n' ? 2 : first == '\r' || first == '\n';
    if (!skipped) {
        return first_characters(text, MAX_WORDS);
    }
    PyObject *content = PyUnicode_Substring(text, skipped, skipped + MAX_WORDS);
    Py_DECREF(text);
    return content;
}

/* Parts of a way, a newline between them. */
static PyObject *joined_parts(const WayPart *parts, u32 count) {
    size_t size = count - 1;
    for (u32 i = 0; i < count; i++) {
        size += parts[i].content.size;
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    u8 *out = bytes ? (u8 *)PyBytes_AsString(bytes) : NULL;
    for (u32 i = 0; out && i < count; i++) {
        if (i) {
            *out++ = '\n';
        }
        memcpy(out, parts[i].content.at, parts[i].content.size);
        out += parts[i].content.size;
    }
    return bytes;
}

static PyObject *blocks_column(const WayParts *parts) {
    PyObject *list = PyList_New(0);
    u32 end;
    for (u32 start = 0; list && start < parts->count; start = end) {
        end = start + 1;
        while (end < parts->count && parts->items[end].way == parts->items[start].way) {
            end++;
        }
        PyObject *values[] = {
            PyLong_FromUnsignedLong(parts->items[start].way),
            joined_parts(&parts->items[start], end - start),
        };
        PyObject *row = tuple_of(values, 2);
        if (!row || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *event_row(const State *state, const Scanner *scanner, const Event *event, const u8 *is_main) {
    bool is_text = event->kind == EVENT_TEXT;
    bool has_block = event->block && event->block <= scanner->blocks.count;
    PyObject *value = held(state->tags[event->tag]);
    if (is_text) {
        Py_DECREF(value);
        value = event->is_raw ? string_of(state, event->text) : decoded_string(state, event->text, false);
    }
    PyObject *values[] = {
        held(state->event_kinds[event->kind]),
        value,
        event->kind == EVENT_OPEN ? attributes_of(state, scanner, event->attributes) : held(Py_None),
        PyBool_FromLong(is_text && has_block && is_main[event->block - 1]),
    };
    return row_of(state, state->event_type, values, EVENT_FIELDS);
}

/* Add the section that begins with the block `first`, at `start` in the main text, if it is main text. */
static bool add_section_row(const State *state, const Scanner *scanner, const u8 *is_main, const Section *section, u32 start, PyObject *list) {
    u32 size = 0;
    for (u32 i = section->first; i < section->end && i < scanner->blocks.count && is_main[i]; i++) {
        size += scanner->blocks.items[i].end - scanner->blocks.items[i].start + (size > 0);
    }
    if (!size) {
        return true;
    }
    PyObject *values[] = {
        PyLong_FromUnsignedLong(start),
        PyLong_FromUnsignedLong(size),
        PyLong_FromUnsignedLong(section->level),
        decoded_string(state, section->anchor, true),
    };
    PyObject *row = row_of(state, state->section_type, values, SECTION_FIELDS);
    bool is_added = row && PyList_Append(list, row) == 0;
    Py_XDECREF(row);
    return is_added;
}

/* Of several sections that begin with the same text the last counts: a heading in a term. */
static PyObject *sections_column(const State *state, const Scanner *scanner, const u8 *is_main) {
    PyObject *list = PyList_New(0);
    const Section *sections = scanner->sections.list.items;
    u32 start = 0, block = 0;
    for (u32 i = 0; list && i < scanner->sections.list.count; i++) {
        u32 first = sections[i].first;
        for (; block < first && block < scanner->blocks.count; block++) {
            start += is_main[block] ? scanner->blocks.items[block].end - scanner->blocks.items[block].start + 1 : 0;
        }
        bool is_last = i + 1 == scanner->sections.list.count || sections[i + 1].first != first;
        if (is_last && !add_section_row(state, scanner, is_main, &sections[i], start, list)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *events_column(const State *state, const Scanner *scanner, const u8 *is_main) {
    PyObject *list = PyList_New(scanner->events.count);
    for (u32 i = 0; list && i < scanner->events.count; i++) {
        if (!set_item(list, i, event_row(state, scanner, &scanner->events.items[i], is_main))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

#endif

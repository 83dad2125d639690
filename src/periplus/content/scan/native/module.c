/* `periplus.content.scan._native`: the compiled page scanner. All arguments are positional.

   scan(html: bytes, url: str, wants_blocks: bool, wants_events: bool, wants_sections: bool) -> Columns
       The named tuples of columns.py themselves, so that nothing is left to wrap. `Columns.sketch` and
       `Columns.targets` are None where Python has to compute them.
   resolve(url: str, hrefs: list[str]) -> list[str | None]
       Where each href leads from the page with this canonical URL; None where that is left to the URL parser.
   write_markdown(html: bytes, url: str, base: str, hooks: tuple) -> tuple[str, list[WrittenBlock as a tuple]] | None
       The main text in Markdown and in blocks; None where that is left to Python (markdown.h has the hooks).
   list_tags(html: bytes) -> tuple[list[ListedTag as a tuple], bytes, bytes, bool]
       See tag_list.py.
   masked(text: bytes) -> bytes
   count_controls(bytes: bytes) -> int
       How many of the bytes are control characters that no text has.
   text_counts(text: bytes, main: bytes) -> tuple[int, int, int, int, int]
       Spaces of the text; of the main text words, different words, how often the most used one occurs, and words that
       are the commonest of a language. Only the beginnings count.
   profile(text: bytes, masked: bytes, links: bytes) -> bytes
       Counts of words and a sum of links (profile.h), of the text, the masked main text, and the links, one a line.
   has_json_ld(body: bytes) -> bool
       Whether a page may have structured data.
   new_vocabulary(), index_words(...), take_counts(...), count_known(...)
       Words as terms and numbers, for a full-text index (vocabulary.h).

   A page is copied with PADDING bytes behind it and read by `scan_page` without the GIL; then the Python objects are
   made. Each call has its own state, and there are no caches but vocabularies, which have one
   writer each, so that threads cannot disturb each other, with the GIL or
   without it. Only the stable ABI of Python 3.11 is used, except on free-threaded builds, which have none. */
#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "reading.h"
#include "packing.h"
#include "markdown.h"
#include "profile.h"
#include "tag_list.h"
#include "vocabulary.h"

#ifndef SOURCES_DIGEST
#define SOURCES_DIGEST "" /* hatch_build.py has one, by which a test can tell whether a build is up to date */
#endif
#define COLUMN_COUNT 22

#define MARK_FACTOR 0x9E3779B1u /* `content.digests` marks the sketches that it has to compute with the same */

/* The sketch with the mark of the rule by which the main text was found. */
static PyObject *sketch_column(const State *state, const Page *page) {
    if (page->sketched == LEFT_TO_PYTHON) {
        return held(Py_None);
    }
    u8 marked[SKETCH_SIZE];
    u64 mark = MARK_FACTOR * (state->text_rule - 1);
    for (u32 i = 0; i < SKETCH_SIZE; i += 8) { /* two values of 32 bits at once */
        write_eight_bytes(marked + i, eight_bytes(page->sketch + i) ^ (mark << 32 | mark));
    }
    return PyBytes_FromStringAndSize((const char *)marked, page->sketched == SKETCHED ? SKETCH_SIZE : 0);
}

static PyObject *targets_column(const Digested *digested) {
    if (!digested->has_targets) {
        return held(Py_None);
    }
    return PyBytes_FromStringAndSize((const char *)digested->targets, (Py_ssize_t)digested->targets_size);
}

static PyObject *counts_tuple(u32 spaces, const WordCounts *counts) {
    PyObject *values[] = {
        PyLong_FromUnsignedLong(spaces),
        PyLong_FromUnsignedLong(counts->words),
        PyLong_FromUnsignedLong(counts->distinct),
        PyLong_FromUnsignedLong(counts->top),
        PyLong_FromUnsignedLong(counts->common),
    };
    return tuple_of(values, 5);
}

static PyObject *columns_of(const State *state, const Page *page) {
    const Scanner *scanner = &page->scanner;
    LinkColumns links;
    if (!make_link_columns(state, scanner, &page->targets, &links)) {
        return NULL;
    }
    PyObject *values[COLUMN_COUNT] = {
        PyBytes_FromStringAndSize((const char *)scanner->text.bytes, scanner->text.size),
        PyBytes_FromStringAndSize((const char *)page->main, page->main_size),
        PyBool_FromLong(scanner->text.is_cut),
        first_characters(decoded_string(state, scanner->title, false), MAX_TITLE),
        links.urls,
        links.anchors,
        links.rels,
        links.kinds,
        links.marks,
        links.unresolved,
        media_column(state, scanner),
        head_column(state, scanner),
        forms_column(state, scanner),
        sketch_column(state, page),
        blocks_column(&page->parts),
        events_column(state, scanner, page->is_main),
        own_links_column(scanner),
        PyBytes_FromStringAndSize((const char *)page->digested.masked, page->digested.masked_size),
        targets_column(&page->digested),
        counts_tuple(page->spaces, &page->counts),
        PyLong_FromUnsignedLong(links.anchor_words),
        sections_column(state, scanner, page->is_main),
    };
    return row_of(state, state->columns_type, values, COLUMN_COUNT);
}

static PyObject *scan(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 5) {
        PyErr_Format(PyExc_TypeError, "scan takes 5 arguments, got %zd", count);
        return NULL;
    }
    char *html;
    Py_ssize_t size;
    Py_ssize_t url_size;
    const char *url = PyUnicode_AsUTF8AndSize(arguments[1], &url_size);
    if (!url || PyBytes_AsStringAndSize(arguments[0], &html, &size) != 0) {
        return NULL;
    }
    int wants_blocks = PyObject_IsTrue(arguments[2]);
    int wants_events = PyObject_IsTrue(arguments[3]);
    int wants_sections = PyObject_IsTrue(arguments[4]);
    bool is_known = wants_blocks >= 0 && wants_events >= 0 && wants_sections >= 0;
    Page *page = is_known ? new_page(wants_blocks, wants_events, wants_sections) : NULL;
    if (!page) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Span span = {(const u8 *)url, url_size > MAX_BASE ? MAX_BASE + 1 : (u32)url_size};
    bool is_read;
    Py_BEGIN_ALLOW_THREADS
    is_read = read_page(page, (const u8 *)html, size > MAX_PAGE ? MAX_PAGE : (size_t)size, span);
    Py_END_ALLOW_THREADS
    PyObject *columns = is_read ? columns_of(PyModule_GetState(module), page) : PyErr_NoMemory();
    free_page(page);
    return columns;
}

/* Where one href leads; None where it is not plain. */
static PyObject *resolved(const Base *base, PyObject *href) {
    u8 url[MAX_URL];
    Py_ssize_t size;
    const char *link = PyUnicode_AsUTF8AndSize(href, &size);
    if (!link) { /* a lone surrogate, or not a string */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) {
            return NULL;
        }
        PyErr_Clear();
        return held(Py_None);
    }
    u32 length = size > MAX_PAGE ? 0 : write_plain(base, (Span){(const u8 *)link, (u32)size}, url);
    return length ? PyUnicode_DecodeASCII((const char *)url, length, NULL) : held(Py_None);
}

static PyObject *resolve(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyList_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "resolve takes a URL and a list");
        return NULL;
    }
    Py_ssize_t url_size;
    const char *url = PyUnicode_AsUTF8AndSize(arguments[0], &url_size);
    Py_ssize_t size = PyList_Size(arguments[1]);
    PyObject *list = url ? PyList_New(size) : NULL;
    Base base;
    bool is_base = url && url_size <= MAX_BASE && read_base(&base, (Span){(const u8 *)url, (u32)url_size});
    for (Py_ssize_t i = 0; list && i < size; i++) {
        PyObject *href = PyList_GetItem(arguments[1], i);
        PyObject *target = !href ? NULL : is_base ? resolved(&base, href) : held(Py_None);
        if (!target || PyList_SetItem(list, i, target) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- Markdown ---- */

static bool is_utf8(const char *bytes, Py_ssize_t size) {
    PyObject *string = PyUnicode_DecodeUTF8(bytes, size, NULL);
    bool is_valid = string != NULL;
    Py_XDECREF(string);
    PyErr_Clear();
    return is_valid;
}

static PyObject *write_markdown(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4 || !PyTuple_Check(arguments[3]) || PyTuple_Size(arguments[3]) != HOOK_COUNT) {
        PyErr_SetString(PyExc_TypeError, "write_markdown takes a page, its URL, its base and functions");
        return NULL;
    }
    char *html;
    Py_ssize_t size, url_size, base_size;
    const char *url = PyUnicode_AsUTF8AndSize(arguments[1], &url_size);
    const char *base = url ? PyUnicode_AsUTF8AndSize(arguments[2], &base_size) : NULL;
    if (!base || PyBytes_AsStringAndSize(arguments[0], &html, &size) != 0) {
        return NULL;
    }
    if (size > MAX_PAGE || url_size > MAX_PAGE || base_size > MAX_PAGE || !is_utf8(html, size)) {
        return held(Py_None);
    }
    Page *page = new_page(false, true, false);
    if (!page) {
        return PyErr_NoMemory();
    }
    bool is_read;
    Py_BEGIN_ALLOW_THREADS
    is_read = pass_over(page, (const u8 *)html, (size_t)size) && choose_main_blocks(page);
    Py_END_ALLOW_THREADS
    Span own = {(const u8 *)url, (u32)url_size};
    Span around = {(const u8 *)base, (u32)base_size};
    PyObject *result = is_read ? written_page(PyModule_GetState(module), &page->scanner, page->is_main, own, around, arguments[3]) : PyErr_NoMemory();
    free_page(page);
    return result;
}

/* ---- tags ---- */

static bool span_of(PyObject *bytes, Span *span) {
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &at, &size) < 0) {
        return false;
    }
    *span = (Span){(const u8 *)at, size > UINT32_MAX ? UINT32_MAX : (u32)size};
    return true;
}

static PyObject *listed_tag(const State *state, const Scanner *scanner, const ListedTag *tag) {
    PyObject *values[] = {
        held(state->tags[tag->tag == TAG_image ? TAG_img : tag->tag]),
        PyLong_FromUnsignedLong(tag->line),
        attributes_of(state, scanner, tag->attributes),
        PyLong_FromSsize_t(tag->content - scanner->start),
        PyLong_FromSsize_t(tag->content_end - scanner->start),
        PyBool_FromLong(tag->is_named),
        PyBool_FromLong(tag->is_in_noscript),
    };
    return tuple_of(values, 7);
}

static PyObject *listed_tags(const State *state, const Scanner *scanner, const TagList *list) {
    PyObject *tags = PyList_New(list->tags.count);
    for (u32 i = 0; tags && i < list->tags.count; i++) {
        if (!set_item(tags, i, listed_tag(state, scanner, &list->tags.items[i]))) {
            Py_CLEAR(tags);
        }
    }
    return tags;
}

/* Identifiers with a newline behind each, as written: references are rare in them, and Python decodes those. */
static PyObject *listed_ids(const TagList *list) {
    size_t size = 0;
    for (u32 i = 0; i < list->ids.count; i++) {
        size += list->ids.items[i].size + 1;
    }
    char *joined = malloc(size + 1);
    char *at = joined;
    for (u32 i = 0; joined && i < list->ids.count; i++) {
        memcpy(at, list->ids.items[i].at, list->ids.items[i].size);
        at += list->ids.items[i].size;
        *at++ = '\n';
    }
    PyObject *bytes = joined ? PyBytes_FromStringAndSize(joined, (Py_ssize_t)size) : PyErr_NoMemory();
    free(joined);
    return bytes;
}

static PyObject *list_tags(PyObject *module, PyObject *html) {
    Span span;
    if (!span_of(html, &span)) {
        return NULL;
    }
    span.size = span.size > MAX_PAGE ? MAX_PAGE : span.size;
    Page *page = new_page(false, false, false);
    TagList *list = calloc(1, sizeof *list);
    u8 *copy = malloc((size_t)span.size + PADDING);
    PyObject *result = NULL;
    if (page && list && copy) {
        memcpy(copy, span.at, span.size);
        memset(copy + span.size, 0, PADDING);
        copy[span.size] = '>';
        Scanner *scanner = &page->scanner;
        scanner->start = copy;
        scanner->end = copy + span.size;
        list_page(scanner, list);
        PyObject *values[] = {
            scanner->has_failed ? NULL : listed_tags(PyModule_GetState(module), scanner, list),
            listed_ids(list),
            PyBytes_FromStringAndSize((const char *)list->sample, list->sample_size),
            PyBool_FromLong(list->has_items),
        };
        result = tuple_of(values, 4);
    }
    if (list) {
        free(list->tags.items);
        free(list->ids.items);
    }
    free(list);
    free(copy);
    free_page(page);
    return result || PyErr_Occurred() ? result : PyErr_NoMemory();
}

/* ---- the module ---- */

static bool make_strings(PyObject **strings, const char *const *names, u32 count) {
    for (u32 i = 0; i < count; i++) {
        strings[i] = PyUnicode_InternFromString(names[i]);
        if (!strings[i]) {
            return false;
        }
    }
    return true;
}

/* A named tuple of columns.py. One that has other fields than rows are made with here is an error: then this module was
   built from other sources. */
static PyObject *find_type(PyObject *columns, const char *name, Py_ssize_t field_count) {
    PyObject *type = PyObject_GetAttrString(columns, name);
    PyObject *fields = type ? PyObject_GetAttrString(type, "_fields") : NULL;
    Py_ssize_t count = fields ? PyTuple_Size(fields) : -1;
    Py_XDECREF(fields);
    if (count != field_count) {
        Py_CLEAR(type);
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ImportError, "%s has %zd fields, not %zd: build the module again", name, count, field_count);
        }
    }
    return type;
}

static bool read_text_rule(State *state, PyObject *columns) {
    PyObject *rule = PyObject_GetAttrString(columns, "TEXT_RULE");
    state->text_rule = rule ? (u32)PyLong_AsUnsignedLong(rule) : 0;
    Py_XDECREF(rule);
    return !PyErr_Occurred();
}

static bool find_types(State *state) {
    PyObject *columns = PyImport_ImportModule("periplus.content.scan.columns");
    if (!columns) {
        return false;
    }
    state->columns_type = find_type(columns, "Columns", COLUMN_COUNT);
    state->head_type = state->columns_type ? find_type(columns, "Head", HEAD_LISTS) : NULL;
    state->head_element_type = state->head_type ? find_type(columns, "HeadElement", HEAD_FIELDS) : NULL;
    state->medium_type = state->head_element_type ? find_type(columns, "Medium", MEDIUM_FIELDS) : NULL;
    state->event_type = state->medium_type ? find_type(columns, "Event", EVENT_FIELDS) : NULL;
    state->section_type = state->event_type ? find_type(columns, "ScannedSection", SECTION_FIELDS) : NULL;
    PyObject *form_type = state->section_type ? find_type(columns, "FormElement", FORM_FIELDS) : NULL;
    PyObject *kinds = form_type && read_text_rule(state, columns) ? PyObject_GetAttrString(columns, "EventKind") : NULL;
    Py_XDECREF(form_type);
    Py_DECREF(columns);
    bool is_complete = kinds != NULL;
    for (int kind = 0; is_complete && kind < 3; kind++) {
        state->event_kinds[kind] = PyObject_CallFunction(kinds, "i", kind);
        is_complete = state->event_kinds[kind] != NULL;
    }
    Py_XDECREF(kinds);
    return is_complete;
}

static int execute(PyObject *module) {
    State *state = PyModule_GetState(module);
    init_tables();
    state->new_tuple = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    state->empty = PyUnicode_FromStringAndSize("", 0);
    bool is_ready = PyModule_AddStringConstant(module, "SOURCES", SOURCES_DIGEST) == 0 && state->empty && make_strings(state->tags, TAG_NAMES, TAG_COUNT) &&
                    make_strings(state->attributes, ATTRIBUTE_NAMES, ATTR_COUNT) && find_types(state);
    return is_ready ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    Py_VISIT(state->columns_type);
    Py_VISIT(state->head_type);
    Py_VISIT(state->head_element_type);
    Py_VISIT(state->medium_type);
    Py_VISIT(state->event_type);
    Py_VISIT(state->section_type);
    for (int kind = 0; kind < 3; kind++) {
        Py_VISIT(state->event_kinds[kind]);
    }
    return 0;
}

static int clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->columns_type);
    Py_CLEAR(state->head_type);
    Py_CLEAR(state->head_element_type);
    Py_CLEAR(state->medium_type);
    Py_CLEAR(state->event_type);
    Py_CLEAR(state->section_type);
    Py_CLEAR(state->empty);
    for (int kind = 0; kind < 3; kind++) {
        Py_CLEAR(state->event_kinds[kind]);
    }
    for (u32 i = 0; i < TAG_COUNT; i++) {
        Py_CLEAR(state->tags[i]);
    }
    for (u32 i = 0; i < ATTR_COUNT; i++) {
        Py_CLEAR(state->attributes[i]);
    }
    return 0;
}

static void free_module(void *module) {
    clear(module);
}

/* masked(text: bytes) -> bytes: the text with volatile words masked. */
static PyObject *masked(PyObject *module, PyObject *text) {
    (void)module;
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(text, &bytes, &size) < 0) {
        return NULL;
    }
    u8 *buffer = size < UINT32_MAX ? malloc((size_t)size + 1) : NULL;
    if (!buffer) {
        return PyErr_NoMemory();
    }
    u32 length = mask_volatile((Span){(const u8 *)bytes, (u32)size}, buffer);
    PyObject *result = PyBytes_FromStringAndSize((const char *)buffer, length);
    free(buffer);
    return result;
}

static PyObject *text_counts(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Span text;
    Span main_text;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "text_counts takes 2 arguments, got %zd", count);
        return NULL;
    }
    if (!span_of(arguments[0], &text) || !span_of(arguments[1], &main_text)) {
        return NULL;
    }
    WordCounts counts = count_words(main_text);
    return counts_tuple(count_spaces(text), &counts);
}

static PyObject *profile(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Span spans[3];
    if (count != 3) {
        PyErr_Format(PyExc_TypeError, "profile takes 3 arguments, got %zd", count);
        return NULL;
    }
    u32 longest = 0;
    for (u32 i = 0; i < 3; i++) {
        if (!span_of(arguments[i], &spans[i])) {
            return NULL;
        }
        longest = spans[i].size > longest ? spans[i].size : longest;
    }
    u8 *buffer = malloc((size_t)longest + PROFILE_LEAD + PROFILE_PADDING);
    if (!buffer) {
        return PyErr_NoMemory();
    }
    u8 out[PROFILE_SIZE];
    write_profile(spans[0], spans[1], spans[2], buffer, out);
    free(buffer);
    return PyBytes_FromStringAndSize((const char *)out, PROFILE_SIZE);
}

static PyObject *may_have_json_ld(PyObject *module, PyObject *bytes) {
    (void)module;
    Span body;
    if (!span_of(bytes, &body)) {
        return NULL;
    }
    return PyBool_FromLong(has_json_ld(body));
}

/* Whether a byte is a control character other than white space and escape. */
static inline bool is_stray(u8 byte) {
    return byte < ' ' && byte != '\t' && byte != '\n' && byte != '\f' && byte != '\r' && byte != 0x1B;
}

static PyObject *count_controls(PyObject *module, PyObject *bytes) {
    (void)module;
    Span span;
    if (!span_of(bytes, &span)) {
        return NULL;
    }
    u32 count = 0;
    for (u32 at = 0; at < span.size; at++) {
        count += is_stray(span.at[at]);
    }
    return PyLong_FromUnsignedLong(count);
}

static PyMethodDef METHODS[] = {
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, "Read a page in one pass."},
    {"resolve", (PyCFunction)(void (*)(void))resolve, METH_FASTCALL, "Resolve the links that need no URL parser."},
    {"write_markdown", (PyCFunction)(void (*)(void))write_markdown, METH_FASTCALL, "Write the main text of a page."},
    {"list_tags", list_tags, METH_O, "List the tags that say something of a page."},
    {"masked", masked, METH_O, "Mask the volatile words of a text."},
    {"count_controls", count_controls, METH_O, "Count the control characters that no text has."},
    {"text_counts", (PyCFunction)(void (*)(void))text_counts, METH_FASTCALL, "Count the words of a page."},
    {"has_json_ld", may_have_json_ld, METH_O, "Whether a page may have structured data."},
    {"profile", (PyCFunction)(void (*)(void))profile, METH_FASTCALL, "Count the words and sum up the links of a page."},
    {"new_vocabulary", new_vocabulary, METH_NOARGS, "Make a vocabulary."},
    {"index_words", (PyCFunction)(void (*)(void))index_words, METH_FASTCALL, "Read the words of a text as terms."},
    {"take_counts", take_counts, METH_O, "Take the number of texts with each word."},
    {"count_known", count_known, METH_O, "Count the words of a vocabulary."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef DEFINITION = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The compiled page scanner.",
    .m_size = sizeof(State),
    .m_methods = METHODS,
    .m_slots = SLOTS,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&DEFINITION);
}

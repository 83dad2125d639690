/* The words of texts as terms and numbers, for a full-text index: `apps/search/page_words.py` has the same in Python.

   A vocabulary knows the term and the number of each word that was seen, and counts the texts that have it since the
   counts were taken. What a word's term is, Python says, once. */
#ifndef PERIPLUS_VOCABULARY_H
#define PERIPLUS_VOCABULARY_H

#include "survey.h"

#define VOCABULARY "periplus.vocabulary"
#define FIRST_SLOTS (1u << 12)

typedef struct {
    u32 hash;
    u32 word; /* in `Vocabulary.pool`, its term behind it */
    u32 word_size;
    u32 term_size;
    u32 number;
    u32 texts; /* that have the word */
    u32 last;  /* the last of them */
} KnownWord;

typedef struct {
    Bytes pool;
    LIST(KnownWord) words;
    u32 *slots; /* numbers of words from 1; 0: free */
    u32 slot_count;
    u32 text; /* number of the text that is read */
    bool has_failed;
} Vocabulary;

static void release_vocabulary(PyObject *capsule) {
    Vocabulary *vocabulary = PyCapsule_GetPointer(capsule, VOCABULARY);
    if (vocabulary) {
        free(vocabulary->pool.items);
        free(vocabulary->words.items);
        free(vocabulary->slots);
        free(vocabulary);
    }
}

static PyObject *new_vocabulary(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    Vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
    u32 *slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (!vocabulary || !slots) {
        free(vocabulary);
        free(slots);
        return PyErr_NoMemory();
    }
    vocabulary->slots = slots;
    vocabulary->slot_count = FIRST_SLOTS;
    PyObject *capsule = PyCapsule_New(vocabulary, VOCABULARY, release_vocabulary);
    if (!capsule) {
        free(slots);
        free(vocabulary);
    }
    return capsule;
}

static u32 *free_slot(const Vocabulary *vocabulary, u32 hash) {
    u32 place = hash & (vocabulary->slot_count - 1);
    while (vocabulary->slots[place]) {
        place = (place + 1) & (vocabulary->slot_count - 1);
    }
    return &vocabulary->slots[place];
}

/* Twice as many slots, if half of them are taken. */
static bool grow_slots(Vocabulary *vocabulary) {
    if (2 * (vocabulary->words.count + 1) <= vocabulary->slot_count) {
        return true;
    }
    u32 *before = vocabulary->slots;
    u32 *slots = calloc((size_t)vocabulary->slot_count * 2, sizeof *slots);
    if (!slots) {
        return false;
    }
    vocabulary->slots = slots;
    vocabulary->slot_count *= 2;
    for (u32 i = 0; i < vocabulary->words.count; i++) {
        *free_slot(vocabulary, vocabulary->words.items[i].hash) = i + 1;
    }
    free(before);
    return true;
}

/* Ask Python for the term and the number of a word. */
static KnownWord *add_known_word(Vocabulary *vocabulary, Span word, u32 hash, PyObject *look_up) {
    PyObject *written = PyUnicode_DecodeUTF8((const char *)word.at, word.size, "replace");
    PyObject *answer = written ? PyObject_CallFunctionObjArgs(look_up, written, NULL) : NULL;
    Py_XDECREF(written);
    bool is_pair = answer && PyTuple_Check(answer) && PyTuple_Size(answer) == 2;
    Py_ssize_t size = 0;
    const char *term = is_pair ? PyUnicode_AsUTF8AndSize(PyTuple_GetItem(answer, 0), &size) : NULL;
    unsigned long number = term ? PyLong_AsUnsignedLong(PyTuple_GetItem(answer, 1)) : 0;
    KnownWord *added = NULL;
    if (term && !PyErr_Occurred()) {
        bool *has_failed = &vocabulary->has_failed;
        KnownWord known = {hash, vocabulary->pool.count, word.size, (u32)size, (u32)number, 0, 0};
        append(&vocabulary->pool, word, has_failed);
        append(&vocabulary->pool, (Span){(const u8 *)term, (u32)size}, has_failed);
        if (!*has_failed && grow_slots(vocabulary) && HAS_ROOM(&vocabulary->words, has_failed)) {
            *free_slot(vocabulary, hash) = vocabulary->words.count + 1;
            added = &vocabulary->words.items[vocabulary->words.count++];
            *added = known;
        } else {
            PyErr_NoMemory();
        }
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "a word has a term and a number");
    }
    Py_XDECREF(answer);
    return added;
}

static KnownWord *known_word(Vocabulary *vocabulary, Span word, u32 hash, PyObject *look_up) {
    for (u32 place = hash;; place++) {
        u32 number = vocabulary->slots[place & (vocabulary->slot_count - 1)];
        if (!number) {
            return add_known_word(vocabulary, word, hash, look_up);
        }
        KnownWord *known = &vocabulary->words.items[number - 1];
        if (known->hash == hash && known->word_size == word.size &&
            memcmp(vocabulary->pool.items + known->word, word.at, word.size) == 0) {
            return known;
        }
    }
}

typedef struct {
    Bytes terms;
    LIST(u32) numbers;
    bool has_failed;
} ReadWords;

static inline bool is_word_byte(u8 byte) {
    return IS_LETTER[byte] || IS_DIGIT[byte] || byte >= 0x80;
}

/* The words between two places; `lower` has room for them. */
static bool read_stretch(Vocabulary *vocabulary, const u8 *at, const u8 *end, u8 *lower, PyObject *look_up, bool is_counted, ReadWords *read) {
    while (at < end) {
        while (at < end && !is_word_byte(*at)) {
            at++;
        }
        u32 size = 0;
        u32 hash = 2166136261u;
        for (; at < end && is_word_byte(*at); at++) {
            lower[size] = LOWER[*at];
            hash = (hash ^ lower[size++]) * 16777619u;
        }
        if (!size) {
            break;
        }
        KnownWord *known = known_word(vocabulary, (Span){lower, size}, hash ^ hash >> 15, look_up);
        if (!known) {
            return false;
        }
        if (is_counted && known->last != vocabulary->text) {
            known->last = vocabulary->text;
            known->texts++;
        }
        if (read->numbers.count) {
            append(&read->terms, (Span){(const u8 *)" ", 1}, &read->has_failed);
        }
        append(&read->terms, (Span){vocabulary->pool.items + known->word + known->word_size, known->term_size}, &read->has_failed);
        if (!HAS_ROOM(&read->numbers, &read->has_failed) || read->has_failed) {
            PyErr_NoMemory();
            return false;
        }
        read->numbers.items[read->numbers.count++] = known->number;
    }
    return true;
}

/* index_words(vocabulary, text: bytes, starts: list[int], look_up, is_counted: bool) -> tuple[str, bytes, list[int]] */
static PyObject *index_words(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    char *text;
    Py_ssize_t size;
    if (count != 5 || !PyList_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "index_words takes a vocabulary, a text, starts, a function and a bool");
        return NULL;
    }
    Vocabulary *vocabulary = PyCapsule_GetPointer(arguments[0], VOCABULARY);
    if (!vocabulary || PyBytes_AsStringAndSize(arguments[1], &text, &size) != 0) {
        return NULL;
    }
    int is_counted = PyObject_IsTrue(arguments[4]);
    Py_ssize_t sections = PyList_Size(arguments[2]);
    PyObject *before = PyList_New(sections);
    u8 *lower = malloc((size_t)size + 1);
    ReadWords read = {.has_failed = false};
    bool is_done = before && lower && is_counted >= 0;
    vocabulary->text += 1;
    const u8 *at = (const u8 *)text;
    const u8 *last = at + size;
    Py_ssize_t place = 0; /* of `at`, in characters */
    for (Py_ssize_t i = 0; is_done && i <= sections; i++) {
        Py_ssize_t end = i < sections ? PyLong_AsSsize_t(PyList_GetItem(arguments[2], i)) : PY_SSIZE_T_MAX;
        const u8 *stop = i < sections ? at : last;
        for (; place < end && stop < last; place++) {
            for (stop++; stop < last && (*stop & 0xC0) == 0x80;) {
                stop++;
            }
        }
        is_done = read_stretch(vocabulary, at, stop, lower, arguments[3], is_counted, &read);
        at = stop;
        if (is_done && i < sections) {
            is_done = set_item(before, (u32)i, PyLong_FromUnsignedLong(read.numbers.count));
        }
    }
    PyObject *result = NULL;
    if (is_done && !PyErr_Occurred()) {
        PyObject *values[] = {
            string_of(PyModule_GetState(module), (Span){read.terms.items, read.terms.count}),
            PyBytes_FromStringAndSize((const char *)read.numbers.items, (Py_ssize_t)read.numbers.count * 4),
            held(before),
        };
        result = tuple_of(values, 3);
    }
    Py_XDECREF(before);
    free(lower);
    free(read.terms.items);
    free(read.numbers.items);
    return result || PyErr_Occurred() ? result : PyErr_NoMemory();
}

/* take_counts(vocabulary) -> dict[str, int]: the texts with each word since the last call. */
static PyObject *take_counts(PyObject *module, PyObject *capsule) {
    (void)module;
    Vocabulary *vocabulary = PyCapsule_GetPointer(capsule, VOCABULARY);
    PyObject *counts = vocabulary ? PyDict_New() : NULL;
    for (u32 i = 0; counts && i < vocabulary->words.count; i++) {
        KnownWord *known = &vocabulary->words.items[i];
        if (known->texts) {
            PyObject *word = PyUnicode_DecodeUTF8((const char *)vocabulary->pool.items + known->word, known->word_size, "replace");
            PyObject *texts = PyLong_FromUnsignedLong(known->texts);
            if (!word || !texts || PyDict_SetItem(counts, word, texts) != 0) {
                Py_CLEAR(counts);
            }
            Py_XDECREF(word);
            Py_XDECREF(texts);
            known->texts = 0;
        }
    }
    return counts;
}

/* count_known(vocabulary) -> int: words that are known. */
static PyObject *count_known(PyObject *module, PyObject *capsule) {
    (void)module;
    Vocabulary *vocabulary = PyCapsule_GetPointer(capsule, VOCABULARY);
    return vocabulary ? PyLong_FromUnsignedLong(vocabulary->words.count) : NULL;
}

#endif

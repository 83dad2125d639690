/* Looks up fingerprints in a sorted run (`runs.py`), whose memory is a mapped file.

   Fingerprints are hashes, so where one lies is known roughly from its value. Three guesses, each nearer than the one
   before, cost three cache misses, where a binary search in a large file costs a dozen. All keys of a batch make their
   first guess before any makes its second, and are found before a place is read, so that the misses overlap. Crafted
   fingerprints only make guesses bad: the search ends with steps that double. */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SITE_BYTES 4
#define KEY_BYTES 12
#define PLACE_BYTES 8

typedef struct {
    const uint64_t *fingerprints, *places;
    size_t count;
} Run;

typedef struct {
    uint64_t fingerprint, place; /* the place: the least that the site could have */
    size_t guess;
} Sought;

static uint64_t big_endian(const unsigned char *bytes, int count) {
    uint64_t value = 0;
    for (int at = 0; at < count; at++) {
        value = value << 8 | bytes[at];
    }
    return value;
}

/* A number as a share of all that 64 bits hold, of `count`. */
static size_t share_of(uint64_t value, size_t count) {
    uint64_t high = value >> 32, low = value & 0xFFFFFFFF, size = (uint64_t)count;
    return (size_t)((high * (size >> 32)) + ((high * (size & 0xFFFFFFFF)) >> 32) + ((low * (size >> 32)) >> 32));
}

static bool is_before(const Run *run, size_t at, const Sought *sought) {
    uint64_t fingerprint = run->fingerprints[at];
    return fingerprint < sought->fingerprint ||
           (fingerprint == sought->fingerprint && run->places[at] < sought->place);
}

/* Another guess, from what lies where the last one was. */
static void guess_again(const Run *run, Sought *sought) {
    uint64_t there = run->fingerprints[sought->guess];
    if (there < sought->fingerprint) {
        size_t step = share_of(sought->fingerprint - there, run->count);
        size_t room = run->count - 1 - sought->guess;
        sought->guess += step < room ? step : room;
    } else {
        size_t step = share_of(there - sought->fingerprint, run->count);
        sought->guess -= step < sought->guess ? step : sought->guess;
    }
}

/* The first entry that is not before what is sought. */
static size_t lower_bound(const Run *run, const Sought *sought) {
    size_t low = 0, high = run->count, step = 4;
    if (is_before(run, sought->guess, sought)) {
        low = sought->guess + 1;
        while (low + step < run->count && is_before(run, low + step, sought)) {
            low += step + 1;
            step *= 2;
        }
        high = low + step < run->count ? low + step : run->count;
    } else {
        high = sought->guess;
        while (high > step && !is_before(run, high - step, sought)) {
            high -= step;
            step *= 2;
        }
        low = high > step ? high - step + 1 : 0;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(run, middle, sought)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int add_found(PyObject *found, PyObject *key, uint64_t place) {
    unsigned char bytes[PLACE_BYTES];
    for (int at = 0; at < PLACE_BYTES; at++) {
        bytes[at] = (unsigned char)(place >> (8 * (PLACE_BYTES - 1 - at)));
    }
    PyObject *value = PyBytes_FromStringAndSize((const char *)bytes, PLACE_BYTES);
    if (value == NULL) {
        return -1;
    }
    int failed = PyDict_SetItem(found, key, value);
    Py_DECREF(value);
    return failed;
}

static int find_all(const Run *run, PyObject *keys, PyObject *found) {
    Py_ssize_t count = PyList_Size(keys);
    Sought *sought = malloc(sizeof(Sought) * (size_t)(count + 1));
    if (sought == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int result = -1;
    for (Py_ssize_t at = 0; at < count; at++) {
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyList_GetItem(keys, at), &bytes, &size) < 0) {
            goto end;
        }
        if (size != KEY_BYTES) {
            PyErr_SetString(PyExc_ValueError, "a key has 12 bytes");
            goto end;
        }
        sought[at].place = big_endian((unsigned char *)bytes, SITE_BYTES) << 32;
        sought[at].fingerprint = big_endian((unsigned char *)bytes + SITE_BYTES, KEY_BYTES - SITE_BYTES);
        sought[at].guess = share_of(sought[at].fingerprint, run->count);
        __builtin_prefetch(run->fingerprints + sought[at].guess);
    }
    for (int turn = 0; turn < 2; turn++) {
        for (Py_ssize_t at = 0; at < count; at++) {
            guess_again(run, sought + at);
            __builtin_prefetch(run->fingerprints + sought[at].guess);
        }
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        sought[at].guess = lower_bound(run, sought + at);
        __builtin_prefetch(run->places + sought[at].guess);
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        size_t place = sought[at].guess;
        if (place < run->count && run->fingerprints[place] == sought[at].fingerprint &&
            run->places[place] >> 32 == sought[at].place >> 32 &&
            add_found(found, PyList_GetItem(keys, at), run->places[place]) < 0) {
            goto end;
        }
    }
    result = 0;
end:
    free(sought);
    return result;
}

/* find(fingerprints, places, keys, found): put the place of each key that is in the run into `found`. */
static PyObject *find(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 4 || !PyList_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "find takes two buffers, a list and a dict");
        return NULL;
    }
    Py_buffer fingerprints, places;
    if (PyObject_GetBuffer(args[0], &fingerprints, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(args[1], &places, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&fingerprints);
        return NULL;
    }
    Run run = {fingerprints.buf, places.buf, (size_t)fingerprints.len / sizeof(uint64_t)};
    int failed = 0;
    if (fingerprints.len != places.len) {
        PyErr_SetString(PyExc_ValueError, "a run has as many places as fingerprints");
        failed = -1;
    } else if (run.count > 0) {
        failed = find_all(&run, args[2], args[3]);
    }
    PyBuffer_Release(&places);
    PyBuffer_Release(&fingerprints);
    return failed ? NULL : Py_NewRef(Py_None);
}

#define TIME_BYTES 8 /* a row of `linked.py` is a time, and a bit for each of at most 4,096 URLs */

static double big_endian_double(const unsigned char *bytes) {
    uint64_t bits = big_endian(bytes, 8);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Whether a link found at this time changes nothing for the URL of a place: 1, 0, or -1 with an exception. */
static int changes_nothing(PyObject *place, PyObject *time, PyObject *rows, PyObject *missing) {
    char *bytes, *row;
    Py_ssize_t size;
    double at = PyFloat_AsDouble(time);
    if ((at == -1.0 && PyErr_Occurred()) || PyBytes_AsStringAndSize(place, &bytes, &size) < 0) {
        return -1;
    }
    if (size != PLACE_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a place has 8 bytes");
        return -1;
    }
    unsigned number = (unsigned)big_endian((unsigned char *)bytes + PLACE_BYTES - 2, 2) & 0xFFF;
    char start[PLACE_BYTES - 1];
    memcpy(start, bytes, sizeof(start));
    start[sizeof(start) - 1] &= (char)0xF0;
    PyObject *key = PyBytes_FromStringAndSize(start, sizeof(start));
    if (key == NULL) {
        return -1;
    }
    int result = -1;
    PyObject *found = PyDict_GetItemWithError(rows, key);
    if (found == NULL) {
        if (!PyErr_Occurred() && PyList_Append(missing, key) == 0) {
            result = 0;
        }
    } else if (PyBytes_AsStringAndSize(found, &row, &size) == 0) {
        if (size >= TIME_BYTES) {
            const unsigned char *bits = (const unsigned char *)row;
            size_t byte = TIME_BYTES + (number >> 3);
            result = byte < (size_t)size && (bits[byte] >> (number & 7) & 1) && at >= big_endian_double(bits);
        } else {
            PyErr_SetString(PyExc_ValueError, "a row has at least 8 bytes");
        }
    }
    Py_DECREF(key);
    return result;
}

/* unchanged(places, times, rows, missing): as `unchanged_in_python` in `linked.py`. */
static PyObject *unchanged(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 4 || !PyList_Check(args[0]) || !PyList_Check(args[1]) || !PyDict_Check(args[2]) ||
        !PyList_Check(args[3]) || PyList_Size(args[0]) != PyList_Size(args[1])) {
        PyErr_SetString(PyExc_TypeError, "unchanged takes two lists of one length, a dict and a list");
        return NULL;
    }
    Py_ssize_t size = PyList_Size(args[0]);
    PyObject *answers = PyList_New(size);
    for (Py_ssize_t at = 0; answers != NULL && at < size; at++) {
        PyObject *place = PyList_GetItem(args[0], at), *time = PyList_GetItem(args[1], at);
        int answer = place == Py_None || time == Py_None ? 0 : changes_nothing(place, time, args[2], args[3]);
        if (answer < 0 || PyList_SetItem(answers, at, PyBool_FromLong(answer)) < 0) {
            Py_CLEAR(answers);
        }
    }
    return answers;
}

static PyMethodDef METHODS[] = {
    {"unchanged", (PyCFunction)(void (*)(void))unchanged, METH_FASTCALL, "Which links change nothing."},
    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, "Look up keys in a run."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module) {
    return PyModule_AddStringConstant(module, "SOURCES", SOURCES_DIGEST);
}

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef DEFINITION = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_find",
    .m_doc = "Looks up fingerprints in sorted runs, and bits of URLs.",
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__find(void) {
    return PyModuleDef_Init(&DEFINITION);
}

/* The main text of a page in Markdown, and in blocks of it: `store/export/markdown.py`, `marks.py` and `layout.py` have
   the same in Python, and explain it. What is rare is left to functions in Python (`Hook`): so both have one rule. */
#ifndef PERIPLUS_MARKDOWN_H
#define PERIPLUS_MARKDOWN_H

#include "survey.h"

/* Functions of Python, in the order of the tuple that is given. */
enum Hook {
    HOOK_TITLE_LIKENESS, /* (title, heading) -> how much of the title it has; 0 if too little */
    HOOK_RESOLVE,       /* (href) -> URL or None */
    HOOK_IS_CLUTTER,    /* (tag, classes) -> bool */
    HOOK_IS_PERMALINK,  /* (classes) -> bool */
    HOOK_LANGUAGE,      /* (classes) -> language of code */
    HOOK_ESCAPE,        /* (words, is_in_link) -> words */
    HOOK_ESCAPE_START,  /* (line) -> line */
    HOOK_TERM,          /* (text) -> text */
    HOOK_IMAGE,         /* (alt, src or None, all texts) -> what is written; empty for nothing */
    HOOK_ARE_NUMBERS,   /* (text) -> bool */
    HOOK_KINDS,         /* not a function: the kinds of blocks */
    HOOK_COUNT,
};

enum BlockKind { BLOCK_TEXT, BLOCK_HEADING, BLOCK_TERM, BLOCK_CODE, BLOCK_TABLE };
enum RunKind { RUN_TEXT, RUN_WRITTEN, RUN_BREAK };
enum Style { EMPHASIS, STRONG, DELETED, QUOTED, RAISED, LOWERED, CODE, STYLE_COUNT };

static const char *const STYLE_MARKS[STYLE_COUNT][2] = {
    [EMPHASIS] = {"*", "*"},         [STRONG] = {"**", "**"},         [DELETED] = {"~~", "~~"},
    [QUOTED] = {"\xE2\x80\x9C", "\xE2\x80\x9D"}, [RAISED] = {"<sup>", "</sup>"}, [LOWERED] = {"<sub>", "</sub>"},
    [CODE] = {"", ""},
};

#define WRITTEN_TERM 7
#define MOST_SKIPPED 100 /* bytes of paragraphs between a heading and its main text */
#define MOST_STYLES 8 /* each style once, and one link */
#define MAX_NESTING 12
#define MAX_COLSPAN 50
#define MAX_ROWSPAN 1000
#define MAX_SPANNED_COLUMNS 100
#define MAX_TIMES_OPENED 50
#define LONGEST_WRITTEN_SIGN 2
#define LANGUAGE_LEVELS 5
#define LONGEST_MARKER 24
#define LONGEST_PLAIN 1000 /* bytes of a URL that is resolved here */

typedef struct {
    u32 items[MOST_STYLES]; /* a style, or STYLE_COUNT + the number of a link */
    u32 count;
} Styles;

typedef struct {
    Span text;
    Styles styles;
    u8 kind;
    bool is_blank;
} Run;

typedef struct {
    Span url;
    bool is_own;
    bool is_permalink;
    u32 times_opened;
    u32 seen_in;    /* the block whose texts it was last looked up for */
    u32 text_place; /* its place among these texts, from 1 */
} WrittenLink;

typedef struct {
    char marker[LONGEST_MARKER];
    bool is_quote;
    i32 items; /* the list that it is an item of, or NONE */
    bool is_started;
    bool is_loose;
} Container;

typedef struct {
    int64_t first; /* NONE: not ordered */
    int64_t next;
    i32 last;
    i32 written;
} ItemList;

typedef struct {
    u8 tag;
    Span classes;
    u32 containers;
    u32 lists;
    u32 styles;
    u32 block;
} Frame;

typedef struct {
    bool is_open;
    u8 tag;
    u32 level;
    u32 depth;
} SpecialRegion;

typedef struct {
    u32 first;
    u32 count;
    bool is_header;
} TableRow;

typedef struct {
    u32 style;
    u32 place;
    bool is_seen;
} OpenMark;

typedef struct {
    const State *state;
    const Scanner *scanner;
    PyObject *hooks;
    PyObject *blocks;
    PyObject *seen; /* all texts of the page, once they are asked for */
    Noted *noted;
    Span url;
    Span base;
    u32 base_folder; /* bytes of the base up to the last slash of its path; 0: it is not plain */
    u32 base_origin;
    Arena arena;
    bool has_failed;  /* no memory, or an exception is set */
    bool is_declined; /* something that is left to Python as a whole */
    Bytes out;
    u32 lines;
    LIST(Container) containers;
    u32 open_containers[MAX_NESTING];
    u32 open_count;
    LIST(ItemList) lists;
    LIST(u32) open_lists;
    LIST(Frame) frames;
    LIST(WrittenLink) links;
    Styles styles;
    u32 nested[STYLE_COUNT]; /* how often each style was opened again inside itself */
    LIST(Run) runs;
    LIST(Span) line; /* pieces of the text that is being written */
    OpenMark marks[MOST_STYLES];
    u32 mark_count;
    Span before;
    Span anchor;
    bool has_own_anchor;
    bool has_own_links;
    u32 looked_up; /* blocks whose own links were looked up */
    bool has_rule;
    bool is_in_cell;
    bool is_header;
    bool has_rows;
    u32 block;
    SpecialRegion skipped;
    SpecialRegion code;
    Bytes code_text;
    LIST(Span) code_classes; /* of elements around, the outermost first, then of those inside */
    LIST(Span) cells;        /* of all rows; those of the open row last */
    u32 row_cells;           /* where the open row begins */
    LIST(TableRow) rows;
    u32 spanned;
    LIST(u32) left_rows;     /* by column: rows below that a cell takes */
    LIST(u8) taken;
} Writer;

static inline Span span_text(const char *text) {
    return (Span){(const u8 *)text, (u32)strlen(text)};
}

static inline bool equals(Span text, const char *other) {
    return text.size == strlen(other) && memcmp(text.at, other, text.size) == 0;
}

#define WRITER_ROOM(writer, list) HAS_ROOM(&(writer)->list, &(writer)->has_failed)

/* ---- Python ---- */

static PyObject *call_hook(Writer *writer, enum Hook hook, PyObject **values, Py_ssize_t count) {
    PyObject *arguments = tuple_of(values, count);
    PyObject *function = PyTuple_GetItem(writer->hooks, hook);
    PyObject *result = arguments && function ? PyObject_CallObject(function, arguments) : NULL;
    Py_XDECREF(arguments);
    writer->has_failed |= !result;
    return result;
}

static long call_number(Writer *writer, enum Hook hook, PyObject **values, Py_ssize_t count) {
    PyObject *result = call_hook(writer, hook, values, count);
    long number = result ? PyLong_AsLong(result) : 0;
    writer->has_failed |= result && number == -1;
    Py_XDECREF(result);
    return number;
}

/* A string of Python in the arena; `at` is NULL for None. */
static Span call_text(Writer *writer, enum Hook hook, PyObject **values, Py_ssize_t count) {
    PyObject *result = call_hook(writer, hook, values, count);
    Span text = {NULL, 0};
    if (result && result != Py_None) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(result, &size);
        u8 *copy = bytes && size < UINT32_MAX ? reserve(&writer->arena, (size_t)size + 1) : NULL;
        if (copy) {
            memcpy(copy, bytes, (size_t)size);
            text = keep_reserved(&writer->arena, (u32)size);
        } else {
            writer->has_failed = true;
        }
    }
    Py_XDECREF(result);
    return text;
}

static PyObject *hook_string(Writer *writer, Span text) {
    return text.at ? string_of(writer->state, text) : held(Py_None);
}

/* `str.isalnum` of a character; false for none. */
static bool is_alphanumeric(Writer *writer, u32 character) {
    if (character < 0x80) {
        return IS_LETTER[character] || IS_DIGIT[character];
    }
    PyObject *string = PyUnicode_FromOrdinal((int)character);
    PyObject *answer = string ? PyObject_CallMethod(string, "isalnum", NULL) : NULL;
    bool is_one = answer == Py_True;
    writer->has_failed |= !answer;
    Py_XDECREF(string);
    Py_XDECREF(answer);
    return is_one;
}

/* ---- attributes ---- */

static Span written_value(const Writer *writer, const Event *event, enum AttributeName name) {
    for (u32 i = 0; i < event->attributes.count; i++) {
        const Attribute *attribute = &writer->scanner->kept.items[event->attributes.first + i];
        if (attribute->known == name) {
            return attribute->value;
        }
    }
    return (Span){NULL, 0};
}

static Span attribute_value(Writer *writer, const Event *event, enum AttributeName name) {
    Span value = written_value(writer, event, name);
    return value.at ? decoded(&writer->arena, value, true) : value;
}

/* A number of up to nine digits with white space around it; -1: something else. */
static int64_t digits_value(Writer *writer, Span value) {
    value = stripped(value);
    int64_t number = 0;
    for (u32 i = 0; i < value.size; i++) {
        writer->is_declined |= value.at[i] >= 0x80; /* digits of other scripts */
        if (!IS_DIGIT[value.at[i]] || i >= 9) {
            return -1;
        }
        number = 10 * number + value.at[i] - '0';
    }
    return value.size ? number : -1;
}

/* ---- inline text ---- */

static bool is_invisible(u32 character) {
    return character == 0xAD || character == 0x200B || character == 0x2060 || character == 0xFEFF;
}

/* `marks.folded`. */
static Span folded(Writer *writer, Span text) {
    u8 *out = reserve(&writer->arena, (size_t)text.size + 1);
    if (!out) {
        writer->has_failed = true;
        return (Span){text.at, 0};
    }
    u32 size = 0;
    bool has_gap = false;
    for (u32 i = 0, width; i < text.size; i += width) {
        u32 character = character_at(text.at + i, &width);
        if (character > ' ' && character < 0x7F) {
            if (has_gap && size) {
                out[size++] = ' ';
            }
            has_gap = false;
            out[size++] = (u8)character;
        } else if (character <= ' ' || (character >= 0x7F && character <= 0x9F) || is_wide_space(character)) {
            has_gap = true;
        } else if (!is_invisible(character)) {
            if (has_gap && size) {
                out[size++] = ' ';
            }
            has_gap = false;
            memcpy(out + size, text.at + i, width);
            size += width;
        }
    }
    return keep_reserved(&writer->arena, size);
}

static bool has_style(const Styles *styles, u32 style) {
    for (u32 i = 0; i < styles->count; i++) {
        if (styles->items[i] == style) {
            return true;
        }
    }
    return false;
}

static i32 styled_link(const Styles *styles) {
    for (u32 i = 0; i < styles->count; i++) {
        if (styles->items[i] >= STYLE_COUNT) {
            return (i32)(styles->items[i] - STYLE_COUNT);
        }
    }
    return NONE;
}

/* The link around a text, if its target is on the same page. */
static i32 own_link_of(const Writer *writer, const Styles *styles) {
    i32 link = styled_link(styles);
    return link != NONE && writer->links.items[link].is_own ? link : NONE;
}

static void remove_style(Styles *styles, u32 place) {
    styles->count--;
    for (u32 i = place; i < styles->count; i++) {
        styles->items[i] = styles->items[i + 1];
    }
}

/* What is open, less what would be too much. */
static Styles styles_here(const Writer *writer) {
    Styles here = writer->styles;
    bool is_linked = styled_link(&here) != NONE;
    for (u32 i = here.count; i-- > 0;) {
        u32 style = here.items[i];
        if ((writer->block && style == STRONG) || (is_linked && (style == RAISED || style == LOWERED))) {
            remove_style(&here, i);
        }
    }
    return here;
}

static bool are_same_styles(const Styles *one, const Styles *other) {
    return one->count == other->count && memcmp(one->items, other->items, one->count * sizeof one->items[0]) == 0;
}

static void add_run(Writer *writer, Span text, Styles styles, u8 kind, bool is_empty) {
    if (WRITER_ROOM(writer, runs)) {
        writer->runs.items[writer->runs.count++] = (Run){text, styles, kind, is_empty};
    }
}

/* Whether Markdown may read something in a text as markup: what it finds is looked at by `HOOK_ESCAPE`. */
static bool may_be_special(Span text, bool is_in_link) {
    bool may_have_reference = true;
    for (u32 i = 0; i < text.size; i++) {
        u8 next = i + 1 < text.size ? text.at[i + 1] : 0;
        switch (text.at[i]) {
            case '`':
            case '*':
            case '\\':
                return true;
            case '~':
                if (next == '~') {
                    return true;
                }
                break;
            case '<':
                if (IS_LETTER[next] || next == '/' || next == '!' || next == '?') {
                    return true;
                }
                break;
            case '&':
                if (may_have_reference && memchr(text.at + i, ';', text.size - i)) {
                    return true;
                }
                may_have_reference = false;
                break;
            case '[':
                if (is_in_link) {
                    return true;
                }
                break;
            case ']':
                if (is_in_link || next == '(' || next == ':') {
                    return true;
                }
                break;
            case '_': {
                u8 before = i ? text.at[i - 1] : 0;
                while (i + 1 < text.size && text.at[i + 1] == '_') {
                    i++;
                }
                next = i + 1 < text.size ? text.at[i + 1] : 0;
                if (!(IS_LETTER[before] || IS_DIGIT[before]) || !(IS_LETTER[next] || IS_DIGIT[next])) {
                    return true;
                }
                break;
            }
            default:
                break;
        }
    }
    return false;
}

/* The longest run of backticks. */
static u32 longest_ticks(Span text) {
    u32 longest = 0;
    for (u32 i = 0, run = 0; i < text.size; i++) {
        run = text.at[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static Span with_ticks(Writer *writer, Span text) {
    u32 ticks = 1 + longest_ticks(text);
    bool is_padded = text.at[0] == '`' || text.at[text.size - 1] == '`';
    u8 *out = reserve(&writer->arena, (size_t)text.size + 2 * ticks + 2);
    if (!out) {
        writer->has_failed = true;
        return text;
    }
    u32 size = ticks;
    memset(out, '`', ticks);
    if (is_padded) {
        out[size++] = ' ';
    }
    memcpy(out + size, text.at, text.size);
    size += text.size;
    if (is_padded) {
        out[size++] = ' ';
    }
    memset(out + size, '`', ticks);
    return keep_reserved(&writer->arena, size + ticks);
}

/* `Markdown.words`. */
static Span escaped_words(Writer *writer, Span text, const Styles *styles) {
    if (has_style(styles, CODE)) {
        return with_ticks(writer, text);
    }
    bool is_in_link = styled_link(styles) != NONE;
    if (!may_be_special(text, is_in_link)) {
        return text;
    }
    PyObject *values[] = {string_of(writer->state, text), PyBool_FromLong(is_in_link)};
    return call_text(writer, HOOK_ESCAPE, values, 2);
}

/* `Markdown.mark`. */
static Span mark_of(Writer *writer, u32 style, int side) {
    if (style < STYLE_COUNT) {
        return span_text(STYLE_MARKS[style][side]);
    }
    WrittenLink *link = &writer->links.items[style - STYLE_COUNT];
    link->times_opened += side == 0;
    if (link->times_opened > MAX_TIMES_OPENED) {
        return span_text("");
    }
    if (!side) {
        return span_text("[");
    }
    u8 *out = reserve(&writer->arena, (size_t)link->url.size + 3);
    if (!out) {
        writer->has_failed = true;
        return span_text("");
    }
    memcpy(out, "](", 2);
    memcpy(out + 2, link->url.at, link->url.size);
    out[link->url.size + 2] = ')';
    return keep_reserved(&writer->arena, link->url.size + 3);
}

static bool is_flanked(Span mark) {
    return equals(mark, "*") || equals(mark, "**") || equals(mark, "~~");
}

static bool is_other_piece(Span piece, Span mark) {
    return piece.size && !(is_flanked(piece) && mark.size && piece.at[0] == mark.at[0]);
}

/* The nearest character behind or before a place that is not of the same kind of mark; 0 if there is none. */
static u32 beside_after(Span mark, const Span *pieces, u32 count) {
    u32 size;
    for (u32 i = 0; i < count; i++) {
        if (is_other_piece(pieces[i], mark)) {
            return character_at(pieces[i].at, &size);
        }
    }
    return 0;
}

static u32 beside_before(const Writer *writer, Span mark) {
    u32 size;
    for (u32 i = writer->line.count; i-- > 0;) {
        Span piece = writer->line.items[i];
        if (is_other_piece(piece, mark)) {
            u32 last = piece.size - 1;
            while (last && (piece.at[last] & 0xC0) == 0x80) {
                last--;
            }
            return character_at(piece.at + last, &size);
        }
    }
    return 0;
}

static bool is_seen(Writer *writer, Span mark, u32 outside, u32 inside) {
    return !is_flanked(mark) || is_alphanumeric(writer, inside) || !is_alphanumeric(writer, outside);
}

static void add_piece_of_line(Writer *writer, Span piece) {
    if (WRITER_ROOM(writer, line)) {
        writer->line.items[writer->line.count++] = piece;
    }
}

static void close_marks(Writer *writer, u32 same, const Span *following, u32 count) {
    while (writer->mark_count > same) {
        OpenMark open = writer->marks[--writer->mark_count];
        Span mark = mark_of(writer, open.style, 1);
        if (open.is_seen && is_seen(writer, mark, beside_after(mark, following, count), beside_before(writer, mark))) {
            add_piece_of_line(writer, mark);
        } else {
            writer->line.items[open.place].size = 0;
        }
    }
}

/* The last piece that is not empty. */
static Span end_of_line(const Writer *writer) {
    for (u32 i = writer->line.count; i-- > 0;) {
        if (writer->line.items[i].size) {
            return writer->line.items[i];
        }
    }
    return (Span){(const u8 *)"", 0};
}

/* Behind "!", a "[" would be an image. */
static void escape_exclamation(Writer *writer) {
    Span *last = &writer->line.items[writer->line.count - 1];
    if (last->size && last->at[last->size - 1] == '!') {
        u8 *out = reserve(&writer->arena, (size_t)last->size + 1);
        if (out) {
            memcpy(out, last->at, last->size - 1);
            memcpy(out + last->size - 1, "\\!", 2);
            *last = keep_reserved(&writer->arena, last->size + 1);
        }
    }
}

/* `_Line.add`. */
static void add_styled_words(Writer *writer, Span words, const Styles *styles, Span gap) {
    u32 same = 0;
    while (same < writer->mark_count && same < styles->count && writer->marks[same].style == styles->items[same]) {
        same++;
    }
    Span pieces[MOST_STYLES + 2] = {gap};
    u32 count = 1;
    for (u32 i = same; i < styles->count; i++) {
        pieces[count++] = mark_of(writer, styles->items[i], 0);
    }
    pieces[count++] = words;
    close_marks(writer, same, pieces, count);
    Span ended = end_of_line(writer);
    u32 first = 1;
    while (first + 1 < count && !pieces[first].size) {
        first++;
    }
    if (!gap.size && pieces[first].at[0] == '`' && pieces[first].size && ended.size && ended.at[ended.size - 1] == '`') {
        gap = span_text(" ");
    }
    if (gap.size && ended.size) {
        add_piece_of_line(writer, gap);
    }
    if (equals(pieces[1], "[") && writer->line.count) {
        escape_exclamation(writer);
    }
    for (u32 i = same; i < styles->count && !writer->has_failed; i++) {
        const Span *piece = &pieces[1 + i - same];
        Span mark = *piece;
        bool is_shown = is_seen(writer, mark, beside_before(writer, mark), beside_after(mark, piece, count - 1 - (i - same)));
        is_shown &= gap.size || !is_flanked(mark) || !is_flanked(ended) || ended.at[0] != mark.at[0];
        writer->marks[writer->mark_count++] = (OpenMark){styles->items[i], writer->line.count, is_shown};
        add_piece_of_line(writer, is_shown ? mark : span_text(""));
    }
    add_piece_of_line(writer, words);
}

/* The text of consecutive runs. */
static Span joined_runs(Writer *writer, const Run *runs, u32 count) {
    if (count == 1) {
        return runs->text;
    }
    size_t room = 1;
    for (u32 i = 0; i < count; i++) {
        room += runs[i].text.size;
    }
    u8 *out = reserve(&writer->arena, room);
    if (!out) {
        writer->has_failed = true;
        return (Span){(const u8 *)"", 0};
    }
    u32 size = 0;
    for (u32 i = 0; i < count; i++) {
        if (runs[i].text.size) {
            memcpy(out + size, runs[i].text.at, runs[i].text.size);
            size += runs[i].text.size;
        }
    }
    return keep_reserved(&writer->arena, size);
}

static bool begins_blank(Span text) {
    u32 size;
    return text.size && is_wide_space(character_at(text.at, &size));
}

static bool ends_blank(Span text) {
    u32 last = text.size - 1;
    u32 size;
    while (last && (text.at[last] & 0xC0) == 0x80) {
        last--;
    }
    return is_wide_space(character_at(text.at + last, &size));
}

/* `Plain.inline`: a block of text. */
static Span inline_text(Writer *writer, const Run *runs, u32 count) {
    writer->line.count = writer->mark_count = 0;
    Span gap = span_text("");
    for (u32 i = 0, next; i < count && !writer->has_failed; i = next) {
        next = i + 1;
        while (next < count && runs[next].kind == runs[i].kind && are_same_styles(&runs[next].styles, &runs[i].styles)) {
            next++;
        }
        if (runs[i].kind == RUN_BREAK) {
            gap = span_text("  \n");
            continue;
        }
        Span text = joined_runs(writer, runs + i, next - i);
        Span words = folded(writer, text);
        if (!gap.size && begins_blank(text)) {
            gap = span_text(" ");
        }
        if (words.size) {
            words = runs[i].kind == RUN_TEXT ? escaped_words(writer, words, &runs[i].styles) : words;
            if (writer->has_failed) {
                break;
            }
            add_styled_words(writer, words, &runs[i].styles, gap);
            gap = span_text(ends_blank(text) ? " " : "");
        }
    }
    close_marks(writer, 0, NULL, 0);
    size_t room = 1;
    for (u32 i = 0; i < writer->line.count; i++) {
        room += writer->line.items[i].size;
    }
    u8 *out = reserve(&writer->arena, room);
    u32 size = 0;
    for (u32 i = 0; out && i < writer->line.count; i++) {
        if (writer->line.items[i].size) {
            memcpy(out + size, writer->line.items[i].at, writer->line.items[i].size);
            size += writer->line.items[i].size;
        }
    }
    writer->has_failed |= !out;
    return out ? keep_reserved(&writer->arena, size) : span_text("");
}

/* ---- blocks ---- */

static void put(Writer *writer, Span text) {
    append(&writer->out, text, &writer->has_failed);
}

static Span prefix_of(const Container *container) {
    static const char BLANKS[LONGEST_MARKER + 1] = "                        ";
    return container->is_quote ? span_text("> ") : (Span){(const u8 *)BLANKS, (u32)strlen(container->marker)};
}

static Container *open_container(const Writer *writer, u32 place) {
    return &writer->containers.items[writer->open_containers[place]];
}

/* Prefixes of the first open containers, without white space at the end. */
static void put_bare_prefixes(Writer *writer, u32 count) {
    u32 bare = 0;
    for (u32 i = 0; i < count; i++) {
        bare = open_container(writer, i)->is_quote ? i + 1 : bare;
    }
    for (u32 i = 0; i < bare; i++) {
        Span prefix = prefix_of(open_container(writer, i));
        put(writer, i + 1 == bare ? (Span){prefix.at, 1} : prefix);
    }
}

static void begin_line(Writer *writer) {
    if (writer->lines++) {
        put(writer, span_text("\n"));
    }
}

static bool needs_gap(const Writer *writer, u32 started) {
    i32 items = started < writer->open_count ? open_container(writer, started)->items : NONE;
    if (items == NONE) {
        return true;
    }
    const ItemList *list = &writer->lists.items[items];
    if (list->written != NONE) {
        return writer->containers.items[list->written].is_loose;
    }
    const Container *around = started ? open_container(writer, started - 1) : NULL;
    return !around || around->items == NONE || around->is_loose || (list->first != NONE && list->first != 1);
}

/* `Blocks.add`: write the lines of a block. Returns where it begins; `*has_gap`: an empty line is before it. */
static u32 put_block(Writer *writer, Span text, bool *has_gap) {
    u32 started = 0;
    while (started < writer->open_count && open_container(writer, started)->is_started) {
        started++;
    }
    *has_gap = writer->lines && needs_gap(writer, started);
    if (*has_gap) {
        begin_line(writer);
        put_bare_prefixes(writer, started);
        for (u32 i = 0; i < started; i++) {
            open_container(writer, i)->is_loose = true;
        }
    }
    begin_line(writer);
    u32 start = writer->out.count;
    for (u32 i = 0; i < writer->open_count; i++) {
        const Container *one = open_container(writer, i);
        put(writer, one->is_started ? prefix_of(one) : span_text(one->marker));
    }
    for (u32 i = started; i < writer->open_count; i++) {
        Container *one = open_container(writer, i);
        one->is_started = true;
        if (one->items != NONE) {
            writer->lists.items[one->items].written = (i32)writer->open_containers[i];
        }
    }
    const u8 *at = text.at;
    const u8 *end = text.at + text.size;
    for (bool is_first = true;; is_first = false) {
        const u8 *line_end = find_byte(at, end, '\n');
        if (!is_first) {
            begin_line(writer);
            if (line_end == at) {
                put_bare_prefixes(writer, writer->open_count);
            } else {
                for (u32 i = 0; i < writer->open_count; i++) {
                    put(writer, prefix_of(open_container(writer, i)));
                }
            }
        }
        put(writer, (Span){at, (u32)(line_end - at)});
        if (line_end == end) {
            return start;
        }
        at = line_end + 1;
    }
}

/* `_Writer._add`. */
static void add_block(Writer *writer, Span text, enum BlockKind kind, Span title) {
    bool has_gap;
    if (writer->has_rule) {
        put_block(writer, span_text("---"), &has_gap);
        writer->has_rule = false;
    }
    u32 start = put_block(writer, text, &has_gap);
    if (writer->has_failed) {
        return;
    }
    bool is_section = kind == BLOCK_HEADING || kind == BLOCK_TERM;
    Span written = kind == BLOCK_CODE ? text : (Span){writer->out.items + start, writer->out.count - start};
    PyObject *values[] = {
        string_of(writer->state, written),
        held(PyTuple_GetItem(PyTuple_GetItem(writer->hooks, HOOK_KINDS), kind)),
        PyUnicode_FromString(has_gap ? "\n\n" : "\n"),
        PyLong_FromUnsignedLong(is_section ? writer->block : 0),
        string_of(writer->state, is_section ? writer->anchor : (Span){NULL, 0}),
        string_of(writer->state, title),
    };
    PyObject *row = tuple_of(values, 6);
    writer->has_failed |= !row || PyList_Append(writer->blocks, row) != 0;
    Py_XDECREF(row);
}


typedef struct {
    i32 link;
    u32 count; /* characters, at most LONGEST_WRITTEN_SIGN + 1 */
    bool has_alphanumeric;
    bool is_dropped;
} LinkText;

/* The place of a link's text among those of a block, from 1; 0 if it has none yet. */
static u32 place_of_text(const Writer *writer, i32 link, u32 plain_place) {
    if (link == NONE) {
        return plain_place;
    }
    const WrittenLink *found = &writer->links.items[link];
    return found->seen_in == writer->looked_up ? found->text_place : 0;
}

/* `_Writer._without_permalinks`: returns the number of runs that are left. */
static u32 drop_permalinks(Writer *writer) {
    Run *runs = writer->runs.items;
    u32 count = writer->runs.count;
    if (!writer->has_own_links) {
        return count;
    }
    writer->has_own_links = own_link_of(writer, &writer->styles) != NONE;
    LIST(LinkText) texts = {0};
    u32 plain_place = 0;
    writer->looked_up++;
    for (u32 i = 0; i < count; i++) {
        Span text = stripped(runs[i].text);
        if (!text.size) {
            continue;
        }
        i32 link = own_link_of(writer, &runs[i].styles);
        u32 place = place_of_text(writer, link, plain_place);
        if (!place) {
            if (!HAS_ROOM(&texts, &writer->has_failed)) {
                break;
            }
            texts.items[texts.count++] = (LinkText){.link = link};
            place = texts.count;
            if (link == NONE) {
                plain_place = place;
            } else {
                writer->links.items[link].seen_in = writer->looked_up;
                writer->links.items[link].text_place = place;
            }
        }
        LinkText *found = &texts.items[place - 1];
        for (u32 at = 0, size; at < text.size && found->count <= LONGEST_WRITTEN_SIGN; at += size) {
            found->has_alphanumeric |= is_alphanumeric(writer, character_at(text.at + at, &size));
            found->count++;
        }
    }
    bool has_plain = false;
    for (u32 i = 0; i < texts.count; i++) {
        has_plain |= texts.items[i].link == NONE;
    }
    u32 kept = 0;
    for (u32 i = 0; i < texts.count; i++) {
        LinkText *one = &texts.items[i];
        if (one->link != NONE) {
            bool is_sign = one->count <= LONGEST_WRITTEN_SIGN && !one->has_alphanumeric;
            bool is_permalink = writer->links.items[one->link].is_permalink;
            one->is_dropped = writer->block ? is_sign || (is_permalink && has_plain) : is_sign && is_permalink;
        }
    }
    for (u32 i = 0; i < count; i++) {
        i32 link = own_link_of(writer, &runs[i].styles);
        u32 place = link == NONE ? 0 : place_of_text(writer, link, plain_place);
        if (place && texts.items[place - 1].is_dropped) {
            continue;
        }
        runs[kept] = runs[i];
        if (link != NONE && writer->block && writer->block < WRITTEN_TERM) {
            Styles *styles = &runs[kept].styles;
            for (u32 at = styles->count; at-- > 0;) {
                if (styles->items[at] >= STYLE_COUNT) {
                    remove_style(styles, at);
                }
            }
        }
        kept++;
    }
    free(texts.items);
    return kept;
}

/* A heading or a term, in one line. */
static Span section_line(Writer *writer, Span text) {
    text = folded(writer, text); /* it has no controls and no invisible characters any more: only lines are joined */
    if (writer->block == WRITTEN_TERM) {
        bool has_stars = text.size && memchr(text.at, '*', text.size);
        if (has_stars) {
            PyObject *values[] = {string_of(writer->state, text)};
            return memchr(text.at, '`', text.size) ? call_text(writer, HOOK_TERM, values, 1) : (Py_XDECREF(values[0]), text);
        }
        u8 *out = reserve(&writer->arena, (size_t)text.size + 4);
        if (!out) {
            writer->has_failed = true;
            return text;
        }
        memcpy(out, "**", 2);
        memcpy(out + 2, text.at, text.size);
        memcpy(out + 2 + text.size, "**", 2);
        return keep_reserved(&writer->arena, text.size + 4);
    }
    u32 hashes = text.size;
    while (hashes && text.at[hashes - 1] == '#') {
        hashes--;
    }
    bool is_escaped = hashes < text.size && hashes && text.at[hashes - 1] == ' ';
    u8 *out = reserve(&writer->arena, (size_t)text.size + 9);
    if (!out) {
        writer->has_failed = true;
        return text;
    }
    u32 size = writer->block;
    memset(out, '#', size);
    out[size++] = ' ';
    if (!is_escaped) {
        hashes = text.size;
    }
    memcpy(out + size, text.at, hashes);
    size += hashes;
    if (is_escaped) {
        out[size++] = '\\';
        memcpy(out + size, text.at + hashes, text.size - hashes);
        size += text.size - hashes;
    }
    return keep_reserved(&writer->arena, size);
}

static bool may_begin_block(u8 byte) {
    return byte >= 0x80 || IS_DIGIT[byte] || byte == '#' || byte == '>' || byte == '-' || byte == '+' || byte == '*' || byte == '=';
}

/* The lines of a paragraph, none of which looks like the beginning of another block. */
static Span paragraph(Writer *writer, Span text) {
    const u8 *end = text.at + text.size;
    bool is_plain = true;
    for (const u8 *at = text.at; at < end && is_plain; at = find_byte(at, end, '\n') + 1) {
        is_plain = !may_begin_block(*at);
    }
    if (is_plain) {
        return text;
    }
    Bytes lines = {0};
    for (const u8 *at = text.at;; ) {
        const u8 *line_end = find_byte(at, end, '\n');
        Span line = {at, (u32)(line_end - at)};
        if (line.size && may_begin_block(*at)) {
            PyObject *values[] = {string_of(writer->state, line)};
            line = call_text(writer, HOOK_ESCAPE_START, values, 1);
        }
        append(&lines, line, &writer->has_failed);
        if (line_end == end || writer->has_failed) {
            break;
        }
        append(&lines, span_text("\n"), &writer->has_failed);
        at = line_end + 1;
    }
    u8 *out = reserve(&writer->arena, (size_t)lines.count + 1);
    if (out && !writer->has_failed && lines.count) {
        memcpy(out, lines.items, lines.count);
    }
    writer->has_failed |= !out;
    text = out ? keep_reserved(&writer->arena, lines.count) : text;
    free(lines.items);
    return text;
}

static void end_written_block(Writer *writer) {
    if (writer->skipped.is_open) {
        return;
    }
    if (writer->code.is_open) {
        Bytes *code = &writer->code_text;
        if (code->count && code->items[code->count - 1] != '\n') {
            append(code, span_text("\n"), &writer->has_failed);
        }
    } else if (writer->is_in_cell) {
        add_run(writer, span_text(""), (Styles){.count = 0}, RUN_BREAK, false);
    } else if (writer->runs.count) {
        u32 count = drop_permalinks(writer);
        Span text = inline_text(writer, writer->runs.items, count);
        if (text.size && writer->block && !writer->has_failed) {
            u32 kept = 0; /* images are not part of a title */
            for (u32 i = 0; i < count; i++) {
                if (writer->runs.items[i].kind != RUN_WRITTEN) {
                    writer->runs.items[kept++] = writer->runs.items[i];
                }
            }
            Span title = kept ? folded(writer, joined_runs(writer, writer->runs.items, kept)) : span_text("");
            Span line = section_line(writer, text);
            if (!writer->has_failed) {
                add_block(writer, line, writer->block == WRITTEN_TERM ? BLOCK_TERM : BLOCK_HEADING, title);
            }
        } else if (text.size && !writer->has_failed) {
            text = paragraph(writer, text);
            if (!writer->has_failed) {
                add_block(writer, text, BLOCK_TEXT, span_text(""));
            }
        }
        writer->runs.count = 0;
    }
}

/* ---- code ---- */

/* Line ends made the same; without control characters and characters of no width. */
static u32 clean_code(u8 *text, u32 size) {
    u32 kept = 0;
    for (u32 i = 0; i < size; i++) {
        u8 byte = text[i];
        if (byte == '\r') {
            if (i + 1 < size && text[i + 1] == '\n') {
                continue;
            }
            byte = '\n';
        } else if ((byte < ' ' && byte != '\t' && byte != '\n') || byte == 0x7F) {
            continue;
        } else if (byte >= 0xE2 && i + 2 < size &&
                   (memcmp(text + i, "\xE2\x80\x8B", 3) == 0 || memcmp(text + i, "\xEF\xBB\xBF", 3) == 0)) {
            i += 2;
            continue;
        }
        text[kept++] = byte;
    }
    return kept;
}

/* Without lines that are empty or only white space at both ends. */
static Span without_empty_lines(Span text) {
    const u8 *end = text.at + text.size;
    const u8 *first = NULL;
    const u8 *last = NULL;
    for (const u8 *at = text.at; at < end;) {
        const u8 *line_end = find_byte(at, end, '\n');
        if (stripped((Span){at, (u32)(line_end - at)}).size) {
            first = first ? first : at;
            last = line_end;
        }
        at = line_end + 1;
    }
    return first ? (Span){first, (u32)(last - first)} : (Span){text.at, 0};
}

static Span code_language(Writer *writer) {
    for (u32 i = writer->code_classes.count; i-- > 0 && !writer->has_failed;) {
        Span classes = writer->code_classes.items[i];
        if (classes.size) {
            PyObject *values[] = {string_of(writer->state, classes)};
            Span language = call_text(writer, HOOK_LANGUAGE, values, 1);
            if (language.size) {
                return language;
            }
        }
    }
    return span_text("");
}

static bool is_in_last_frames(const Writer *writer, u8 tag) {
    for (u32 i = 0; i < 3 && i < writer->frames.count; i++) {
        if (writer->frames.items[writer->frames.count - 1 - i].tag == tag) {
            return true;
        }
    }
    return false;
}

static void write_code(Writer *writer) {
    Span text = without_empty_lines((Span){writer->code_text.items, clean_code(writer->code_text.items, writer->code_text.count)});
    if (!text.size || writer->has_failed) {
        return;
    }
    if (is_in_last_frames(writer, TAG_td)) {
        PyObject *values[] = {string_of(writer->state, text)};
        if (call_number(writer, HOOK_ARE_NUMBERS, values, 1) || writer->has_failed) {
            return;
        }
    }
    Span language = writer->is_in_cell ? span_text("") : code_language(writer);
    u32 ticks = 1 + longest_ticks(text);
    ticks = ticks < 3 ? 3 : ticks;
    u8 *out = reserve(&writer->arena, (size_t)text.size + 2 * ticks + language.size + 2);
    if (!out || writer->has_failed) {
        writer->has_failed = true;
        return;
    }
    if (writer->is_in_cell) {
        for (u32 i = 0; i < text.size; i++) {
            out[i] = text.at[i] == '\n' ? ' ' : text.at[i];
        }
        Styles styles = {.items = {CODE}, .count = 1};
        Span line = keep_reserved(&writer->arena, text.size);
        add_run(writer, line, styles, RUN_TEXT, is_all_space(line));
        return;
    }
    u32 size = ticks;
    memset(out, '`', ticks);
    memcpy(out + size, language.at, language.size);
    size += language.size;
    out[size++] = '\n';
    memcpy(out + size, text.at, text.size);
    size += text.size;
    out[size++] = '\n';
    memset(out + size, '`', ticks);
    add_block(writer, keep_reserved(&writer->arena, size + ticks), BLOCK_CODE, span_text(""));
}

/* ---- links and images ---- */

static bool is_plain_byte(u8 byte) {
    return IS_LETTER[byte] || IS_DIGIT[byte] || byte == '.' || byte == '_' || byte == '-' || byte == '/';
}

/* The folder of the base, if it is a plain http URL: then most links are resolved here. */
static void read_plain_base(Writer *writer) {
    Span base = writer->base;
    u32 scheme = base.size > 8 && memcmp(base.at, "http://", 7) == 0 ? 7 : base.size > 8 && memcmp(base.at, "https://", 8) == 0 ? 8 : 0;
    if (!scheme || base.size > LONGEST_PLAIN) {
        return;
    }
    u32 at = scheme;
    while (at < base.size && (IS_DIGIT[base.at[at]] || (base.at[at] >= 'a' && base.at[at] <= 'z') || base.at[at] == '.' || base.at[at] == '-')) {
        at++;
    }
    if (at == scheme || at >= base.size || base.at[at] != '/') {
        return;
    }
    writer->base_origin = at + 1;
    u32 folder = at + 1;
    for (; at < base.size; at++) {
        if (!is_plain_byte(base.at[at])) {
            return;
        }
        bool is_dots = base.at[at] == '/' && at + 1 < base.size && (base.at[at + 1] == '.' || base.at[at + 1] == '/');
        if (is_dots) {
            return;
        }
        folder = base.at[at] == '/' ? at + 1 : folder;
    }
    writer->base_folder = folder;
}

/* A relative link whose characters all stand for themselves, to a file below or beside the base; `at` is NULL for others. */
static Span plain_target(Writer *writer, Span href) {
    Span none = {NULL, 0};
    if (!writer->base_folder || !href.size || href.size > LONGEST_PLAIN) {
        return none;
    }
    u32 path = 0;
    while (path < href.size && href.at[path] != '#') {
        if (!is_plain_byte(href.at[path])) {
            return none;
        }
        path++;
    }
    for (u32 i = path + 1; i < href.size; i++) {
        if (!is_plain_byte(href.at[i])) {
            return none;
        }
    }
    u32 folder = path ? writer->base_folder : writer->base.size;
    u32 at = 0;
    while (at + 3 <= path && memcmp(href.at + at, "../", 3) == 0) {
        at += 3;
        if (folder > writer->base_origin) {
            folder--;
            while (folder > writer->base_origin && writer->base.at[folder - 1] != '/') {
                folder--;
            }
        }
    }
    for (u32 i = at; i < path; i++) {
        bool is_start = i == at || href.at[i - 1] == '/';
        if (is_start && (href.at[i] == '.' || href.at[i] == '/')) {
            return none;
        }
    }
    u8 *out = reserve(&writer->arena, (size_t)folder + href.size + 1);
    if (!out) {
        writer->has_failed = true;
        return none;
    }
    memcpy(out, writer->base.at, folder);
    memcpy(out + folder, href.at + at, href.size - at);
    return keep_reserved(&writer->arena, folder + href.size - at);
}

static void close_written_link(Writer *writer) {
    for (u32 i = writer->styles.count; i-- > 0;) {
        if (writer->styles.items[i] >= STYLE_COUNT) {
            remove_style(&writer->styles, i);
        }
    }
}

static void open_written_link(Writer *writer, const Event *event, Span classes) {
    close_written_link(writer);
    Span href = attribute_value(writer, event, ATTR_href);
    if (!href.at) {
        return;
    }
    Span url = plain_target(writer, href);
    if (!url.at && !writer->has_failed) {
        PyObject *values[] = {string_of(writer->state, href)};
        url = call_text(writer, HOOK_RESOLVE, values, 1);
    }
    if (!url.size || writer->has_failed || !WRITER_ROOM(writer, links)) {
        return;
    }
    const u8 *hash = memchr(url.at, '#', url.size);
    bool is_own = hash && (u32)(hash - url.at) == writer->url.size && memcmp(url.at, writer->url.at, writer->url.size) == 0;
    WrittenLink link = {.url = url, .is_own = is_own};
    if (is_own) {
        writer->has_own_links = true;
        if (classes.size) {
            PyObject *values[] = {string_of(writer->state, classes)};
            link.is_permalink = call_number(writer, HOOK_IS_PERMALINK, values, 1);
        }
    }
    Styles *styles = &writer->styles;
    u32 place = styles->count - has_style(styles, CODE);
    memmove(styles->items + place + 1, styles->items + place, (styles->count - place) * sizeof styles->items[0]);
    styles->items[place] = STYLE_COUNT + writer->links.count;
    styles->count++;
    writer->links.items[writer->links.count++] = link;
}

/* All texts of the page with a space between them. */
static PyObject *seen_texts(Writer *writer) {
    if (!writer->seen) {
        Bytes texts = {0};
        bool has_text = false;
        for (u32 i = 0; i < writer->scanner->events.count; i++) {
            if (writer->scanner->events.items[i].kind == EVENT_TEXT) {
                append(&texts, span_text(has_text ? " " : ""), &writer->has_failed);
                append(&texts, writer->noted[i].text, &writer->has_failed);
                has_text = true;
            }
        }
        writer->seen = string_of(writer->state, (Span){texts.items, texts.count});
        free(texts.items);
    }
    writer->has_failed |= !writer->seen;
    return writer->seen ? held(writer->seen) : NULL;
}

static void write_image(Writer *writer, const Event *event) {
    Span alt = attribute_value(writer, event, ATTR_alt);
    if (!alt.size || own_link_of(writer, &writer->styles) != NONE) {
        return;
    }
    PyObject *values[] = {
        string_of(writer->state, alt),
        hook_string(writer, attribute_value(writer, event, ATTR_src)),
        seen_texts(writer),
    };
    Span written = call_text(writer, HOOK_IMAGE, values, 3);
    if (written.at && !writer->has_failed) {
        add_run(writer, written, styles_here(writer), RUN_WRITTEN, false);
    }
}

/* ---- lists ---- */

static i32 add_container(Writer *writer, Container container) {
    if (!WRITER_ROOM(writer, containers)) {
        return NONE;
    }
    writer->containers.items[writer->containers.count] = container;
    return (i32)writer->containers.count++;
}

static void contain(Writer *writer, i32 container) {
    if (container != NONE && writer->open_count < MAX_NESTING) {
        writer->open_containers[writer->open_count++] = (u32)container;
    }
}

static ItemList *innermost_list(const Writer *writer) {
    return &writer->lists.items[writer->open_lists.items[writer->open_lists.count - 1]];
}

static void continue_item(Writer *writer) {
    i32 last = innermost_list(writer)->last;
    if (last == NONE) {
        return;
    }
    for (u32 i = 0; i < writer->open_count; i++) {
        if (writer->open_containers[i] == (u32)last) {
            return;
        }
    }
    contain(writer, last);
}

static void add_list(Writer *writer, int64_t first) {
    if (WRITER_ROOM(writer, lists) && WRITER_ROOM(writer, open_lists)) {
        writer->open_lists.items[writer->open_lists.count++] = writer->lists.count;
        writer->lists.items[writer->lists.count++] = (ItemList){first, first, NONE, NONE};
    }
}

static bool is_list(u8 tag) {
    return tag == TAG_ul || tag == TAG_ol || tag == TAG_menu || tag == TAG_dir || tag == TAG_dl;
}

static void open_list(Writer *writer, const Event *event) {
    Span start = attribute_value(writer, event, ATTR_start);
    int64_t first = start.size ? digits_value(writer, start) : -1;
    if (writer->frames.count > 1 && is_list(writer->frames.items[writer->frames.count - 2].tag)) {
        continue_item(writer);
    }
    add_list(writer, event->tag == TAG_ol ? (first < 0 ? 1 : first) : NONE);
}

static void open_section(Writer *writer, const Event *event) {
    writer->anchor = writer->before;
    writer->has_own_anchor = attribute_value(writer, event, ATTR_id).size > 0;
}

static void open_item(Writer *writer, const Event *event) {
    u32 number = writer->open_lists.items[writer->open_lists.count - 1];
    ItemList *list = &writer->lists.items[number];
    Container item = {.items = (i32)number};
    if (list->next == NONE) {
        memcpy(item.marker, "- ", 3);
    } else {
        char digits[LONGEST_MARKER];
        u32 size = 0;
        int64_t value = list->next++;
        do {
            digits[size++] = (char)('0' + value % 10);
            value /= 10;
        } while (value);
        for (u32 i = 0; i < size; i++) {
            item.marker[i] = digits[size - 1 - i];
        }
        memcpy(item.marker + size, ". ", 3);
    }
    list->last = add_container(writer, item);
    contain(writer, list->last);
    if (writer->is_in_cell) {
        Span marker = span_text(item.marker);
        u8 *out = reserve(&writer->arena, marker.size);
        if (out) {
            memcpy(out, marker.at, marker.size);
            add_run(writer, keep_reserved(&writer->arena, marker.size), (Styles){.count = 0}, RUN_WRITTEN, false);
        }
    }
    if (event->tag == TAG_dt) {
        writer->block = WRITTEN_TERM;
        open_section(writer, event);
    }
}

/* ---- tables ---- */

static void begin_rows(Writer *writer) {
    writer->left_rows.count = writer->taken.count = 0;
}

static void begin_written_row(Writer *writer) {
    writer->cells.count = writer->row_cells;
    writer->spanned = 0;
    writer->is_header = true;
    writer->taken.count = 0;
    for (u32 i = 0; i < writer->left_rows.count && WRITER_ROOM(writer, taken); i++) {
        u32 *left = &writer->left_rows.items[i];
        writer->taken.items[writer->taken.count++] = *left > 0;
        *left -= *left > 0;
    }
}

static u32 span_number(Writer *writer, Span value) {
    int64_t number = value.at ? digits_value(writer, value) : 1;
    return number < 0 ? 1 : (u32)number;
}

static void add_cell(Writer *writer, Span text) {
    if (WRITER_ROOM(writer, cells)) {
        writer->cells.items[writer->cells.count++] = text;
    }
}

static void open_cell(Writer *writer, const Event *event) {
    if (!writer->has_rows) {
        return;
    }
    writer->is_in_cell = true;
    writer->is_header &= event->tag == TAG_th || is_in_last_frames(writer, TAG_thead);
    u32 column = writer->cells.count - writer->row_cells + writer->spanned;
    while (column < writer->taken.count && writer->taken.items[column]) {
        column++;
    }
    while (writer->cells.count - writer->row_cells < column && !writer->has_failed) {
        add_cell(writer, span_text(""));
    }
    u32 width = span_number(writer, attribute_value(writer, event, ATTR_colspan));
    u32 below = span_number(writer, attribute_value(writer, event, ATTR_rowspan));
    width = width > MAX_COLSPAN ? MAX_COLSPAN : width;
    below = below > MAX_ROWSPAN ? MAX_ROWSPAN : below;
    u32 end = column + (width ? width : 1);
    end = end > MAX_SPANNED_COLUMNS ? MAX_SPANNED_COLUMNS : end;
    for (u32 i = column; below > 1 && i < end; i++) {
        while (writer->left_rows.count <= i && WRITER_ROOM(writer, left_rows)) {
            writer->left_rows.items[writer->left_rows.count++] = 0;
        }
        if (writer->has_failed) {
            return;
        }
        writer->left_rows.items[i] = below - 1;
    }
    writer->spanned = width ? width - 1 : 0;
}

/* `Markdown.cell`: in one line, its own bars escaped. */
static Span cell_text(Writer *writer, Span text) {
    u8 *out = reserve(&writer->arena, 4 * (size_t)text.size + 1);
    if (!out) {
        writer->has_failed = true;
        return span_text("");
    }
    u32 size = 0;
    const u8 *end = text.at + text.size;
    for (const u8 *at = text.at;;) {
        const u8 *line_end = find_byte(at, end, '\n');
        Span line = stripped((Span){at, (u32)(line_end - at)});
        for (u32 i = 0; i < line.size; i++) {
            if (line.at[i] == '|') {
                out[size++] = '\\';
            }
            out[size++] = line.at[i];
        }
        if (line_end == end) {
            return keep_reserved(&writer->arena, size);
        }
        memcpy(out + size, "<br>", 4);
        size += 4;
        at = line_end + 1;
    }
}

static void close_cell(Writer *writer) {
    if (writer->is_in_cell) {
        u32 count = drop_permalinks(writer);
        Span text = inline_text(writer, writer->runs.items, count);
        writer->runs.count = 0;
        writer->is_in_cell = false;
        if (!writer->has_failed) {
            add_cell(writer, cell_text(writer, text));
        }
    }
}

static void close_row(Writer *writer) {
    u32 end = writer->cells.count;
    while (end > writer->row_cells && !writer->cells.items[end - 1].size) {
        end--;
    }
    writer->cells.count = end;
    if (writer->has_rows && end > writer->row_cells) {
        if (WRITER_ROOM(writer, rows)) {
            writer->rows.items[writer->rows.count++] = (TableRow){writer->row_cells, end - writer->row_cells, writer->is_header};
        }
        writer->row_cells = end;
    } else {
        writer->cells.count = writer->row_cells;
    }
}

static void put_row(Writer *writer, Bytes *table, const Span *cells, u32 count, const char *filled) {
    append(table, span_text(table->count ? "\n| " : "| "), &writer->has_failed);
    for (u32 i = 0; i < count; i++) {
        append(table, span_text(i ? " | " : ""), &writer->has_failed);
        append(table, filled ? span_text(filled) : cells[i], &writer->has_failed);
    }
    append(table, span_text(" |"), &writer->has_failed);
}

static void write_table(Writer *writer) {
    Bytes table = {0};
    u32 width = 0;
    for (u32 i = 0; i < writer->rows.count; i++) {
        width = writer->rows.items[i].count > width ? writer->rows.items[i].count : width;
    }
    TableRow first = writer->rows.items[0];
    put_row(writer, &table, writer->cells.items + first.first, first.is_header ? first.count : width, first.is_header ? NULL : "");
    if (first.is_header && first.count < width) { /* fill it up: cells behind the last one are empty */
        table.count -= 2;
        for (u32 i = first.count; i < width; i++) {
            append(&table, span_text(" | "), &writer->has_failed);
        }
        append(&table, span_text(" |"), &writer->has_failed);
    }
    put_row(writer, &table, NULL, width, "---");
    for (u32 i = first.is_header; i < writer->rows.count; i++) {
        put_row(writer, &table, writer->cells.items + writer->rows.items[i].first, writer->rows.items[i].count, NULL);
    }
    if (!writer->has_failed) {
        add_block(writer, (Span){table.items, table.count}, BLOCK_TABLE, span_text(""));
    }
    free(table.items);
}

static void reset_rows(Writer *writer) {
    writer->rows.count = writer->cells.count = writer->row_cells = 0;
}

static void close_table(Writer *writer) {
    close_row(writer);
    if (writer->has_rows && writer->rows.count) {
        write_table(writer);
    }
    writer->has_rows = false;
    reset_rows(writer);
}

/* ---- events ---- */

static u32 style_of(u8 tag) {
    switch (tag) {
        case TAG_em: case TAG_i: case TAG_var: case TAG_cite: case TAG_dfn:
            return EMPHASIS;
        case TAG_strong: case TAG_b:
            return STRONG;
        case TAG_del: case TAG_s: case TAG_strike:
            return DELETED;
        case TAG_code: case TAG_kbd: case TAG_samp: case TAG_tt:
            return CODE;
        case TAG_q:
            return QUOTED;
        case TAG_sup:
            return RAISED;
        case TAG_sub:
            return LOWERED;
        default:
            return STYLE_COUNT;
    }
}

static bool is_skipped_tag(u8 tag) {
    switch (tag) {
        case TAG_nav: case TAG_button: case TAG_select: case TAG_option: case TAG_datalist: case TAG_textarea:
        case TAG_svg: case TAG_dialog:
            return true;
        default:
            return false;
    }
}

static bool has_word(Span text, const char *word) {
    size_t size = strlen(word);
    for (u32 i = 0; i + size <= text.size; i++) {
        if (text.at[i] == (u8)word[0] && memcmp(text.at + i, word, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Line numbers beside code, and links that edit a section. */
static bool is_clutter(Writer *writer, u8 tag, Span classes) {
    if (!classes.size || !(is_cell(tag) || tag == TAG_div || tag == TAG_span || tag == TAG_a)) {
        return false;
    }
    if (!has_word(classes, "ln") && !has_word(classes, "lin") && !has_word(classes, "gutter") &&
        !has_word(classes, "blob-num") && !has_word(classes, "mw-editsection")) {
        return false;
    }
    PyObject *values[] = {held(writer->state->tags[tag]), string_of(writer->state, classes)};
    return call_number(writer, HOOK_IS_CLUTTER, values, 2) > 0;
}

static void open_code(Writer *writer, u8 tag, u32 level) {
    writer->code = (SpecialRegion){true, tag, level, 1};
    writer->code_text.count = writer->code_classes.count = 0;
}

static void open_pre(Writer *writer, u8 tag) {
    open_code(writer, tag, writer->frames.count);
    Span around[LANGUAGE_LEVELS];
    u32 count = 0;
    for (u32 i = writer->frames.count; i-- > 0 && count < LANGUAGE_LEVELS;) {
        if (writer->frames.items[i].classes.size) {
            around[count++] = writer->frames.items[i].classes;
        }
    }
    while (count && WRITER_ROOM(writer, code_classes)) {
        writer->code_classes.items[writer->code_classes.count++] = around[--count];
    }
}

static void open_in_code(Writer *writer, u8 tag, Span classes) {
    if (tag == TAG_br) {
        append(&writer->code_text, span_text("\n"), &writer->has_failed);
    } else if (tag == TAG_code && classes.size && WRITER_ROOM(writer, code_classes)) {
        writer->code_classes.items[writer->code_classes.count++] = classes;
    }
}

/* A line break; two of them end a paragraph. */
static void break_line(Writer *writer) {
    u32 last = writer->runs.count;
    while (last && writer->runs.items[last - 1].kind == RUN_TEXT && writer->runs.items[last - 1].is_blank) {
        last--;
    }
    if (!last) {
        writer->runs.count = 0;
    } else if (writer->runs.items[last - 1].kind == RUN_BREAK && !writer->is_in_cell) {
        end_written_block(writer);
    } else {
        add_run(writer, span_text(""), (Styles){.count = 0}, RUN_BREAK, false);
    }
}

static void open_line_of_code(Writer *writer, Span classes) {
    const Frame *around = writer->frames.count > 1 ? &writer->frames.items[writer->frames.count - 2] : NULL;
    if (around && equals(around->classes, "fragment") && equals(classes, "line")) {
        open_code(writer, around->tag, writer->frames.count - 1);
    }
}

static void open_written_element(Writer *writer, const Event *event, Span classes, bool is_shown) {
    u8 tag = event->tag;
    u32 style = style_of(tag);
    if (style < STYLE_COUNT) {
        if (has_style(&writer->styles, style)) {
            writer->nested[style]++;
        } else if (!has_style(&writer->styles, CODE)) {
            writer->nested[style] = 0;
            writer->styles.items[writer->styles.count++] = style;
        }
        return;
    }
    if (is_heading(tag)) {
        writer->block = tag - TAG_h1 + 1;
        open_section(writer, event);
        return;
    }
    if (is_list(tag)) {
        open_list(writer, event);
        return;
    }
    switch (tag) {
        case TAG_li: case TAG_dt:
            open_item(writer, event);
            break;
        case TAG_pre: case TAG_listing: case TAG_xmp:
            open_pre(writer, tag);
            break;
        case TAG_td: case TAG_th:
            open_cell(writer, event);
            break;
        case TAG_thead: case TAG_tbody: case TAG_tfoot:
            begin_rows(writer);
            break;
        case TAG_a:
            open_written_link(writer, event, classes);
            break;
        case TAG_blockquote:
            contain(writer, add_container(writer, (Container){.marker = "> ", .is_quote = true, .items = NONE}));
            break;
        case TAG_br:
            break_line(writer);
            break;
        case TAG_dd:
            continue_item(writer);
            break;
        case TAG_div:
            open_line_of_code(writer, classes);
            break;
        case TAG_hr:
            writer->has_rule = writer->lines > 0;
            break;
        case TAG_span:
            if (writer->runs.count && equals(classes, "classifier")) {
                add_run(writer, span_text(" : "), (Styles){.count = 0}, RUN_TEXT, false);
            }
            break;
        case TAG_tr:
            begin_written_row(writer);
            break;
        case TAG_img:
            if (is_shown) {
                write_image(writer, event);
            }
            break;
        case TAG_table:
            if (is_shown) {
                writer->has_rows = true;
                reset_rows(writer);
                begin_rows(writer);
            }
            break;
        default:
            break;
    }
}

static void write_open(Writer *writer, const Event *event, bool is_shown) {
    u8 tag = event->tag;
    u32 flags = TAG_FLAGS[tag];
    Span classes = attribute_value(writer, event, ATTR_class);
    if (flags & BLOCK) {
        end_written_block(writer);
    }
    if ((flags & PUSH) && WRITER_ROOM(writer, frames)) {
        writer->frames.items[writer->frames.count++] =
            (Frame){tag, classes, writer->open_count, writer->open_lists.count, writer->styles.count, writer->block};
    }
    Span anchor = attribute_value(writer, event, ATTR_id);
    if (!anchor.size && tag == TAG_a) {
        anchor = attribute_value(writer, event, ATTR_name);
    }
    if (anchor.size) {
        writer->before = anchor;
        if (writer->block && !writer->has_own_anchor) {
            writer->anchor = anchor;
            writer->has_own_anchor = true;
        }
    }
    if (writer->skipped.is_open) {
        writer->skipped.depth += tag == writer->skipped.tag;
    } else if (is_skipped_tag(tag) || is_clutter(writer, tag, classes)) {
        writer->skipped = (SpecialRegion){true, tag, writer->frames.count, 1};
    } else if (writer->code.is_open) {
        open_in_code(writer, tag, classes);
    } else {
        open_written_element(writer, event, classes, is_shown);
    }
}

static bool ends_region(const Writer *writer, SpecialRegion *region, u8 tag) {
    if (tag == region->tag && !(TAG_FLAGS[tag] & PUSH)) {
        region->depth--;
    }
    return !region->depth || writer->frames.count < region->level;
}

static void close_written_element(Writer *writer, u8 tag) {
    u32 style = style_of(tag);
    if (style < STYLE_COUNT) {
        for (u32 i = 0; i < writer->styles.count; i++) {
            if (writer->styles.items[i] == style) {
                if (writer->nested[style]) {
                    writer->nested[style]--;
                } else {
                    remove_style(&writer->styles, i);
                }
                break;
            }
        }
    } else if (is_cell(tag)) {
        close_cell(writer);
    } else if (tag == TAG_a) {
        close_written_link(writer);
    } else if (tag == TAG_table) {
        close_table(writer);
    } else if (tag == TAG_tr) {
        close_row(writer);
    }
}

static void write_close(Writer *writer, u8 tag) {
    u32 flags = TAG_FLAGS[tag];
    if (flags & BLOCK) {
        end_written_block(writer);
    }
    bool has_frame = (flags & PUSH) && writer->frames.count;
    Frame frame = {0};
    if (has_frame) {
        frame = writer->frames.items[--writer->frames.count];
    }
    if (writer->skipped.is_open) {
        writer->skipped.is_open = !ends_region(writer, &writer->skipped, tag);
    } else if (writer->code.is_open) {
        if (ends_region(writer, &writer->code, tag)) {
            writer->code.is_open = false;
            write_code(writer);
        }
    } else {
        close_written_element(writer, tag);
    }
    if (has_frame) {
        writer->open_count = frame.containers < writer->open_count ? frame.containers : writer->open_count;
        writer->open_lists.count = frame.lists < writer->open_lists.count ? frame.lists : writer->open_lists.count;
        writer->styles.count = frame.styles < writer->styles.count ? frame.styles : writer->styles.count;
        writer->block = frame.block;
    }
}

static void write_text_event(Writer *writer, const Noted *noted) {
    if (!noted->is_blank) {
        writer->before = span_text("");
    }
    if (writer->skipped.is_open) {
        return;
    }
    if (!noted->is_main && !noted->is_blank) {
        writer->has_rule = false;
    } else if (writer->code.is_open) {
        append(&writer->code_text, noted->text, &writer->has_failed);
    } else if (writer->runs.count || !noted->is_blank) {
        add_run(writer, noted->text, styles_here(writer), RUN_TEXT, noted->is_blank);
    }
}

/* ---- headings ---- */

/* A heading begins or ends. */
static void cross_heading(Writer *writer, Headings *headings, PyObject *title, bool is_open) {
    u32 end = headings->places.count;
    if (headings->text.count) {
        PyObject *values[] = {held(title), string_of(writer->state, (Span){headings->text.items, headings->text.count})};
        long likeness = call_number(writer, HOOK_TITLE_LIKENESS, values, 2);
        if (likeness > 0 && HAS_ROOM(&headings->own, &writer->has_failed)) {
            headings->own.items[headings->own.count++] = (OwnHeading){(u32)likeness, headings->start, headings->open_places, end};
        }
    }
    if (headings->skipped || headings->waiting == headings->waiting_end) {
        headings->waiting = headings->open_places;
    }
    headings->waiting_end = end;
    headings->open_places = end;
    headings->text.count = headings->skipped = 0;
    headings->is_open = is_open;
}

static void make_main(Writer *writer, const Headings *headings, u32 first, u32 end) {
    for (u32 i = first; i < end; i++) {
        writer->noted[headings->places.items[i]].is_main = true;
    }
}

/* A text that is not only white space. */
static void read_in_headings(Writer *writer, Headings *headings, u32 place) {
    bool is_inside = headings->is_open && !headings->asides;
    if (is_inside) {
        headings->start = headings->text.count ? headings->start : place;
        append(&headings->text, writer->noted[place].text, &writer->has_failed);
    }
    if (writer->noted[place].is_main) {
        headings->first_main = headings->last_main < 0 ? (i32)place : headings->first_main;
        make_main(writer, headings, headings->waiting, headings->waiting_end);
        make_main(writer, headings, headings->open_places, headings->places.count);
        headings->open_places = headings->places.count;
        headings->last_main = (i32)place;
    } else if (is_inside) {
        if (HAS_ROOM(&headings->places, &writer->has_failed)) {
            headings->places.items[headings->places.count++] = place;
        }
        return;
    } else if (headings->is_in_paragraph && !headings->asides && headings->waiting < headings->waiting_end) {
        headings->skipped += writer->noted[place].text.size;
        if (headings->skipped <= MOST_SKIPPED) {
            return;
        }
    }
    headings->waiting = headings->waiting_end = headings->skipped = 0;
}

/* Whether all of a heading that is not main text stands before the last main text. */
static bool is_before_text(const Headings *headings, OwnHeading own) {
    return own.first == own.end || (i32)headings->places.items[own.end - 1] < headings->last_main;
}

/* The heading that has most of the title, before the last main text; of equals one that is main text, or the last. If it
   is a part of the title, the last other part behind it that is not behind the beginning of main text. */
static void make_own_heading_main(Writer *writer, const Headings *headings) {
    OwnHeading best = {0, 0, 0, 0};
    for (u32 i = 0; i < headings->own.count; i++) {
        OwnHeading own = headings->own.items[i];
        bool is_empty = own.first == own.end;
        bool is_better = own.likeness > best.likeness || (own.likeness == best.likeness && (is_empty || best.first < best.end));
        if (is_better && is_before_text(headings, own)) {
            best = own;
        }
    }
    for (u32 i = 0; (best.likeness & 1) && i < headings->own.count; i++) {
        OwnHeading own = headings->own.items[i];
        bool is_nearer = own.start > best.start && (i32)own.start <= headings->first_main;
        if ((own.likeness & 1) && is_nearer && is_before_text(headings, own)) {
            best = own;
        }
    }
    make_main(writer, headings, best.first, best.end);
}

/* `layout.with_headings`. */
static void find_headings(Writer *writer, PyObject *title) {
    Headings headings = {.first_main = NONE, .last_main = NONE};
    u32 count = writer->scanner->events.count;
    for (u32 i = 0; i < count && !writer->has_failed; i++) {
        const Event *event = &writer->scanner->events.items[i];
        if (event->kind == EVENT_TEXT) {
            if (!writer->noted[i].is_blank) {
                read_in_headings(writer, &headings, i);
            }
        } else if (is_heading(event->tag)) {
            cross_heading(writer, &headings, title, event->kind == EVENT_OPEN);
        } else if (event->tag == TAG_p) {
            headings.is_in_paragraph = event->kind == EVENT_OPEN;
        } else if (event->tag == TAG_nav || event->tag == TAG_aside || event->tag == TAG_footer) {
            headings.asides += event->kind == EVENT_OPEN ? 1 : -1;
        }
    }
    if (headings.last_main >= 0) {
        make_own_heading_main(writer, &headings);
    }
    for (u32 i = 0; headings.last_main < 0 && i < count; i++) {
        writer->noted[i].is_main = true;
    }
    free(headings.places.items);
    free(headings.own.items);
    free(headings.text.items);
}

/* ---- pages ---- */

static void note_events(Writer *writer, const u8 *is_main) {
    const Scanner *scanner = writer->scanner;
    for (u32 i = 0; i < scanner->events.count; i++) {
        const Event *event = &scanner->events.items[i];
        if (event->kind == EVENT_TEXT) {
            Span text = event->is_raw ? event->text : decoded(&writer->arena, event->text, false);
            bool has_block = event->block && event->block <= scanner->blocks.count;
            writer->noted[i] = (Noted){text, has_block && is_main[event->block - 1], is_all_space(text), false};
        }
    }
}

static void write_events(Writer *writer) {
    add_list(writer, NONE); /* for items outside of any list */
    for (u32 i = 0; i < writer->scanner->events.count && !writer->has_failed; i++) {
        const Event *event = &writer->scanner->events.items[i];
        if (event->kind == EVENT_TEXT) {
            write_text_event(writer, &writer->noted[i]);
        } else if (event->kind == EVENT_CLOSE) {
            write_close(writer, event->tag);
        } else {
            write_open(writer, event, writer->noted[i].is_shown);
        }
    }
    while (writer->frames.count && !writer->has_failed) { /* the events of a huge page are cut */
        write_close(writer, writer->frames.items[writer->frames.count - 1].tag);
    }
    if (!writer->has_failed) {
        end_written_block(writer);
    }
}

static void release_writer(Writer *writer) {
    release_arena(&writer->arena);
    free(writer->noted);
    free(writer->out.items);
    free(writer->containers.items);
    free(writer->lists.items);
    free(writer->open_lists.items);
    free(writer->frames.items);
    free(writer->links.items);
    free(writer->runs.items);
    free(writer->line.items);
    free(writer->code_text.items);
    free(writer->code_classes.items);
    free(writer->cells.items);
    free(writer->rows.items);
    free(writer->left_rows.items);
    free(writer->taken.items);
    Py_CLEAR(writer->blocks);
    Py_CLEAR(writer->seen);
}

/* The text and its blocks; None if that is left to Python. */
static PyObject *written_page(const State *state, const Scanner *scanner, const u8 *is_main, Span url, Span base, PyObject *hooks) {
    Writer writer = {.state = state, .scanner = scanner, .hooks = hooks, .url = url, .base = base};
    PyObject *result = NULL;
    PyObject *title = first_characters(decoded_string(state, scanner->title, false), MAX_TITLE);
    writer.noted = calloc((size_t)scanner->events.count + 1, sizeof *writer.noted);
    writer.blocks = PyList_New(0);
    if (title && writer.noted && writer.blocks) {
        note_events(&writer, is_main);
        read_plain_base(&writer);
        find_headings(&writer, title);
        if (!writer.has_failed) {
            find_shown(scanner, writer.noted, &writer.has_failed);
            write_events(&writer);
        }
        bool is_done = !writer.has_failed && !writer.arena.has_failed;
        if (is_done && writer.is_declined) {
            result = held(Py_None);
        } else if (is_done) {
            PyObject *values[] = {string_of(state, (Span){writer.out.items, writer.out.count}), held(writer.blocks)};
            result = tuple_of(values, 2);
        }
    }
    Py_XDECREF(title);
    release_writer(&writer);
    return result || PyErr_Occurred() ? result : PyErr_NoMemory();
}

#endif

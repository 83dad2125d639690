/* What a writer of Markdown has to know before it writes: `store/export/layout.py` has the same in Python.

   Texts of events are decoded once. Two passes over the events follow: headings that belong to the main text although
   the rule for it left them out, and the tables and images that are shown. */
#ifndef PERIPLUS_SURVEY_H
#define PERIPLUS_SURVEY_H

#include "columns.h"

#define LONGEST_CELL 300 /* characters */

/* ---- characters ---- */

/* The character at a place of valid UTF-8, and its size. */
static inline u32 character_at(const u8 *at, u32 *size) {
    if (at[0] < 0x80) {
        *size = 1;
        return at[0];
    }
    if (at[0] < 0xE0) {
        *size = 2;
        return (u32)(at[0] & 0x1F) << 6 | (at[1] & 0x3F);
    }
    if (at[0] < 0xF0) {
        *size = 3;
        return (u32)(at[0] & 0x0F) << 12 | (u32)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    }
    *size = 4;
    return (u32)(at[0] & 0x07) << 18 | (u32)(at[1] & 0x3F) << 12 | (u32)(at[2] & 0x3F) << 6 | (at[3] & 0x3F);
}

/* `str.isspace` of a character. */
static inline bool is_wide_space(u32 character) {
    if (character < 0x80) {
        return character == ' ' || (character >= 9 && character <= 13) || (character >= 0x1C && character <= 0x1F);
    }
    return character == 0x85 || character == 0xA0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200A) ||
           character == 0x2028 || character == 0x2029 || character == 0x202F || character == 0x205F || character == 0x3000;
}

/* `str.isspace` of a text. */
static bool is_all_space(Span text) {
    for (u32 i = 0, size; i < text.size; i += size) {
        if (!is_wide_space(character_at(text.at + i, &size))) {
            return false;
        }
    }
    return text.size > 0;
}

/* `str.strip` of a text. */
static Span stripped(Span text) {
    u32 size;
    while (text.size && is_wide_space(character_at(text.at, &size))) {
        text = (Span){text.at + size, text.size - size};
    }
    while (text.size) {
        u32 last = text.size - 1;
        while (last && (text.at[last] & 0xC0) == 0x80) {
            last--;
        }
        if (!is_wide_space(character_at(text.at + last, &size))) {
            break;
        }
        text.size = last;
    }
    return text;
}

static u32 count_characters(Span text) {
    u32 count = 0;
    for (u32 i = 0; i < text.size; i++) {
        count += (text.at[i] & 0xC0) != 0x80;
    }
    return count;
}

/* ---- memory ---- */

#define CHUNK_SIZE (1u << 16)

typedef struct Chunk {
    struct Chunk *next;
    size_t room;
} Chunk;

/* Bytes that stay where they are until all are released. */
typedef struct {
    Chunk *first;
    u8 *at;
    size_t left;
    bool has_failed;
} Arena;

static u8 *reserve(Arena *arena, size_t size) {
    if (size > arena->left) {
        size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        Chunk *chunk = malloc(sizeof *chunk + room);
        if (!chunk) {
            arena->has_failed = true;
            return NULL;
        }
        *chunk = (Chunk){arena->first, room};
        arena->first = chunk;
        arena->at = (u8 *)(chunk + 1);
        arena->left = room;
    }
    return arena->at;
}

static Span keep_reserved(Arena *arena, u32 size) {
    Span span = {arena->at, size};
    arena->at += size;
    arena->left -= size;
    return span;
}

static void release_arena(Arena *arena) {
    while (arena->first) {
        Chunk *next = arena->first->next;
        free(arena->first);
        arena->first = next;
    }
}

typedef LIST(u8) Bytes;

static void append(Bytes *bytes, Span text, bool *has_failed) {
    while (bytes->room - bytes->count < text.size && !*has_failed) {
        bytes->items = grown(bytes->items, &bytes->room, 1, has_failed);
    }
    if (!*has_failed && text.size) {
        memcpy(bytes->items + bytes->count, text.at, text.size);
        bytes->count += text.size;
    }
}

/* The text or the value of an attribute as it is read. */
static Span decoded(Arena *arena, Span source, bool is_in_attribute) {
    if (!source.size || !memchr(source.at, '&', source.size)) {
        return source;
    }
    u8 *out = reserve(arena, decoded_room(source.size));
    return out ? keep_reserved(arena, decode_references(source, is_in_attribute, out)) : (Span){source.at, 0};
}

/* ---- events ---- */

typedef struct {
    Span text;
    bool is_main;
    bool is_blank;
    bool is_shown; /* a table or an image */
} Noted;

/* A heading with half of its words from the title of the page: how like it, and its texts in `Headings.places`. */
typedef struct {
    u32 likeness; /* odd if it is a part of the title */
    u32 start;    /* the place of its first text */
    u32 first;
    u32 end;
} OwnHeading;

/* Headings that are not main text but should be. */
typedef struct {
    LIST(u32) places; /* texts of headings that are not main text */
    u32 open_places;  /* where those of the open heading begin */
    u32 waiting;      /* from and to: those since the last text that is not in a heading */
    u32 waiting_end;
    u32 skipped; /* bytes of paragraphs since those */
    bool is_in_paragraph;
    LIST(OwnHeading) own;
    Bytes text; /* of the open heading */
    u32 start;  /* the place of its first text */
    bool is_open;
    i32 asides;
    i32 first_main;
    i32 last_main;
} Headings;

typedef struct {
    u32 place;
    bool has_header;
    bool needs_lines;
    u32 size; /* characters in the open cell */
    u32 cells;
    u32 rows;
    u32 widest;
    u32 longest;
} SurveyedTable;

typedef struct {
    LIST(u32) images;   /* behind the last text */
    LIST(u32) doubtful; /* between main text and other text */
    LIST(u32) linked;   /* of images: 1 if it is in a link */
    LIST(SurveyedTable) tables;
    bool was_main;
    bool has_main;
    bool is_in_code;
    bool is_in_link;
} Survey;

static bool needs_lines(u8 tag) {
    return is_heading(tag) || tag == TAG_hr || tag == TAG_blockquote || tag == TAG_listing || tag == TAG_xmp;
}

static bool holds_data(const SurveyedTable *table) {
    bool is_grid = table->rows > 1 && (table->widest > 1 || (table->has_header && table->rows > 2));
    return is_grid && !table->needs_lines && (table->has_header || table->longest <= LONGEST_CELL);
}

static void end_row(SurveyedTable *table) {
    table->rows += table->cells > 0;
    table->widest = table->cells > table->widest ? table->cells : table->widest;
    table->cells = 0;
}

static void end_cell(SurveyedTable *table) {
    table->cells += table->size > 0;
    table->longest = table->size > table->longest ? table->size : table->longest;
    table->size = 0;
}

static void survey_open(Survey *survey, u8 tag, u32 place, bool *has_failed) {
    SurveyedTable *table = survey->tables.count ? &survey->tables.items[survey->tables.count - 1] : NULL;
    if (tag == TAG_img) {
        if (HAS_ROOM(&survey->images, has_failed) && HAS_ROOM(&survey->linked, has_failed)) {
            survey->images.items[survey->images.count++] = place;
            survey->linked.items[survey->linked.count++] = survey->is_in_link;
        }
    } else if (tag == TAG_a) {
        survey->is_in_link = true;
    } else if (tag == TAG_pre) {
        survey->is_in_code = true;
    } else if (tag == TAG_table) {
        if (HAS_ROOM(&survey->tables, has_failed)) {
            survey->tables.items[survey->tables.count++] = (SurveyedTable){.place = place};
        }
    } else if (table) {
        table->has_header |= tag == TAG_th;
        table->needs_lines |= needs_lines(tag);
    }
}

static void survey_close(Survey *survey, u8 tag, Noted *noted) {
    if (tag == TAG_a) {
        survey->is_in_link = false;
    } else if (tag == TAG_pre) {
        survey->is_in_code = false;
    } else if (survey->tables.count) {
        SurveyedTable *table = &survey->tables.items[survey->tables.count - 1];
        if (is_cell(tag)) {
            end_cell(table);
        } else if (tag == TAG_tr) {
            end_row(table);
        } else if (tag == TAG_table) {
            noted[table->place].is_shown = holds_data(table);
            if (--survey->tables.count) {
                survey->tables.items[survey->tables.count - 1].needs_lines = true;
            }
        }
    }
}

/* At the beginning or end of the page, only images that are not links are shown. */
static void end_images(Survey *survey, Noted *noted) {
    for (u32 i = 0; survey->was_main && i < survey->images.count; i++) {
        noted[survey->images.items[i]].is_shown |= !survey->linked.items[i];
    }
}

static void survey_text(Survey *survey, Noted *noted, u32 place, bool *has_failed) {
    bool is_main = noted[place].is_main;
    if (is_main && survey->has_main) {
        for (u32 i = 0; i < survey->doubtful.count; i++) {
            noted[survey->doubtful.items[i]].is_shown = true;
        }
        for (u32 i = 0; i < survey->images.count; i++) {
            noted[survey->images.items[i]].is_shown = true;
        }
        survey->doubtful.count = 0;
    } else if (is_main) {
        end_images(survey, noted);
    } else if (survey->has_main && survey->was_main) {
        for (u32 i = 0; i < survey->images.count && HAS_ROOM(&survey->doubtful, has_failed); i++) {
            survey->doubtful.items[survey->doubtful.count++] = survey->images.items[i];
        }
    }
    survey->images.count = survey->linked.count = 0;
    survey->has_main |= is_main;
    survey->was_main = is_main;
    if (is_main && survey->tables.count) {
        SurveyedTable *table = &survey->tables.items[survey->tables.count - 1];
        Span text = noted[place].text;
        table->size += count_characters(text);
        if (survey->is_in_code) {
            text = stripped(text);
            table->needs_lines |= text.size && memchr(text.at, '\n', text.size);
        }
    }
}

static void find_shown(const Scanner *scanner, Noted *noted, bool *has_failed) {
    Survey survey = {.was_main = true};
    for (u32 i = 0; i < scanner->events.count && !*has_failed; i++) {
        const Event *event = &scanner->events.items[i];
        if (event->kind == EVENT_OPEN) {
            survey_open(&survey, event->tag, i, has_failed);
        } else if (event->kind == EVENT_CLOSE) {
            survey_close(&survey, event->tag, noted);
        } else if (!noted[i].is_blank) {
            survey_text(&survey, noted, i, has_failed);
        }
    }
    end_images(&survey, noted);
    free(survey.images.items);
    free(survey.doubtful.items);
    free(survey.linked.items);
    free(survey.tables.items);
}

#endif

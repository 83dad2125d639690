/* Reads pages with the C part of the scanner, without Python: for sanitizers, and to count steps.

   Standard input holds pages: the size in 4 bytes (little-endian), one byte of flags (1: blocks, 2: events), the bytes.
   For each page one line is written: how many steps it took (0 unless steps are counted), how many links it has. */
#include <stdio.h>

#ifdef COUNT_STEPS
#include "counting.h"
#endif

#include "reading.h"
#include "volatile.h"
#include "words.h"

#ifndef COUNT_STEPS
static const u64 counted_steps = 0;
#endif

static const char URL[] = "http://docs.example.org/library/page.html?a=b";

static void fold_text(const Scanner *scanner, Pieces pieces) {
    Words words = {.size = 0};
    for (u32 number = pieces.first; number && words.size < ENOUGH_BYTES; number = scanner->pieces.items[number - 1].next) {
        const Piece *piece = &scanner->pieces.items[number - 1];
        add_words_of(&words, piece->source, piece->is_raw, false);
        is_folded(piece->source);
    }
}

static void decode_value(Span source, bool is_in_attribute) {
    u8 *buffer = malloc(decoded_room(source.size));
    if (buffer && source.size) {
        decode_references(source, is_in_attribute, buffer);
    }
    free(buffer);
}

/* What columns.h does with the bytes, without the objects. */
static void use_columns(const Scanner *scanner) {
    decode_value(scanner->title, false);
    for (u32 i = 0; i < scanner->links.list.count; i++) {
        fold_text(scanner, scanner->links.list.items[i].text);
    }
    for (u32 i = 0; i < scanner->forms.list.count; i++) {
        fold_text(scanner, scanner->forms.list.items[i].text);
    }
    for (u32 i = 0; i < scanner->kept.count; i++) {
        decode_value(scanner->kept.items[i].value, true);
    }
    for (u32 i = 0; i < scanner->events.count; i++) {
        decode_value(scanner->events.items[i].text, false);
    }
}

/* In a buffer of its own, so that nothing before or behind the text can be read unnoticed. */
static bool mask_text(const u8 *bytes, u32 size) {
    u8 *text = malloc(size ? size : 1);
    u8 *masked = malloc(size ? size : 1);
    bool has_memory = text && masked;
    if (has_memory) {
        memcpy(text, bytes, size);
        mask_volatile((Span){text, size}, masked);
    }
    free(text);
    free(masked);
    return has_memory;
}

/* The same for the counts of words. */
static bool count_text(const u8 *bytes, u32 size) {
    u8 *text = malloc(size ? size : 1);
    bool is_counted = text != NULL;
    if (text) {
        memcpy(text, bytes, size);
        WordCounts counts = count_words((Span){text, size});
        is_counted = count_spaces((Span){text, size}) <= size && counts.common <= counts.words;
    }
    free(text);
    return is_counted;
}

static bool read_one(const u8 *html, u32 size, int flags) {
    Page *page = new_page(flags & 1, flags & 2, flags & 4);
    if (!page) {
        return false;
    }
    u64 before = counted_steps;
    bool is_read = read_page(page, html, size, (Span){(const u8 *)URL, sizeof URL - 1});
    is_read = is_read && mask_text(page->main, page->main_size) && count_text(page->main, page->main_size);
    if (is_read) {
        use_columns(&page->scanner);
        printf("%llu %u\n", (unsigned long long)(counted_steps - before), page->scanner.links.list.count);
    }
    free_page(page);
    return is_read;
}

int main(void) {
    u8 head[5];
    init_tables();
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        u32 size = head[0] | (u32)head[1] << 8 | (u32)head[2] << 16 | (u32)head[3] << 24;
        u8 *html = malloc(size ? size : 1);
        if (!html || fread(html, 1, size, stdin) != size || !read_one(html, size, head[4])) {
            return 1;
        }
        free(html);
    }
    return 0;
}

/* From the bytes of a page to all that can be found without Python. */
#ifndef PERIPLUS_READING_H
#define PERIPLUS_READING_H

#include "blocks.h"
#include "digested.h"
#include "main_text.h"
#include "page.h"
#include "sketch.h"
#include "urls.h"
#include "word_counts.h"

/* Written once, when the module is loaded; only read from then on. */
static void init_tables(void) {
    init_bytes();
    init_tags();
    init_attributes();
    init_text();
    init_ways();
    init_hints();
    init_urls();
    init_sketch();
    init_word_counts();
}

typedef struct {
    Targets targets;
    WayParts parts;
    u8 *page;
    u8 *is_main; /* by block */
    u8 *main;
    u32 main_size;
    u8 sketch[SKETCH_SIZE];
    enum SketchResult sketched;
    Digested digested;
    WordCounts counts;
    u32 spaces; /* at the beginning of the text */
    Scanner scanner; /* the last, because its end is not set to 0 */
} Page;

/* A page that is not read yet; NULL if there is no memory. */
static Page *new_page(bool wants_blocks, bool wants_events, bool wants_sections) {
    Page *page = malloc(sizeof *page);
    if (page) {
        memset(page, 0, offsetof(Page, scanner) + SCANNER_ZEROED);
        page->scanner.wants_blocks = wants_blocks;
        page->scanner.wants_events = wants_events;
        page->scanner.wants_sections = wants_sections;
        page->scanner.wants_layout = wants_events || wants_sections;
    }
    return page;
}

static void free_page(Page *page) {
    if (page) {
        release(&page->scanner);
        release_targets(&page->targets);
        free(page->parts.items);
        free(page->page);
        free(page->is_main);
        free(page->main);
        release_digested(&page->digested);
        free(page);
    }
}

/* The chosen blocks with a space between them. */
static void join_main(Page *page) {
    const Scanner *scanner = &page->scanner;
    for (u32 i = 0; i < scanner->blocks.count; i++) {
        const Block *block = &scanner->blocks.items[i];
        if (page->is_main[i]) {
            if (page->main_size) {
                page->main[page->main_size++] = ' ';
            }
            memcpy(page->main + page->main_size, scanner->text.bytes + block->start, block->end - block->start);
            page->main_size += block->end - block->start;
        }
    }
}

/* Choose the blocks of the main text. Returns false if memory runs out. */
static bool choose_main_blocks(Page *page) {
    const Scanner *scanner = &page->scanner;
    page->is_main = calloc(scanner->blocks.count + 1, 1);
    return page->is_main &&
           choose_main(scanner->text.bytes, scanner->text.size, scanner->blocks.items, scanner->blocks.count,
                       scanner->elements.items, scanner->elements.count, page->is_main);
}

/* Choose the main text and sketch it. Returns false if memory runs out. */
static bool choose_main_text(Page *page) {
    const Scanner *scanner = &page->scanner;
    size_t room = (size_t)scanner->text.size + scanner->blocks.count + PADDING;
    page->main = malloc(room);
    u8 *buffer = malloc(room);
    bool is_done = page->main && buffer && choose_main_blocks(page);
    if (is_done) {
        join_main(page);
        memset(page->main + page->main_size, 0, PADDING);
        page->sketched = write_sketch((Span){page->main, page->main_size}, buffer, page->sketch);
    }
    free(buffer);
    return is_done;
}

/* The words of the main text, or of all text where there is none. */
static void count_page_words(Page *page) {
    Span text = {page->scanner.text.bytes, page->scanner.text.size};
    page->spaces = count_spaces(text);
    page->counts = count_words(page->main_size ? (Span){page->main, page->main_size} : text);
}

/* Pass over a page. Returns false if memory runs out. */
static bool pass_over(Page *page, const u8 *html, size_t size) {
    page->page = malloc(size + PADDING);
    if (!page->page) {
        return false;
    }
    memcpy(page->page, html, size);
    memset(page->page + size, 0, PADDING);
    page->page[size] = '>'; /* ends every tag */
    Scanner *scanner = &page->scanner;
    scanner->start = page->page;
    scanner->end = page->page + size;
    scan_page(scanner);
    return !scanner->has_failed;
}

/* All that needs no Python. Returns false if memory runs out. */
static bool read_page(Page *page, const u8 *html, size_t size, Span url) {
    Scanner *scanner = &page->scanner;
    bool is_read = pass_over(page, html, size) && resolve_links(scanner, &page->targets, url) &&
                   gather_parts(scanner, &page->parts) && choose_main_text(page) &&
                   prepare_digests(scanner, &page->targets, (Span){page->main, page->main_size}, &page->digested);
    if (is_read) {
        count_page_words(page);
    }
    return is_read;
}

#endif

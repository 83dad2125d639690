/* What the digests of a page are made of, besides its text: the main text with volatile words masked, and where its links
   lead, sorted. `content.digests` hashes both, and makes them itself of what the Python scanner found. */
#ifndef PERIPLUS_DIGESTED_H
#define PERIPLUS_DIGESTED_H

#include "urls.h"
#include "volatile.h"
#include "ways.h"

typedef struct {
    u8 *masked; /* the main text */
    u32 masked_size;
    u8 *targets;         /* of links to other pages, each once, in ascending order, a newline between two */
    size_t targets_size; /* bytes */
    bool has_targets;    /* false: a link is left to Python, or there are too many */
} Digested;

static void release_digested(Digested *digested) {
    free(digested->masked);
    free(digested->targets);
}

/* Collect the targets of links that do not lead to the page itself, each different link once. Returns how many there are;
   `*is_complete` is false if one is left to Python. */
static u32 collect_targets(const Scanner *scanner, const Targets *targets, u8 *is_collected, Span *collected, bool *is_complete) {
    u32 count = 0;
    for (u32 i = 0; i < scanner->links.list.count; i++) {
        const Link *link = &scanner->links.list.items[i];
        if (!link->unique || !targets->uniques.items[link->unique - 1].url_size) {
            *is_complete = false;
            return 0;
        }
        if (!link->is_own && !is_collected[link->unique]) {
            const Unique *unique = &targets->uniques.items[link->unique - 1];
            is_collected[link->unique] = 1;
            collected[count++] = (Span){targets->urls + unique->url, unique->url_size};
        }
    }
    return count;
}

/* Write spans one after the other, equal ones once. Returns the bytes written. */
static size_t join_different(const Span *spans, u32 count, u8 *out) {
    u8 *at = out;
    for (u32 i = 0; i < count; i++) {
        if (i && is_same(spans[i], spans[i - 1])) {
            continue;
        }
        if (i) {
            *at++ = '\n';
        }
        memcpy(at, spans[i].at, spans[i].size);
        at += spans[i].size;
    }
    return (size_t)(at - out);
}

/* Returns false if there is no memory. */
static bool sort_targets(const Scanner *scanner, const Targets *targets, Digested *digested) {
    u32 uniques = targets->uniques.count;
    bool is_complete = scanner->links.list.count - scanner->links.own_count < MAX_LINKS;
    u8 *is_collected = calloc(uniques + 1, 1);
    Span *collected = malloc((uniques + 1) * sizeof *collected);
    digested->targets = malloc(targets->urls_size + uniques + 1);
    bool has_memory = is_collected && collected && digested->targets;
    if (has_memory && is_complete) {
        u32 count = collect_targets(scanner, targets, is_collected, collected, &is_complete);
        qsort(collected, count, sizeof *collected, compare_spans);
        digested->targets_size = join_different(collected, count, digested->targets);
        digested->has_targets = is_complete;
    }
    free(is_collected);
    free(collected);
    return has_memory;
}

/* Returns false if there is no memory. */
static bool prepare_digests(const Scanner *scanner, const Targets *targets, Span main_text, Digested *digested) {
    digested->masked = malloc((size_t)main_text.size + 1);
    if (!digested->masked) {
        return false;
    }
    digested->masked_size = mask_volatile(main_text, digested->masked);
    return sort_targets(scanner, targets, digested);
}

#endif

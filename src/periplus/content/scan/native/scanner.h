/* The state of one pass over a page. Each call has its own: nothing is shared between threads. */
#ifndef PERIPLUS_SCANNER_H
#define PERIPLUS_SCANNER_H

#include "attributes.h"
#include "layout.h"
#include "references.h"

#define MAX_PAGE (16u << 20)      /* bytes of a page that are read */
#define MAX_TEXT (1u << 20)       /* bytes of text that are kept */
#define MAX_LINKS 10001           /* to other pages: one more than are kept, which says that there were too many */
#define MAX_OWN_LINKS 10000       /* to the page itself */
#define MAX_MEDIA 10001
#define MAX_METAS 1000
#define MAX_HEAD_LINKS 2000
#define MAX_FORMS 101
#define MAX_FORM_ELEMENTS 20000
#define MAX_OPEN 512              /* elements on the stack; deeper ones are not put there */
#define MAX_WORDS 256             /* characters of an anchor, a label, an option, a button, a textarea */
#define MAX_TITLE 8000            /* characters as written */
#define MAX_SCRIPT 2000           /* characters */
#define MAX_SCRIPTED_PAGE (1u << 14) /* bytes: a page that only redirects is small */
#define MAX_EVENTS 500000
#define NONE (-1)

/* Where the text of a link or of a part of a form stands in the page: a chain of pieces, numbered from 1. */
typedef struct {
    u32 first;
    u32 last;
} Pieces;

typedef struct {
    Span source;
    u32 next;
    bool is_raw; /* references are not decoded */
} Piece;

/* In the order of `model.LinkKind`. */
enum LinkKind { LINK_ANCHOR, LINK_AREA, LINK_IFRAME, LINK_FRAME };

/* What markup says of a link: the same bits as in `scan/columns.py`. */
enum LinkMark { MARKED_NEXT = 1, IN_NEXT = 2, IN_PREVIOUS = 4 };

typedef struct {
    Span href; /* as written; decoded and resolved by urls.h */
    Span rel;
    Span label;   /* the alt of an area, the title of a frame */
    Span picture; /* the alt of the first picture inside that has one */
    Pieces text;
    u32 element; /* the innermost on the stack where it began */
    u32 unique; /* see urls.h */
    u8 kind;
    u8 mark;     /* MARKED_... */
    bool is_own; /* leads to the page itself, as written */
    bool has_picture;
} Link;

typedef struct {
    Span src;
    Span poster;
    Span srcset;
    Span alt;
    u8 tag;
} Medium;

/* Attributes that are kept: some items of `Scanner.kept`. */
typedef struct {
    u32 first;
    u32 count;
} Kept;

typedef struct {
    Kept attributes;
    Span content;
    u8 tag;
    bool is_in_noscript;
} HeadElement;

typedef struct {
    Kept attributes;
    Pieces text;
    i32 form;
    i32 inside;
    u8 tag;
} FormElement;

enum EventKind { EVENT_OPEN, EVENT_CLOSE, EVENT_TEXT };

typedef struct {
    Kept attributes;
    Span text;
    u32 block; /* number of the block of a text, from 1; 0: none */
    u8 kind;
    u8 tag;
    bool is_raw;
} Event;

/* An open element. Places are positions on the stack; the body is at 0, which also stands for "none", because nothing
   closes the body. With them, whether an end tag reaches an element is known without a walk down the stack. */
typedef struct {
    u32 element;
    i32 outer_owner;  /* what `Forms.text_owner` was before */
    i32 outer_holder; /* what `Forms.label`, `Forms.options` or `Forms.fieldset` was before */
    u16 previous;     /* the place of the one before it with its tag */
    u16 barrier;      /* the place of the nearest element, itself included, that is a BARRIER... */
    u16 special;      /* ...that is SPECIAL... */
    u16 container;    /* ...that is SPECIAL, but not an address, a div or a paragraph */
    u8 tag;
    u8 region;
    bool is_foreign; /* svg, math or annotation */
    bool has_event;  /* its start was reported, so its end will be */
} Open;

typedef struct {
    u32 size;
    u16 last[TAG_COUNT]; /* the place of the innermost open element of each tag */
} Stack;

/* The hints of a value that was seen on this page: pages repeat their classes. */
typedef struct {
    Span value;
    u32 hints;
    u8 name; /* of the attribute; 0: not used yet */
} HintMemo;

#define HINT_MEMOS 64        /* a power of two */
#define LONGEST_MEMO 100     /* bytes of a value that is worth a comparison */

typedef struct {
    u8 *bytes; /* as much room as the page can need */
    u32 size;
    bool has_gap; /* there is white space behind the last visible character */
    bool is_block_open;
    bool is_cut;
} Text;

typedef struct {
    LIST(Link) list;
    u32 own_count;     /* of links to the page itself */
    i32 current;       /* the open link, or NONE */
    u32 depth;         /* of the stack when it was opened */
    bool is_split;     /* an element around it ended: the next text opens the link again */
    bool is_uncounted; /* the open link is beyond MAX_LINKS */
    bool is_own;       /* the open link leads to the page itself */
    Span classes;      /* of the open link */
} Links;

/* Controls of a disabled fieldset are disabled, but for those in its first legend (HTML Standard, 4.10.19.5). */
enum FieldsetState {
    IS_DISABLED = 1,          /* controls here are */
    IS_DISABLED_OUTSIDE = 2,  /* controls around the innermost fieldset are */
    HAS_LEGEND = 4,           /* the innermost fieldset has had one */
};

typedef struct {
    LIST(FormElement) list;
    i32 count;      /* of forms */
    bool is_open;   /* the form element pointer of the HTML Standard is set */
    i32 current;    /* the number of that form; NONE: none, or one too many */
    i32 added;      /* the element of the tag that is being read; NONE if it is not in the list */
    i32 text_owner; /* the innermost open option, button or label */
    i32 label;      /* the innermost open label */
    i32 options;    /* the innermost open select or datalist */
    i32 fieldset;   /* FieldsetState */
} Forms;

typedef struct {
    LIST(HeadElement) list;
    u32 metas;
    u32 links;
    bool has_language;
    bool has_base; /* links are relative to something else than the page */
} Head;

/* A heading or a term: blocks from and to. */
typedef struct {
    Span anchor; /* as written */
    u32 first;
    u32 end;
    u8 level;
} Section;

typedef struct {
    LIST(Section) list;
    i32 open;        /* the heading or term that is open, or NONE */
    bool has_own;    /* its anchor is its own, or inside of it */
    Span anchor;     /* the last one */
    u32 anchored_at; /* bytes of text before that */
} Sections;

typedef struct {
    const u8 *start;
    const u8 *end;
    bool has_failed; /* there is no memory */
    bool wants_blocks;
    bool wants_events;
    bool wants_sections;
    bool wants_layout; /* events or sections */
    bool is_in_body;
    bool is_frameset;
    bool is_in_noscript;
    bool has_title;
    u32 templates; /* open ones */
    Span title;
    Text text;
    Stack stack;
    Links links;
    Forms forms;
    Head head;
    LIST(Block) blocks;
    LIST(Element) elements;
    LIST(Piece) pieces;
    LIST(Attribute) kept;
    LIST(Medium) media;
    LIST(Event) events;
    u32 event_count; /* also of those that are not kept */
    Sections sections;
    HintMemo hints[HINT_MEMOS];
    /* From here on nothing has to be 0 at the start of a page. */
    Attributes attributes; /* of the tag that is being read */
    Open open[MAX_OPEN];   /* elements, `Stack.size` of them */
} Scanner;

/* Bytes of a scanner that have to be 0. */
#define SCANNER_ZEROED offsetof(Scanner, attributes)

static inline Open *top_of(Scanner *scanner) {
    return &scanner->open[scanner->stack.size - 1];
}

/* Whether browsers show nothing of what is here. */
static inline bool is_in_fallback(const Scanner *scanner) {
    return scanner->open[scanner->stack.size - 1].region & IN_FALLBACK;
}

/* Keep the attributes of the current tag: all of them, or those that `is_kept` has. */
static Kept keep_attributes(Scanner *scanner, const bool *is_kept) {
    Kept kept = {scanner->kept.count, 0};
    for (u32 i = 0; i < scanner->attributes.count; i++) {
        const Attribute *attribute = &scanner->attributes.items[i];
        if ((!is_kept || is_kept[attribute->known]) && HAS_ROOM(&scanner->kept, &scanner->has_failed)) {
            scanner->kept.items[scanner->kept.count++] = *attribute;
            kept.count++;
        }
    }
    return kept;
}

static void add_piece(Scanner *scanner, Pieces *pieces, Span source, bool is_raw) {
    if (!HAS_ROOM(&scanner->pieces, &scanner->has_failed)) {
        return;
    }
    scanner->pieces.items[scanner->pieces.count++] = (Piece){source, 0, is_raw};
    u32 number = scanner->pieces.count;
    if (pieces->last) {
        scanner->pieces.items[pieces->last - 1].next = number;
    } else {
        pieces->first = number;
    }
    pieces->last = number;
}

/* All memory but the page itself, which the caller owns. */
static void release(Scanner *scanner) {
    free(scanner->text.bytes);
    free(scanner->links.list.items);
    free(scanner->forms.list.items);
    free(scanner->head.list.items);
    free(scanner->blocks.items);
    free(scanner->elements.items);
    free(scanner->pieces.items);
    free(scanner->kept.items);
    free(scanner->media.items);
    free(scanner->events.items);
    free(scanner->sections.list.items);
}

#endif

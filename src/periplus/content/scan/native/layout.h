/* What the main text is chosen from: blocks of text, and the elements they stand in.

   A block is text without a border of a block element (paragraph, heading, cell, ...) inside; links and emphasis do not
   end it. Elements are those that were put on the stack of open elements, in the order of the document, so that a
   parent comes before its children; number 0 is the body. */
#ifndef PERIPLUS_LAYOUT_H
#define PERIPLUS_LAYOUT_H

#include "base.h"

/* What an element is in, by its own or an ancestor's tag or role. Where this changes, a block ends, but for the last. */
enum Region {
    IN_MAIN = 1,  /* <main>, role=main */
    IN_ARTICLE = 2,
    IN_ASIDE = 4, /* <nav>, <aside>, <footer>, roles of navigation */
    IN_HEADER = 8,
    IN_FORM = 16,
    IN_FALLBACK = 32, /* what browsers show nothing of: the content of a film, sound or canvas, notes on formulas */
};

typedef struct {
    u32 start;   /* of its text, in bytes of the page's text */
    u32 end;
    u32 link;    /* bytes of it that are in links */
    u32 element; /* the innermost element on the stack when it began */
} Block;

typedef struct {
    u32 parent;
    u32 hints; /* of its own attributes: `attribute_hints` of main_text.h */
    u32 way;   /* see blocks.h */
    u8 tag;    /* TAG_... of tags.h */
    u8 region; /* bits of Region: its own and its ancestors' */
    bool is_silent; /* see blocks.h */
    bool is_aside;
} Element;

#endif

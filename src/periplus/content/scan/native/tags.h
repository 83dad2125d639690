/* The tags of HTML, and what the scanner does at each. The same table as `scan/tags.py`. */
#ifndef PERIPLUS_TAGS_H
#define PERIPLUS_TAGS_H

#include "base.h"

enum TagFlag {
    VOID = 1,         /* has no content and no end tag */
    BLOCK = 2,        /* begins and ends a block of text */
    PUSH = 4,         /* is put on the stack of open elements; inline elements are not */
    RAW = 8,          /* its content is text without tags and references */
    RCDATA = 16,      /* its content is text without tags */
    HEAD = 32,        /* does not begin the body */
    CLOSES_P = 64,    /* ends an open paragraph */
    BARRIER = 128,    /* end tags inside do not reach beyond it */
    MEDIA = 256,
    BREAKOUT = 512,   /* ends foreign content (HTML Standard, 13.2.6.5) */
    SPECIAL = 1024,   /* of the "special" category: end tags of others stop at it */
    FORM_PART = 2048, /* reported as a `FormElement` */
    HEAD_PART = 4096, /* reported as a `HeadElement` */
    SPACED = 8192,    /* stands between two words, though no blank be written: a line break, a control, a picture */
};

#define FLOW (BLOCK | PUSH | CLOSES_P | SPECIAL)

#define TAGS(X)                                      \
    X(a, 0)                                          \
    X(abbr, 0)                                       \
    X(acronym, 0)                                    \
    X(address, FLOW)                                 \
    X(annotation, 0)                                 \
    X(applet, PUSH | BARRIER | SPECIAL | SPACED)     \
    X(area, VOID)                                    \
    X(article, FLOW)                                 \
    X(aside, FLOW)                                   \
    X(audio, MEDIA | PUSH | SPACED)                  \
    X(b, BREAKOUT)                                   \
    X(base, VOID | HEAD | HEAD_PART)                 \
    X(basefont, VOID | HEAD)                         \
    X(bdi, 0)                                        \
    X(bdo, 0)                                        \
    X(bgsound, VOID | HEAD)                          \
    X(big, BREAKOUT)                                 \
    X(blockquote, FLOW | BREAKOUT)                   \
    X(body, BLOCK | SPECIAL | BREAKOUT)              \
    X(br, VOID | BREAKOUT | SPACED)                  \
    X(button, PUSH | SPECIAL | FORM_PART | SPACED)   \
    X(canvas, PUSH | SPACED)                         \
    X(caption, BLOCK | PUSH | BARRIER | SPECIAL)     \
    X(center, FLOW | BREAKOUT)                       \
    X(cite, 0)                                       \
    X(code, BREAKOUT)                                \
    X(col, VOID)                                     \
    X(colgroup, 0)                                   \
    X(data, 0)                                       \
    X(datalist, PUSH | FORM_PART | SPACED)           \
    X(dd, FLOW | BREAKOUT)                           \
    X(del, 0)                                        \
    X(desc, PUSH | SPACED)                           \
    X(details, FLOW)                                 \
    X(dfn, 0)                                        \
    X(dialog, FLOW)                                  \
    X(dir, FLOW)                                     \
    X(div, FLOW | BREAKOUT)                          \
    X(dl, FLOW | BREAKOUT)                           \
    X(dt, FLOW | BREAKOUT)                           \
    X(em, BREAKOUT)                                  \
    X(embed, VOID | BREAKOUT | SPACED)               \
    X(fieldset, FLOW)                                \
    X(figcaption, FLOW)                              \
    X(figure, FLOW)                                  \
    X(font, 0)                                       \
    X(footer, FLOW)                                  \
    X(foreignobject, PUSH | SPACED)                  \
    X(form, FLOW | FORM_PART)                        \
    X(frame, VOID | SPACED)                          \
    X(frameset, 0)                                   \
    X(h1, FLOW | BREAKOUT)                           \
    X(h2, FLOW | BREAKOUT)                           \
    X(h3, FLOW | BREAKOUT)                           \
    X(h4, FLOW | BREAKOUT)                           \
    X(h5, FLOW | BREAKOUT)                           \
    X(h6, FLOW | BREAKOUT)                           \
    X(head, HEAD | BREAKOUT)                         \
    X(header, FLOW)                                  \
    X(hgroup, FLOW)                                  \
    X(hr, VOID | BLOCK | CLOSES_P | BREAKOUT)        \
    X(html, HEAD | HEAD_PART)                        \
    X(i, BREAKOUT)                                   \
    X(iframe, RAW | SPACED)                          \
    X(image, VOID | MEDIA | SPACED)                  \
    X(img, VOID | MEDIA | BREAKOUT | SPACED)         \
    X(input, VOID | FORM_PART | SPACED)              \
    X(ins, 0)                                        \
    X(kbd, 0)                                        \
    X(keygen, VOID | SPACED)                         \
    X(label, PUSH | FORM_PART)                       \
    X(legend, BLOCK | PUSH)                          \
    X(li, FLOW | BREAKOUT)                           \
    X(link, VOID | HEAD | HEAD_PART)                 \
    X(listing, FLOW | BREAKOUT)                      \
    X(main, FLOW)                                    \
    X(map, 0)                                        \
    X(mark, 0)                                       \
    X(marquee, PUSH | BARRIER | SPECIAL | SPACED)    \
    X(math, PUSH)                                    \
    X(menu, FLOW | BREAKOUT)                         \
    X(meta, VOID | HEAD | BREAKOUT | HEAD_PART)      \
    X(meter, SPACED)                                 \
    X(nav, FLOW)                                     \
    X(nobr, BREAKOUT)                                \
    X(noembed, RAW | SPACED)                         \
    X(noframes, RAW | HEAD | SPACED)                 \
    X(noscript, HEAD)                                \
    X(object, PUSH | BARRIER | SPECIAL | SPACED)     \
    X(ol, FLOW | BREAKOUT)                           \
    X(optgroup, PUSH | SPACED)                       \
    X(option, BLOCK | PUSH | FORM_PART)              \
    X(output, 0)                                     \
    X(p, FLOW | BREAKOUT)                            \
    X(param, VOID)                                   \
    X(picture, 0)                                    \
    X(plaintext, BLOCK)                              \
    X(pre, FLOW | BREAKOUT)                          \
    X(progress, SPACED)                              \
    X(q, 0)                                          \
    X(rp, 0)                                         \
    X(rt, 0)                                         \
    X(ruby, BREAKOUT)                                \
    X(s, BREAKOUT)                                   \
    X(samp, 0)                                       \
    X(script, RAW | HEAD | HEAD_PART)                \
    X(search, FLOW)                                  \
    X(section, FLOW)                                 \
    X(select, PUSH | SPECIAL | FORM_PART | SPACED)   \
    X(slot, 0)                                       \
    X(small, BREAKOUT)                               \
    X(source, VOID | MEDIA)                          \
    X(span, BREAKOUT)                                \
    X(strike, BREAKOUT)                              \
    X(strong, BREAKOUT)                              \
    X(style, RAW | HEAD)                             \
    X(sub, BREAKOUT)                                 \
    X(summary, FLOW)                                 \
    X(sup, BREAKOUT)                                 \
    X(svg, PUSH | SPACED)                            \
    X(table, BLOCK | PUSH | BARRIER | BREAKOUT | SPECIAL) \
    X(tbody, BLOCK | PUSH | SPECIAL)                 \
    X(td, BLOCK | PUSH | BARRIER | SPECIAL)          \
    X(template, BARRIER | SPECIAL | HEAD)            \
    X(textarea, RCDATA | FORM_PART | SPACED)         \
    X(tfoot, BLOCK | PUSH | SPECIAL)                 \
    X(th, BLOCK | PUSH | BARRIER | SPECIAL)          \
    X(thead, BLOCK | PUSH | SPECIAL)                 \
    X(time, 0)                                       \
    X(title, RCDATA | HEAD | SPACED)                 \
    X(tr, BLOCK | PUSH | SPECIAL)                    \
    X(track, VOID)                                   \
    X(tt, BREAKOUT)                                  \
    X(u, BREAKOUT)                                   \
    X(ul, FLOW | BREAKOUT)                           \
    X(var, BREAKOUT)                                 \
    X(video, MEDIA | PUSH | SPACED)                  \
    X(wbr, VOID)                                     \
    X(xmp, RAW | BLOCK | CLOSES_P)

enum Tag {
    TAG_unknown,
#define X(name, flags) TAG_##name,
    TAGS(X)
#undef X
    TAG_COUNT
};

static const u16 TAG_FLAGS[TAG_COUNT] = {
    0,
#define X(name, flags) flags,
    TAGS(X)
#undef X
};

static const char *const TAG_NAMES[TAG_COUNT] = {
    "",
#define X(name, flags) #name,
    TAGS(X)
#undef X
};

/* ---- names as numbers ---- */

#define MAX_KEY 16 /* bytes: longer than every name that the tables know */

/* The first MAX_KEY bytes of a name, in small letters, and how long it is. */
typedef struct {
    u64 low;
    u64 high;
    u32 size;
} NameKey;

/* At least MAX_KEY bytes can be read at `at`. */
static inline NameKey name_key(const u8 *at, u32 size) {
    if (size <= 8) {
        return (NameKey){lower_bytes(first_bytes(eight_bytes(at), size)), 0, size};
    }
    return (NameKey){lower_bytes(eight_bytes(at)), lower_bytes(first_bytes(eight_bytes(at + 8), size - 8)), size};
}

/* A table from names to small numbers, 0 for what is not in it. */
#define NAME_SLOTS 1024 /* a power of two, and several times the number of names */

typedef struct {
    NameKey key;
    u8 number;
} NameSlot;

static inline u32 name_slot(NameKey key) {
    u64 hash = key.low * 0x9E3779B97F4A7C15ULL ^ key.high * 0xC2B2AE3D27D4EB4FULL;
    return (u32)(hash >> 54); /* 10 bits: NAME_SLOTS */
}

static void add_name(NameSlot *table, const char *name, u8 number) {
    u8 padded[MAX_KEY] = {0};
    size_t size = strlen(name);
    memcpy(padded, name, size);
    NameKey key = name_key(padded, (u32)size);
    u32 slot = name_slot(key);
    while (table[slot].number && table[slot].number != number) { /* the module may be loaded more than once */
        slot = (slot + 1) % NAME_SLOTS;
    }
    table[slot] = (NameSlot){key, number};
}

static inline u8 find_name(const NameSlot *table, NameKey key) {
    u32 slot = name_slot(key);
    while (table[slot].number) {
        const NameKey *known = &table[slot].key;
        if (known->low == key.low && known->high == key.high && known->size == key.size) {
            return table[slot].number;
        }
        slot = (slot + 1) % NAME_SLOTS;
    }
    return 0;
}

static NameSlot TAG_TABLE[NAME_SLOTS];

static void init_tags(void) {
    for (u8 tag = 1; tag < TAG_COUNT; tag++) {
        add_name(TAG_TABLE, TAG_NAMES[tag], tag);
    }
    add_name(TAG_TABLE, "annotation-xml", TAG_annotation);
}

static inline bool is_heading(u8 tag) {
    return tag >= TAG_h1 && tag <= TAG_h6;
}

#endif

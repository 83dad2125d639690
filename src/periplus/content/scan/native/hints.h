/* What the attributes of an element suggest about its text: the same as `scan/hints.py`, which explains the bits. */
#ifndef PERIPLUS_HINTS_H
#define PERIPLUS_HINTS_H

#include "base.h"
#include "ways.h" /* crc32_of */

enum Hint {
    LOOKS_CLUTTER = 1,
    LOOKS_SIDE = 2,
    LOOKS_TEASER = 4,
    LOOKS_CAPTION = 8,
    LOOKS_PICTURE = 16,
    LOOKS_COMMENT = 32,
    LOOKS_HIDDEN = 64,
    LOOKS_LEAD = 128,
    LOOKS_FOOTER = 256,
    HINTS_BY_NAME = 511, /* all of the above */
    LOOKS_ASIDE = 512,
    LOOKS_SECTION = 1 << 19,
    LOOKS_NEXT = 1 << 20,
    LOOKS_PREVIOUS = 1 << 21,
};
#define HINTS_BY_ID 10 /* bits by which the hints of an id are shifted */
#define HINT_ONWARD 20 /* the first of the two bits of the next and the previous page */
#define HINT_KIND 22   /* the first bit of the hash of the classes */

#define LONGEST_HINT 1024 /* bytes of a value that are looked at */
#define SHORT_WORD 4      /* letters from which on hyphens, underscores and capitals are allowed inside */

/* `^` asks for the beginning of a word, `$` for its end, `=` for a whole class. */
static const struct {
    u32 hint;
    const char *words;
} VOCABULARY[] = {
    {LOOKS_CLUTTER,
     "^nav nav$ menu breadcrumb ^crumb pagination ^pager$ toolbar topbar ^skip sitemap dropdown ^button ^btn "
     "advert ^ad$ ^ads$ ^adbox banner sponsor ^promo$ ^promos ^promobox ^promotion outbrain taboola criteo werbung "
     "^anzeige affiliate cookie consent gdpr dsgvo newsletter subscri popup modal overlay lightbox paywall login "
     "signup register ^cta$ ^donat spende ^placeholder thirdparty ^share sharing social sociable shariff addthis "
     "addtoany ^follow whatsapp twittertweet"},
    {LOOKS_SIDE, "sidebar ^aside ^rail$ widget ^secondary$ ^marginal"},
    {LOOKS_TEASER,
     "related recommend trending popular teaser mostread ^similar readmore ^recent ^latest ^suggest ^weitere ^mehr$ "
     "^further viral nextpost ^meta$ postmeta entrymeta author byline ^autor ^tags taglist ^bio$ vcard "
     "^categories ^cats$ ^rating ^posted ^date$ ^timestamp userinfo userprofile infoline masthead "
     "branding ^tagline slogan imprint impressum"},
    {LOOKS_CAPTION, "caption ^credit ^legend ^bildunter gallery slideshow swiper carousel slider attachment"},
    {LOOKS_PICTURE, "^img ^image ^photo ^picture ^bild ^foto"},
    {LOOKS_COMMENT, "comment ^respond$ ^reply ^replies disqus kommentar comentario"},
    {LOOKS_HIDDEN,
     "=hidden =hide =invisible =sr-only =d-none =noprint =noscript screenreader visuallyhidden hideprint"},
    {LOOKS_LEAD,
     "^lead$ ^lede ^intro excerpt ^summary standfirst ^abstract vorspann anleser subheadline ^dek$ ^deck$ ^chapeau "
     "^entradilla"},
    {LOOKS_FOOTER, "footer ^foot$ colophon copyright"},
    {LOOKS_SECTION, "section sect$"},
    {LOOKS_NEXT, "next"},
    {LOOKS_PREVIOUS, "prev"},
};

typedef struct {
    const char *letters; /* of the vocabulary, without signs; not ended by a zero */
    u32 hint;
    u8 size;
    u8 next;       /* the number of another word of the same letters; 0 if there is none */
    bool is_start; /* has to begin a word */
    bool is_end;   /* has to end one */
    bool is_whole; /* has to be a class, as it is */
} HintWord;

/* The words as a trie: a node stands for some letters, its children for one letter more. Number 0 is no node. */
typedef struct {
    u32 letters; /* of its children: a bit for each */
    u16 child;
    u16 sibling;
    u8 letter;
    u8 word; /* the number of a word of these letters; 0 if there is none */
} HintNode;

#define MAX_HINT_WORDS 255
#define MAX_HINT_NODES 2048

enum LetterCode { /* letters are 0 to 25 */
    NOT_A_LETTER = 26,
    LETTER_CODES,
    JOINT, /* hyphens and underscores, which do not count */
};

static u8 LETTER_CODE[256];
static HintWord HINT_WORDS[MAX_HINT_WORDS + 1];
static HintNode HINT_NODES[MAX_HINT_NODES];
static u16 HINT_ROOTS[LETTER_CODES][LETTER_CODES]; /* nodes by the first two letters, which most places do not have */

/* A value as codes of letters without joints, and where each stands in the value. */
typedef struct {
    u8 codes[LONGEST_HINT + 2]; /* ended by two that are not letters */
    u16 places[LONGEST_HINT];
    u32 count;
} HintLetters;

static void read_letters(const u8 *value, u32 size, HintLetters *letters) {
    u32 count = 0;
    for (u32 at = 0; at < size; at++) {
        u8 code = LETTER_CODE[value[at]];
        if (code != JOINT) {
            letters->codes[count] = code;
            letters->places[count++] = (u16)at;
        }
    }
    letters->codes[count] = letters->codes[count + 1] = NOT_A_LETTER;
    letters->count = count;
}

/* The node one letter further; 0 if no word goes on like this. */
static inline u32 hint_child(u32 node, u8 letter) {
    if (!(HINT_NODES[node].letters >> letter & 1)) {
        return 0;
    }
    u32 child = HINT_NODES[node].child;
    while (HINT_NODES[child].letter != letter) {
        child = HINT_NODES[child].sibling;
    }
    return child;
}

static inline bool is_capital(u8 byte) {
    return byte >= 'A' && byte <= 'Z';
}

static HintWord hint_word(const char *written, size_t size, u32 hint) {
    HintWord word = {written, hint, (u8)size, 0, *written == '^', written[size - 1] == '$', *written == '='};
    if (word.is_start || word.is_whole) {
        word.letters++;
        word.size--;
    }
    word.size -= word.is_end;
    return word;
}

/* Put a word into the trie. Returns how many nodes there are then. */
static u32 plant_word(u8 number, u32 node_count) {
    HintWord *word = &HINT_WORDS[number];
    HintLetters letters;
    read_letters((const u8 *)word->letters, word->size, &letters);
    u16 *root = &HINT_ROOTS[letters.codes[0]][letters.codes[1]];
    *root = *root ? *root : (u16)node_count++;
    u32 node = *root;
    for (u32 i = 2; i < letters.count; i++) {
        u8 letter = letters.codes[i];
        u32 child = hint_child(node, letter);
        if (!child) {
            child = node_count++;
            HINT_NODES[child] = (HintNode){.sibling = HINT_NODES[node].child, .letter = letter};
            HINT_NODES[node].child = (u16)child;
            HINT_NODES[node].letters |= (u32)1 << letter;
        }
        node = child;
    }
    word->next = HINT_NODES[node].word;
    HINT_NODES[node].word = number;
    return node_count;
}

/* Written once, when the module is loaded. */
static void init_hints(void) {
    for (int byte = 0; byte < 256; byte++) {
        int letter = (byte | 32) - 'a';
        bool is_letter = byte < 128 && letter >= 0 && letter < NOT_A_LETTER;
        LETTER_CODE[byte] = byte == '-' || byte == '_' ? JOINT : is_letter ? (u8)letter : NOT_A_LETTER;
    }
    memset(HINT_NODES, 0, sizeof HINT_NODES);
    memset(HINT_ROOTS, 0, sizeof HINT_ROOTS);
    u32 word_count = 0, node_count = 1;
    for (u32 row = 0; row < sizeof VOCABULARY / sizeof *VOCABULARY; row++) {
        const char *at = VOCABULARY[row].words;
        while (*at) {
            size_t size = strcspn(at, " ");
            HINT_WORDS[++word_count] = hint_word(at, size, VOCABULARY[row].hint);
            node_count = plant_word((u8)word_count, node_count);
            at += size + (at[size] == ' ');
        }
    }
}

/* Whether a word begins or ends before a place that has a letter on one side at least: there is none on the other side,
   or, for longer words, a capital begins there. */
static bool is_word_border(const HintWord *word, const u8 *value, u32 size, u32 at) {
    bool is_inside = at > 0 && at < size && IS_LETTER[value[at - 1]] && IS_LETTER[value[at]];
    return !is_inside || (word->size >= SHORT_WORD && !is_capital(value[at - 1]) && is_capital(value[at]));
}

/* Whether the letters of a word, which stand at a place, are that word. */
static bool is_hint_word(const HintWord *word, const u8 *value, u32 size, u32 at, u32 end) {
    if (word->is_whole) {
        return end - at == word->size && starts_with(value + at, word->letters, word->size) &&
               (at == 0 || IS_SPACE[value[at - 1]]) && (end == size || IS_SPACE[value[end]]);
    }
    if (word->size < SHORT_WORD && end - at != word->size) {
        return false; /* hyphens inside */
    }
    return (!word->is_start || is_word_border(word, value, size, at)) &&
           (!word->is_end || is_word_border(word, value, size, end));
}

/* The hints of the words that begin with a letter of a value; `node` stands for that letter and the next one. */
static u32 hints_at(const u8 *value, u32 size, const HintLetters *letters, u32 first, u32 node) {
    u32 hints = 0;
    for (u32 last = first + 1; node; last++) {
        u32 at = letters->places[first], end = letters->places[last] + 1u;
        for (u32 number = HINT_NODES[node].word; number; number = HINT_WORDS[number].next) {
            bool is_word = is_hint_word(&HINT_WORDS[number], value, size, at, end);
            hints |= is_word ? HINT_WORDS[number].hint : 0;
        }
        node = hint_child(node, letters->codes[last + 1]);
    }
    return hints;
}

/* The hints of the words in a value. */
static u32 word_hints(const u8 *value, u32 size) {
    HintLetters letters;
    read_letters(value, size, &letters);
    u32 hints = 0;
    for (u32 i = 0; i < letters.count; i++) {
        u32 root = HINT_ROOTS[letters.codes[i]][letters.codes[i + 1]];
        if (root && (HINT_NODES[root].word || HINT_NODES[root].letters >> letters.codes[i + 2] & 1)) {
            hints |= hints_at(value, size, &letters, i, root);
        }
    }
    return hints;
}

static u32 class_hints(const u8 *value, u32 size) {
    u32 kind = crc32_of(value, size, 0) >> HINT_KIND;
    return word_hints(value, size) | (kind ? kind : 1) << HINT_KIND;
}

static u32 id_hints(const u8 *value, u32 size) {
    u32 kinds = word_hints(value, size);
    return (kinds & HINTS_BY_NAME) << HINTS_BY_ID | (kinds & (LOOKS_NEXT | LOOKS_PREVIOUS));
}

static u32 role_hints(Span role) {
    if (IS_WORD(role, "navigation") || IS_WORD(role, "banner") || IS_WORD(role, "contentinfo") ||
        IS_WORD(role, "complementary") || IS_WORD(role, "search") || IS_WORD(role, "menu") ||
        IS_WORD(role, "menubar")) {
        return LOOKS_ASIDE;
    }
    bool is_clutter = IS_WORD(role, "dialog") || IS_WORD(role, "alertdialog") || IS_WORD(role, "tooltip") ||
                      IS_WORD(role, "tablist") || IS_WORD(role, "toolbar");
    return is_clutter ? LOOKS_CLUTTER : 0;
}

/* One property of schema.org. */
static u32 property_hint(Span name) {
    if (IS_WORD(name, "description") || IS_WORD(name, "alternativeheadline")) {
        return LOOKS_LEAD;
    }
    if (IS_WORD(name, "author") || IS_WORD(name, "datepublished") || IS_WORD(name, "publisher") ||
        IS_WORD(name, "keywords")) {
        return LOOKS_TEASER;
    }
    return IS_WORD(name, "comment") ? LOOKS_COMMENT : IS_WORD(name, "caption") ? LOOKS_CAPTION : 0;
}

static u32 property_hints(const u8 *value, u32 size) {
    u32 hints = 0;
    for (u32 at = 0; at < size;) {
        u32 start = at;
        while (at < size && !IS_SPACE[value[at]]) {
            at++;
        }
        hints |= property_hint((Span){value + start, at - start});
        at++;
    }
    return hints;
}

/* Whether a style declares this at a place; white space may stand around the colon. */
static bool is_declared_at(const u8 *value, u32 size, u32 at, const char *name, const char *what) {
    u32 name_size = (u32)strlen(name), what_size = (u32)strlen(what);
    if (size - at < name_size || !starts_with(value + at, name, name_size)) {
        return false;
    }
    at += name_size;
    while (at < size && IS_SPACE[value[at]]) {
        at++;
    }
    if (at == size || value[at++] != ':') {
        return false;
    }
    while (at < size && IS_SPACE[value[at]]) {
        at++;
    }
    return size - at >= what_size && starts_with(value + at, what, what_size);
}

static bool is_hidden_style(const u8 *value, u32 size) {
    for (u32 at = 0; at < size; at++) {
        u8 first = LOWER[value[at]];
        if ((first == 'd' && is_declared_at(value, size, at, "display", "none")) ||
            (first == 'v' && is_declared_at(value, size, at, "visibility", "hidden"))) {
            return true;
        }
    }
    return false;
}

/* What an attribute suggests; the name is in small letters, the value as written, NULL where there is none. */
static u32 attribute_hints(const u8 *name, size_t name_size, const u8 *value, size_t value_size) {
    Span named = {name, (u32)name_size};
    if (IS_WORD(named, "hidden")) {
        return LOOKS_HIDDEN;
    }
    if (!value || !value_size) {
        return 0;
    }
    u32 size = value_size < LONGEST_HINT ? (u32)value_size : LONGEST_HINT;
    Span whole = {value, (u32)value_size};
    switch (*name) {
        case 'c':
            return IS_WORD(named, "class") ? class_hints(value, size) : 0;
        case 'i':
            if (IS_WORD(named, "id")) {
                return id_hints(value, size);
            }
            return IS_WORD(named, "itemprop") ? property_hints(value, size) : 0;
        case 'r':
            return IS_WORD(named, "role") ? role_hints(whole) : 0;
        case 's':
            return IS_WORD(named, "style") && is_hidden_style(value, size) ? LOOKS_HIDDEN : 0;
        case 'a':
            return IS_WORD(named, "aria-hidden") && IS_WORD(whole, "true") ? LOOKS_HIDDEN : 0;
        default:
            return 0;
    }
}

#endif

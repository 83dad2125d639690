/* One pass over a page: the tokenisation of the HTML Standard (13.2.5), and what each tag does. */
#ifndef PERIPLUS_PAGE_H
#define PERIPLUS_PAGE_H

#include "head.h"
#include "stack.h"

/* ---- content without tags ---- */

/* Where the content of an element ends whose end tag begins at `found`, and what follows that; the end of the page if
   the end tag is not complete. */
static const u8 *skip_end_tag(const Scanner *scanner, const u8 *found, u32 name_size) {
    const u8 *after = read_attributes(found + 2 + name_size, scanner->end, NULL);
    return after ? after : scanner->end;
}

static inline bool is_end_tag(const Scanner *scanner, const u8 *at, const char *name, u32 size) {
    const u8 *after = at + 2 + size;
    return at[1] == '/' && starts_with(at + 2, name, size) && ENDS_NAME[*after] && after < scanner->end;
}

/* The end tag of raw text; the end of the page if there is none. */
static const u8 *find_end_tag(const Scanner *scanner, const u8 *at, const char *name, const u8 **after) {
    u32 size = (u32)strlen(name);
    for (at = find_byte(at, scanner->end, '<'); at < scanner->end; at = find_byte(at + 1, scanner->end, '<')) {
        if (is_end_tag(scanner, at, name, size)) {
            *after = skip_end_tag(scanner, at, size);
            return at;
        }
    }
    *after = scanner->end;
    return scanner->end;
}

/* The end tag of a script. Inside "<!--" and "-->", "<script" and "</script" come in pairs (the "script data escaped"
   and "double escaped" states). */
static const u8 *find_script_end(const Scanner *scanner, const u8 *at, const u8 **after) {
    const u8 *end = scanner->end;
    bool is_escaped = false;
    bool is_twice = false;
    while (at < end) {
        if (*at == '<') {
            if (is_end_tag(scanner, at, "script", 6)) {
                if (!is_twice) {
                    *after = skip_end_tag(scanner, at, 6);
                    return at;
                }
                is_twice = false;
            } else if (is_escaped && !is_twice && starts_with(at + 1, "script", 6) && ENDS_NAME[at[7]]) {
                is_twice = true;
            } else if (!is_escaped && memcmp(at, "<!--", 4) == 0) {
                is_escaped = true;
                at++; /* so that the dashes can be those of "-->" */
            }
            at++;
        } else if (is_escaped && memcmp(at, "-->", 3) == 0) {
            is_escaped = false;
            is_twice = false;
            at += 3;
        } else if (is_escaped) {
            at++;
        } else {
            at = find_byte(at, end, '<');
        }
    }
    *after = end;
    return end;
}

static const u8 *find_content_end(const Scanner *scanner, const u8 *at, u8 tag, const u8 **after) {
    return tag == TAG_script ? find_script_end(scanner, at, after) : find_end_tag(scanner, at, TAG_NAMES[tag], after);
}

static void add_textarea(Scanner *scanner, const u8 *at, const u8 *end) {
    Span content = {at, (u32)(end - at)};
    add_form_element(scanner, TAG_textarea);
    Forms *forms = &scanner->forms;
    if (forms->added != NONE) {
        add_piece(scanner, &forms->list.items[forms->added].text, content, false);
    }
    i32 owner = forms->text_owner;
    forms->text_owner = NONE;
    add_text(scanner, at, end, false);
    forms->text_owner = owner;
}

/* An element whose content is text without tags. Returns what follows its end tag. */
static const u8 *read_raw_element(Scanner *scanner, u8 tag, const u8 *at) {
    const u8 *after;
    const u8 *end = find_content_end(scanner, at, tag, &after);
    Span content = {at, (u32)(end - at)};
    bool has_event = add_open_event(scanner, tag);
    part_text(scanner, TAG_FLAGS[tag]);
    switch (tag) {
        case TAG_script:
            add_script(scanner, content);
            break;
        case TAG_title:
            add_title(scanner, content);
            if (scanner->is_in_body) {
                add_text(scanner, at, end, false);
            }
            break;
        case TAG_textarea:
            add_textarea(scanner, at, end);
            break;
        case TAG_iframe:
            add_other_link(scanner, tag);
            break;
        case TAG_xmp:
            show_text(scanner, at, end, true);
            break;
        default: /* browsers show nothing of it */
            break;
    }
    part_text(scanner, TAG_FLAGS[tag]);
    if (has_event) {
        add_close_event(scanner, tag);
    }
    return after;
}

/* ---- start tags ---- */

/* Inside a template there is nothing of the page; only where it ends matters. */
static const u8 *read_in_template(Scanner *scanner, u8 tag, const u8 *at) {
    const u8 *after = at;
    if (tag == TAG_template) {
        scanner->templates++;
    } else if (TAG_FLAGS[tag] & (RAW | RCDATA)) {
        find_content_end(scanner, at, tag, &after);
    }
    return after;
}

/* Whether a tag ends a drawing or a formula, because somebody forgot its end tag. */
static bool breaks_out(const Scanner *scanner, u8 tag) {
    const Attributes *attributes = &scanner->attributes;
    if (tag == TAG_font) {
        return has_attribute(attributes, ATTR_color) || has_attribute(attributes, ATTR_face) ||
               has_attribute(attributes, ATTR_size);
    }
    return TAG_FLAGS[tag] & BREAKOUT;
}

static void leave_foreign(Scanner *scanner) {
    u32 size = scanner->stack.size;
    while (size > 1 && scanner->open[size - 1].is_foreign) {
        size--;
    }
    pop_to(scanner, size);
}

/* A start tag in svg or math. Links count; inside foreignobject, desc and title is HTML again. */
static const u8 *read_foreign(Scanner *scanner, u8 tag, const u8 *at) {
    const u8 *after = at;
    bool is_empty = scanner->attributes.is_self_closing;
    scanner->text.has_gap |= top_of(scanner)->tag == TAG_svg; /* each text of a drawing has a place of its own */
    switch (tag) {
        case TAG_a:
            start_anchor(scanner);
            break;
        case TAG_foreignobject:
        case TAG_annotation:
        case TAG_desc:
        case TAG_title:
        case TAG_svg:
        case TAG_math:
            if (!is_empty) {
                push(scanner, tag);
            }
            break;
        case TAG_script:
        case TAG_style:
            if (!is_empty) {
                find_content_end(scanner, at, tag, &after);
            }
            break;
        default:
            break;
    }
    return after;
}

/* A form in a form is ignored; one among rows of a table is not a parent of anything. */
static void start_form_tag(Scanner *scanner) {
    u8 parent = top_of(scanner)->tag;
    start_form(scanner);
    if (parent != TAG_table && parent != TAG_tr && !is_row_group(parent)) {
        push(scanner, TAG_form);
    }
}

/* A start tag in HTML whose content may have tags. */
static void start_element(Scanner *scanner, u8 tag) {
    if (tag == TAG_image) {
        tag = TAG_img; /* the HTML Standard: "Don't ask." */
    }
    u32 flags = TAG_FLAGS[tag];
    if (tag == TAG_form && scanner->forms.is_open) {
        return;
    }
    close_implied(scanner, tag);
    part_text(scanner, flags);
    if (tag == TAG_form) {
        start_form_tag(scanner);
        return;
    }
    if (flags & HEAD_PART) {
        add_head_element(scanner, tag, (Span){NULL, 0});
    }
    if (flags & FORM_PART) {
        add_form_element(scanner, tag);
    }
    if (flags & MEDIA) {
        add_medium(scanner, tag);
    }
    if (flags & PUSH) {
        bool is_empty_drawing = (tag == TAG_svg || tag == TAG_math) && scanner->attributes.is_self_closing;
        if (!is_empty_drawing) {
            push(scanner, tag);
        }
        return;
    }
    add_open_event(scanner, tag);
    if (tag == TAG_a) {
        start_anchor(scanner);
    } else if (tag == TAG_area || tag == TAG_frame) {
        add_other_link(scanner, tag);
    }
}

/* Whether the tag is the last that matters before the body. */
static void note_body(Scanner *scanner, u8 tag) {
    if (tag == TAG_frameset) {
        scanner->is_frameset = true;
    } else if (!(TAG_FLAGS[tag] & HEAD) && !(scanner->is_frameset && tag == TAG_frame)) {
        scanner->is_in_body = true;
    }
}

static const u8 *read_start_tag(Scanner *scanner, u8 tag, const u8 *at) {
    if (scanner->templates) {
        return read_in_template(scanner, tag, at);
    }
    if (top_of(scanner)->is_foreign) {
        if (!breaks_out(scanner, tag)) {
            return read_foreign(scanner, tag, at);
        }
        leave_foreign(scanner);
    }
    if (!scanner->is_in_body) {
        note_body(scanner, tag);
    }
    if (TAG_FLAGS[tag] & (RAW | RCDATA)) {
        return read_raw_element(scanner, tag, at);
    }
    switch (tag) {
        case TAG_template:
            scanner->templates++;
            break;
        case TAG_noscript:
            scanner->is_in_noscript = true;
            break;
        case TAG_plaintext:
            end_block(scanner);
            add_text(scanner, at, scanner->end, true);
            return scanner->end;
        default:
            start_element(scanner, tag);
            break;
    }
    return at;
}

/* ---- end tags ---- */

static void read_end_tag(Scanner *scanner, u8 tag) {
    if (scanner->templates) {
        scanner->templates -= tag == TAG_template;
        return;
    }
    u32 flags = TAG_FLAGS[tag];
    switch (tag) {
        case TAG_a:
            close_link(scanner);
            break;
        case TAG_noscript:
            scanner->is_in_noscript = false;
            return;
        case TAG_head:
        case TAG_body:
        case TAG_html:
            return;
        case TAG_form:
            end_form(scanner);
            break;
        default:
            break;
    }
    part_text(scanner, flags);
    if ((flags & PUSH) || tag == TAG_title || tag == TAG_annotation) {
        close_element(scanner, tag);
    } else if (!(flags & VOID) && !top_of(scanner)->is_foreign && has_events(scanner, tag)) {
        add_close_event(scanner, tag);
    }
}

/* ---- tokens ---- */

/* Behind "<!--": what follows the comment. It ends with "-->", "--!>", or at once with ">" or "->". */
static const u8 *skip_comment(const u8 *at, const u8 *end) {
    if (at[0] == '>' && at < end) {
        return at + 1;
    }
    if (at[0] == '-' && at[1] == '>' && at + 1 < end) {
        return at + 2;
    }
    for (const u8 *found = find_byte(at, end, '>'); found < end; found = find_byte(found + 1, end, '>')) {
        ptrdiff_t size = found - at;
        if (size >= 2 && found[-1] == '-' && found[-2] == '-') {
            return found + 1;
        }
        if (size >= 3 && found[-1] == '!' && found[-2] == '-' && found[-3] == '-') {
            return found + 1;
        }
    }
    return end;
}

/* What follows the next ">". */
static inline const u8 *skip_bogus_comment(const u8 *at, const u8 *end) {
    const u8 *found = find_byte(at, end, '>');
    return found < end ? found + 1 : end;
}

static const u8 *read_cdata(Scanner *scanner, const u8 *at) {
    const u8 *end = scanner->end;
    const u8 *found = find_byte(at, end, ']');
    while (found < end && memcmp(found, "]]>", 3) != 0) {
        found = find_byte(found + 1, end, ']');
    }
    add_text(scanner, at, found, true);
    return found < end ? found + 3 : end;
}

/* "<!": a comment, a CDATA section in foreign content, a doctype or something else that is skipped. */
static const u8 *read_declaration(Scanner *scanner, const u8 *at) {
    const u8 *end = scanner->end;
    if (at[2] == '-' && at[3] == '-') {
        return skip_comment(at + 4, end);
    }
    if (top_of(scanner)->is_foreign && memcmp(at, "<![CDATA[", 9) == 0) {
        return read_cdata(scanner, at + 9);
    }
    return skip_bogus_comment(at, end);
}

/* The name and the attributes of a tag whose name begins at `name`, and where it ends; NULL if the page ends before. */
static inline const u8 *open_tag(Scanner *scanner, const u8 *name, bool is_end, u8 *tag) {
    const u8 *at = name;
    while (!ENDS_NAME[*at]) {
        at++;
    }
    if (at >= scanner->end) {
        return NULL;
    }
    *tag = find_name(TAG_TABLE, name_key(name, (u32)(at - name)));
    scanner->attributes.count = 0;
    scanner->attributes.is_self_closing = false;
    return *at == '>' ? at + 1 : read_attributes(at, scanner->end, is_end ? NULL : &scanner->attributes);
}

/* A start or end tag whose name begins at `name`. A tag that the page does not end is as good as none. */
static const u8 *read_tag(Scanner *scanner, const u8 *name, bool is_end) {
    u8 tag;
    const u8 *at = open_tag(scanner, name, is_end, &tag);
    if (!at) {
        return scanner->end;
    }
    if (is_end) {
        read_end_tag(scanner, tag);
        return at;
    }
    return read_start_tag(scanner, tag, at);
}

/* Whether the "<" here begins a tag, a comment or the like; otherwise it is a character. */
static inline bool begins_markup(const u8 *at, const u8 *end) {
    u8 next = at[1];
    if (at + 1 >= end) {
        return false;
    }
    return IS_LETTER[next] || next == '!' || next == '?' || (next == '/' && at + 2 < end);
}

static const u8 *read_markup(Scanner *scanner, const u8 *at) {
    if (IS_LETTER[at[1]]) {
        return read_tag(scanner, at + 1, false);
    }
    if (at[1] == '/') {
        return IS_LETTER[at[2]] ? read_tag(scanner, at + 2, true) : skip_bogus_comment(at + 2, scanner->end);
    }
    return at[1] == '!' ? read_declaration(scanner, at) : skip_bogus_comment(at, scanner->end);
}

/* The end of a run of text: the next markup. */
static inline const u8 *find_markup(const u8 *at, const u8 *end) {
    const u8 *found = find_byte(at, end, '<');
    while (found < end && !begins_markup(found, end)) {
        found = find_byte(found + 1, end, '<');
    }
    return found;
}

static void begin_page(Scanner *scanner) {
    scanner->links.current = NONE;
    scanner->forms.current = NONE;
    scanner->forms.added = NONE;
    scanner->forms.text_owner = NONE;
    scanner->forms.label = NONE;
    scanner->forms.options = NONE;
    scanner->sections.open = NONE;
    scanner->text.bytes = malloc(decoded_room((size_t)(scanner->end - scanner->start)) + PADDING);
    scanner->has_failed = !scanner->text.bytes;
    scanner->attributes.count = 0;
    push(scanner, TAG_body);
}

/* Read the page between `start` and `end`, behind which are a ">" and PADDING zero bytes. All else of the scanner is 0,
   but for what is wanted. */
static void scan_page(Scanner *scanner) {
    begin_page(scanner);
    const u8 *at = scanner->start;
    const u8 *end = scanner->end;
    while (at < end && !scanner->has_failed) {
        const u8 *markup = find_markup(at, end);
        if (markup > at) {
            add_text(scanner, at, markup, false);
        }
        at = markup < end ? read_markup(scanner, markup) : end;
    }
    pop_to(scanner, 1);
    cut_text(scanner);
}

#endif

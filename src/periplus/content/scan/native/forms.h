/* Forms and what belongs to them: controls, labels, options. */
#ifndef PERIPLUS_FORMS_H
#define PERIPLUS_FORMS_H

#include "scanner.h"

static bool is_control(u8 tag) {
    return tag == TAG_input || tag == TAG_select || tag == TAG_textarea || tag == TAG_button;
}

/* Report an element, unless it is a control of a disabled fieldset; `Forms.added` says where it is in the list. */
static void add_form_element(Scanner *scanner, u8 tag) {
    Forms *forms = &scanner->forms;
    forms->added = NONE;
    if (is_control(tag) && forms->fieldset & IS_DISABLED) {
        return;
    }
    if (forms->list.count >= MAX_FORM_ELEMENTS || !HAS_ROOM(&forms->list, &scanner->has_failed)) {
        return;
    }
    FormElement element = {.form = forms->current, .inside = NONE, .tag = tag};
    element.attributes = keep_attributes(scanner, NULL);
    if (tag == TAG_option) {
        element.inside = forms->options;
    } else if (is_control(tag)) {
        element.inside = forms->label;
    }
    forms->added = (i32)forms->list.count;
    forms->list.items[forms->list.count++] = element;
}

/* <form>: what follows belongs to it up to its end tag, however elements are nested. */
static void start_form(Scanner *scanner) {
    Forms *forms = &scanner->forms;
    forms->is_open = true;
    if (forms->count < MAX_FORMS) {
        add_form_element(scanner, TAG_form);
        forms->current = forms->added == NONE ? NONE : forms->count;
        forms->count++;
    }
}

static void end_form(Scanner *scanner) {
    scanner->forms.is_open = false;
    scanner->forms.current = NONE;
}

static bool is_in_fieldset(const Scanner *scanner, u32 depth) {
    return depth > 0 && scanner->open[depth - 1].tag == TAG_fieldset;
}

static void enter_fieldset(Scanner *scanner, Open *opened) {
    Forms *forms = &scanner->forms;
    opened->outer_holder = forms->fieldset;
    bool is_disabled = forms->fieldset & IS_DISABLED;
    forms->fieldset = is_disabled ? IS_DISABLED_OUTSIDE : 0;
    if (is_disabled || has_attribute(&scanner->attributes, ATTR_disabled)) {
        forms->fieldset |= IS_DISABLED;
    }
}

static void enter_legend(Scanner *scanner, Open *opened) {
    Forms *forms = &scanner->forms;
    opened->outer_holder = forms->fieldset;
    if (is_in_fieldset(scanner, scanner->stack.size - 1) && !(forms->fieldset & HAS_LEGEND)) {
        bool is_outside = forms->fieldset & IS_DISABLED_OUTSIDE;
        forms->fieldset = HAS_LEGEND | (is_outside ? IS_DISABLED | IS_DISABLED_OUTSIDE : 0);
    }
}

/* An element was opened: text may be its own from here on, and what follows may be inside it. */
static void enter_form_part(Scanner *scanner, Open *opened) {
    Forms *forms = &scanner->forms;
    switch (opened->tag) {
        case TAG_label:
            opened->outer_holder = forms->label;
            forms->label = forms->added;
            opened->outer_owner = forms->text_owner;
            forms->text_owner = forms->added;
            break;
        case TAG_option:
        case TAG_button:
            opened->outer_owner = forms->text_owner;
            forms->text_owner = forms->added;
            break;
        case TAG_select:
        case TAG_datalist:
            opened->outer_holder = forms->options;
            forms->options = forms->added;
            break;
        case TAG_fieldset:
            enter_fieldset(scanner, opened);
            break;
        case TAG_legend:
            enter_legend(scanner, opened);
            break;
        default:
            break;
    }
}

static void leave_form_part(Scanner *scanner, const Open *closed) {
    Forms *forms = &scanner->forms;
    switch (closed->tag) {
        case TAG_label:
            forms->label = closed->outer_holder;
            forms->text_owner = closed->outer_owner;
            break;
        case TAG_option:
        case TAG_button:
            forms->text_owner = closed->outer_owner;
            break;
        case TAG_select:
        case TAG_datalist:
            forms->options = closed->outer_holder;
            break;
        case TAG_fieldset:
            forms->fieldset = closed->outer_holder;
            break;
        case TAG_legend:
            forms->fieldset = closed->outer_holder;
            if (is_in_fieldset(scanner, scanner->stack.size)) {
                forms->fieldset |= HAS_LEGEND;
            }
            break;
        default:
            break;
    }
}

#endif

/* Which parts of a page are plainly main, navigation, a header or a form: by tags and roles. */
#ifndef PERIPLUS_REGIONS_H
#define PERIPLUS_REGIONS_H

#include "attributes.h"
#include "layout.h"

static u8 region_of_tag(u8 tag) {
    switch (tag) {
        case TAG_main:
            return IN_MAIN;
        case TAG_article:
            return IN_ARTICLE;
        case TAG_nav:
        case TAG_aside:
        case TAG_footer:
            return IN_ASIDE;
        case TAG_header:
            return IN_HEADER;
        case TAG_form:
            return IN_FORM;
        case TAG_video:
        case TAG_audio:
        case TAG_canvas:
        case TAG_annotation:
            return IN_FALLBACK;
        default:
            return 0;
    }
}

static u8 region_of_role(Span role) {
    if (IS_WORD(role, "main")) {
        return IN_MAIN;
    }
    bool is_aside = IS_WORD(role, "navigation") || IS_WORD(role, "banner") || IS_WORD(role, "contentinfo") ||
                    IS_WORD(role, "complementary") || IS_WORD(role, "search") || IS_WORD(role, "menu") ||
                    IS_WORD(role, "menubar");
    return is_aside ? IN_ASIDE : 0;
}

#endif

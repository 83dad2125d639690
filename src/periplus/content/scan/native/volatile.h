/* Words that change without the page having changed, masked: the rules of `content.digests`, which says what they are.

   Figures and letters are compared as there: any digit is a digit, and the case of ASCII letters does not matter. A
   function that looks for something returns where it ends, or 0 if it is not there. */
#ifndef PERIPLUS_VOLATILE_H
#define PERIPLUS_VOLATILE_H

#include "base.h"

#define MASK '#'
#define LEAST_TOKEN 16  /* characters of a token that no person wrote... */
#define LEAST_DIGITS 6  /* ...of which at least one in this many is a digit */
#define LONGEST_WORD 12

static const char MONTHS[] =
    " jan january feb february mar march apr april may jun june jul july aug august sep sept sepember september oct "
    "october nov november dec december ";
static const char WEEKDAYS[] =
    " mon monday tue tueday tues tuesday wed wedday wednes wednesday thu thuday thurs thursday fri friday sat satday "
    "satur saturday sun sunday ";
static const char COUNTED[] =
    " view views visit visits visitor visitors hit hits comment comments reply replies response responses like likes "
    "share shares vote votes follower followers member members user users guest guests online download downloads read "
    "reads ";
static const char UNITS[] =
    " sec secs second seconds min mins minute minutes hour hours day days week weeks month months year years ";

static u8 byte_at(Span text, u32 place) {
    return place < text.size ? LOWER[text.at[place]] : 0;
}

static bool is_digit_at(Span text, u32 place) {
    return place < text.size && IS_DIGIT[text.at[place]];
}

static bool is_word_at(Span text, u32 place) {
    return place < text.size && (IS_DIGIT[text.at[place]] || IS_LETTER[text.at[place]] || text.at[place] == '_');
}

static bool is_hex_at(Span text, u32 place) {
    u8 byte = byte_at(text, place);
    return is_digit_at(text, place) || (byte >= 'a' && byte <= 'f');
}

static bool is_one_of(u8 byte, const char *bytes) {
    return byte && strchr(bytes, byte);
}

/* Whether the bytes between two places are one of some words. */
static bool is_listed(Span text, u32 start, u32 end, const char *words) {
    char wanted[LONGEST_WORD + 3];
    u32 size = end - start;
    if (size < 3 || size > LONGEST_WORD) { /* all words have three letters or more */
        return false;
    }
    wanted[0] = wanted[size + 1] = ' ';
    wanted[size + 2] = 0;
    for (u32 i = 0; i < size; i++) {
        wanted[i + 1] = (char)byte_at(text, start + i);
    }
    return strstr(words, wanted) != NULL;
}

static u32 digits_end(Span text, u32 place) {
    while (is_digit_at(text, place)) {
        place++;
    }
    return place;
}

static u32 word_end(Span text, u32 place) {
    while (is_word_at(text, place)) {
        place++;
    }
    return place;
}

/* Exactly `count` digits, whatever follows. */
static u32 digits(Span text, u32 place, u32 count) {
    for (u32 i = 0; i < count; i++) {
        if (!is_digit_at(text, place + i)) {
            return 0;
        }
    }
    return place + count;
}

/* One or two digits, and no more. */
static u32 one_or_two(Span text, u32 place) {
    u32 end = digits_end(text, place);
    return end > place && end - place <= 2 ? end : 0;
}

/* Four digits, and no more, after a space. */
static u32 year_after_space(Span text, u32 place) {
    u32 end = byte_at(text, place) == ' ' ? digits(text, place + 1, 4) : 0;
    return end && !is_digit_at(text, end) ? end : 0;
}

static u32 skip_ordinal(Span text, u32 place) {
    static const char *const ENDINGS[] = {"st", "nd", "rd", "th"};
    for (int i = 0; i < 4; i++) {
        if (byte_at(text, place) == (u8)ENDINGS[i][0] && byte_at(text, place + 1) == (u8)ENDINGS[i][1]) {
            return place + 2;
        }
    }
    return place;
}

static u32 skip(Span text, u32 place, u8 byte) {
    return byte_at(text, place) == byte ? place + 1 : place;
}

/* ---- what begins with a digit ---- */

/* What may follow the minutes of a clock, and whether it does. Each is optional, so that an end is looked for with and
   without it: what ends before another digit is no clock. */
static u32 skip_seconds(Span text, u32 place) {
    u32 end = byte_at(text, place) == ':' ? digits(text, place + 1, 2) : 0;
    return end ? end : place;
}

static u32 skip_fraction(Span text, u32 place) {
    return byte_at(text, place) == '.' && is_digit_at(text, place + 1) ? digits_end(text, place + 1) : place;
}

static u32 skip_zone(Span text, u32 place) {
    u8 byte = byte_at(text, place);
    if (byte == 'z') {
        return place + 1;
    }
    u32 hours = byte == '+' || byte == '-' ? digits(text, place + 1, 2) : 0;
    u32 end = hours ? digits(text, skip(text, hours, ':'), 2) : 0;
    return end ? end : place;
}

static u32 skip_half(Span text, u32 place) {
    u32 letter = skip(text, place, ' ');
    u8 byte = byte_at(text, letter);
    bool is_half = (byte == 'a' || byte == 'p') && byte_at(text, letter + 1) == 'm' && !is_word_at(text, letter + 2);
    return is_half ? letter + 2 : place;
}

/* The end of a clock whose hours and minutes end here; `skip_last` is for what may follow seconds. */
static u32 clock_end(Span text, u32 place, u32 (*skip_last)(Span, u32)) {
    for (int without = 0; without < 8; without++) {
        u32 end = without & 4 ? place : skip_seconds(text, place);
        end = without & 2 ? end : skip_fraction(text, end);
        end = without & 1 ? end : skip_last(text, end);
        if (!is_digit_at(text, end)) {
            return end;
        }
    }
    return 0;
}

/* 12:30, 1:05:59 pm */
static u32 clock_time(Span text, u32 place, u32 (*skip_last)(Span, u32)) {
    u32 hours = one_or_two(text, place);
    u32 minutes = hours && byte_at(text, hours) == ':' ? digits(text, hours + 1, 2) : 0;
    return minutes ? clock_end(text, minutes, skip_last) : 0;
}

/* 2026-11-14, 2026/11/14T12:30:05Z; `year` is where the year ends. */
static u32 date_from_year(Span text, u32 start, u32 year) {
    u8 separator = byte_at(text, year);
    if (year - start != 4 || !is_one_of(separator, "-/.")) {
        return 0;
    }
    u32 month = one_or_two(text, year + 1);
    u32 day = month && byte_at(text, month) == separator ? one_or_two(text, month + 1) : 0;
    if (!day || !is_one_of(byte_at(text, day), "t ")) {
        return day;
    }
    u32 end = clock_time(text, day + 1, skip_zone);
    return end ? end : day;
}

/* 14.11.2026 */
static u32 date_from_day(Span text, u32 start, u32 day) {
    u8 separator = byte_at(text, day);
    if (day - start > 2 || !is_one_of(separator, "-/.")) {
        return 0;
    }
    u32 month = one_or_two(text, day + 1);
    u32 year = month && byte_at(text, month) == separator ? digits(text, month + 1, 4) : 0;
    return year && !is_digit_at(text, year) ? year : 0;
}

/* 1,234,567 */
static u32 grouped_number(Span text, u32 start, u32 place) {
    u32 end = 0;
    if (place - start > 3) {
        return 0;
    }
    while (is_one_of(byte_at(text, place), ",'") && digits(text, place + 1, 3)) {
        place += 4;
        end = is_digit_at(text, place) ? end : place;
    }
    return end;
}

/* 14 Nov 2026, 14th November, 2026 */
static u32 date_with_month(Span text, u32 start, u32 day) {
    u32 space = skip_ordinal(text, day);
    if (day - start > 2 || byte_at(text, space) != ' ') {
        return 0;
    }
    u32 month = word_end(text, space + 1);
    if (!is_listed(text, space + 1, month, MONTHS)) {
        return 0;
    }
    return year_after_space(text, skip(text, skip(text, month, '.'), ','));
}

/* 17 comments, 3 minutes ago */
static u32 count_or_age(Span text, u32 place) {
    u32 end = byte_at(text, place) == ' ' ? word_end(text, place + 1) : place;
    if (is_listed(text, place + 1, end, COUNTED)) {
        return end;
    }
    if (byte_at(text, end) != ' ' || !is_listed(text, place + 1, end, UNITS)) {
        return 0;
    }
    u32 ago = word_end(text, end + 1);
    return is_listed(text, end + 1, ago, " ago ") ? ago : 0;
}

/* The day and year of a date whose month stands before. */
static u32 day_and_year(Span text, u32 start, u32 day) {
    return day - start <= 2 ? year_after_space(text, skip(text, skip_ordinal(text, day), ',')) : 0;
}

/* The rest of a UUID whose first two groups stand before, with the first digit. */
static u32 rest_of_uuid(Span text, u32 place) {
    static const u8 GROUPS[] = {4, 4, 12};
    for (int group = 0; group < 3; group++) {
        for (int i = 0; i < GROUPS[group]; i++) {
            if (!is_hex_at(text, place++)) {
                return 0;
            }
        }
        if (group < 2 && byte_at(text, place++) != '-') {
            return 0;
        }
    }
    return is_word_at(text, place) ? 0 : place;
}

/* ---- what stands before it ---- */

/* Where a word of a list begins that ends here; `NO_PLACE` if there is none. */
#define NO_PLACE UINT32_MAX

static u32 word_before(Span text, u32 end, const char *words) {
    u32 start = end;
    while (start && end - start <= LONGEST_WORD && is_word_at(text, start - 1)) {
        start--;
    }
    return is_listed(text, start, end, words) ? start : NO_PLACE;
}

static u32 skip_back(Span text, u32 place, u8 byte) {
    return place && text.at[place - 1] == byte ? place - 1 : place;
}

/* "Saturday, " before a place. */
static u32 weekday_before(Span text, u32 place) {
    u32 end = skip_back(text, place, ' ');
    return end == place ? NO_PLACE : word_before(text, skip_back(text, skip_back(text, end, ','), '.'), WEEKDAYS);
}

/* "Saturday, November " or "Nov. " before a place. */
static u32 month_before(Span text, u32 place) {
    u32 end = skip_back(text, place, ' ');
    u32 month = end == place ? NO_PLACE : word_before(text, skip_back(text, end, '.'), MONTHS);
    u32 weekday = month == NO_PLACE ? NO_PLACE : weekday_before(text, month);
    return weekday == NO_PLACE ? month : weekday;
}

/* The first two groups of a UUID, and the sign behind each, before a place. */
static u32 uuid_before(Span text, u32 place) {
    if (place < 14 || text.at[place - 1] != '-' || text.at[place - 6] != '-') {
        return NO_PLACE;
    }
    for (u32 i = place - 14; i < place; i++) {
        if (i != place - 1 && i != place - 6 && !is_hex_at(text, i)) {
            return NO_PLACE;
        }
    }
    return place > 14 && is_word_at(text, place - 15) ? NO_PLACE : place - 14;
}

/* Where a token that no person wrote begins, given its first digit and its end: a few letters may stand before. */
static u32 token_before(Span text, u32 place, u32 end) {
    u32 start = place, count = 0;
    while (start && is_word_at(text, start - 1)) {
        start--;
        if (place - start > 7 || IS_DIGIT[text.at[start]]) {
            return NO_PLACE;
        }
    }
    for (u32 i = place; i < end; i++) {
        count += IS_DIGIT[text.at[i]];
    }
    return end - start >= LEAST_TOKEN && count * LEAST_DIGITS >= end - start ? start : NO_PLACE;
}

/* ---- all of it ---- */

typedef struct {
    u32 start; /* of what is masked; NO_PLACE: nothing is */
    u32 end;   /* of it */
    u32 next;  /* where the search goes on */
} Volatile;

/* Whether a space here is followed by a digit, or by a letter with which a word that may follow a number begins. */
static bool has_word_behind(Span text, u32 space) {
    bool is_word = is_digit_at(text, space + 1) || is_one_of(byte_at(text, space + 1), "acdfghjlmnorsuvwy");
    return byte_at(text, space) == ' ' && is_word;
}

/* Whether what follows a number promises something: only then is more looked for. */
static bool is_promising(Span text, u32 end) {
    switch (byte_at(text, end)) {
        case '-':
        case '/':
        case '.':
        case ':':
        case '\'':
            return is_digit_at(text, end + 1);
        case ',':
            return is_digit_at(text, end + 1) || has_word_behind(text, end + 1);
        case ' ':
            return has_word_behind(text, end);
        case 's':
        case 'n':
        case 'r':
        case 't': {
            u32 ordinal = skip_ordinal(text, end);
            return ordinal != end && has_word_behind(text, skip(text, ordinal, ','));
        }
        default:
            return false;
    }
}

/* What is volatile around a number. */
static Volatile volatile_at(Span text, u32 place) {
    u32 number = digits_end(text, place);
    bool is_within = place && (is_word_at(text, place - 1) || text.at[place - 1] >= 0x80);
    if (!is_within && is_promising(text, number)) {
        u32 end = date_from_year(text, place, number);
        end = end ? end : date_from_day(text, place, number);
        end = end ? end : clock_time(text, place, skip_half);
        end = end ? end : grouped_number(text, place, number);
        end = end ? end : date_with_month(text, place, number);
        end = end ? end : count_or_age(text, number);
        if (end) {
            u32 weekday = weekday_before(text, place);
            return (Volatile){weekday == NO_PLACE ? place : weekday, end, end};
        }
        if ((end = day_and_year(text, place, number))) {
            return (Volatile){month_before(text, place), end, place + 1};
        }
    }
    u32 end = place && text.at[place - 1] == '-' ? rest_of_uuid(text, place) : 0;
    if (end) {
        return (Volatile){uuid_before(text, place), end, end};
    }
    end = word_end(text, number);
    return end - place > 8 ? (Volatile){token_before(text, place, end), end, end} : (Volatile){NO_PLACE, 0, number};
}

/* The next digit, or the end. */
static u32 next_digit(Span text, u32 place) {
    while (text.size - place >= 8) {
        u64 are_digits = are_between(eight_bytes(text.at + place), '0', '9');
        if (are_digits) {
            return place + first_marked(are_digits);
        }
        place += 8;
    }
    while (place < text.size && !IS_DIGIT[text.at[place]]) {
        place++;
    }
    return place;
}

/* A text with every volatile word masked; `masked` has as much room as the text. Returns the size of it. */
static u32 mask_volatile(Span text, u8 *masked) {
    u32 size = 0, copied = 0, place = 0;
    for (;;) {
        if (place && IS_DIGIT[text.at[place - 1]]) { /* in a number that was looked at */
            place = digits_end(text, place);
        }
        place = next_digit(text, place);
        if (place == text.size) {
            break;
        }
        Volatile found = volatile_at(text, place);
        if (found.start != NO_PLACE && found.start >= copied) {
            memcpy(masked + size, text.at + copied, found.start - copied);
            size += found.start - copied;
            masked[size++] = MASK;
            copied = found.end;
        }
        place = found.next;
    }
    memcpy(masked + size, text.at + copied, text.size - copied);
    return size + text.size - copied;
}

#endif

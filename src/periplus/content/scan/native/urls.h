/* Where links lead, for plain ones: of characters that no URL parser changes, and without dots to fold.

   The rules are those of `urls.plain`, which says why they are right; what is not surely plain is left to Python. Most
   links of a page repeat each other once their fragments are cut, so each different one is resolved once. */
#ifndef PERIPLUS_URLS_H
#define PERIPLUS_URLS_H

#include "scanner.h"

#define MAX_BASE 8192  /* bytes of a page's URL up to which its links can be plain */
#define MAX_REST 4000  /* bytes of a plain link behind what stands for a part of the page's URL */
#define MAX_CLIMB 64   /* "../" and "./" in a row */
#define MAX_HOST 250   /* bytes */

static u8 IS_PATH[256];
static u8 IS_QUERY[256];
static u8 IS_HOST[256];
static u8 IS_UNRESERVED[256];

static void init_urls(void) {
    for (int byte = 0; byte < 256; byte++) {
        bool is_alnum = IS_LETTER[byte] || IS_DIGIT[byte];
        bool is_lower = is_alnum && LOWER[byte] == byte;
        IS_UNRESERVED[byte] = is_alnum || (byte && strchr("-._~", byte));
        IS_PATH[byte] = is_alnum || (byte && strchr("!$&'()*+,-./:;=@_~", byte));
        IS_QUERY[byte] = byte == '!' || (byte >= '$' && byte <= ';') || byte == '=' || (byte >= '?' && byte <= '~');
        IS_QUERY['\''] = IS_QUERY['%'] = 0;
        IS_HOST[byte] = is_lower || (byte && strchr(".-_", byte));
    }
}

/* The URL of a page, and where its parts end. */
typedef struct {
    Span url;
    u32 scheme;    /* http: or https: */
    u32 root;      /* scheme://host/ */
    u32 directory;
    u32 path;
} Base;

/* Whether links can be resolved against this canonical URL. */
static bool read_base(Base *base, Span url) {
    u32 scheme = url.size > 8 && memcmp(url.at, "https://", 8) == 0  ? 8
                 : url.size > 7 && memcmp(url.at, "http://", 7) == 0 ? 7
                                                                     : 0;
    if (!scheme || url.size > MAX_BASE) {
        return false;
    }
    const u8 *end = url.at + url.size;
    const u8 *slash = find_byte(url.at + scheme, end, '/');
    if (slash == end) {
        return false;
    }
    u32 path = (u32)(find_byte(url.at, end, '?') - url.at);
    u32 directory = path;
    while (url.at[directory - 1] != '/') {
        directory--;
    }
    *base = (Base){url, scheme - 2, (u32)(slash - url.at) + 1, directory, path};
    return true;
}

static inline bool is_upper_hex(u8 byte) {
    return IS_DIGIT[byte] || (byte >= 'A' && byte <= 'F');
}

/* Whether "%" begins an escape in its normal spelling: in capitals, and of a character that needs one. */
static bool is_normal_escape(const u8 *at, const u8 *end) {
    if (end - at < 3 || !is_upper_hex(at[1]) || !is_upper_hex(at[2])) {
        return false;
    }
    return !IS_UNRESERVED[digit_value(at[1], true) * 16 + digit_value(at[2], true)];
}

/* Skip characters of a table and normal escapes; a segment that begins with a dot ends it too. */
static const u8 *skip_plain(const u8 *at, const u8 *end, const u8 *table) {
    u8 before = 0;
    while (at < end && (table[*at] || (*at == '%' && is_normal_escape(at, end)))) {
        if (*at == '.' && before == '/') {
            break;
        }
        before = *at++;
    }
    return at;
}

static bool is_plain_query(const u8 *at, const u8 *end) {
    return at < end && skip_plain(at, end, IS_QUERY) == end;
}

/* Whether this can be appended to a directory: a path that climbs nowhere, a query, or both. */
static bool is_plain_rest(const u8 *at, const u8 *end) {
    if (end - at > MAX_REST || (at < end && (*at == '.' || *at == '/'))) {
        return false;
    }
    at = skip_plain(at, end, IS_PATH);
    return at == end || (*at == '?' && is_plain_query(at + 1, end));
}

/* Whether a port is written as the standard writes it: not the scheme's own, and no leading zeros. */
static bool is_plain_port(const u8 *at, const u8 *end, bool is_https) {
    u32 port = 0;
    if (at == end || *at == '0') {
        return false;
    }
    for (; at < end; at++) {
        port = port * 10 + (u32)(*at - '0');
        if (!IS_DIGIT[*at] || port > 65535) {
            return false;
        }
    }
    return port != (is_https ? 443 : 80);
}

/* Whether host and port are spelled as the standard would: no capitals, numbers or punycode. */
static bool is_plain_host(const u8 *at, const u8 *end, bool is_https) {
    const u8 *host = at;
    const u8 *label = at;
    for (; at < end && IS_HOST[*at]; at++) {
        if (*at == '.') {
            label = at + 1;
        }
        if (*at == 'x' && end - at > 3 && memcmp(at, "xn--", 4) == 0) {
            return false;
        }
    }
    if (at == host || at - host > MAX_HOST || label == at || IS_DIGIT[*label]) {
        return false; /* the last label is empty, or the host may be an address */
    }
    return at == end || (*at == ':' && is_plain_port(at + 1, end, is_https));
}

static bool has_scheme(const u8 *at, const u8 *end) {
    if (at == end || !IS_LETTER[*at]) {
        return false;
    }
    while (at < end && (IS_LETTER[*at] || IS_DIGIT[*at] || *at == '+' || *at == '.' || *at == '-')) {
        at++;
    }
    return at < end && *at == ':';
}

/* How a link is put together: a number of bytes of the page's URL, the link without its first bytes, and perhaps a "/". */
typedef struct {
    u32 kept;
    u32 skipped;
    bool adds_slash;
} Joint;

/* "./" and "../" at the start of a link; there is nothing above the root. */
static bool join_climb(const Base *base, const u8 *at, const u8 *end, Joint *joint) {
    const u8 *start = at;
    u32 directory = base->directory;
    for (u32 steps = 0; at < end && *at == '.'; steps++) {
        bool is_up = at + 2 < end && at[1] == '.' && at[2] == '/';
        bool is_here = at + 1 < end && at[1] == '/';
        if (!(is_up || is_here) || steps == MAX_CLIMB) {
            return false;
        }
        at += is_up ? 3 : 2;
        if (is_up && directory > base->root) {
            do {
                directory--;
            } while (base->url.at[directory - 1] != '/');
        }
    }
    *joint = (Joint){directory, (u32)(at - start), false};
    return is_plain_rest(at, end);
}

/* What follows "http://", "https://" or "//": host/rest, or a host alone. */
static bool join_host(const u8 *host, const u8 *end, bool is_https, Joint *joint) {
    const u8 *slash = host < end ? find_byte(host, end, '/') : end;
    joint->adds_slash = slash == end;
    return is_plain_host(host, slash, is_https) && (slash == end || is_plain_rest(slash + 1, end));
}

/* http://host/rest or https://host/rest, spelled as it will be. */
static bool join_absolute(const Base *base, Span link, Joint *joint) {
    const u8 *end = link.at + link.size;
    *joint = (Joint){0, 0, false};
    if (link.size >= base->root && memcmp(link.at, base->url.at, base->root) == 0) {
        return is_plain_rest(link.at + base->root, end);
    }
    bool is_https = link.at[4] == 's';
    return join_host(link.at + (is_https ? 8 : 7), end, is_https, joint);
}

/* //host/rest, with the scheme of the page. */
static bool join_scheme(const Base *base, Span link, Joint *joint) {
    *joint = (Joint){base->scheme, 0, false};
    return join_host(link.at + 2, link.at + link.size, base->url.at[4] == 's', joint);
}

static bool join_plain(const Base *base, Span link, Joint *joint) {
    const u8 *at = link.at;
    const u8 *end = at + link.size;
    if (!link.size) {
        *joint = (Joint){base->url.size, 0, false};
        return true;
    }
    if (*at == '.') {
        return join_climb(base, at, end, joint);
    }
    if (*at == '/' && link.size > 1 && at[1] == '/') {
        return join_scheme(base, link, joint);
    }
    if (*at == '/') {
        *joint = (Joint){base->root, 1, false};
        return is_plain_rest(at + 1, end);
    }
    if (*at == '?') {
        *joint = (Joint){base->path, 0, false};
        return link.size > 1 && at[1] != '?' && is_plain_query(at + 1, end) && is_plain_rest(at + 1, end);
    }
    if (link.size > 8 && (memcmp(at, "http://", 7) == 0 || memcmp(at, "https://", 8) == 0)) {
        return join_absolute(base, link, joint);
    }
    *joint = (Joint){base->directory, 0, false};
    return !has_scheme(at, end) && is_plain_rest(at, end);
}

static Span without_fragment(Span href) {
    if (href.size) {
        href.size = (u32)(find_byte(href.at, href.at + href.size, '#') - href.at);
    }
    return href;
}

/* Bytes of the longest URL that a plain link can become. */
#define MAX_URL (MAX_BASE + MAX_HOST + MAX_REST + 64)

/* Write where a link leads and return the size of that, at most MAX_URL; 0: it is not plain. */
static u32 write_plain(const Base *base, Span link, u8 *out) {
    Joint joint;
    link = without_fragment(link);
    if (!join_plain(base, link, &joint)) {
        return 0;
    }
    u32 rest = link.size - joint.skipped;
    memcpy(out, base->url.at, joint.kept);
    if (rest) {
        memcpy(out + joint.kept, link.at + joint.skipped, rest);
    }
    if (joint.adds_slash) {
        out[joint.kept + rest++] = '/';
    }
    return joint.kept + rest;
}

/* ---- all links of a page ---- */

typedef struct {
    Span link;  /* decoded, without fragment */
    size_t url; /* where it leads, in `Targets.urls` */
    u32 url_size; /* 0: left to Python */
    u32 next;   /* with the same hash; numbered from 1 */
} Unique;

typedef struct {
    u8 *decoded; /* hrefs with references */
    u8 *urls;
    size_t urls_size;
    size_t urls_room;
    u32 *heads; /* by hash: the first of `uniques`; 0: none */
    u32 head_count;
    LIST(Unique) uniques;
} Targets;

static void release_targets(Targets *targets) {
    free(targets->decoded);
    free(targets->urls);
    free(targets->heads);
    free(targets->uniques.items);
}

/* Decode the references in all hrefs. */
static bool decode_hrefs(Scanner *scanner, Targets *targets) {
    size_t room = 0;
    for (u32 i = 0; i < scanner->links.list.count; i++) {
        Span href = scanner->links.list.items[i].href;
        if (href.size && memchr(href.at, '&', href.size)) {
            room += decoded_room(href.size);
        }
    }
    if (!room) {
        return true;
    }
    u8 *out = targets->decoded = malloc(room);
    for (u32 i = 0; out && i < scanner->links.list.count; i++) {
        Span *href = &scanner->links.list.items[i].href;
        if (href->size && memchr(href->at, '&', href->size)) {
            *href = (Span){out, decode_references(*href, true, out)};
            out += href->size;
        }
    }
    return out != NULL;
}

/* Resolve a link, if it is plain, behind the URLs that are known. Returns false if there is no memory. */
static bool add_url(Targets *targets, const Base *base, Unique *unique) {
    if (targets->urls_size + MAX_URL > targets->urls_room) {
        size_t room = targets->urls_room * 2 + 2 * MAX_URL;
        u8 *moved = realloc(targets->urls, room);
        if (!moved) {
            return false;
        }
        targets->urls = moved;
        targets->urls_room = room;
    }
    unique->url = targets->urls_size;
    unique->url_size = write_plain(base, unique->link, targets->urls + unique->url);
    targets->urls_size += unique->url_size;
    return true;
}

/* The number of a link among the different ones, from 1; 0: there is no memory. */
static u32 unique_number(Targets *targets, const Base *base, Span link) {
    bool has_failed = false;
    u32 *head = &targets->heads[hash_bytes(link) & (targets->head_count - 1)];
    for (u32 number = *head; number; number = targets->uniques.items[number - 1].next) {
        Span known = targets->uniques.items[number - 1].link;
        if (known.size == link.size && (!link.size || memcmp(known.at, link.at, link.size) == 0)) {
            return number;
        }
    }
    if (!HAS_ROOM(&targets->uniques, &has_failed)) {
        return 0;
    }
    Unique *unique = &targets->uniques.items[targets->uniques.count];
    *unique = (Unique){link, 0, 0, *head};
    if (!add_url(targets, base, unique)) {
        return 0;
    }
    *head = ++targets->uniques.count;
    return *head;
}

/* Resolve the plain links of a page: `Link.unique` becomes the number of its target, or 0 where there is none. With a
   <base> all are left to Python. Returns false if there is no memory. */
static bool resolve_links(Scanner *scanner, Targets *targets, Span url) {
    Base base;
    u32 count = scanner->links.list.count;
    if (!decode_hrefs(scanner, targets)) {
        return false;
    }
    if (!count || scanner->head.has_base || !read_base(&base, url)) {
        return true;
    }
    targets->head_count = 64;
    while (targets->head_count < count * 2) {
        targets->head_count *= 2;
    }
    targets->heads = calloc(targets->head_count, sizeof *targets->heads);
    if (!targets->heads) {
        return false;
    }
    for (u32 i = 0; i < count; i++) {
        Link *link = &scanner->links.list.items[i];
        link->unique = unique_number(targets, &base, without_fragment(link->href));
        if (!link->unique) {
            return false;
        }
    }
    return true;
}

#endif

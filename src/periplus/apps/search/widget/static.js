// Searches an index of plain files (`periplus index DIR --static OUT`): a query loads a few kilobytes of it.
//
// index.json says where every file of words, terms and ends begins. words/N.json has words, their terms and
// weights; terms/N.json the postings of terms; ends/N.json words from behind, for typos; texts/D/N.json passages.

const UNSPACED = "\\u0e00-\\u0e7f\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff";
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, "gu");
const NAME = /[\p{L}\p{N}]+(?:[_.:-]+[\p{L}\p{N}]+)+/gu;
const RERANKED = 9; // pages whose passages are read
const SNIPPET = 200; // characters
const SECTIONS = 3; // of one page
const FILES = 3; // of neighbours that are looked through for a typo
const SHORT = 5; // words of a query that a page should have all of
const ALL_WORDS = 10, NAMES = 10, COVERAGE = 15, LINKS = 7, IN_TITLE = 5, PASSAGE = 16.5, TITLE = 10.8, HEADING = 10.7, NEAR = 17, FOREIGN = 3;

export async function open(folder, base) {
  const place = new URL(folder.href.replace(/\/?$/, "/"));
  const response = await fetch(new URL("index.json", place), { cache: "no-cache" });
  if (!response.ok) throw new Error(response.status);
  const index = await response.json();
  return new Reader(place, base === undefined ? index : { ...index, base: new URL(base, location.href).href });
}

const wordsOf = (text) => text.toLowerCase().match(WORD) || [];
const reversed = (text) => [...text].reverse().join("");

class Reader {
  constructor(base, index) {
    this.base = base;
    this.index = index;
    this.files = new Map();
  }

  load(path) {
    if (!this.files.has(path)) {
      const address = new URL(`${path}.json?${this.index.id}`, this.base);
      const loaded = fetch(address).then((response) => (response.ok ? response.json() : Promise.reject(new Error(response.status))));
      this.files.set(path, loaded);
      loaded.catch(() => this.files.delete(path));
    }
    return this.files.get(path);
  }

  place(kind, key) {
    const firsts = this.index[kind];
    let low = 0, high = firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (firsts[middle] <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);
  }

  // All entries of words or ends that begin so, of a few files.
  async beginning(kind, prefix) {
    const from = this.place(kind, prefix);
    const to = Math.min(this.place(kind, prefix + "\uffff"), from + FILES - 1);
    const loaded = await Promise.all(Array.from({ length: to - from + 1 }, (_, step) => this.load(`${kind}/${from + step}`)));
    return loaded.flat().map((line) => line.split(" ")).filter(([word]) => word.startsWith(prefix));
  }

  async entries(word) {
    return (await this.beginning("words", word)).filter(([found]) => found === word);
  }

  // The most used word one edit away. An edit leaves the first or the second half as it is.
  async corrected(word) {
    if (word.length < 4) return "";
    const half = word.length >> 1;
    const ends = (await this.beginning("ends", reversed(word.slice(half)))).map(([end, weight]) => [reversed(end), "", weight]);
    const swapped = word.slice(0, half - 1) + word[half] + word[half - 1] + word.slice(half + 1);
    const found = [...(await this.beginning("words", word.slice(0, half))), ...ends, ...(await this.entries(swapped))];
    const near = found.filter(([other, , weight]) => weight > 1 && isNear(word, other));
    return near.sort((a, b) => b[2] - a[2] || (a[0] < b[0] ? -1 : 1))[0]?.[0] || "";
  }

  // What a typed word stands for: [terms, the word it was corrected to].
  async meaning(word, isLast) {
    const exact = await this.entries(word);
    if (exact.length) return [exact, ""];
    if (isLast && word.length > 1) {
      const longer = await this.beginning("words", word);
      if (longer.length) return [longer.sort((a, b) => b[2] - a[2]).slice(0, 6), ""];
    }
    const better = await this.corrected(word);
    if (better) return [await this.entries(better), better];
    const stem = word.slice(0, Math.max(4, word.length - 3)); // another form of a word that has this one not
    const forms = word.length > 4 ? await this.beginning("words", stem) : [];
    return [forms.sort((a, b) => b[2] - a[2]).slice(0, 3), ""];
  }

  async postings(term) {
    const text = (await this.load(`terms/${this.place("terms", term)}`))[term];
    return text === undefined ? new Map() : decoded(text);
  }

  prior(page) {
    for (const [value, count] of this.index.priors) {
      if (page < count) return value;
      page -= count;
    }
    return 0;
  }

  async search(query, count) {
    const asked = parsed(query, new Set(this.index.stop));
    const meanings = await Promise.all(asked.words.map((word, place) => this.meaning(word, place === asked.words.length - 1)));
    const words = [];
    for (const [number, [entries, better]] of meanings.entries()) {
      const terms = [...new Set(entries.map(([word, term]) => term || word))];
      const lists = await Promise.all(terms.map((term) => this.postings(term)));
      words.push({ typed: asked.words[number], better, postings: joined(lists), terms: new Set(terms), forms: new Set([asked.words[number], ...entries.map(([word]) => word)]) });
    }
    const names = await Promise.all(asked.names.map((name) => this.postings(name)));
    const without = await Promise.all(asked.without.map(async (word) => {
      const terms = (await this.entries(word)).map(([found, term]) => term || found);
      return joined(await Promise.all(terms.map((term) => this.postings(term))));
    }));
    for (const word of words) word.idf = Math.log(1 + (this.index.pages - word.postings.size + 0.5) / (word.postings.size + 0.5));
    const pages = this.scored(words, names, without);
    const total = pages.filter((page) => page.hasAll).length;
    const shown = await this.shown(pages.slice(0, RERANKED), words);
    const better = words.some((word) => word.better) ? asked.typed((word) => words.find((each) => each.typed === word)?.better || word) : "";
    return { query, total, is_exact: true, has_next: pages.length > count, corrected: better, results: shown.slice(0, count) };
  }

  scored(words, names, without) {
    const found = new Map();
    for (const word of words) {
      for (const [number, posting] of word.postings) {
        if (!found.has(number)) found.set(number, { number, score: this.prior(number), words: 0, share: 0, linked: 0, titled: 0, units: new Map() });
        const page = found.get(number);
        page.score += word.idf * posting.impact;
        page.words += 1;
        page.share += word.idf;
        page.linked += posting.isLinked ? word.idf : 0;
        page.titled += posting.isTitled ? word.idf : 0;
        for (const [unit, isHeading] of posting.units) page.units.set(unit, (page.units.get(unit) || 0) + word.idf * (isHeading ? 1.3 : 1));
      }
    }
    const whole = words.reduce((sum, word) => sum + word.idf, 0) || 1;
    for (const list of names) {
      for (const [number, posting] of list) {
        const units = found.get(number)?.units;
        for (const [unit, isHeading] of units ? posting.units : []) units.set(unit, (units.get(unit) || 0) + whole * (isHeading ? 2 : 0.5));
      }
    }
    const pages = [...found.values()].filter((page) => !without.some((list) => list.has(page.number)));
    for (const page of pages) {
      page.hasAll = page.words === words.length;
      page.best = [...page.units].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SECTIONS);
      page.score += (page.hasAll && words.length <= SHORT ? ALL_WORDS : 0) + (COVERAGE * page.share + LINKS * page.linked + IN_TITLE * page.titled) / whole;
      page.score += PASSAGE * Math.min(1, (page.best[0]?.[1] || 0) / whole);
      if (names.length && names.every((list) => list.has(page.number))) page.score += NAMES;
    }
    return pages.sort((a, b) => b.score - a.score || a.number - b.number);
  }

  async unit(number) {
    const file = Math.floor(number / this.index.units);
    const { pages, units } = await this.load(`texts/${Math.floor(file / 1000)}/${file}`);
    const [page, anchor, heading, text] = units[number - file * this.index.units];
    const [url, title] = pages[page];
    return { url: this.index.base + url, title, anchor, heading, text };
  }

  async shown(pages, words) {
    const whole = words.reduce((sum, word) => sum + word.idf, 0) || 1;
    const read = await Promise.all(pages.map(async (page, place) => {
      const least = (page.best[0]?.[1] || 0) * 0.6;
      const units = page.best.filter(([, value], number) => !number || (place < 3 && value >= least));
      const texts = await Promise.all(units.map(([number]) => this.unit(number)));
      for (const each of texts) {
        each.name = Math.max(alike(each.heading.split("(")[0], words, whole), alike(each.anchor, words, whole));
        each.near = nearness(`${each.heading} ${each.text}`, words);
      }
      texts.sort((a, b) => 2 * b.name + b.near - 2 * a.name - a.near);
      const score = page.score + TITLE * alike(texts[0].title, words, whole) + HEADING * Math.max(...texts.map((each) => each.name)) + NEAR * Math.max(...texts.map((each) => each.near));
      return { score, number: page.number, texts };
    }));
    read.sort((a, b) => b.score - a.score || a.number - b.number);
    return read.map(({ texts }) => {
      const [first] = texts;
      const sections = texts.filter((each, place) => each.anchor && each.heading !== each.title && texts.findIndex((other) => other.anchor === each.anchor) === place);
      return {
        url: first.url, title: first.title, ...snippet(first.text, words),
        sections: sections.map((each) => ({ anchor: each.anchor, title: each.heading, ...snippet(each.text, words) })),
      };
    });
  }
}

function parsed(query, stop) {
  const parts = query.toLowerCase().match(/-?"[^"]*"?|\S+/g) || [];
  const isExcluded = (part) => /^-[\p{L}\p{N}"]/u.test(part) && part.length > 2;
  const kept = parts.filter((part) => !isExcluded(part));
  const all = [...new Set(kept.flatMap(wordsOf))].slice(0, 16);
  const words = all.filter((word) => !stop.has(word));
  return {
    words: words.length ? words : all,
    names: kept.flatMap((part) => part.match(NAME) || []),
    without: parts.filter(isExcluded).flatMap(wordsOf),
    typed: (change) => query.toLowerCase().replace(WORD, change),
  };
}

// Postings: for each page the distance to the last one, a sign, a number of units, and for each unit twice the
// distance to the last one, plus one if it is in the unit's heading. The sign is four times
// what the term counts there, plus 1 if the title and 2 if links have it. Of 90 signs those from 45 on continue a number.
function decoded(text) {
  const found = new Map();
  let place = 0, page = -1, unit = -1;
  const sign = () => { const code = text.charCodeAt(place++); return code > 92 ? code - 36 : code - 35; };
  const number = () => {
    let value = 0, factor = 1;
    for (;;) {
      const digit = sign();
      if (digit < 45) return value + digit * factor;
      value += (digit - 45) * factor;
      factor *= 45;
    }
  };
  while (place < text.length) {
    page += number() + 1;
    const level = sign(), units = [];
    for (let left = number(); left; left--) {
      const coded = number();
      unit += coded >> 1;
      units.push([unit, coded & 1]);
    }
    found.set(page, { impact: (level >> 2) / 10, isTitled: level & 1, isLinked: level & 2, units });
  }
  return found;
}

function joined(lists) {
  const [first = new Map(), ...others] = lists;
  for (const list of others) {
    for (const [page, posting] of list) {
      const known = first.get(page);
      first.set(page, known ? { ...(known.impact > posting.impact ? known : posting), units: [...new Map([...known.units, ...posting.units])] } : posting);
    }
  }
  return first;
}

function isNear(a, b) {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let start = 0, end = 0;
  while (a[start] === b[start] && start < Math.min(a.length, b.length)) start++;
  while (a.at(-1 - end) === b.at(-1 - end) && end < Math.min(a.length, b.length) - start) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return left.length + right.length <= 2 && left.length < 2 && right.length < 2 || (left.length === 2 && left === reversed(right));
}

const isOf = (text, word) => word.forms.has(text) || [...word.terms].some((term) => text === term || (term.length > 3 && text.startsWith(term) && text.length - term.length < 4));

// The share of the words that a title has, less for every word of it that was not typed.
function alike(title, words, whole) {
  const has = wordsOf(title.split(/ [\u2014|\u2013] /)[0]);
  const shared = words.filter((word) => has.some((each) => isOf(each, word))).reduce((sum, word) => sum + word.idf, 0);
  const foreign = has.filter((each) => !words.some((word) => isOf(each, word))).length;
  return shared / (whole + FOREIGN * foreign);
}

// How close neighbouring words of the query are in a text: 1 if each pair is side by side.
function nearness(text, words) {
  const places = words.map(() => []);
  wordsOf(text).forEach((each, place) => words.forEach((word, number) => isOf(each, word) && places[number].push(place)));
  if (words.length < 2) return places[0]?.length ? 1 : 0;
  let sum = 0, weights = 0;
  for (let number = 1; number < words.length; number++) {
    const weight = words[number - 1].idf + words[number].idf;
    const gap = Math.min(...places[number - 1].flatMap((a) => places[number].map((b) => Math.abs(b - a))), Infinity);
    sum += weight * (gap === 1 ? 1 : gap <= 5 ? 0.5 : gap <= 11 ? 0.2 : 0);
    weights += weight;
  }
  return sum / weights;
}

// The stretch of a text with the most words, and the places of words in it, in characters.
function snippet(text, words) {
  const hits = [...text.toLowerCase().matchAll(WORD)].filter(([each]) => words.some((word) => isOf(each, word))).map((match) => match.index);
  let best = hits[0] || 0, most = 0;
  for (const start of hits) {
    const inside = hits.filter((each) => each >= start && each <= start + SNIPPET / 2).length;
    if (inside > most) [best, most] = [start, inside];
  }
  let start = Math.max(0, best - SNIPPET / 5);
  if (start) start = text.indexOf(" ", start) + 1 || start;
  let end = Math.min(text.length, start + SNIPPET);
  if (end < text.length) end = text.lastIndexOf(" ", end) > start ? text.lastIndexOf(" ", end) : end;
  const shown = (start ? "\u2026 " : "") + text.slice(start, end) + (end < text.length ? " \u2026" : "");
  const units = (place) => [...shown.slice(0, place)].length;
  const marks = [...shown.toLowerCase().matchAll(WORD)].filter(([each]) => words.some((word) => isOf(each, word)));
  return { snippet: shown, marks: marks.map((match) => [units(match.index), units(match.index + match[0].length)]) };
}

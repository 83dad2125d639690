// spider (Rust) by its package for Node. Nothing is stored: it keeps the URLs of pages in memory.
//
//     node crawl.mjs URL...
//
// A crawl of it stays on the host of its first page: its list of other hosts to visit takes names and not addresses. So
// there is one for each manual, all at the same time. Of pages that begin with an XML declaration it reads no links.

import { Website } from '@spider-rs/spider-rs';

const websites = process.argv.slice(2).map((url) => new Website(url).withRespectRobotsTxt(false).build());

await Promise.all(websites.map((website) => website.crawl()));
console.log(JSON.stringify({ pages: websites.reduce((sum, website) => sum + website.size, 0) }));

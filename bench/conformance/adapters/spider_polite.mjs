// spider (Rust) by its package for Node: one site from its home page, politely.
//
//     node spider_polite.mjs SEED FOLDER LIMIT

import { Website } from '@spider-rs/spider-rs';

const [seed, folder, limit] = process.argv.slice(2);

const website = new Website(seed)
    .withUserAgent('ConformanceBot/1.0 (+https://crawler.example/bot)')
    .withRespectRobotsTxt(true)
    .withDelay(200)
    .withBudget({ '*': Number(limit) })
    .build();

await website.crawl((_error, page) => website.pushData({ url: page.url, html: page.content }));
await website.exportJsonlData(`${folder}/pages.jsonl`);

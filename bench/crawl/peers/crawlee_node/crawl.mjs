// Crawlee for Node with its Cheerio crawler, storage in memory so that no disk slows it.
//
//     node crawl.mjs SEED

import { CheerioCrawler, Configuration, log } from '@crawlee/cheerio';

// Manuals link to the whole web; the bench asks for none of it.
const WITHIN = /^http:\/\/127\.0\.1\./;

log.setLevel(log.LEVELS.ERROR);

const crawler = new CheerioCrawler(
    {
        minConcurrency: 16,
        maxConcurrency: 64,
        maxRequestRetries: 0,
        async requestHandler({ enqueueLinks }) {
            await enqueueLinks({ strategy: 'all', regexps: [WITHIN] });
        },
    },
    new Configuration({ persistStorage: false }),
);

await crawler.run([process.argv[2]]);

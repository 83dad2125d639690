// Crawlee for JavaScript, Cheerio: one site from its home page, politely.
//
//     node crawlee_polite.mjs SEED FOLDER LIMIT continue|again

import { CheerioCrawler, Configuration } from '@crawlee/cheerio';

const [seed, folder, limit, way] = process.argv.slice(2);
const userAgent = 'ConformanceBot/1.0 (+https://crawler.example/bot)';

const crawler = new CheerioCrawler(
    {
        respectRobotsTxtFile: { userAgent },
        maxConcurrency: 1,
        sameDomainDelaySecs: 0.2,
        ignoreSslErrors: false,
        maxRequestsPerCrawl: Number(limit),
        // A lock of the process that was killed would hold its request for a minute.
        experiments: { requestLocking: false },
        preNavigationHooks: [
            (_context, options) => {
                options.headers = { 'User-Agent': userAgent };
            },
        ],
        async requestHandler({ request, $, pushData, enqueueLinks }) {
            await pushData({ url: request.loadedUrl, title: $('title').text() });
            await enqueueLinks();
        },
    },
    new Configuration({ purgeOnStart: way === 'again', storageClientOptions: { localDataDirectory: folder } }),
);

await crawler.run([seed]);

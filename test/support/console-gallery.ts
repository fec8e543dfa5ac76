import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { writePage } from '../../scripts/console/build-console.ts';
import { openPage, type Look, type TestPage } from './browser.ts';
import { logIn } from './console-system.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const MAIN = 'test/unit/console/gallery/main.ts';
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A build of the console that has the page `#/components`. */
export interface Gallery {
  /** Opens that page in a browser, with the data of a real server. @param url of its console */
  readonly open: (url: string, look?: Look) => Promise<TestPage>;
}

/** Builds the gallery of components. */
export async function buildGallery(atEnd: Parameters<typeof temporaryDirectory>[0]): Promise<Gallery> {
  const folder = await temporaryDirectory(atEnd);
  await writePage(folder, MAIN);
  const names = new Set(await readdir(folder));
  return {
    open: async (url, look) => {
      const opened = await openPage(look);
      // The server answers everything that is not a file of this build.
      await opened.page.route(`${url}**`, async (route) => {
        const name = new URL(route.request().url()).pathname.split('/').at(-1) || 'index.html';
        if (!names.has(name)) return await route.continue();
        const contentType = MEDIA_TYPES[extname(name)] ?? 'application/octet-stream';
        await route.fulfill({ contentType, body: await readFile(join(folder, name)) });
      });
      await opened.page.goto(`${url}#/components`);
      await logIn(opened);
      return opened;
    },
  };
}

/**
 * Builds the documentation site from the pages of the repository, as static files that any web server can serve.
 *
 *   node scripts/docs-site.ts [--out .site] [--base /]
 *
 * `--base` is the path below which the site is served. A link to a page or heading that does not exist fails the build.
 */

import { execFileSync } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, delimiter, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { checkLinks } from './docs-site/check-links.ts';
import { ROOT, STATIC_FOLDERS } from './docs-site/pages.ts';

const { values } = parseArgs({
  options: { out: { type: 'string', default: '.site' }, base: { type: 'string', default: '/' } },
});
const folder = resolve(values.out);
// npm runs under the Node that runs this.
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
const tools = execFileSync('sh', [join(ROOT, 'scripts/node-tools.sh'), 'docs-tools'], {
  encoding: 'utf8',
  env: { ...process.env, PATH },
}).trim();
const packages = join(tools, 'node_modules');
process.env['SLIPWAY_SITE_FOLDER'] = folder;
process.env['SLIPWAY_SITE_BASE'] = values.base;

const { build } = (await import(pathToFileURL(join(packages, 'vitepress/dist/node/index.js')).href)) as {
  readonly build: (root: string) => Promise<void>;
};
try {
  await build(join(ROOT, 'scripts/docs-site'));
} catch (error) {
  console.error(`slipway docs-site: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
await copyAssets();
const { pages, faults } = await checkLinks(folder, values.base);
for (const fault of faults) console.error(`slipway docs-site: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else
  console.log(
    `${pages} pages in ${relative(process.cwd(), folder) || folder}: serve this folder with any web server.`,
  );

/** Scripts that pages load on demand, and files that they offer as they are. */
async function copyAssets(): Promise<void> {
  const mermaid = join(packages, 'mermaid/dist');
  await mkdir(join(folder, 'mermaid/chunks'), { recursive: true });
  await cp(join(mermaid, 'mermaid.esm.min.mjs'), join(folder, 'mermaid/mermaid.esm.min.mjs'));
  await cp(join(mermaid, 'chunks/mermaid.esm.min'), join(folder, 'mermaid/chunks/mermaid.esm.min'), {
    recursive: true,
    filter: (file) => !file.endsWith('.map'),
  });
  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE']) {
    await cp(join(packages, 'swagger-ui-dist', name), join(folder, 'swagger', name));
  }
  for (const source of STATIC_FOLDERS) {
    await cp(join(ROOT, source), join(folder, source.replace(/^docs\//, '')), {
      recursive: true,
      filter: (file) => !file.endsWith('.md'),
    });
  }
}

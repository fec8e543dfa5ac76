import { access, chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { bundle, type Bundle } from './bundle.ts';
import { formsOf, outlineOf, renderConsoleContract } from './console-contract.ts';
import { digestInputs, ROOT } from './console-inputs.ts';
import { writeRunbooks } from './runbook-pages.ts';

const OUTPUT = join(ROOT, '.console');
const MANIFEST = 'manifest.json';
/** The contract for the page. A server compresses it when it has put the address of its runbooks into it. */
const CONTRACT = ['outline.json', 'forms.json'] as const;
const SOURCES = join(ROOT, 'src/console');

/** The contents of a build; src/server/console/console-files.ts reads it. */
export interface ConsoleManifest {
  /** The digest of all inputs. */
  readonly inputs: string;
  /** Names of the files, without those of their encodings. */
  readonly files: readonly string[];
  /** The files that the browser loads before it shows the first view. */
  readonly first: readonly string[];
}

/** Builds the console, and replaces the last build as a whole. */
export async function buildConsole(): Promise<void> {
  const fresh = await mkdtemp(join(ROOT, '.console-'));
  const before = `${fresh}-before`;
  try {
    await buildInto(fresh);
    // A program of another user may serve it.
    await chmod(fresh, 0o755);
    // Two concurrent builds are both right, so the one that loses this race gives up quietly.
    await rename(OUTPUT, before).catch(ignoreMissing);
    await rename(fresh, OUTPUT).catch(ignoreTaken);
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(before, { recursive: true, force: true });
  }
}

/** Builds the console unless the last build has the same inputs and all of its files. */
export async function ensureConsole(): Promise<void> {
  if (!(await isBuilt(OUTPUT))) await buildConsole();
}

/** A build that is damaged, such as by a full disk, is none. */
async function isBuilt(folder: string): Promise<boolean> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')) as ConsoleManifest;
    const names = manifest.files.flatMap((name) => [name, `${name}.br`, `${name}.gz`]);
    await Promise.all([...names, ...CONTRACT].map((name) => access(join(folder, name))));
    return manifest.inputs === digestInputs();
  } catch {
    return false;
  }
}

/**
 * Builds the console once more, elsewhere.
 *
 * @returns names of the files that differ from the last build
 */
export async function checkConsole(): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-console-'));
  try {
    await buildInto(folder);
    const names = new Set([...(await filesIn(folder)), ...(await filesIn(OUTPUT))]);
    const differing: string[] = [];
    for (const name of [...names].sort()) {
      const [mine = null, built = null] = await Promise.all(
        [folder, OUTPUT].map(async (each) => await readFile(join(each, name)).catch(() => null)),
      );
      if (mine === null || built === null || !mine.equals(built)) differing.push(name);
    }
    return differing;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Writes the page and its files into a folder, without their compressed forms.
 *
 * @param main the script that starts the page; default that of the console
 */
export async function writePage(folder: string, main?: string): Promise<Bundle> {
  const bundled = await bundle(folder, main);
  await rm(join(folder, 'meta.json'));
  await writeFile(join(folder, 'icon.svg'), await readFile(join(SOURCES, 'icon.svg')));
  await writeFile(
    join(folder, 'index.html'),
    pageFor(await readFile(join(SOURCES, 'index.html'), 'utf8'), bundled),
  );
  return bundled;
}

async function buildInto(folder: string): Promise<void> {
  const bundled = await writePage(folder);
  await writeRunbooks(join(folder, 'runbooks'), bundled);
  const files = await filesIn(folder);
  for (const name of files) await compress(join(folder, name));
  const { firstPaint, script, style, preloads, firstView } = bundled;
  const manifest: ConsoleManifest = {
    inputs: digestInputs(),
    files,
    first: [...new Set(['index.html', 'icon.svg', firstPaint, style, script, ...preloads, ...firstView])],
  };
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  const contract = renderConsoleContract();
  const [outline, forms] = CONTRACT;
  await writeFile(join(folder, outline), JSON.stringify(outlineOf(contract)));
  await writeFile(join(folder, forms), JSON.stringify(formsOf(contract)));
}

/** The names of all files below a folder, in order. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((each) => each.isFile())
    .map((each) => relative(folder, join(each.parentPath, each.name)))
    .sort();
}

/** The page with the names of this build. */
function pageFor(source: string, { firstPaint, script, style, preloads }: Bundle): string {
  const hints = preloads.map((name) => `    <link rel="modulepreload" href="${name}" />\n`).join('');
  const page = source
    .replace('src="first-paint.js"', `src="${firstPaint}"`)
    .replace('href="style.css"', `href="${style}"`)
    .replace(/ *<script type="module" src="main\.js">/, (tag) => `${hints}${tag.replace('main.js', script)}`);
  if (![firstPaint, style, script].every((name) => page.includes(name)))
    throw new Error('index.html does not name its files.');
  return page;
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  const brotli = await promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  await writeFile(`${path}.br`, brotli);
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }));
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
}
